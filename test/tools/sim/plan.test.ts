/** Goal: sweeps, seeds and shards mean what they say. Method: examples, and a property that shards are a partition. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inShard, parseShard } from '../../../tools/cases/shard.ts';
import { parametersOf, parseSeeds, parseSetting, parseSweep, planRuns } from '../../../tools/sim/run/plan.ts';

describe('a plan', () => {
  it('is every combination of the sweeps times every seed, the last changing fastest', () => {
    const sweeps = ['mtu=256,1024', 'traffic[0].senders=2,4'].map(parseSweep);
    const runs = planRuns([parseSetting('loss=0')], sweeps, [7, 8]);
    expect(runs.map((run) => [run.index, run.seed, parametersOf(run)])).toEqual([
      [0, 7, { loss: 0, mtu: 256, 'traffic[0].senders': 2 }],
      [1, 8, { loss: 0, mtu: 256, 'traffic[0].senders': 2 }],
      [2, 7, { loss: 0, mtu: 256, 'traffic[0].senders': 4 }],
      [3, 8, { loss: 0, mtu: 256, 'traffic[0].senders': 4 }],
      [4, 7, { loss: 0, mtu: 1024, 'traffic[0].senders': 2 }],
      [5, 8, { loss: 0, mtu: 1024, 'traffic[0].senders': 2 }],
      [6, 7, { loss: 0, mtu: 1024, 'traffic[0].senders': 4 }],
      [7, 8, { loss: 0, mtu: 1024, 'traffic[0].senders': 4 }],
    ]);
  });

  it('is one run with the seed of the scenario when nothing is asked for', () => {
    expect(planRuns([], [], [])).toEqual([{ index: 0, seed: undefined, settings: [] }]);
  });

  it('falls into shards that have every run once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60 }), (seeds, of) => {
        const runs = planRuns(
          [],
          [],
          Array.from({ length: seeds }, (_, seed) => seed),
        );
        const parts = Array.from({ length: of }, (_, index) => inShard(runs, { index, of }));
        expect(parts.flat().sort((a, b) => a.index - b.index)).toEqual(runs);
      }),
    );
  });
});

describe('what is typed', () => {
  it.each([
    ['1..4', [1, 2, 3, 4]],
    ['5', [5]],
    ['3,1,9', [3, 1, 9]],
  ])('seeds %s', (text, seeds) => expect(parseSeeds(text)).toEqual(seeds));

  it.each(['4..1', '1..', 'a', '1,1', '', '1..99999999'])('no seeds: %j', (text) =>
    expect(() => parseSeeds(text)).toThrow(),
  );

  it.each([
    ['a=1,2', [1, 2]],
    ['a=none,pfc', ['none', 'pfc']],
    [
      'a=[1,2],[3,4]',
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ['a={"k":1},null', [{ k: 1 }, null]],
    ['a="x,y",z', ['x,y', 'z']],
    ['a=[1,2]', [1, 2]],
  ])('the sweep %s', (text, values) => expect(parseSweep(text)).toEqual({ path: ['a'], values }));

  it.each(['a', '=1', 'a=', 'a..b=1', 'a[x]=1', 'a=[]'])('no sweep: %j', (text) =>
    expect(() => parseSweep(text)).toThrow(),
  );

  it('a path with brackets or dots', () => {
    expect(parseSetting('a[0].b-c=x').path).toEqual(['a', 0, 'b-c']);
    expect(parseSetting('a.0.b=x').path).toEqual(['a', 0, 'b']);
  });

  it.each([
    ['0/1', { index: 0, of: 1 }],
    ['3/4', { index: 3, of: 4 }],
  ])('the shard %s', (text, shard) => expect(parseShard(text)).toEqual(shard));

  it.each(['4/4', '1', '-1/2', '0/0', 'a/b'])('no shard: %j', (text) => expect(() => parseShard(text)).toThrow());
});
