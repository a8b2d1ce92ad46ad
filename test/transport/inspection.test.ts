/**
 * Goal: what a queue pair shows of itself is what it is doing, PSNs as they travel, and looking changes nothing.
 * Method: scripted exchanges next to the wrap; after each the whole of what is shown is compared.
 */
import { describe, expect, it } from 'vitest';
import { QpType } from '../../transport/qp-type.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import { UnreliableQueuePair } from '../../transport/unreliable-queue-pair.ts';
import { WrOpcode } from '../../transport/work.ts';
import { fetchAdd, nak, rnrNak, sendOnly } from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';

function shown(peer: Peer) {
  const { qp } = peer;
  if (qp instanceof RcQueuePair || qp instanceof UnreliableQueuePair) return qp.inspect();
  throw new Error('queue pairs of every type show themselves');
}

function withSends(count: number, options: PeerOptions = {}) {
  const peer = new Peer(options);
  for (let i = 0; i < count; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
  return peer;
}

/** Two before the wrap, where peers begin. */
const FIRST = 0xff_ff_fe;

describe('what a queue pair shows', () => {
  it('of work requests before and after they have begun', () => {
    const peer = withSends(3);
    peer.postRecv(7, 100);
    expect(shown(peer).sends.map(({ wrId, firstPsn, lastPsn }) => [wrId, firstPsn, lastPsn])).toEqual([
      [0, -1, -1],
      [1, -1, -1],
      [2, -1, -1],
    ]);
    expect(shown(peer).receives).toEqual([{ wrId: 7, length: 100 }]);
    peer.drain();
    expect(shown(peer).sends.map(({ firstPsn, lastPsn }) => [firstPsn, lastPsn])).toEqual([
      [FIRST, FIRST],
      [FIRST + 1, FIRST + 1],
      [0, 0],
    ]);
  });

  it('of its requester: how far it is, and what it waits for', () => {
    const peer = withSends(3);
    expect(shown(peer).requester).toMatchObject({ nextPsn: FIRST, sentPsn: FIRST, deadline: Infinity });
    peer.drain();
    const { now } = peer;
    const sent = { nextPsn: 1, sentPsn: 1, unackedPsn: FIRST, retriesLeft: 3, rnrRetriesLeft: 3, rnrWaiting: false };
    expect(shown(peer).requester).toEqual({ ...sent, outstanding: 0, deadline: now + 4096 * 2 ** 14 });
    peer.rx(nak(0x60, { psn: 2, msn: 2 }));
    expect(shown(peer).requester).toMatchObject({ nextPsn: 0, sentPsn: 1, unackedPsn: 0, retriesLeft: 2 });
    peer.drain();
    peer.rx(rnrNak(12, { psn: 2, msn: 2 }));
    expect(shown(peer).requester).toMatchObject({ nextPsn: 0, rnrWaiting: true, rnrRetriesLeft: 2 });
  });

  it('of its responder: what it expects, owes and remembers', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 64 });
    mr.view.setBigUint64(0, 0x1_0000_0005n, true);
    expect(shown(peer).responder).toEqual({ expectedPsn: FIRST, msn: 0, nakked: false, replies: [], replays: [] });
    peer.rx(fetchAdd({ psn: 0, va: mr.iova, rkey: mr.rkey, add: 1n }));
    const atomic = { kind: 'atomic', psn: FIRST, lastPsn: FIRST, repeated: false };
    expect(shown(peer).responder).toMatchObject({ expectedPsn: FIRST + 1, msn: 1, replies: [atomic] });
    expect(shown(peer).responder?.replays).toMatchObject([
      { firstPsn: FIRST, lastPsn: FIRST, original: 0x1_0000_0005n },
    ]);
    peer.drain();
    peer.rx(sendOnly({ psn: 3, ackReq: true }));
    const owed = shown(peer).responder;
    expect(owed).toMatchObject({ nakked: true, replies: [{ kind: 'nak', psn: FIRST + 1 }] });
    peer.drain();
    expect(shown(peer).responder).toMatchObject({ nakked: true, replies: [] });
  });

  it('of what it remembers: the last few, in the order of their PSNs', () => {
    const peer = new Peer({ maxDestRdAtomic: 2 });
    const mr = peer.region({ length: 64 });
    for (let psn = 0; psn < 3; psn++) {
      peer.rx(fetchAdd({ psn, va: mr.iova, rkey: mr.rkey, add: 1n }));
      peer.drain();
    }
    // Counted before the wrap is over: the order is that of time.
    expect(shown(peer).responder?.replays.map(({ firstPsn }) => firstPsn)).toEqual([FIRST + 1, 0]);
  });

  it('of a queue pair without acknowledges: its next PSN', () => {
    const peer = withSends(3, { type: QpType.Uc });
    expect(shown(peer)).toMatchObject({ nextPsn: FIRST });
    peer.drain();
    expect(shown(peer)).toEqual({ sends: [], receives: [], nextPsn: 1 });
  });

  it('is a copy: looking, and writing to what one sees, changes nothing', () => {
    const [looked, alone] = [withSends(2), withSends(2)];
    Object.assign(shown(looked).sends[0] ?? {}, { firstPsn: 9, wrId: 9 });
    expect(looked.drain()).toEqual(alone.drain());
    shown(looked);
    expect(shown(looked)).toEqual(shown(alone));
  });
});
