/**
 * Goal: the fuzzer sees what code does, finds what it does wrong, and repeats itself. Method: counters in small pieces
 * of code; a target whose fault is behind comparisons that no blind search passes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type BuiltTarget, buildTarget, type Counters, TooManySteps } from './engine/build.ts';
import { readCorpus, writeCorpus } from './engine/corpus.ts';
import { Fuzzer } from './engine/fuzzer.ts';
import { instrument } from './engine/instrument.ts';
import { packRecords, unpackRecords } from './engine/records.ts';

/** A function of code with counters; `hits` of its last call. */
function counted(code: string, maxSteps = 1000) {
  const { text, blocks, numbers, texts } = instrument(code, 0, 'piece.ts');
  const counters: Counters = {
    ...{ hits: new Uint8Array(blocks), steps: 0, maxSteps },
    step() {
      if (++this.steps > this.maxSteps) throw new TooManySteps('too many');
    },
  };
  const call = new Function('__fuzz', `return ${text}`)(counters) as (input: Uint8Array) => unknown;
  return { call, counters, blocks, numbers, texts };
}

it('has its words in one order, in whatever order the files of a target were loaded', async () => {
  const { numbers, texts } = await buildTarget('pcap');
  expect([...numbers]).toEqual([...numbers].sort((a, b) => a - b));
  expect([...texts]).toEqual([...texts].sort());
  expect(texts.size).toBeGreaterThan(10);
});

describe('counters', () => {
  it.each<[string, string, number, unknown]>([
    ['a function and a branch that is not written', 'function f(a) { if (a[0] > 1) return 5; return 6; }', 3, 6],
    [
      'nested branches without braces',
      'function f(a) { if (a[0]) if (a[1]) return 1; else return 2; return 3; }',
      5,
      2,
    ],
    ['arrows, a choice and what is behind && and ??', '(a) => (a[0] ? a[9] ?? 4 : 7 && 8)', 5, 4],
    ['loops', 'function f(a) { let s = 0; for (const b of a) s += b; while (s < 9) s++; return s; }', 3, 9],
    [
      'cases and a catch',
      'function f(a) { try { switch (a[0]) { case 1: throw 0; default: return 1; } } catch { return 2; } }',
      4,
      2,
    ],
    ['classes', '(a) => new (class { #x = 3; get x() { return a[0] ? this.#x : 0; } })().x', 4, 3],
  ])('stand at %s, and change nothing', (_, code, blocks, result) => {
    const piece = counted(code);
    expect(piece.call(Uint8Array.of(1, 0))).toBe(result);
    expect(piece.blocks).toBe(blocks);
    expect(piece.counters.hits.some((count) => count > 0)).toBe(true);
  });

  it('end a loop that does not advance', () => {
    const piece = counted('function f() { for (;;) {} }');
    expect(() => piece.call(new Uint8Array(0))).toThrow(TooManySteps);
  });

  it('leave every line where it was', () => {
    const code = 'function f(a: number) {\n  if (a > 1)\n    return { a };\n  return a ? 1 : 0;\n}\n';
    const { text, numbers } = instrument(code, 5, 'piece.ts');
    expect(text.split('\n').length).toBe(code.split('\n').length);
    expect(text).toContain('hits[5]');
    expect([...numbers]).toEqual([1, 0]);
  });
});

/** Throws for an input that has a word of four bytes, a length that fits, and a number that is in the code. */
const FAULTY = `function f(a) {
  if (a.length < 8) return 'short';
  if (a[0] !== 0x52 || a[1] !== 0x6f) return 'other';
  if (a[2] * 256 + a[3] !== a.length) return 'length';
  if (a[4] * 256 + a[5] === 0xbeef) throw new TypeError('fault');
  return 'well';
}`;

function builtOf(code: string): BuiltTarget {
  const { call, counters, blocks, numbers, texts } = counted(code);
  const run = (input: Uint8Array): string => String(call(input));
  const target = { name: 'faulty', maxBytes: 64, seeds: () => [], run };
  return { target, counters, blocks, files: [], numbers, texts };
}

describe('the fuzzer', () => {
  it('finds a fault behind comparisons, and the smallest input for it', async () => {
    const fuzzer = new Fuzzer(builtOf(FAULTY), 3);
    await fuzzer.add(new Uint8Array(10));
    for (let round = 0; round < 40 && fuzzer.findings.size === 0; round++) await fuzzer.run({ runs: 10_000 });
    const [finding] = fuzzer.findings.values();
    expect(finding?.signature).toContain('TypeError | fault');
    expect([finding?.input.length, finding?.input[4], finding?.input[5]]).toEqual([expect.any(Number), 0xbe, 0xef]);
    expect([...fuzzer.outcomes.keys()].sort()).toEqual(['length', 'other', 'short', 'well']);
  });

  it('does the same again with the same seed', async () => {
    const corpora = [];
    for (const seed of [7, 7, 8]) {
      const fuzzer = new Fuzzer(builtOf(FAULTY), seed);
      await fuzzer.add(new Uint8Array(10));
      await fuzzer.run({ runs: 3000 });
      corpora.push(JSON.stringify([fuzzer.corpus, [...fuzzer.outcomes]]));
    }
    expect(corpora[1]).toBe(corpora[0]);
    expect(corpora[2]).not.toBe(corpora[0]);
  });

  it('names the input of a batch that its program does not like', async () => {
    const built = builtOf('(a) => a[0] & 7');
    const check = async (inputs: readonly Uint8Array[]) => (inputs.some(([first]) => first === 77) ? 'bad' : undefined);
    const fuzzer = new Fuzzer({ ...built, target: { ...built.target, batch: { size: 16, check } } }, 1);
    for (let byte = 60; byte < 90; byte++) await fuzzer.add(Uint8Array.of(byte));
    await fuzzer.settle();
    expect([...fuzzer.findings.values()].map(({ input }) => [...input])).toEqual([[77]]);
  });
});

describe('a corpus', () => {
  it('is read as it was written', () => {
    const directory = mkdtempSync(join(tmpdir(), 'roce-corpus-'));
    const inputs = [new Uint8Array(0), Uint8Array.of(1, 2, 3), new Uint8Array(5000).fill(9)];
    writeCorpus('x', inputs, directory);
    expect(readCorpus('x', directory)).toEqual(inputs);
    expect(readCorpus('y', directory)).toEqual([]);
    rmSync(directory, { recursive: true });
  });

  it('has records that any bytes are', () => {
    const records = [
      { flags: 3, bytes: Uint8Array.of(1, 2) },
      { flags: 0, bytes: new Uint8Array(0) },
    ];
    expect(unpackRecords(packRecords(records))).toEqual(records);
    expect(unpackRecords(Uint8Array.of(1, 0xff, 0xff, 7))).toEqual([{ flags: 1, bytes: Uint8Array.of(7) }]);
    expect(unpackRecords(Uint8Array.of(1, 2))).toEqual([]);
  });
});
