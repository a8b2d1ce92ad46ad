/**
 * Goal: how late requests have been decides which of them an answer may be about, and how long it is waited for.
 * Method: times alone; and requests told step by step, in microseconds, where a round trip takes 10.
 */
import { describe, expect, it } from 'vitest';
import { Lateness } from '../../../../pcap/analysis/tracker/lateness.ts';
import { Told } from './told.ts';

const STEADY = { shortestNs: 10, isSteady: true };
const VARIED = { shortestNs: 10, isSteady: false };

describe('Lateness', () => {
  it('doubles what was late, and not the round trip', () => {
    const [steady, varied] = [new Lateness(STEADY), new Lateness(VARIED)];
    expect([steady.latestNs, steady.boundNs]).toEqual([undefined, Infinity]);
    for (const each of [steady, varied]) each.note(100, 125);
    expect([steady.latestNs, varied.latestNs]).toEqual([40, 50]);
  });

  it('bounds nothing where round trips vary', () => {
    const [steady, varied] = [new Lateness(STEADY), new Lateness(VARIED)];
    for (const each of [steady, varied]) each.note(0, 25);
    expect([steady.fits(0, 40), steady.fits(0, 41), varied.fits(0, 41)]).toEqual([true, false, true]);
  });

  it('takes no answer long after for lateness where others come soon', () => {
    const lateness = new Lateness(STEADY);
    lateness.note(0, 1000, false);
    lateness.note(0, 25);
    expect([lateness.isShort, lateness.latestNs]).toEqual([false, 1990]);
    lateness.note(0, 25);
    expect([lateness.isShort, lateness.latestNs]).toEqual([true, 40]);
    lateness.note(0, 900, false);
    lateness.note(0, 900, false);
    expect(lateness.isShort).toBe(false);
  });

  it('knows what took longer than any before, once two are known', () => {
    const lateness = new Lateness(STEADY);
    lateness.note(0, 25);
    expect(lateness.isLonger(0, 40)).toBe(false);
    lateness.note(0, 25);
    expect([28, 29].map((timeNs) => lateness.isLonger(0, timeNs))).toEqual([false, true]);
  });
});

it('nothing is later than twice as late, once three came soon', () => {
  const lateness = new Lateness(STEADY);
  for (const ns of [25, 25]) lateness.note(0, ns);
  expect(lateness.isOut(41)).toBe(false);
  lateness.note(0, 25);
  expect([40, 41].map((ns) => lateness.isOut(ns))).toEqual([false, true]);
});

/** 5 and 105 were answered 25 after each was sent: 15 late. */
function twoLate(): Told {
  const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7).duplicate(25, 7);
  return told.nak(1012, 105, 1000).resent(1013, 105).ack(1024, 107).duplicate(1025, 107);
}

const OVERTAKEN = ['5 overtaken', '105 overtaken'];

describe('an answer to a duplicate', () => {
  it('is about the request that was as late as others, and not about one much later', () => {
    const told = twoLate().nak(2012, 205, 2000).resent(2013, 205).nak(2052, 210, 2040).resent(2053, 210);
    expect(told.ack(2064, 215).duplicate(2065, 215).end()).toEqual([...OVERTAKEN, '205 lost', '210 overtaken']);
  });

  it('is no sign of loss where all would have been much later: not all that is late is so by the same time', () => {
    const lost = twoLate().nak(2012, 205, 2000).resent(2013, 205).ack(2024, 207);
    // Whoever sends copies may have sent those, too: that 5 and 105 came late is not certain then.
    expect(lost.duplicate(2900, 230).end()).toEqual(['5 unknown', '105 unknown', '205 unknown']);
  });

  it('that takes longer than any before may be about one that was sent later', () => {
    const told = (at: number) =>
      twoLate().nak(2012, 205, 2000).resent(2013, 205).ack(2024, 207).duplicate(at, 207).end();
    expect(told(2028)).toEqual([...OVERTAKEN, '205 overtaken']);
    expect(told(2030)).toEqual([...OVERTAKEN, '205 unknown']);
  });

  it('that waited behind READ responses tells nothing of how late requests are', () => {
    const told = (hides: boolean) => {
      const before = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7);
      if (hides) before.hidden(59, 7, 30);
      return before.duplicate(60, 7).nak(1012, 105, 1000).resent(1013, 105).ack(1024, 107).end(1080);
    };
    expect(told(false)).toEqual(['5 overtaken', '105 unknown']);
    expect(told(true)).toEqual(['5 overtaken', '105 lost']);
  });

  it('is about no READ: a READ that comes twice is answered by responses', () => {
    const told = (read: boolean) => {
      const before = new Told().nak(12, 5, 0).resent(13, 5, { read }).ack(24, 9);
      return before.duplicate(25, 9).end();
    };
    expect([told(false), told(true)]).toEqual([['5 overtaken'], ['5 lost']]);
  });
});

describe('an ACK behind READ responses', () => {
  it('hides no answer about a READ', () => {
    const told = (read: boolean) => twoLate().nak(2012, 205, 2000).resent(2013, 205, { read }).ack(2024, 209);
    expect(told(false).hidden(2030, 209, 2026).end()).toEqual([...OVERTAKEN, '205 unknown']);
    expect(told(true).hidden(2030, 209, 2026).end()).toEqual([...OVERTAKEN, '205 lost']);
  });

  it('hides none that was due before the responses began, even where answers are slow', () => {
    const slow = () => {
      const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 8).duplicate(45, 8);
      return told.nak(1012, 105, 1000).resent(1013, 105).ack(1024, 110);
    };
    expect(slow().hidden(1079, 110, 1078).end()).toEqual(['5 overtaken', '105 unknown']);
    expect(slow().hidden(1079, 110, 1081).end()).toEqual(['5 overtaken', '105 lost']);
  });
});
