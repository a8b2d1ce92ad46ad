/**
 * Goal: where nothing comes twice, the lateness that is usual decides what other evidence leaves open. Method: what a
 * capture would show is told step by step, with times in microseconds; a round trip takes 10.
 */
import { describe, expect, it } from 'vitest';
import { Told } from './told.ts';

describe('where nothing comes twice', () => {
  /** `late` requests are answered 40 us after they were sent. */
  const lateBy40 = (late: number): Told => {
    const told = new Told();
    for (let i = 0; i < late * 1000; i += 1000)
      told
        .nak(i + 12, i, i)
        .resent(i + 13, i)
        .ack(i + 24, i + 5)
        .duplicate(i + 40, i + 5);
    return told.nak(50_012, 50_000, 50_000).resent(50_013, 50_000);
  };

  it('what is answered later than any may be lost all the same: if that is later than twice what is usual', () => {
    const later = (late: number, at: number) => lateBy40(late).ack(50_024, 50_005).duplicate(at, 50_005).end();
    expect(later(3, 50_090)).toContain('50000 lost');
    expect(later(3, 50_060)).toContain('50000 unknown');
    expect(later(2, 50_090)).toContain('50000 unknown');
    expect(later(3, 50_042)).toContain('50000 overtaken');
  });

  it('one that an answer long after may be about was lost if that was later than twice what is usual', () => {
    /** Two are sent again, and one answer comes, at `at` after the second: about either of them. */
    const either = (late: number, at: number) =>
      lateBy40(late)
        .ack(50_024, 50_005)
        .nak(50_112, 50_100, 50_100)
        .resent(50_113, 50_100)
        .ack(50_124, 50_105)
        .duplicate(50_100 + at, 50_105)
        .end();
    expect(either(3, 400)).toEqual(expect.arrayContaining(['50000 lost', '50100 lost']));
    expect(either(3, 60)).toEqual(expect.arrayContaining(['50000 lost', '50100 unknown']));
    expect(either(1, 400)).toEqual(expect.arrayContaining(['50000 unknown', '50100 unknown']));
  });

  it('such an answer is late as well where the retransmission was so', () => {
    const late = (at: number) =>
      lateBy40(3)
        .nak(60_039, 60_000, 60_000, { behind: 60_028 })
        .resent(60_040, 60_000)
        .ack(60_051, 60_005)
        .duplicate(at, 60_005)
        .end();
    expect(late(60_080)).toContain('60000 unknown');
    expect(late(60_113)).toContain('60000 lost');
  });

  it('one behind a late one was lost if that was as late as others: what was sent again for it came in time', () => {
    const behind = (late: number, at: number) =>
      lateBy40(late).nak(50_025, 50_001, 50_014).resent(50_032, 50_001).duplicate(at, 50_000).ack(50_050, 50_005).end();
    expect(behind(3, 50_040)).toEqual(expect.arrayContaining(['50000 overtaken', '50001 lost']));
    for (const at of [50_037, 50_044]) expect(behind(3, at)).toContain('50001 unknown');
    expect(behind(2, 50_040)).toContain('50001 lost');
    expect(behind(1, 50_040)).toContain('50001 unknown');
  });

  it('whether that was as late as others is not known where the answer may be about another one', () => {
    const told = lateBy40(3).nak(49_997, 49_985, 49_985).resent(49_998, 49_985).ack(50_009, 49_990);
    told.nak(50_025, 50_001, 50_014).resent(50_032, 50_001).duplicate(50_040, 50_000).ack(50_050, 50_005);
    expect(told.end()).toContain('50001 unknown');
  });

  it('one cannot be told when something else explains an answer that comes as late as usual, and can when later', () => {
    const explained = (at: number, late = 3) =>
      lateBy40(late)
        .ack(50_024, 50_005)
        .resentInVain(at - 10, 50_000)
        .duplicate(at, 50_005)
        .end();
    expect(explained(50_040)).toContain('50000 unknown');
    expect(explained(50_045)).toContain('50000 lost');
    expect([50_038, 50_039, 50_041, 50_042].map((at) => explained(at).includes('50000 unknown'))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    // Two may be alike by chance.
    expect(explained(50_040, 2)).toContain('50000 lost');
  });

  it('one was lost, however many answers to others have come and are forgotten before its verdict', () => {
    const told = lateBy40(3).ack(50_024, 50_005);
    for (let at = 50_100; at < 60_100; at += 5) told.resentInVain(at, 50_000).duplicate(at + 10, 50_005);
    expect(told.end()).toContain('50000 lost');
  });

  it('nor how many of two were lost, when their one answer and one that something else explains come as late as usual', () => {
    /** 50010 was sent 10 us later. Something is answered that was sent again in vain, at `at`. */
    const two = (at: number) =>
      lateBy40(3)
        .ack(50_024, 50_005)
        .nak(50_024, 50_010, 50_010)
        .resent(50_025, 50_010)
        .resentInVain(at - 10, 50_000)
        .duplicate(at, 50_005)
        .ack(50_042, 50_015)
        .duplicate(50_050, 50_015)
        .end();
    expect(two(50_040)).not.toContain('50010 lost, 1 of 2');
    expect(two(50_035)).toContain('50010 lost, 1 of 2');
  });

  it('an answer that comes much later than twice what is usual is about none, if it came first as well', () => {
    /** The first request is answered at `at`, before it is known how late others are: ten by 30 us. */
    const first = (at: number) => {
      const told = new Told().nak(12, 0, 0).resent(13, 0).ack(24, 5).duplicate(at, 5);
      for (let i = 10_000; i < 20_000; i += 1_000)
        told
          .nak(i + 12, i, i)
          .resent(i + 13, i)
          .ack(i + 24, i + 5)
          .duplicate(i + 40, i + 5);
      return told.end();
    };
    expect(first(9_000)).toContain('0 lost');
    expect(first(40)).toContain('0 overtaken');
  });

  it('what is asked for next stood behind one that would have come in the place of its lost retransmission', () => {
    /** Others were `late` from their sending to their answer. The first was sent at 50000, and again at 50013. */
    const next = (late: number, answered = false) => {
      const told = new Told();
      for (const at of [1000, 2000, 3000])
        told
          .nak(at + 12, at, at)
          .resent(at + 13, at)
          .ack(at + 24, at + 5)
          .duplicate(at + late, at + 5);
      told.nak(50_012, 50_000, 50_000).resent(50_013, 50_000);
      if (answered) told.duplicate(50_024, 50_000);
      return told.nak(50_025, 50_001, 50_014).resent(50_026, 50_001).ack(50_037, 50_005).end();
    };
    expect(next(24)).toEqual(expect.arrayContaining(['50000 lost', '50001 unknown']));
    expect(next(24, true)).toEqual(expect.arrayContaining(['50000 overtaken', '50001 lost']));
    expect([27, 28, 40].map((late) => next(late).at(-1))).toEqual(['50001 unknown', '50001 lost', '50001 lost']);
  });
});
