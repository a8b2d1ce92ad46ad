/**
 * Goal: the installed `roce analyze` needs no module of the library's `pcap/`, all of which are joined in files of its
 * own, and is otherwise the command that the sources are: same report, same errors. Method: build the program, take
 * that room away, and run both over one capture.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analyzeFiles } from '../../../tools/analyze/command.ts';
import { buildProgram } from '../../../tools/bench/built-program.ts';
import { transfersCapture } from '../../../tools/bench/transfers-capture.ts';
import { chunksOf, Sink } from '../../support/sink.ts';

describe('the installed command', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'roce-bundle-'));
  const program = join(scratch, 'program');
  const capture = join(scratch, 'transfers.pcapng');

  beforeAll(async () => {
    buildProgram(program);
    rmSync(join(program, 'rocev2/dist/pcap'), { recursive: true });
    writeFileSync(capture, await transfersCapture(12));
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  function analyze(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(program, 'dist/roce.js'), 'analyze', ...args],
      { encoding: 'utf8', maxBuffer: 1 << 28 },
    );
    return { status, stdout, stderr };
  }

  it.each([1, 2])('reports what the sources report, with %i threads', async (jobs) => {
    const [stdout, stderr] = [new Sink(), new Sink()];
    const flags = { icrc: true, json: true, events: true, jobs };
    const status = await analyzeFiles([capture], flags, { stdin: chunksOf(), stdout, stderr });
    const built = analyze('--json', '--events', '--jobs', `${jobs}`, capture);
    expect(JSON.parse(built.stdout).events.length).toBeGreaterThan(0);
    // Long texts: their difference would be longer.
    expect([built.status, built.stderr, built.stdout === stdout.bytes.toString()]).toEqual([status, '', true]);
  });

  it.each([1, 2])('knows errors of the reader, with %i threads, and of the rest of the tools', (jobs) => {
    const other = join(scratch, 'zeros.pcapng');
    writeFileSync(other, new Uint8Array(40));
    const { status, stderr } = analyze('--jobs', `${jobs}`, other);
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^roce analyze: .*zeros\.pcapng: .* is neither .*\n$/)]);
    const over = analyze('--jobs', `${jobs}`, '--write', capture, capture);
    expect([over.status, over.stderr]).toEqual([
      2,
      expect.stringMatching(/^roce analyze: .* is the capture that is read/),
    ]);
  });

  it('ends as the program wants it where the command line is wrong', () => {
    const { status, stderr } = analyze('--jobs', '0', capture);
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^roce analyze: option '--jobs <n>' .*\n$/)]);
  });

  it('writes the capture with comments', () => {
    const written = join(scratch, 'written.pcapng');
    expect(analyze('--write', written, capture).stderr).toBe('');
    expect(statSync(written).size).toBeGreaterThan(statSync(capture).size);
  });
});
