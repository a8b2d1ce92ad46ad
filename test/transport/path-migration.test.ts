/**
 * Goal: a connection with two ways to its peer changes ways when the first fails, when the peer has changed and when it
 * is told to, and never for anything else. Method: the scripted peer, which has two addresses; every frame of the
 * subject is checked for the address and the MigReq bit that its state asks for.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import { peerProfile } from '../../transport/peer-profile.ts';
import { MigState, type QpAttributes } from '../../transport/qp-attributes.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, type Packet, sendOnly, uc, writeOnly } from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';
import { PEER_IP, pathTemplate, SUBJECT_IP } from './support/wire.ts';

const SECOND_IP = IpAddress.parse('198.51.100.2');
const altPath = { template: pathTemplate(SUBJECT_IP, SECOND_IP), local: SUBJECT_IP, remote: SECOND_IP };
const empty = { va: 0n, rkey: 0, length: 0 };
const { Migrated, Rearm, Armed } = MigState;

/** A packet of the peer's that says how its own migration stands, by the first way or the second. */
const from = (packet: Packet, migReq: 0 | 1, second = false): Packet => ({
  ...packet,
  migReq,
  ...(second && { source: SECOND_IP.toString() }),
});
const write = (psn: number): Packet => writeOnly({ psn, reth: empty, ackReq: true });

/** REARM, and ARMED once the peer has sent without MigReq. */
function makePeer(state: MigState, options: PeerOptions = {}): Peer {
  const peer = new Peer(options);
  if (state !== Migrated) peer.qp.modify({ altPath, pathMigState: Rearm });
  if (state === Armed) {
    peer.rx(from(write(0), 0));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  }
  expect(peer.qp.config.pathMigState).toBe(state);
  return peer;
}

const remoteOf = ({ qp }: Peer): string => `${qp.config.path?.remote}`;

function codeOf(peer: Peer, attributes: QpAttributes): string {
  try {
    peer.qp.modify(attributes);
  } catch (error) {
    if (error instanceof RoceError) return `${error.code} ${error.errno}`;
    throw error;
  }
  return 'ok';
}

describe('arming', () => {
  it('packets carry MigReq 1 until a second way is armed, and 0 from then on', () => {
    const peer = makePeer(Migrated);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    expect(peer.qp.config.migReq).toBe(1);
    peer.qp.modify({ altPath, pathMigState: Rearm });
    expect(peer.qp.config.migReq).toBe(0);
    peer.post({ wrId: 2, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 1, ackReq: true })]);
  });

  it('takes a packet of the peer without MigReq, by the first way', () => {
    const peer = makePeer(Rearm);
    peer.rx(from(write(0), 1));
    expect(peer.qp.config.pathMigState).toBe(Rearm);
    peer.rx(from(write(1), 0, true));
    expect([peer.qp.config.pathMigState, peer.counters.badAddress]).toEqual([Rearm, 1]);
    peer.rx(from(write(1), 0));
    expect(peer.qp.config.pathMigState).toBe(Armed);
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
  });

  it.each<[string, QpAttributes]>([
    ['rearm without a second way', { pathMigState: Rearm }],
    ['armed, which only the peer brings about', { altPath, pathMigState: Armed }],
    ['a state there is not', { altPath, pathMigState: 3 as never }],
  ])('refuses %s and changes nothing', (_what, attributes) => {
    const peer = makePeer(Migrated);
    const before = { ...peer.qp.config };
    expect(codeOf(peer, attributes)).toBe('ERR_ROCE_ARGUMENT EINVAL');
    expect({ ...peer.qp.config }).toEqual(before);
  });
});

describe('migrating', () => {
  it('when retries run out: everything unacknowledged goes the second way, with fresh retries', () => {
    const peer = makePeer(Armed, { retryCnt: 1, timeout: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    peer.advance(2_500_000);
    expect(peer.drain()).toHaveLength(2);
    expect([remoteOf(peer), peer.qp.config.migReq, peer.qp.state]).toEqual([`${SECOND_IP}`, 1, QpState.Rts]);
    expect(peer.events()).toContain('path-mig');
    peer.rx(from(ack({ psn: 0, msn: 1 }), 1, true));
    expect(peer.completions()).toEqual(['send 1 Success Send']);
    peer.rx(from(ack({ psn: 0, msn: 1 }), 1));
    expect(peer.counters.badAddress).toBe(1);
  });

  it('once: the second way that fails too is the end', () => {
    const peer = makePeer(Armed, { retryCnt: 1, timeout: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.advance(20_000_000);
    // Once and one retry, by each way.
    expect(peer.drain()).toHaveLength(4);
    expect(peer.completions()).toEqual(['send 1 RetryExcErr']);
    expect([peer.counters.retryExceededErr, peer.qp.state]).toEqual([1, QpState.Error]);
  });

  it('when the peer has: its packet by the second way with MigReq is executed and answered there', () => {
    const peer = makePeer(Armed);
    peer.rx(from(write(1), 1, true));
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    expect([remoteOf(peer), peer.qp.config.pathMigState]).toEqual([`${SECOND_IP}`, Migrated]);
    expect(peer.events()).toContain('path-mig');
  });

  it('when the application says so', () => {
    const peer = makePeer(Armed);
    peer.qp.modify({ pathMigState: Migrated });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    expect([remoteOf(peer), peer.qp.config.migReq]).toEqual([`${SECOND_IP}`, 1]);
  });

  it('uses the second way up: it is not armed again before there is another one', () => {
    const peer = makePeer(Armed);
    peer.qp.modify({ pathMigState: Migrated });
    expect(codeOf(peer, { pathMigState: Rearm })).toBe('ERR_ROCE_ARGUMENT EINVAL');
  });

  it.each<[string, MigState, 0 | 1, boolean]>([
    ['armed, the second way without MigReq', Armed, 0, true],
    ['rearm, the second way with MigReq', Rearm, 1, true],
    ['migrated, the second way with MigReq', Migrated, 1, true],
  ])('not by a stranger: %s is dropped', (_what, state, migReq, second) => {
    const peer = makePeer(state);
    peer.rx(from(write(state === Armed ? 1 : 0), migReq, second));
    peer.silence();
    expect([peer.counters.badAddress, remoteOf(peer), peer.qp.config.pathMigState]).toEqual([1, `${PEER_IP}`, state]);
  });

  it('not while only rearming: retries that run out are the end', () => {
    const peer = makePeer(Rearm, { retryCnt: 0, timeout: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.advance(20_000_000);
    expect(peer.completions()).toEqual(['send 1 RetryExcErr']);
  });

  it('and again, after another second way was armed', () => {
    const peer = makePeer(Armed);
    peer.qp.modify({ pathMigState: Migrated });
    const first = { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP };
    peer.qp.modify({ altPath: first, pathMigState: Rearm });
    peer.rx(from(write(1), 0, true), from(write(2), 1));
    peer.expectTx([ack({ psn: 2, msn: 3 })]);
    expect(remoteOf(peer)).toBe(`${PEER_IP}`);
  });

  it('works for UC, where only the peer and the application decide', () => {
    const peer = new Peer({ type: QpType.Uc });
    peer.qp.modify({ altPath, pathMigState: Rearm });
    peer.rx(from(uc(write(0)), 0), from(uc(write(1)), 1, true));
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([uc(sendOnly({ psn: 0 }))]);
    expect(remoteOf(peer)).toBe(`${SECOND_IP}`);
  });

  it('RESET forgets it all', () => {
    const peer = makePeer(Armed);
    peer.qp.modify({ state: QpState.Reset });
    const { altPath: none, pathMigState, migReq } = peer.qp.config;
    expect([none, pathMigState, migReq]).toEqual([undefined, Migrated, 1]);
  });

  it('RESET does not forget what kind of peer it is', () => {
    const peer = makePeer(Migrated);
    peer.qp.expect(peerProfile('rxe-6.1'));
    peer.qp.modify({ state: QpState.Reset });
    expect(peer.qp.config.migReq).toBe(0);
  });
});

describe('in SQD', () => {
  it('the address vector and the retry limits of a live connection change', () => {
    const peer = new Peer({ retryCnt: 0, timeout: 8 });
    peer.modifyQuietly({ path: altPath, retryCnt: 2 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.advance(2_500_000);
    expect(peer.drain()).toHaveLength(3);
    peer.rx(from(ack({ psn: 0, msn: 1 }), 1, true));
    expect(peer.completions()).toEqual(['send 1 Success Send']);
  });
});
