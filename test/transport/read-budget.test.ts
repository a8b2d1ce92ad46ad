/**
 * Goal: what a READ draws to a peer that may not be there is bounded, and a peer that is there gets all of it
 * (ref:hostile#SEC-15). Method: the scripted peer with a budget of 4 KiB and packets of 256 bytes.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { PortCounters } from '../../transport/counters.ts';
import { DEFAULT_DEFENCES, makeDefences } from '../../transport/defences.ts';
import { ReadBudget } from '../../transport/read-budget.ts';
import { Reply } from '../../transport/reply-queue.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, readRequest } from './support/packets.ts';
import { Peer } from './support/peer.ts';

const PMTU = 256;
const BUDGET = 4096;
const WHOLE = 64 * 1024;
const PACKETS = WHOLE / PMTU;

function setUp(maxReadResponseBytes = BUDGET) {
  const peer = new Peer({ maxDestRdAtomic: 16, defences: makeDefences({ maxReadResponseBytes }) });
  const mr = peer.region({ length: WHOLE });
  /** The READ at PSN `psn`, from its packet `from` on. */
  const read = (psn = 0, from = 0) => {
    const skipped = from * PMTU;
    const reth = { va: mr.iova + BigInt(skipped), rkey: mr.rkey, length: WHOLE - skipped };
    return readRequest({ psn: psn + from, reth });
  };
  return { peer, mr, read };
}

describe('SEC-15 a READ by a peer that is not heard of again', () => {
  it('draws the budget and the last packet, which shows a requester that there was more', () => {
    const { peer, read } = setUp();
    peer.rx(read());
    const drawn = peer.drain();
    expect(drawn.map(({ psn }) => psn)).toEqual([...Array.from({ length: 16 }, (_, psn) => psn), PACKETS - 1]);
    expect(drawn[16]).toMatchObject({ opcode: Op.ReadResponseLast });
    peer.advance(1e10);
    peer.silence();
    expect(peer.counters.readResponseCut).toBe(1);
  });

  it('draws no more with fifteen others behind it, each one packet apart', () => {
    const { peer, read } = setUp();
    for (let i = 0; i < 16; i++) peer.rx(read(i * PACKETS));
    expect(peer.drain()).toHaveLength(16 + 16);
    expect(peer.counters.readResponseCut).toBe(16);
  });

  it('draws as much again for each time that it is repeated', () => {
    const { peer, read } = setUp();
    for (let i = 0; i < 3; i++) {
      peer.rx(read());
      expect(peer.drain()).toHaveLength(17);
    }
  });

  it('draws nothing more for packets that anybody can send', () => {
    const { peer, read } = setUp();
    peer.rx(read());
    peer.drain();
    peer.rx(read(PACKETS));
    peer.burst();
    const { readResponseCut } = peer.counters;
    peer.rx(ack({ psn: 5, msn: 0 }), readRequest({ psn: -1, reth: { va: 0n, rkey: 0, length: 0 } }));
    peer.drain();
    expect(peer.counters.readResponseCut).toBe(readResponseCut);
  });
});

describe('a READ by a peer that is there', () => {
  it('goes on where it was cut when the peer asks for the rest', () => {
    const { peer, mr, read } = setUp();
    const got = new Uint8Array(WHOLE);
    let next = 0;
    for (let rounds = 0; next < PACKETS; rounds++) {
      expect(rounds).toBeLessThan(PACKETS / 16);
      peer.rx(read(0, next));
      for (const { psn, payload } of peer.drain()) {
        if (psn !== next) continue;
        got.set(payload ?? [], psn * PMTU);
        next += 1;
      }
    }
    expect(got).toEqual(mr.bytes);
  });

  it('is not cut while the peer sends requests, or acknowledges ours', () => {
    const { peer, read } = setUp(WHOLE / 2);
    peer.rx(read());
    const burst = () => peer.burst().length;
    let drawn = burst() + burst();
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    while (drawn < 100) drawn += burst();
    peer.rx(ack({ psn: 0, msn: 1 }));
    drawn += peer.drain().length;
    // The SEND among them.
    expect([drawn, peer.counters.readResponseCut]).toEqual([PACKETS + 1, 0]);
  });

  it('is never cut within the budget, which is 64 MiB unless an option says otherwise', () => {
    const counters = new PortCounters();
    const budget = new ReadBudget(counters, DEFAULT_DEFENCES.maxReadResponseBytes);
    const reply = new Reply();
    for (reply.length = 2 ** 26; reply.sent < reply.length; reply.sent += 4096) budget.spend(reply, 4096);
    expect([reply.sent, counters.readResponseCut]).toEqual([2 ** 26, 0]);
    expect(setUp(Number.POSITIVE_INFINITY).peer.qp.config.defences.maxReadResponseBytes).toBe(Infinity);
  });
});
