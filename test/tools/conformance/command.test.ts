/**
 * Goal: a command line that makes no sense, and a device that is not there, are told and never a pass. Method: the
 * program itself, in this process; what it prints and its exit code.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runProgram } from '../../../tools/program.ts';

let folder = '';
let printed = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roce-conformance-'));
  printed = '';
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** Runs `roce conformance`; the exit code, from wherever it comes. */
async function conformance(...words: readonly string[]): Promise<number> {
  const before = process.exitCode;
  process.exitCode = 0;
  const write = (text: string): void => {
    printed += text;
  };
  const code = await runProgram(['conformance', '--out', folder, ...words], { out: write, err: write });
  const exit = code ?? Number(process.exitCode);
  process.exitCode = before;
  return exit;
}

describe('roce conformance', () => {
  it.each([
    [['--rules', 'RSP-PSN-99'], "'RSP-PSN-99' names no rule"],
    [['--dut', 'lab:9.9'], 'the lab has the kernels'],
    [['--dut', 'nonsense'], "'nonsense' is not in-process, lab:KERNEL or an IP address"],
    [['--dut', 'nonsense', '--features', 'cm'], "'nonsense' is not in-process, lab:KERNEL or an IP address"],
    [['--dut', '192.0.2.7'], '--link is required for 192.0.2.7'],
    [['--dut', '192.0.2.7', '--link', 'no-such-link:x'], 'no-such-link'],
    [['--seed', 'x'], 'a whole number'],
    [['--features', 'atomics,levitation'], "'levitation' is none of uc, ud"],
    [['--features', 'atomics'], '--features is for a device without an agent'],
    [['--dut', '192.0.2.7', '--agent', '192.0.2.7:7470', '--features', 'cm'], '--features is for a device without'],
  ])('refuses %j', async (words, why) => {
    expect(await conformance(...words)).toBe(2);
    expect(printed).toContain(why);
  });

  it('leaves every rule open, in its files too, where nobody answers', async () => {
    const json = join(folder, 'verdicts.json');
    const link = ['--link', `qemu:${join(folder, 'wire')}`, '--ip', '192.0.2.2/24', '--agent', '127.0.0.1:1'];
    expect(await conformance('--dut', '192.0.2.7', ...link, '--rules', 'PKT-0*', '--json', json)).toBe(3);
    expect(printed).toContain('no agent answers at 127.0.0.1:1');
    const { rules } = JSON.parse(readFileSync(json, 'utf8'));
    expect(rules).toHaveLength(9);
    expect(new Set(rules.map(({ verdict }: { verdict: string }) => verdict))).toEqual(new Set(['inconclusive']));
  });

  it('says nothing is wrong with our own stack', async () => {
    const xml = join(folder, 'verdicts.xml');
    expect(await conformance('--rules', 'RSP-PSN-0*', '--junit', xml)).toBe(0);
    expect(printed).toContain('9 pass, 0 allowed variations, 0 fail');
    expect(readFileSync(xml, 'utf8')).toContain('<testsuite name="RSP-PSN"');
  });

  it('prints what rules say', async () => {
    expect(await conformance('--list', '--rules', 'RD-01')).toBe(0);
    expect(printed).toMatch(/^RD-01 {2}must, responder: /);
  });
});
