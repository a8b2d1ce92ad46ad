/**
 * Goal: the published distributions are as published, and draws follow them.
 * Method: mean and quantiles by hand against those computed, Kolmogorov-Smirnov distance of 100,000 draws at every
 * point of the tables.
 */
import { describe, expect, it } from 'vitest';
import { Prng } from '../../../src/ground/prng.ts';
import {
  checkDistribution,
  drawBytes,
  FACEBOOK_HADOOP,
  fixedSize,
  meanBytes,
  quantileBytes,
  SIZE_DISTRIBUTIONS,
  sizeDistribution,
  WEB_SEARCH,
} from '../../../src/sim/traffic/index.ts';

describe('size distributions', () => {
  it('have the means of the published tables', () => {
    // Sum of (middle of the piece) x (its share), in units of 10,000 bytes x per cent for the first.
    const webSearch =
      0.5 * 15 + 1.5 * 5 + 2.5 * 10 + 4 * 10 + 6.5 * 13 + 14 * 7 + 60 * 10 + 150 * 10 + 350 * 10 + 750 * 7 + 2000 * 3;
    expect(meanBytes(WEB_SEARCH)).toBeCloseTo(webSearch * 100, 6);
    expect(meanBytes(WEB_SEARCH)).toBeCloseTo(1_711_250, 6);
    expect(meanBytes(FACEBOOK_HADOOP)).toBeCloseTo(120_420.75, 6);
    expect(meanBytes(fixedSize(777))).toBe(777);
  });

  it('have the quantiles of the published tables, and straight lines between', () => {
    expect([0.15, 0.53, 0.7, 0.97, 1].map((share) => quantileBytes(WEB_SEARCH, share))).toEqual([
      10_000, 80_000, 1_000_000, 10_000_000, 30_000_000,
    ]);
    expect(quantileBytes(WEB_SEARCH, 0.25)).toBe(25_000);
    expect(quantileBytes(WEB_SEARCH, 0.65)).toBe(600_000);
    expect([0.5, 0.72, 0.95, 0.99].map((share) => quantileBytes(FACEBOOK_HADOOP, share))).toEqual([
      700, 30_000, 300_000, 2_000_000,
    ]);
    expect(quantileBytes(FACEBOOK_HADOOP, 0)).toBe(1);
    expect([0, 0.5, 1].map((share) => quantileBytes(fixedSize(777), share))).toEqual([777, 777, 777]);
  });

  it('are what draws follow', () => {
    for (const distribution of SIZE_DISTRIBUTIONS) {
      const random = new Prng(1);
      const draws = Array.from({ length: 100_000 }, () => drawBytes(distribution, random)).sort((a, b) => a - b);
      // 2.23 / sqrt(n): a true sample exceeds this once in 10,000.
      for (const [bytes, share] of distribution.points) {
        const seen = draws.filter((size) => size <= bytes).length / draws.length;
        expect(Math.abs(seen - share)).toBeLessThan(2.23 / Math.sqrt(draws.length));
      }
      const mean = draws.reduce((sum, size) => sum + size, 0) / draws.length;
      expect(mean / meanBytes(distribution)).toBeGreaterThan(0.95);
      expect(mean / meanBytes(distribution)).toBeLessThan(1.05);
    }
  });

  it('are found by name', () => {
    expect(sizeDistribution('web-search')).toBe(WEB_SEARCH);
    expect(sizeDistribution('hadoop')).toBe(FACEBOOK_HADOOP);
    expect(() => sizeDistribution('mice')).toThrow('there is no size distribution "mice"; there is web-search, hadoop');
  });

  it('are refused when they are none', () => {
    for (const distribution of SIZE_DISTRIBUTIONS) expect(checkDistribution(distribution)).toBe(distribution);
    const refusal = (points: [number, number][]) => () => checkDistribution({ name: 'mine', points });
    expect(refusal([[1, 0]])).toThrow('size distribution mine: it has 2 points or more');
    expect(
      refusal([
        [1, 0],
        [0, 1],
      ]),
    ).toThrow('points[1]: sizes ascend from 0, and 0 does not');
    expect(
      refusal([
        [1, 0.5],
        [2, 1],
      ]),
    ).toThrow('points[0]: the first share is 0');
    expect(
      refusal([
        [1, 0],
        [2, 0.9],
      ]),
    ).toThrow('points[1]: the last share is 1');
    expect(
      refusal([
        [1, 0],
        [2, 1.5],
      ]),
    ).toThrow('points[1]: shares ascend');
    expect(() => fixedSize(0)).toThrow('a flow has 1 byte or more, not 0');
  });
});
