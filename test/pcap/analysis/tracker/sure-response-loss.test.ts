/**
 * Goal: a READ response that began a READ, and is asked for again, was lost, though others are overtaken; and only
 * then. Method: short scripts, each beside a near miss, behind a response that was overtaken for certain.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { FIRST_PSN, Script } from './script.ts';

/** What is said of READ responses: relative PSN, verdict, and how it is known. */
function told(script: Script): string[] {
  const verdicts = script.analyze().events.filter(({ kind }) => ['loss', 'missing', 'reordering'].includes(kind));
  return verdicts.map(({ psn, kind, reason }) => `${((psn - FIRST_PSN) << 8) >> 8} ${kind} ${reason}`);
}

/** Four responses, of which the second is overtaken by two others: the next is asked for before it is sent again. */
const overtaking = (): Script =>
  new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7).read(5, 3).read(6, 2).answers(5, 7).answers(6, 7);
const LATE = '5 reordering behind-capture';
const SURELY = 'loss first-then-implied-nak';
const OPEN = 'missing seen-then-implied-nak';
const TIMEOUT_NS = 100e6;

describe('where the requester asks at its timeout', () => {
  const asked = (psn: number, packets = 5) => {
    const script = overtaking()
      .read(8, packets)
      .answers(8, 7 + packets);
    return script.wait(TIMEOUT_NS).read(psn, 8 + packets - psn);
  };

  it('the first response of a READ was lost', () => {
    expect(told(asked(8).answers(8, 12))).toEqual([LATE, `8 ${SURELY}`]);
  });

  it('another one may have been dropped behind the one before', () => {
    expect(told(asked(9).answers(9, 12))).toEqual([LATE, `9 ${OPEN}`]);
  });

  it('the first may wait for others to overtake it where few were sent behind it', () => {
    expect(told(asked(8, 4).answers(8, 11))).toEqual([LATE]);
  });

  it('so was the first of what it had asked for, when that was sent again', () => {
    const again = asked(9, 8).answers(9, 15).wait(TIMEOUT_NS);
    expect(told(again.read(9, 7).answers(9, 15))).toEqual([LATE, `9 ${OPEN}`, `9 ${SURELY}`]);
    // Another one of these may have been dropped.
    const other = asked(9, 8).answers(9, 15).wait(TIMEOUT_NS);
    expect(told(other.read(10, 6).answers(10, 15))).toEqual([LATE, `9 ${OPEN}`, `10 ${OPEN}`]);
  });

  it('it is not known where it was not sent again since, or few behind it', () => {
    const unsent = asked(9, 8).wait(TIMEOUT_NS).read(9, 7).answers(9, 15);
    expect(told(unsent)).toEqual([LATE, `9 ${OPEN}`]);
    const few = asked(9, 8).answers(9, 15, [12, 13, 14, 15]).wait(TIMEOUT_NS).read(9, 7).answers(9, 15);
    expect(told(few)).toEqual([LATE, `9 ${OPEN}`]);
  });

  it('nothing is known of one whose request was doubled', () => {
    const script = overtaking();
    const read = script.fromA(Op.ReadRequest, 8, { length: 4 * 1024 + 100 });
    script.see(read).see(read).answers(8, 12).wait(TIMEOUT_NS).read(8, 5).answers(8, 12);
    expect(told(script)).toEqual([LATE]);
  });
});

describe('where the requester asks at once', () => {
  /** READs of four packets, all on their way at a time. */
  const flight = (reads: number) => {
    const script = overtaking();
    for (let i = 0; i < reads; i++) script.read(8 + 4 * i, 4);
    for (let i = 0; i < reads; i++) script.answers(8 + 4 * i, 11 + 4 * i);
    return script;
  };
  const again = (script: Script, psn: number, reads: number) => {
    script.read(psn, 4 - (psn % 4));
    for (let at = psn + 4 - (psn % 4); at < 8 + 4 * reads; at += 4) script.read(at, 4);
    script.answers(psn, psn + 3 - (psn % 4));
    for (let at = psn + 4 - (psn % 4); at < 8 + 4 * reads; at += 4) script.answers(at, at + 3);
    return script;
  };

  it('the first of a READ was lost, with as many packets of later READs behind it as overtook others', () => {
    expect(told(again(flight(3), 8, 3))).toEqual([LATE, `8 ${SURELY}`]);
    expect(told(again(flight(3), 12, 3))).toEqual([LATE, `12 ${SURELY}`]);
  });

  it('another one may have been dropped, and the first of the last READ may be late', () => {
    expect(told(again(flight(3), 9, 3))).toEqual([LATE, `9 ${OPEN}`]);
    expect(told(again(flight(3), 16, 3))).toEqual([LATE, `16 ${OPEN}`]);
    // However many packets it has.
    const long = overtaking().read(8, 4).read(12, 9).answers(8, 11).answers(12, 20).read(12, 9).answers(12, 20);
    expect(told(long)).toEqual([LATE, `12 ${OPEN}`]);
  });

  it('the first may have been dropped where anything was asked for since its READ was', () => {
    const script = flight(3).read(11, 1).read(12, 4).read(16, 4).answers(11, 11);
    expect(told(script.read(12, 4).read(16, 4).answers(12, 15).answers(16, 19))).not.toContain(`12 ${SURELY}`);
    expect(told(flight(4).read(11, 1).answers(11, 11).read(12, 4).answers(12, 15))).not.toContain(`12 ${SURELY}`);
  });

  it('it was late where the next is asked for soon after', () => {
    const script = flight(3).read(8, 4).read(12, 4).read(16, 4).read(9, 3).read(12, 4).read(16, 4);
    expect(told(script.answers(8, 11).answers(12, 15))).toEqual([LATE, '8 reordering behind-capture']);
  });

  it('nothing is known where no response was told to be overtaken: it may be late by any time', () => {
    const script = new Script().read(0, 4).answers(0, 3).read(4, 4).read(8, 4).read(12, 4);
    script.answers(4, 7).answers(8, 11).answers(12, 15).read(4, 4).read(8, 4).read(12, 4);
    script.answers(4, 7).answers(8, 11).answers(12, 15);
    // Where nothing is overtaken it was lost, as before.
    expect(told(script)).toEqual(['4 loss seen-then-implied-nak']);
  });

  it('nothing is known where the wait may have been a timeout', () => {
    const script = overtaking().read(8, 4).read(12, 4).read(16, 4).wait(80e6);
    for (let at = 8; at < 20; at += 4) script.answers(at, at + 3);
    expect(told(again(script, 8, 3))).not.toContain(`8 ${SURELY}`);
  });
});
