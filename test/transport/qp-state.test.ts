/**
 * Queue pair states: the whole matrix of moves, the attributes each demands, and what a queue pair does in each state.
 * Method: all 49 pairs as a text table; every attribute left out and put out of range in turn; nothing may change then.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import type { QpAttributes } from '../../transport/qp-attributes.ts';
import { canModify, QP_STATE_NAMES, QpState, rightsOf } from '../../transport/qp-state.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, nak, pattern, readRequest, readResponses, sendOnly, writeOnly } from './support/packets.ts';
import { ALL_ACCESS, Peer } from './support/peer.ts';
import { PEER_IP, PEER_QPN, pathTemplate, SUBJECT_IP } from './support/wire.ts';

const STATES = Object.values(QpState);
const empty = { va: 0n, rkey: 0, length: 0 };

const toRtr: QpAttributes = {
  state: QpState.Rtr,
  path: { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP },
  destQpn: PEER_QPN,
  rqPsn: 0,
  mtu: 1024,
  maxDestRdAtomic: 4,
  minRnrTimer: 12,
};
const toRts: QpAttributes = { state: QpState.Rts, sqPsn: 0, timeout: 14, retryCnt: 3, rnrRetry: 3, maxRdAtomic: 4 };

/** All attributes a move could need, so that only the move itself is judged. */
function attributesFor(from: QpState, to: QpState): QpAttributes {
  if (from === QpState.Reset && to === QpState.Init) return { state: to, access: 0 };
  if (from === QpState.Init && to === QpState.Rtr) return toRtr;
  return from === QpState.Rtr && to === QpState.Rts ? toRts : { state: to };
}

/** A queue pair in `state`; SQE is where RC never comes, so there is none. */
function inState(state: QpState): Peer {
  return new Peer({ state, psn: 0, mtu: 1024 });
}

function codeOf(call: () => void): string {
  try {
    call();
    return 'ok';
  } catch (error) {
    if (error instanceof RoceError) return error.code;
    throw error;
  }
}

function without(attributes: QpAttributes, name: string): QpAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => key !== name));
}

describe('moves between states', () => {
  it('QPS-10 the matrix of all 49 moves', () => {
    const rows = STATES.map((from) => {
      const cells = STATES.map((to) => (canModify(from, to) ? QP_STATE_NAMES[to] : '-').padEnd(6));
      return `${(QP_STATE_NAMES[from] ?? '').padEnd(6)}| ${cells.join('')}`.trimEnd();
    });
    expect(`\n${rows.join('\n')}\n`).toMatchInlineSnapshot(`
      "
      RESET | RESET INIT  -     -     -     -     -
      INIT  | RESET INIT  RTR   -     -     -     ERR
      RTR   | RESET -     -     RTS   -     -     ERR
      RTS   | RESET -     -     RTS   SQD   -     ERR
      SQD   | RESET -     -     RTS   SQD   -     ERR
      SQE   | RESET -     -     RTS   -     -     ERR
      ERR   | RESET -     -     -     -     -     ERR
      "
    `);
  });

  it('QPS-10 modify allows exactly the moves of the matrix and changes nothing otherwise', () => {
    for (const from of STATES.filter((state) => state !== QpState.Sqe)) {
      for (const to of STATES) {
        const { qp } = inState(from);
        expect(qp.state).toBe(from);
        const code = codeOf(() => qp.modify(attributesFor(from, to)));
        expect(code).toBe(canModify(from, to) ? 'ok' : 'ERR_ROCE_STATE');
        expect(qp.state).toBe(canModify(from, to) ? to : from);
      }
    }
  });

  it('what a queue pair does in each state', () => {
    const words = STATES.map((state) => {
      const rights = Object.entries(rightsOf(state));
      const names = rights.filter(([, allowed]) => allowed).map(([name]) => name);
      return `${(QP_STATE_NAMES[state] ?? '').padEnd(6)}${names.join(' ')}`.trimEnd();
    });
    expect(`\n${words.join('\n')}\n`).toMatchInlineSnapshot(`
      "
      RESET
      INIT  postRecv
      RTR   postRecv respond
      RTS   postSend postRecv respond request start
      SQD   postSend postRecv respond request
      SQE   postSend postRecv respond flushSends
      ERR   postSend postRecv flushSends flushRecvs
      "
    `);
  });

  it.each(Object.keys(without(toRtr, 'state')))('QPS-09 INIT to RTR needs %s', (name) => {
    const { qp } = inState(QpState.Init);
    expect(codeOf(() => qp.modify(without(toRtr, name)))).toBe('ERR_ROCE_ARGUMENT');
    expect(qp.state).toBe(QpState.Init);
    expect(qp.config.path).toBeUndefined();
    expect(codeOf(() => qp.modify(toRtr))).toBe('ok');
  });

  it.each(Object.keys(without(toRts, 'state')))('QPS-09 RTR to RTS needs %s', (name) => {
    const { qp } = inState(QpState.Rtr);
    expect(codeOf(() => qp.modify(without(toRts, name)))).toBe('ERR_ROCE_ARGUMENT');
    expect(qp.state).toBe(QpState.Rtr);
    expect(codeOf(() => qp.modify(toRts))).toBe('ok');
  });

  it.each([
    ['access', -1],
    ['access', 0x4_00],
    ['pkey', 0x1_00_00],
    ['migReq', 2],
    ['minRnrTimer', 32],
    ['maxDestRdAtomic', 256],
    ['maxDestRdAtomic', 1.5],
    ['minRnrTimer', Number.NaN],
  ])('QPS-09 %s %d is out of range on a connection that may change it, and changes nothing', (name, value) => {
    const { qp } = inState(QpState.Sqd);
    const before = { ...qp.config };
    expect(codeOf(() => qp.modify({ pkey: 0x1234, access: 0, minRnrTimer: 7, [name]: value }))).toBe(
      'ERR_ROCE_ARGUMENT',
    );
    expect({ ...qp.config }).toEqual(before);
  });

  it.each([
    ['destQpn', 0],
    ['destQpn', 1],
    ['destQpn', 0xff_ff_ff],
    ['rqPsn', 0x1_00_00_00],
    ['rqPsn', -1],
    ['mtu', 1500],
    ['mtu', 128],
    ['mtu', 8192],
  ])('QPS-09 %s %d is refused on the way to RTR', (name, value) => {
    const { qp } = inState(QpState.Init);
    expect(codeOf(() => qp.modify({ ...toRtr, [name]: value }))).toBe('ERR_ROCE_ARGUMENT');
    expect(qp.state).toBe(QpState.Init);
  });

  it.each([
    ['sqPsn', 0x1_00_00_00],
    ['timeout', 32],
    ['retryCnt', 8],
    ['rnrRetry', 8],
    ['maxRdAtomic', 256],
  ])('QPS-09 %s %d is refused on the way to RTS', (name, value) => {
    const { qp } = inState(QpState.Rtr);
    expect(codeOf(() => qp.modify({ ...toRts, [name]: value }))).toBe('ERR_ROCE_ARGUMENT');
    expect(qp.state).toBe(QpState.Rtr);
  });

  it.each([
    ['access', 0x3_ff],
    ['minRnrTimer', 31],
    ['migReq', 1],
  ])('QPS-09 %s %d is the last of its range', (name, value) => {
    const { qp } = inState(QpState.Rts);
    const codes = [value, value + 1].map((each) => codeOf(() => qp.modify({ [name]: each })));
    expect(codes).toEqual(['ok', 'ERR_ROCE_ARGUMENT']);
  });

  it.each(['path', 'destQpn', 'rqPsn', 'mtu', 'sqPsn', 'timeout', 'retryCnt', 'rnrRetry', 'maxRdAtomic'])(
    'QPS-09 %s cannot change on a running connection',
    (name) => {
      const { qp } = inState(QpState.Rts);
      const value = { ...toRtr, ...toRts }[name as keyof QpAttributes];
      expect(codeOf(() => qp.modify({ [name]: value }))).toBe('ERR_ROCE_ARGUMENT');
    },
  );
});

describe('what each state does', () => {
  it.each([QpState.Reset, QpState.Init, QpState.Rtr])('QPS-01 posting a send in state %i fails at once', (state) => {
    const { qp } = inState(state);
    expect(codeOf(() => qp.postSend({ wrId: 1, opcode: WrOpcode.Send }))).toBe('ERR_ROCE_STATE');
    expect(qp.sendsOutstanding).toBe(0);
  });

  it('QPS-03 posting a receive in RESET fails at once', () => {
    const { qp } = inState(QpState.Reset);
    expect(codeOf(() => qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_STATE');
    expect(qp.receivesPosted).toBe(0);
  });

  it('QPS-04 INIT takes receives and processes nothing; after RTR the same receive is used', () => {
    const peer = inState(QpState.Init);
    peer.postRecv(1);
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.silence();
    expect(peer.counters.badState).toBe(1);
    peer.qp.modify(toRtr);
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(peer.completions()).toEqual(['recv 1 Success Recv 0 bytes']);
  });

  it('QPS-05 RTR receives and answers READs, and drops responses', () => {
    const peer = inState(QpState.Rtr);
    const mr = peer.region({ length: 8 });
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } }));
    peer.expectTx(readResponses({ psn: 0, msn: 1, data: mr.bytes }));
    peer.rx(ack({ psn: 0, msn: 1 }), nak(0x62, { psn: 0, msn: 0 }));
    expect(peer.counters.badState).toBe(2);
    expect(peer.qp.state).toBe(QpState.Rtr);
    peer.qp.modify(toRts);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
  });

  it('QPS-06 SQD finishes what is under way, starts nothing new, and reports once that it is drained', () => {
    const peer = inState(QpState.Rts);
    const mr = peer.region({ length: 200 * 1024 });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }] }, { wrId: 2, opcode: WrOpcode.Send });
    expect(peer.drain()).toHaveLength(128);
    peer.qp.modify({ state: QpState.Sqd });
    peer.post({ wrId: 3, opcode: WrOpcode.Send });
    expect(peer.events()).toEqual([]);
    peer.rx(ack({ psn: 127, msn: 0 }));
    expect(peer.drain()).toHaveLength(72);
    expect(peer.events()).toEqual([]);
    peer.rx(ack({ psn: 199, msn: 1 }));
    expect(peer.completions()).toEqual(['send 1 Success RdmaWrite']);
    expect(peer.events()).toEqual(['sq-drained']);
    peer.rx(ack({ psn: 199, msn: 1 }));
    peer.silence();
    expect(peer.events()).toEqual([]);
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    peer.qp.modify({ state: QpState.Rts });
    peer.expectTx([sendOnly({ psn: 200, ackReq: true }), sendOnly({ psn: 201, ackReq: true })]);
  });

  it('QPS-06 SQD repeats what was lost of the work under way', () => {
    const peer = inState(QpState.Rts);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.drain();
    peer.qp.modify({ state: QpState.Sqd });
    peer.rx(nak(0x60, { psn: 0, msn: 0 }));
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
  });

  it('QPS-06 an idle queue pair is drained at once', () => {
    const peer = inState(QpState.Rts);
    peer.qp.modify({ state: QpState.Sqd });
    expect(peer.events()).toEqual(['sq-drained']);
  });

  it('QPS-08 modify to ERROR flushes everything in order and drops what was to be answered', () => {
    const peer = inState(QpState.Rts);
    const mr = peer.region();
    peer.postRecv(10);
    peer.postRecv(11);
    peer.rx({ opcode: 0, psn: 0, payload: pattern(1024) });
    for (const wrId of [1, 2]) peer.post({ wrId, opcode: WrOpcode.Send, signaled: wrId === 1 });
    peer.drain();
    peer.qp.modify({ state: QpState.Error });
    expect(peer.completions()).toEqual([
      'send 1 WrFlushErr',
      'send 2 WrFlushErr',
      'recv 10 WrFlushErr',
      'recv 11 WrFlushErr',
    ]);
    peer.rx(readRequest({ psn: 2, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } }));
    peer.silence();
  });

  it('QPS-08 what was executed before the owner moves to ERROR is still acknowledged, up to the first READ', () => {
    const peer = inState(QpState.Rts);
    const mr = peer.region();
    mr.view.setBigUint64(0, 5n, true);
    const add = { opcode: 0x14, atomic: { va: mr.iova, rkey: mr.rkey, swapAdd: 1n, compare: 0n } };
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }), { ...add, psn: 1 });
    peer.rx(readRequest({ psn: 2, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } }), { ...add, psn: 3 });
    peer.rx(writeOnly({ psn: 4, reth: empty, ackReq: true }));
    peer.qp.modify({ state: QpState.Error });
    peer.expectTx([ack({ psn: 0, msn: 1 }), { opcode: 0x12, psn: 1, msn: 2, original: 5n, syndrome: 0x1f }]);
    expect(peer.qp.pending).toBe(false);
  });

  it('QPS-08 a READ still owed when the owner moves to ERROR is never answered', () => {
    const peer = inState(QpState.Rts);
    const mr = peer.region();
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 4096 } }));
    peer.qp.modify({ state: QpState.Error });
    expect(peer.qp.pending).toBe(false);
    peer.silence();
  });

  it('QPS-11 ERROR to RESET to RTS gives a clean queue pair: nothing of before is left', () => {
    const peer = inState(QpState.Rts);
    const mr = peer.region();
    mr.view.setBigUint64(0, 5n, true);
    const add = { opcode: 0x14, psn: 0, atomic: { va: mr.iova, rkey: mr.rkey, swapAdd: 1n, compare: 0n } };
    peer.rx(add, writeOnly({ psn: 1, reth: empty }), writeOnly({ psn: 9, reth: empty }));
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.postRecv(4);
    peer.drain();
    peer.rx({ opcode: 0, psn: 2, payload: pattern(1024) });
    peer.qp.modify({ state: QpState.Error });
    peer.completions();
    peer.qp.modify({ state: QpState.Reset });
    expect(peer.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
    peer.connect({ mtu: 1024 });
    expect([peer.qp.sendsOutstanding, peer.qp.receivesPosted, peer.qp.pending]).toEqual([0, 0, false]);
    expect(peer.events()).toEqual([]);
    peer.rx(writeOnly({ psn: -1, reth: empty }));
    peer.silence();
    peer.rx(add);
    expect(peer.drain()).toMatchObject([{ opcode: 0x12, msn: 1, original: 6n }]);
    peer.post({ wrId: 2, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 2 Success Send']);
  });

  it('QPS-11 RESET forgets events nobody has asked for, and the next connection has its own', () => {
    const peer = inState(QpState.Rtr);
    peer.rx(writeOnly({ psn: 0, reth: empty }), { opcode: 1, psn: 1 });
    expect(peer.qp.state).toBe(QpState.Error);
    peer.qp.modify({ state: QpState.Reset });
    expect(peer.events()).toEqual([]);
    peer.connect({ mtu: 1024, state: QpState.Rtr });
    peer.rx(writeOnly({ psn: 0, reth: empty }));
    expect(peer.events()).toEqual(['comm-est']);
  });

  it('QPS-11 RESET drops posted work without a completion and stops every timer', () => {
    const peer = inState(QpState.Rts);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.postRecv(2);
    peer.drain();
    peer.qp.modify({ state: QpState.Reset });
    expect(peer.completions()).toEqual([]);
    expect(peer.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
    peer.rx(sendOnly({ psn: 0 }));
    peer.silence();
  });

  it('access rights may be changed on a running connection', () => {
    const peer = inState(QpState.Rts);
    peer.qp.modify({ access: 0 });
    peer.rx(readRequest({ psn: 0, reth: empty }));
    peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
    expect(peer.qp.config.access).not.toBe(ALL_ACCESS);
  });
});
