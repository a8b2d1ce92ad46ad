import { describe, expect, it } from 'vitest';
import { RNR_TIMER_NS } from '../../packets/rnr-timer.ts';

describe('RNR timer codes', () => {
  it('are those of the table in ref:wire#7', () => {
    const microseconds = [
      ...[655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120, 7_680],
      ...[10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680, 491_520],
    ];
    expect(RNR_TIMER_NS.map((ns) => ns / 1000)).toEqual(microseconds);
  });
});
