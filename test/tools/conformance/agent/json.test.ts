// Goal: the agent's reader of JSON takes what is JSON as JSON.parse does, refuses the rest, and never reads astray.
// Method: it is compiled here with the sanitizers of the compiler, in a program that says what it made of each line; a
// property over values, one over bytes, and examples of what is bounded.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AGENT_DIRECTORY, findCompiler } from '../../../../tools/conformance/agent/build.ts';
import { describeWith } from '../../../support/need.ts';

const DRIVER = fileURLToPath(new URL('json-driver.c', import.meta.url));
/** As json-driver.c has it. */
const VALUES = 512;

describeWith('compiler', "the agent's JSON", () => {
  let directory: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'roce-agent-json-'));
    const sources = ['json.c', 'json-write.c'].map((name) => join(AGENT_DIRECTORY, name));
    const flags = ['-std=c11', '-D_GNU_SOURCE', '-g', '-Wall', '-Wextra', '-Werror', `-I${AGENT_DIRECTORY}`];
    const careful = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
    execFileSync(findCompiler() ?? 'cc', [...flags, ...careful, DRIVER, ...sources, '-o', join(directory, 'driver')]);
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** What the program says of each line. */
  function read(lines: readonly (string | Uint8Array)[]): string[] {
    const input = Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')]));
    const { status, stdout, stderr } = spawnSync(join(directory, 'driver'), { input, maxBuffer: 2 ** 26 });
    expect(status, stderr.toString('utf8')).toBe(0);
    const said = stdout.toString('utf8').split('\n').slice(0, -1);
    expect(said.length).toBe(lines.length);
    return said;
  }

  it('reads what is JSON as JSON.parse does', () => {
    // A zero byte is refused: it would end a string of C early.
    const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', ''));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom(null, true, false),
        fc.integer(),
        fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => value + 0),
        text,
        fc.array(tie('tree'), { maxLength: 5 }),
        fc.dictionary(text, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(tree, { minLength: 20, maxLength: 40 }), (values) => {
        const said = read(values.map((value) => JSON.stringify(value)));
        for (const [index, value] of values.entries()) {
          const form = canonical(JSON.parse(JSON.stringify(value)));
          expect(said[index]?.replace(/ =\d+$/, '')).toBe(form);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('says something of any bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((line) => line.map((byte) => (byte === 10 ? 32 : byte)));
    const likely = fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0019aeft-+. "'), maxLength: 60 });
    fc.assert(
      fc.property(fc.array(fc.oneof(bytes, likely), { minLength: 50, maxLength: 200 }), (lines) => {
        read(lines.map((line) => Buffer.concat([Buffer.from(' '), Buffer.from(line)])));
      }),
      { numRuns: 20 },
    );
  });

  it('refuses what is no JSON', () => {
    const wrong = [
      '',
      '{',
      '[1,]',
      '[1 2]',
      '{"a"}',
      '{"a":}',
      '{a:1}',
      '"',
      '"\\x"',
      '"\\u12"',
      '"\\ud800"',
      '"\\ud800\\u0041"',
      '"\\u0000"',
      '1 2',
      'nul',
      '+1',
      '.5',
      '0x10',
      'Infinity',
      'NaN',
      '1e999',
      '-',
      '[1]]',
    ];
    const said = read(wrong);
    const taken = wrong.filter((_, index) => !said[index]?.startsWith('fault: '));
    expect(taken).toEqual([]);
  });

  it('bounds how deep lists lie and how many values there are', () => {
    const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const many = (count: number): string => `[${Array.from({ length: count - 1 }, () => '0').join(',')}]`;
    const said = read([deep(17), deep(18), many(VALUES), many(VALUES + 1)]);
    expect(said.map((line) => line.slice(0, 2))).toEqual(['[[', 'fa', '[n', 'fa']);
  });

  it('takes whole numbers exactly, and 64 bits as hexadecimal digits', () => {
    const numberOf = (line: string): string | undefined => / =(\d+)$/.exec(line)?.[1];
    const good = read(['0', '9007199254740991', '"0x0"', '"0xFFFFFFFFFFFFFFFF"', '1e3']);
    expect(good.map(numberOf)).toEqual(['0', '9007199254740991', '0', '18446744073709551615', '1000']);
    const wrong = read(['-1', '1.5', '1e300', '"0x"', '"0x1g"', '"0x11111111111111111"', '"12"', 'true', '[]']);
    expect(wrong.map(numberOf)).toEqual(wrong.map(() => undefined));
  });

  it('writes what JSON.parse reads, and question marks for what is no ASCII', () => {
    const [said = ''] = read(['wa "quoted" \\ back\x01ü']);
    expect(JSON.parse(said)).toEqual({
      string: 'a "quoted" \\ back???',
      number: Number(2n ** 64n - 1n),
      signed: -7,
      wide: '0xfedcba9876543210',
      boolean: true,
      null: null,
      list: [1, {}],
      hex: Buffer.from('a "quoted" \\ back\x01ü').toString('hex'),
    });
  });

  it('says so when a text reaches its limit', () => {
    expect(read([`w${'x'.repeat(5000)}`])).toEqual(['full']);
  });
});

/** The form in which json-driver.c says a value. */
function canonical(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return `n${bits(value)}`;
  if (typeof value === 'string') return `s${hex(value)}`;
  if (Array.isArray(value)) return `[${value.map((item) => `${canonical(item)};`).join('')}]`;
  const members = Object.entries(value ?? {}).map(([key, member]) => `${hex(key)}:${canonical(member)};`);
  return `{${members.join('')}}`;
}

function bits(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes.toString('hex');
}

function hex(text: string): string {
  return Buffer.from(text, 'utf8').toString('hex');
}
