/**
 * Goal: as `lossless-incast.test.ts`, up to 256 senders and over many more networks.
 * Method: the same cases, with the fan-in of the gate, and some hundreds of random networks.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runIncast } from './incast.ts';
import { anyIncast, boundedIncast, expectLossless, type Shape } from './incast-cases.ts';

const FAN_IN = 256;

describe.each<Shape>(['star', 'leaf-spine'])(`an incast of ${FAN_IN} senders over a %s`, (shape) => {
  it.each([
    [100, 20_000],
    [1000, 20_000],
    [1000, 2_000_000],
    [5000, 20_000],
  ])('with links of %i ns and a pool of %i bytes loses nothing', (delayNs, poolBytes) => {
    const incast = { ...boundedIncast(shape, FAN_IN, delayNs, poolBytes), framesPerSender: 200 };
    expect(expectLossless(incast).network.counters.pausesSent).toBeGreaterThan(0);
  });

  it('loses frames with a quarter of the headroom', () => {
    const incast = { ...boundedIncast(shape, FAN_IN, 5000, 20_000, 0.25), framesPerSender: 200 };
    expect(runIncast(incast).lost).toBeGreaterThan(0);
  });
});

describe('any incast', () => {
  it('loses nothing with headroom of the bound', () => {
    fc.assert(
      fc.property(anyIncast(2, 3, 7, 16, 64, 128, FAN_IN), (incast) => {
        expectLossless(incast);
      }),
      { numRuns: 300 },
    );
  });
});
