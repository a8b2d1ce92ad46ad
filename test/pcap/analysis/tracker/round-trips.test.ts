/**
 * Goal: a round trip bounds the next one only where it came again. Method: round trips by hand.
 */
import { expect, it } from 'vitest';
import { RoundTrips } from '../../../../pcap/analysis/tracker/round-trips.ts';

const boundOf = (...times: number[]): number => {
  const roundTrips = new RoundTrips();
  let endNs = 0;
  for (const ns of times) {
    endNs += ns;
    roundTrips.add(ns, endNs);
  }
  return roundTrips.boundNs;
};

it('bounds nothing while there are none, one or two', () => {
  expect(boundOf()).toBe(0);
  expect(boundOf(6000)).toBe(0);
  expect(boundOf(6000, 6000)).toBe(0);
});

it('bounds the next one when the shortest came three times, with something to spare', () => {
  expect(boundOf(6000, 6300, 90_000, 6500)).toBe(5400);
});

it('bounds nothing where they vary, however many there are', () => {
  expect(boundOf(16_000, 11_000, 26_000, 13_000, 18_000, 14_000)).toBe(0);
});

it('takes those that overlap for one: a busy host answers many requests at a time', () => {
  const roundTrips = new RoundTrips();
  for (let i = 0; i < 10; i++) roundTrips.add(6000 + i, 6000 + 10 * i);
  expect(roundTrips.boundNs).toBe(0);
});

it('begins anew when a far shorter one comes', () => {
  expect(boundOf(6000, 6000, 6000, 3000)).toBe(0);
  expect(boundOf(6000, 6000, 6000, 3000, 3100, 3200)).toBe(2700);
});

it('goes on when one comes that is a little shorter', () => expect(boundOf(6000, 6000, 5800)).toBe(5220));

it('knows the longest and the usual one', () => {
  const roundTrips = new RoundTrips();
  expect([roundTrips.longestNs, roundTrips.meanNs]).toEqual([0, 0]);
  for (const ns of [4000, 1000, 1000]) roundTrips.add(ns, 4000);
  expect([roundTrips.longestNs, roundTrips.meanNs]).toEqual([4000, 2000]);
});
