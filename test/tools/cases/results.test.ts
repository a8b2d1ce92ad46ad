/**
 * Goal: a folder of results holds each result whole and once, and none of other cases. Method: folders as killed and
 * crowding processes leave them, and shares of any size, which are a partition.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ResultsFolder, readResults } from '../../../tools/cases/results.ts';
import { indicesOf, inShard } from '../../../tools/cases/shard.ts';

const PLAN = { tool: 'test', version: '1.0.0', cases: 12, digest: 'abc' };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'roce-results-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return join(path, 'deep', 'results');
}

describe('a folder of results', () => {
  it('gives back what was written, in the order of the cases, and names those that are missing', () => {
    const path = folder();
    const results = new ResultsFolder(path, PLAN);
    for (const index of [11, 2, 0]) results.write(index, `{"n":${index}}`);
    expect(results.read(2)).toEqual({ index: 2, line: '{"n":2}', where: join(path, 'case-2.json') });
    expect(results.read(1)).toBeUndefined();
    const found = readResults(path);
    expect(found.results.map(({ index, line }) => [index, line])).toEqual([
      [0, '{"n":0}'],
      [2, '{"n":2}'],
      [11, '{"n":11}'],
    ]);
    expect(found.missing).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(found.plan).toEqual(PLAN);
  });

  it('leaves nothing beside the results, and replaces a file instead of changing it', () => {
    const path = folder();
    const results = new ResultsFolder(path, PLAN);
    results.write(3, 'one');
    const before = statSync(join(path, 'case-3.json')).ino;
    results.write(3, 'two');
    expect(statSync(join(path, 'case-3.json')).ino).not.toBe(before);
    expect(readdirSync(path).sort()).toEqual(['case-3.json', 'plan.json']);
  });

  it('takes no half of a file for a result: what a killed process was writing has another name', () => {
    const path = folder();
    const results = new ResultsFolder(path, PLAN);
    writeFileSync(join(path, 'case-4.json.5f1c'), '{"n":');
    expect(results.read(4)).toBeUndefined();
    expect(readResults(path).missing).toHaveLength(12);
  });

  it('has the plan of the first process, which no other replaces', () => {
    const path = folder();
    new ResultsFolder(path, PLAN);
    const before = statSync(join(path, 'plan.json')).ino;
    expect(() => new ResultsFolder(path, PLAN)).not.toThrow();
    expect(statSync(join(path, 'plan.json')).ino).toBe(before);
  });

  it.each(Object.entries({ tool: 'other', version: '1.0.1', cases: 13, digest: 'abd' }))(
    'keeps the results of others out: %s is %s',
    (key, value) => {
      const path = folder();
      new ResultsFolder(path, PLAN);
      const before = readFileSync(join(path, 'plan.json'), 'utf8');
      expect(() => new ResultsFolder(path, { ...PLAN, [key]: value })).toThrow(
        `${join(path, 'plan.json')}: ${key} is ${Reflect.get(PLAN, key)}, and here it is ${value}: `,
      );
      expect(readFileSync(join(path, 'plan.json'), 'utf8')).toBe(before);
    },
  );

  it('is none without its plan, or with a plan that says nothing', () => {
    const path = folder();
    new ResultsFolder(path, PLAN);
    writeFileSync(join(path, 'plan.json'), '{"tool":');
    expect(() => readResults(path)).toThrow('this says of no cases what they are');
    rmSync(join(path, 'plan.json'));
    expect(() => readResults(path)).toThrow('no folder of results: it has no plan.json');
  });
});

it('shares are a partition of the cases, each in order', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 40 }), (cases, of) => {
      const all = Array.from({ length: cases }, (_, index) => ({ index }));
      const shares = Array.from({ length: of }, (_, index) => [...indicesOf(cases, { index, of })]);
      expect(shares).toEqual(shares.map((_, index) => inShard(all, { index, of }).map((one) => one.index)));
      expect(shares.flat().sort((a, b) => a - b)).toEqual([...indicesOf(cases, undefined)]);
      expect([...indicesOf(cases, undefined)]).toEqual(all.map(({ index }) => index));
    }),
  );
});
