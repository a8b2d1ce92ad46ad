/**
 * Goal: by how much requests come late is found among answers that come at any time, and not where there is nothing to
 * find. Method: times in microseconds; a round trip takes 10.
 */
import { expect, it, vi } from 'vitest';
import { UsualLateness } from '../../../../pcap/analysis/tracker/usual-lateness.ts';
import { Prng } from '../../../../src/ground/prng.ts';

const ROUND_TRIPS = { shortestNs: 10_000, isSteady: true };
const APART = 1e8;

/**
 * Requests, so far apart that nothing behind one is about another; the first `late` are answered `after` each, and
 * other answers come at any time in the millisecond behind any.
 */
function seen(requests: number, late: number, after: (i: number) => number, others: number, seed = 1): UsualLateness {
  const random = new Prng(seed);
  const usual = new UsualLateness(ROUND_TRIPS);
  for (let i = 0; i < requests; i++) {
    usual.missing(i * APART);
    if (i < late) usual.answered(i * APART + after(i) * 1000);
  }
  for (let i = 0; i < others; i++) usual.answered(random.below(requests) * APART + random.below(1e6));
  return usual;
}

it('what comes again and again is the lateness, and twice as much the bound', () => {
  const usual = seen(12, 4, () => 40, 20);
  expect(usual.count).toBe(4);
  // The request is 30 us late: another one may be 60. Its answer takes half a round trip, as any does, or a little more.
  expect(usual.latestNs).toBe(70_500);
});

it('two that are alike are enough among few, three among more; many that are not alike are not', () => {
  expect(seen(12, 2, () => 40, 5).count).toBe(2);
  expect(seen(12, 2, () => 40, 60).latestNs).toBeUndefined();
  expect(seen(12, 3, () => 40, 60).count).toBe(3);
  expect(seen(12, 1, () => 40, 0).latestNs).toBeUndefined();
  expect(seen(12, 8, (i) => 30 + i * 5, 0).latestNs).toBeUndefined();
});

it('one is as late as others that was answered after the same time, within two per cent and what packets wait', () => {
  const alike = (us: number) => seen(12, 4, () => 40, 20).isAlike(us * 1000);
  expect([38.7, 38.8, 40, 41].map(alike)).toEqual([false, true, true, false]);
  expect(seen(12, 2, () => 40, 60).isAlike(40_000)).toBe(false);
});

it('answers that come at any time are no lateness', () => {
  const wrong = (requests: number, others: number) =>
    Array.from({ length: 100 }, (_, seed) => seen(requests, 0, () => 0, others, seed)).filter(({ count }) => count > 0);
  expect(wrong(30, 200).length).toBeLessThanOrEqual(5);
  expect(wrong(12, 20).length).toBeLessThanOrEqual(5);
});

it('one answer behind many requests is that of one, and so are many answers behind one request', () => {
  const [requests, answers] = [new UsualLateness(ROUND_TRIPS), new UsualLateness(ROUND_TRIPS)];
  for (let i = 0; i < 20; i++) requests.missing(i * 10);
  requests.answered(40_000);
  answers.missing(0);
  for (let i = 0; i < 20; i++) answers.answered(40_000 + i * 10);
  // Others, far from all of these.
  for (let i = 1; i < 4; i++) {
    requests.answered(i * 1e9);
    answers.missing(i * 1e9);
  }
  expect([requests.latestNs, answers.latestNs]).toEqual([undefined, undefined]);
});

it('a few that are new make no difference until the capture ends', () => {
  const usual = seen(40, 0, () => 0, 0);
  expect(usual.count).toBe(0);
  for (let i = 0; i < 3; i++) usual.answered(i * APART + 40_000);
  expect(usual.count).toBe(0);
  usual.finish();
  expect(usual.count).toBe(3);
});

it('nothing is known where round trips vary, or what is late is so by more than many of them', () => {
  const usual = new UsualLateness({ ...ROUND_TRIPS, isSteady: false });
  for (let i = 0; i < 5; i++) {
    usual.missing(i * 1e6);
    usual.answered(i * 1e6 + 40_000);
  }
  expect(usual.latestNs).toBeUndefined();
  expect(seen(12, 5, () => 10_230, 0).count).toBe(5);
  expect(seen(12, 5, () => 10_250, 0).latestNs).toBeUndefined();
});

it('an answer is between two times, or may have been: only the last 256 are known', () => {
  const usual = new UsualLateness(ROUND_TRIPS);
  usual.answered(100);
  expect(usual.isAnswered(99, 100)).toBe(true);
  expect(usual.isAnswered(100, 200)).toBe(false);
  for (let i = 0; i < 256; i++) usual.answered(1000 + i);
  expect(usual.isAnswered(100, 200)).toBe(true);
  expect(usual.isAnswered(1001, 1001.5)).toBe(false);
  expect(usual.isAnswered(1255, 2000)).toBe(false);
});

it('looks at a bounded number of requests with their answers, the last ones', () => {
  const log = vi.spyOn(Math, 'log');
  const usual = new UsualLateness(ROUND_TRIPS);
  // Each has all answers behind it: 16,384 pairs, any of which is as near as the others.
  for (let i = 0; i < 64; i++) usual.missing(i);
  for (let i = 0; i < 256; i++) usual.answered(40_000 + i);
  log.mockClear();
  usual.finish();
  // Some 1,024 pairs, each the first of up to 64, and three logarithms for each of these.
  expect(log.mock.calls.length).toBeGreaterThan(1_024);
  expect(log.mock.calls.length).toBeLessThan(3 * 64 * (1_024 + 256));
  log.mockRestore();
});

it('times are alike by chance the oftener, the fewer the clock tells apart', () => {
  /** Three of 30 requests are answered after 40 us, by a clock of nanoseconds or microseconds; others at any time. */
  const clocked = (nanoseconds: number, others = 12) => {
    const usual = seen(30, 3, (i) => 40 + (i * nanoseconds) / 1_000, 0);
    for (let i = 3; i < 3 + others; i++) usual.answered(i * APART + (17 + ((i - 3) * 72) / others) * 1_000);
    usual.finish();
    return usual.latestNs;
  };
  expect(clocked(1)).toBeGreaterThan(69_000);
  expect(clocked(0)).toBeUndefined();
  // And the oftener, the more there are around, where they are not as near as packets can be.
  expect(clocked(100, 18)).toBe(70_700);
  expect(clocked(100, 24)).toBeUndefined();
});

it('what comes sooner than anything is missed and sent again was not late, nor what comes after a tenth of a second', () => {
  expect(seen(12, 5, () => 14, 0).count).toBe(0);
  expect(seen(12, 5, () => 16, 0).count).toBe(5);
  const slow = (ms: number) => {
    const usual = new UsualLateness({ shortestNs: 10_000_000, isSteady: true });
    for (let i = 0; i < 5; i++) {
      usual.missing(i * 1e9);
      usual.answered(i * 1e9 + ms * 1e6);
    }
    usual.finish();
    return usual.count;
  };
  expect([slow(90), slow(110)]).toEqual([5, 0]);
});

it('where answers end, those that are shorter tell how many there are', () => {
  /** Three are answered after 90 us, and others after 27 to 89 us, but none later. */
  const ending = (others: number) => {
    const usual = seen(40, 3, (i) => 90 + i * 0.2, 0);
    for (let i = 0; i < others; i++) usual.answered((i + 3) * APART + (27 + (i * 62) / others) * 1_000);
    usual.finish();
    return usual.count;
  };
  expect([ending(7), ending(28)]).toEqual([3, 0]);
});

it('times that are four times as short are not around', () => {
  const usual = seen(40, 3, () => 160, 0);
  for (let i = 3; i < 30; i++) usual.answered(i * APART + (16 + (i * 22) / 30) * 1_000);
  usual.finish();
  expect(usual.count).toBe(3);
});

it('of the answers that were expected the last thousand are known, of others fewer', () => {
  const usual = new UsualLateness(ROUND_TRIPS);
  for (let i = 0; i < 1024; i++) usual.expected(i * 10);
  expect([usual.isAnswered(-2, -1), usual.isAnswered(5, 9), usual.isAnswered(5, 10)]).toEqual([false, false, true]);
  usual.expected(20_000);
  expect(usual.isAnswered(-2, -1)).toBe(true);
});

it('what came late before it was sent again bounds others, when there are three and no lateness is usual', () => {
  const bound = (late: number, usual = seen(12, 0, () => 40, 0)) => {
    for (let i = 0; i < late; i++) usual.overtaken(i * 1000, i * 1000 + 14_000 + i * 100);
    return usual.latestNs;
  };
  // The longest took 14.2 us, 4.2 more than any takes.
  expect([bound(2), bound(3)]).toEqual([undefined, 18_400]);
  expect(
    bound(
      3,
      seen(12, 4, () => 40, 20),
    ),
  ).toBe(70_500);
  const varied = new UsualLateness({ ...ROUND_TRIPS, isSteady: false });
  expect(bound(3, varied)).toBeUndefined();
  // It was there sooner than an answer takes.
  const short = new UsualLateness(ROUND_TRIPS);
  for (let i = 0; i < 3; i++) short.overtaken(0, 8000);
  expect(short.latestNs).toBe(8000);
});
