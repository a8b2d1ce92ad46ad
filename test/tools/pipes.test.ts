/**
 * Goal: a capture may come through a pipe with a name, `<(zcat FILE)` of a shell included: a command reads it once, and
 * ends when it has what it needs or cannot read on, though the writer neither writes nor closes. Method: FIFOs whose
 * writers stay; what the commands say is compared with what they say of a file.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { analyzeFiles } from '../../tools/analyze/command.ts';
import { exportFiles } from '../../tools/export/command.ts';
import { isPipe, pipeChunks } from '../../tools/pipe-chunks.ts';
import { describeWith, itWith } from '../support/need.ts';
import { startProgram } from '../support/running.ts';
import { chunksOf, Sink } from '../support/sink.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));
const WHOLE = readFileSync(SAMPLE);
const GARBAGE = new TextEncoder().encode('this is no capture');
const scratch = mkdtempSync(join(tmpdir(), 'roce-pipes-'));
afterAll(() => rmSync(scratch, { recursive: true }));

let made = 0;

function pipe(): string {
  const path = join(scratch, `pipe-${made++}`);
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path]);
  return path;
}

/** What `use` makes of a FIFO to which `bytes` were written; its writer stays until then, unless `closes`. */
async function through<T>(bytes: Uint8Array, use: (path: string) => Promise<T>, closes = false): Promise<T> {
  const path = pipe();
  const result = use(path);
  const writer = await open(path, 'w');
  try {
    await writer.writeFile(bytes);
    if (!closes) return await result;
  } finally {
    await writer.close();
  }
  return await result;
}

async function analyze(files: readonly string[], jobs: number) {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await analyzeFiles(files, { icrc: true, json: true, jobs }, { stdin: chunksOf(), stdout, stderr });
  return { code, text: stdout.bytes.toString(), complaint: stderr.bytes.toString() };
}

const roce = (...args: string[]) => startProgram('tools/roce.ts', args).ended;

describeWith('mkfifo', 'a pipe', () => {
  it('is told from a file, and read to its end', async () => {
    expect([isPipe(SAMPLE), isPipe(scratch), isPipe(join(scratch, 'none'))]).toEqual([false, false, false]);
    const read = async (path: string) => {
      expect(isPipe(path)).toBe(true);
      const chunks: Uint8Array[] = [];
      for await (const chunk of pipeChunks(path)) chunks.push(chunk);
      return Buffer.concat(chunks);
    };
    expect((await through(WHOLE, read, true)).equals(WHOLE)).toBe(true);
    expect(await through(new Uint8Array(0), read, true)).toHaveLength(0);
  });

  it.each([1, 2])('is analyzed as a file is, whole and cut, with %i threads', async (jobs) => {
    const read = (path: string) => analyze([path], jobs);
    expect(await through(WHOLE, read, true)).toEqual(await analyze([SAMPLE], 1));
    const { code, complaint } = await through(WHOLE.subarray(0, 20_000), read, true);
    expect(code).toBe(2);
    expect(complaint).toMatch(/^roce analyze: \S+: capture file, byte \d+: the file ends inside a record, [^\n]*\n$/);
  });

  it.each([1, 2])('is left where it is no capture, though its writer stays, with %i threads', async (jobs) => {
    const { code, text, complaint } = await through(GARBAGE, (path) => analyze([path], jobs));
    expect([code, text]).toEqual([2, '']);
    expect(complaint).toMatch(/^roce analyze: \S+: capture file, byte 0: 0x74686973 is neither [^\n]*\n$/);
  });

  it.each([1, 2])('is left where another capture is none, with %i threads', async (jobs) => {
    const none = fileURLToPath(import.meta.url);
    const { code, complaint } = await through(WHOLE, (path) => analyze([path, none], jobs));
    expect(code).toBe(2);
    expect(complaint).toMatch(/^roce analyze: pipes\.test\.ts: capture file, byte 0: /);
  });

  it('is left by an export as well', async () => {
    const stderr = new Sink();
    const streams = { stdin: chunksOf(), stdout: new Sink(), stderr };
    const code = await through(GARBAGE, (path) => exportFiles([path], { out: scratch, icrc: true }, streams));
    expect([code, stderr.lines.length]).toEqual([2, 1]);
  });

  it('is left by a dump that has its packets, or cannot read on', async () => {
    const { code, stdout } = await through(WHOLE, (path) => roce('dump', '-c', '2', path));
    expect([code, stdout.split('\n').length]).toEqual([0, 3]);
    expect(await through(GARBAGE, (path) => roce('dump', path))).toMatchObject({ code: 2, stdout: '' });
  });

  it('is refused where the capture is read twice', async () => {
    const copy = join(scratch, 'copy.pcapng');
    const { code, stdout, stderr } = await roce('analyze', '--write', copy, pipe());
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^roce analyze: --write reads the capture a second time[^\n]*\n$/);
  });

  itWith('tshark', 'is verified as a file is', async () => {
    const expected = await roce('verify', SAMPLE);
    expect(expected).toMatchObject({ code: 0, stderr: '' });
    expect(await through(WHOLE, (path) => roce('verify', path), true)).toEqual(expected);
  });
});
