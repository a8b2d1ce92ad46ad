/**
 * Goal: the abstract responder says what the rules say, lets pass what they leave open, and names the rule that is
 * broken. Method: exchanges written by hand from the rules; the right one passes, the wrong one is told by its rule.
 */
import { describe, expect, it } from 'vitest';
import {
  ack,
  atomicAck,
  compareSwap,
  fetchAdd,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  rnrNak,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  writeFirst,
  writeLast,
  writeOnly,
} from '../../../../packets/kit/packet.ts';
import { judgeResponder, type ResponderEvent } from '../../../../tools/conformance/model/judge.ts';
import { PROFILES, SWITCHES } from '../../../../tools/conformance/model/profiles.ts';
import { ResponderJudge } from '../../../../tools/conformance/model/responder-judge.ts';
import type { ResponderSetup } from '../../../../tools/conformance/model/responder-state.ts';

const VA = 0x10_0000n;
const RKEY = 0x1234;
const MEMORY = pattern(1024, 9);
const SETUP: ResponderSetup = {
  profile: PROFILES.strict,
  mtu: 256,
  region: { va: VA, rkey: RKEY, length: 1024 },
  access: { read: true, write: true, atomic: true },
  receiveBytes: 600,
  maxDestRdAtomic: 2,
  rnrTimer: 12,
  flush: false,
  atomicWrite: false,
};

const tx = (packet: Packet): ResponderEvent => ({ tx: packet });
const rx = (packet: Packet): ResponderEvent => ({ rx: packet });
const reth = (at: number, length: number) => ({ va: VA + BigInt(at), rkey: RKEY, length });
const write = (psn: number, at = 0, seed = 1, ackReq = true): Packet =>
  writeOnly({ psn, ackReq, reth: reth(at, 8), payload: pattern(8, seed) });
const read = (psn: number, at: number, length: number): Packet => readRequest({ psn, reth: reth(at, length) });
const bytes = (at: number, length: number): Uint8Array => MEMORY.slice(at, at + length);

function ruleOf(events: readonly ResponderEvent[], changes: Partial<ResponderSetup> = {}, receives = 4): string {
  const setup = { ...SETUP, ...changes };
  return judgeResponder({ setup, memory: MEMORY, receives, events })?.ruleId ?? 'ok';
}

describe('the abstract responder', () => {
  it('has every request with AckReq acknowledged, by itself or by something later: ACK-01, ACK-02, ACK-03', () => {
    expect(ruleOf([tx(write(0)), rx(ack({ psn: 0, msn: 1 }))])).toBe('ok');
    expect(ruleOf([tx(write(0)), tx(write(1)), rx(ack({ psn: 1, msn: 2 }))])).toBe('ok');
    expect(ruleOf([tx(write(0)), tx(write(1)), rx(ack({ psn: 0, msn: 1 }))])).toBe('ACK-01');
    expect(ruleOf([tx(write(0, 0, 1, false))])).toBe('ok');
    expect(ruleOf([tx(write(0, 0, 1, false)), rx(ack({ psn: 0, msn: 1 }))])).toBe('ok');
    expect(ruleOf([tx(write(0)), tx(read(1, 8, 4)), rx(readOnly({ psn: 1, msn: 2, payload: bytes(8, 4) }))])).toBe(
      'ok',
    );
  });

  it('holds the MSN to the messages that are complete, credits being the device’s affair: ACK-06, ACK-10', () => {
    expect(ruleOf([tx(write(0)), rx(ack({ psn: 0, msn: 2 }))])).toBe('ACK-06');
    expect(ruleOf([tx(write(0)), rx(ack({ psn: 0, msn: 0 }))])).toBe('ACK-06');
    expect(ruleOf([tx(write(0)), rx({ ...ack({ psn: 0, msn: 1 }), syndrome: 3 })])).toBe('ok');
  });

  it('has acknowledges rise, and none for what was not executed: ACK-05, RSP-PSN-08', () => {
    const both = [tx(write(0)), tx(write(1)), rx(ack({ psn: 1, msn: 2 }))];
    expect(ruleOf([...both, rx(ack({ psn: 0, msn: 2 }))])).toBe('ACK-05');
    expect(ruleOf([tx(write(0)), rx(ack({ psn: 1, msn: 1 }))])).toBe('RSP-PSN-08');
  });

  it('draws one NAK 0x60 for a gap, until the missing packet comes: RSP-PSN-04, RSP-PSN-05, RSP-PSN-06', () => {
    const gap = [tx(write(2)), rx(nak(0x60, { psn: 0, msn: 0 }))];
    expect(ruleOf(gap)).toBe('ok');
    expect(ruleOf([tx(write(2))])).toBe('RSP-PSN-04');
    expect(ruleOf([tx(write(2)), rx(nak(0x60, { psn: 2, msn: 0 }))])).toBe('KEY-18');
    expect(ruleOf([...gap, tx(write(3)), rx(nak(0x60, { psn: 0, msn: 0 }))])).toBe('RSP-PSN-05');
    const filled = [...gap, tx(write(0)), rx(ack({ psn: 0, msn: 1 }))];
    expect(ruleOf([...filled, tx(write(2)), rx(nak(0x60, { psn: 1, msn: 1 }))])).toBe('ok');
  });

  it('counts half the number space as ahead: RSP-PSN-09', () => {
    expect(ruleOf([tx(write(0x7f_ff_ff)), rx(nak(0x60, { psn: 0, msn: 0 }))])).toBe('ok');
    expect(ruleOf([tx(write(-0x7f_ff_ff))])).toBe('ok');
    expect(ruleOf([tx(write(-0x7f_ff_ff)), rx(nak(0x60, { psn: 0, msn: 0 }))])).toBe('RSP-PSN-09');
    for (const events of [[tx(write(0x80_00_00))], [tx(write(0x80_00_00)), rx(nak(0x60, { psn: 0, msn: 0 }))]])
      expect(ruleOf(events)).toBe('ok');
  });

  it('acknowledges a duplicate by what is newest, and never by a READ: RSP-PSN-10, RSP-PSN-11, RSP-PSN-12', () => {
    const before = [tx(write(0)), rx(ack({ psn: 0, msn: 1 })), tx(read(1, 8, 4))];
    const after = [...before, rx(readOnly({ psn: 1, msn: 2, payload: bytes(8, 4) })), tx(write(0))];
    expect(ruleOf([...after, rx(ack({ psn: 0, msn: 2 }))])).toBe('ok');
    expect(ruleOf([...after, rx(ack({ psn: 1, msn: 2 }))])).toBe('RSP-PSN-11');
    expect(ruleOf(after)).toBe('RSP-PSN-10');
    expect(ruleOf([...after.slice(0, -1), tx(write(0, 0, 1, false))])).toBe('ok');
  });

  it('executes a duplicate once: RSP-PSN-10', () => {
    const events = [tx(write(0, 0, 1)), rx(ack({ psn: 0, msn: 1 })), tx(write(0, 0, 2)), rx(ack({ psn: 0, msn: 1 }))];
    const memory = (seed: number): Uint8Array => Uint8Array.from([...pattern(8, seed), ...MEMORY.slice(8)]);
    const judge = (seed: number) =>
      judgeResponder({ setup: SETUP, memory: MEMORY, receives: 0, events, memoryAfter: memory(seed) })?.ruleId;
    expect(judge(1)).toBeUndefined();
    expect(judge(2)).toBe('RSP-PSN-10');
  });

  it('cuts READ responses, counts a READ once and before its data, and puts acknowledges behind: RD-01, RD-02, RD-13, RD-15', () => {
    const [first, middle, last] = readResponses({ psn: 0, msn: 1, data: bytes(0, 600) });
    if (first === undefined || middle === undefined || last === undefined) throw new Error('three responses');
    const asked = tx(read(0, 0, 600));
    expect(ruleOf([asked, rx(first), rx(middle), rx(last)])).toBe('ok');
    expect(ruleOf([asked, rx(first), rx(middle)])).toBe('RD-01');
    expect(ruleOf([asked, rx(first), rx(last)])).toBe('RD-02');
    expect(ruleOf([asked, rx({ ...first, msn: 0 })])).toBe('RD-15');
    expect(ruleOf([asked, rx({ ...first, payload: pattern(256, 3) })])).toBe('RD-01');
    expect(ruleOf([asked, tx(write(3)), rx(first), rx(ack({ psn: 3, msn: 2 }))])).toBe('RD-13');
  });

  it('lets a READ see a WRITE behind it, or not: RD-12', () => {
    const asked = [tx(read(0, 0, 8)), tx(write(1, 0, 5, false))];
    expect(ruleOf([...asked, rx(readOnly({ psn: 0, msn: 1, payload: bytes(0, 8) }))])).toBe('ok');
    expect(ruleOf([...asked, rx(readOnly({ psn: 0, msn: 1, payload: pattern(8, 5) }))])).toBe('ok');
    expect(ruleOf([...asked, rx(readOnly({ psn: 0, msn: 1, payload: pattern(8, 6) }))])).toBe('RD-01');
  });

  it('answers a resent READ, whole or from its tail on, and drops what is outside of it: RD-07, RD-08, RD-09, RD-10, RD-16', () => {
    const data = bytes(0, 600);
    const all = readResponses({ psn: 0, msn: 1, data }).map(rx);
    const once = [tx(read(0, 0, 600)), ...all];
    expect(ruleOf([...once, tx(read(0, 0, 600)), ...all])).toBe('ok');
    expect(ruleOf([...once, tx(read(0, 0, 600))])).toBe('RD-07');
    const tail = [...once, tx(read(1, 256, 344))];
    const answer = readResponses({ psn: 1, msn: 1, data: data.slice(256) });
    expect(ruleOf([...tail, ...answer.map(rx)])).toBe('ok');
    const asMiddle = once.slice(2).map((each) => each);
    expect(ruleOf([...tail, ...asMiddle])).toBe('RD-09');
    expect(ruleOf([...tail, ...asMiddle], { profile: PROFILES['rxe-6.12'] })).toBe('ok');
    expect(ruleOf([...once, tx(read(0, 4, 600))])).toBe('ok');
    expect(ruleOf([...once, tx(read(0, 4, 600)), ...all.slice(0, 1)])).toBe('RSP-PSN-16');
    expect(ruleOf([...once, tx(read(0, 0, 600)), rx(readResponses({ psn: 0, msn: 2, data })[0] ?? NONE)])).toBe(
      'RD-16',
    );
  });

  it('lets the answer to an earlier duplicate go first, and none before it after that: RSP-PSN-13', () => {
    const both = [tx(read(0, 0, 8)), rx(readOnly({ psn: 0, msn: 1, payload: bytes(0, 8) }))];
    both.push(tx(read(1, 8, 8)), rx(readOnly({ psn: 1, msn: 2, payload: bytes(8, 8) })));
    const again = [...both, tx(read(1, 8, 8)), tx(read(0, 0, 8))];
    const [a, b] = [
      readOnly({ psn: 0, msn: 2, payload: bytes(0, 8) }),
      readOnly({ psn: 1, msn: 2, payload: bytes(8, 8) }),
    ];
    expect(ruleOf([...again, rx(a), rx(b)])).toBe('ok');
    expect(ruleOf([...again, rx(b), rx(a)])).toBe('ok');
    const inOrder = [...both, tx(read(0, 0, 8)), tx(read(1, 8, 8))];
    expect(ruleOf([...inOrder, rx(a), rx(b)])).toBe('ok');
    expect(ruleOf([...inOrder, rx(b), rx(a)])).not.toBe('ok');
  });

  it('answers a duplicate atomic from memory of its own: ATM-03, ATM-05, ATM-06, ATM-07, ATM-08', () => {
    const add = (psn: number, value: bigint): Packet => fetchAdd({ psn, va: VA, rkey: RKEY, add: value });
    const original = new DataView(MEMORY.buffer).getBigUint64(0, true);
    const reply = (psn: number, msn: number, value: bigint) => rx(atomicAck({ psn, msn, original: value }));
    const once = [tx(add(0, 1n)), reply(0, 1, original)];
    expect(ruleOf(once)).toBe('ok');
    expect(ruleOf([tx(add(0, 1n)), reply(0, 1, original + 1n)])).toBe('ATM-03');
    expect(ruleOf([...once, tx(add(0, 1n)), reply(0, 1, original)])).toBe('ok');
    expect(ruleOf([...once, tx(add(0, 1n)), reply(0, 1, original + 1n)])).toBe('ATM-05');
    expect(ruleOf([...once, tx(add(0, 9n))])).toBe('ok');
    expect(ruleOf([...once, tx(add(0, 9n)), reply(0, 1, original)])).toBe('ok');
    const swap = tx(compareSwap({ psn: 0, va: VA, rkey: RKEY, compare: 0n, swap: 1n }));
    expect(ruleOf([...once, swap])).toBe('ok');
    expect(ruleOf([...once, swap, reply(0, 1, original)])).toBe('RSP-PSN-17');
    expect(ruleOf([...once, swap, reply(0, 1, original)], { profile: PROFILES['rxe-6.1'] })).toBe('ok');
    const three = [...once, tx(add(1, 1n)), reply(1, 2, original + 1n), tx(add(2, 1n)), reply(2, 3, original + 2n)];
    expect(ruleOf([...three, tx(add(1, 1n))])).toBe('ATM-05');
    expect(ruleOf([...three, tx(add(0, 1n))])).toBe('ok');
  });

  it('refuses what is out of order, and is silent for ever: OPS-01..OPS-05, ACK-18', () => {
    const first = tx(sendFirst({ psn: 0, payload: pattern(256) }));
    const refused = (psn: number) => rx(nak(0x61, { psn, msn: 0 }));
    expect(ruleOf([tx(sendMiddle({ psn: 0, payload: pattern(256) })), refused(0)])).toBe('ok');
    expect(ruleOf([first, tx(read(1, 0, 8)), refused(1)])).toBe('ok');
    expect(ruleOf([first, tx(read(1, 0, 8))])).toBe('OPS-04');
    expect(ruleOf([first, tx(writeLast({ psn: 1, payload: pattern(8) })), refused(1)])).toBe('ok');
    expect(ruleOf([first, tx(sendOnly({ psn: 1 })), refused(1), tx(sendOnly({ psn: 1 })), refused(1)])).toBe('ACK-18');
    expect(
      ruleOf([first, tx(sendLast({ psn: 1, payload: pattern(8), ackReq: true })), rx(ack({ psn: 1, msn: 1 }))]),
    ).toBe('ok');
  });

  it('refuses wrong lengths: LEN-01..LEN-06, LEN-10, OPS-06', () => {
    const ruleWithout = (packet: Packet): string => ruleOf([tx(packet)]);
    expect(ruleWithout(sendFirst({ psn: 0, payload: pattern(252) }))).toBe('LEN-01');
    expect(ruleWithout(sendOnly({ psn: 0, payload: pattern(260) }))).toBe('LEN-03');
    expect(ruleWithout(writeOnly({ psn: 0, payload: pattern(8), reth: reth(0, 9) }))).toBe('LEN-04');
    expect(ruleWithout(writeFirst({ psn: 0, payload: pattern(256), reth: reth(0, 255) }))).toBe('LEN-05');
    expect(ruleWithout(readRequest({ psn: 0, reth: reth(0, 0x8000_0001) }))).toBe('LEN-06');
    const two = [0, 1].map((psn) =>
      tx(psn === 0 ? sendFirst({ psn, payload: pattern(256) }) : sendMiddle({ psn, payload: pattern(256) })),
    );
    expect(ruleOf([...two, tx(sendLast({ psn: 2, payload: pattern(256) }))])).toBe('LEN-10');
    // All that a WRITE FIRST announces is there: refused at once, or when the LAST brings more.
    const met = tx(writeFirst({ psn: 0, payload: pattern(256), reth: reth(0, 256) }));
    expect(ruleOf([met])).toBe('ok');
    expect(ruleOf([met, rx(nak(0x61, { psn: 0, msn: 0 }))])).toBe('ok');
    expect(ruleOf([met, tx(writeLast({ psn: 1, payload: pattern(4) })), rx(nak(0x61, { psn: 1, msn: 0 }))])).toBe('ok');
    expect(
      ruleOf([met, tx(writeLast({ psn: 1, payload: pattern(4), ackReq: true })), rx(ack({ psn: 1, msn: 1 }))]),
    ).toBe('LEN-04');
  });

  it('refuses what no key opens, lengths of zero excepted: KEY-01, KEY-04, KEY-05, KEY-06, KEY-18', () => {
    const refused = rx(nak(0x62, { psn: 0, msn: 0 }));
    expect(ruleOf([tx(readRequest({ psn: 0, reth: { va: VA, rkey: 1, length: 4 } })), refused])).toBe('ok');
    expect(ruleOf([tx(readRequest({ psn: 0, reth: { va: VA, rkey: 1, length: 4 } }))])).toBe('KEY-01');
    expect(ruleOf([tx(read(0, 1021, 4))])).toBe('KEY-05');
    expect(
      ruleOf([tx(readRequest({ psn: 0, reth: { va: 0xffff_ffff_ffff_fff8n, rkey: RKEY, length: 16 } })), refused]),
    ).toBe('ok');
    const empty = tx(writeOnly({ psn: 0, ackReq: true, reth: { va: 1n, rkey: 0xff_ff_ff_ff, length: 0 } }));
    expect(ruleOf([empty, rx(ack({ psn: 0, msn: 1 }))])).toBe('ok');
    expect(ruleOf([empty, refused])).not.toBe('ok');
  });

  it('takes either answer where two things are wrong, and exactly one: PKT-21', () => {
    const both = tx(readRequest({ psn: 1, reth: { va: VA, rkey: 1, length: 4 } }));
    const open = tx(sendFirst({ psn: 0, payload: pattern(256) }));
    for (const code of [0x61, 0x62]) expect(ruleOf([open, both, rx(nak(code, { psn: 1, msn: 0 }))])).toBe('ok');
    expect(ruleOf([open, both, rx(nak(0x61, { psn: 1, msn: 0 })), rx(nak(0x62, { psn: 1, msn: 0 }))])).toBe('ACK-18');
    expect(ruleOf([open, both, rx(nak(0x63, { psn: 1, msn: 0 }))])).not.toBe('ok');
  });

  it('sends an RNR NAK for want of a receive, and nothing to what follows: RNR-01, RNR-03, RNR-04, RNR-05, RNR-06', () => {
    const refused = [tx(sendOnly({ psn: 0 })), rx(rnrNak(12, { psn: 0, msn: 0 }))];
    const none = (events: readonly ResponderEvent[], profile = PROFILES.strict): string =>
      ruleOf(events, { profile }, 0);
    expect(none(refused)).toBe('ok');
    expect(none([tx(sendOnly({ psn: 0 }))])).toBe('RNR-01');
    expect(none([tx(sendOnly({ psn: 0 })), rx(rnrNak(12, { psn: 1, msn: 0 }))])).toBe('RNR-04');
    expect(none([tx(write(0)), rx(ack({ psn: 0, msn: 1 }))])).toBe('ok');
    const behind = [...refused, tx(sendOnly({ psn: 1 })), rx(nak(0x60, { psn: 0, msn: 0 }))];
    expect(none(behind)).toBe('RNR-06');
    expect(ruleOf(behind, { profile: PROFILES['rxe-6.12'] }, 0)).toBe('ok');
    expect(none([...refused, { posted: 1 }, tx(sendOnly({ psn: 0, ackReq: true })), rx(ack({ psn: 0, msn: 1 }))])).toBe(
      'ok',
    );
  });

  it('has what a message brought found in its receive: LEN-12, ACK-19', () => {
    const events = [tx(sendOnly({ psn: 0, payload: pattern(5) })), tx(sendOnly({ psn: 1 }))];
    const judge = (lengths: readonly number[]) =>
      judgeResponder({
        ...{ setup: SETUP, memory: MEMORY, receives: 4, events },
        delivered: lengths.map((length) => ({ length, imm: undefined, data: pattern(length) })),
      })?.ruleId;
    expect(judge([5, 0])).toBeUndefined();
    expect(judge([5])).toBe('ACK-19');
    expect(judge([0, 5])).toBe('ACK-19');
    expect(judge([5, 0, 0])).toBe('RSP-PSN-10');
  });

  it('gives up rather than guess when there are too many ways', () => {
    const judge = new ResponderJudge({ ...SETUP, maxDestRdAtomic: 100 }, MEMORY, 0);
    expect(() => {
      for (let i = 0; i < 300; i++) judge.sent(readRequest({ psn: 0, reth: reth(0, 0), payload: pattern(4) }));
    }).toThrow('ways');
  });
});

describe('profiles', () => {
  it('name a rule for every switch', () => {
    for (const { ruleId, says, evidence } of Object.values(SWITCHES)) {
      expect(ruleId).toMatch(/^[A-Z]+(-[A-Z]+)?-\d\d$/);
      expect([says.length > 10, evidence.length > 10]).toEqual([true, true]);
    }
    expect(PROFILES['rxe-6.1'].switches).toEqual(expect.arrayContaining([...PROFILES['rxe-6.12'].switches]));
  });
});

const NONE: Packet = { opcode: 0, psn: 0 };
