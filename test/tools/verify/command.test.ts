/**
 * Goal: `roce verify` says what it found, as text and as JSON, and ends with 0, 1 or 2. Method: the command in a
 * process of its own, with tshark, with a tshark that says one thing otherwise, and without.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { startProgram } from '../../support/running.ts';
import { everyFrame } from './every-frame.ts';
import { captureOf, Scratch } from './made-capture.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
const run = (args: readonly string[], prefix: readonly string[] = []) =>
  startProgram('tools/roce.ts', ['verify', ...args], prefix).ended;

const scratch = new Scratch();
afterAll(() => scratch.remove());

describe('roce verify without tshark', () => {
  it('says so in one line, and ends with 2', async () => {
    const { code, stdout, stderr } = await run([SAMPLE], ['env', 'PATH=/nonexistent']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^roce verify: tshark is needed to compare with, and is not there: .*\n$/);
  });

  it('prints the table all the same', async () => {
    const { code, stdout } = await run(['--expectations'], ['env', 'PATH=/nonexistent']);
    expect(code).toBe(0);
    for (const id of ['cm-req-prim-flow-label', 'cnp-unread', 'reserved-bytes'])
      expect(stdout).toContain(`${id}: from `);
  });
});

describeWith('tshark', 'roce verify', () => {
  it('ends with 0 when nothing is unexpected, and tells what was expected', async () => {
    const { code, stdout, stderr } = await run([SAMPLE]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^tshark 4\S* *: \d+ frames, \d+ of them RoCEv2; \d+ fields compared, \d+ agree\n/);
    expect(stdout).toContain('cm-req-prim-flow-label: tshark takes flow label');
    expect(stdout).toMatch(/\nnothing unexpected\n$/);
  });

  it('prints expected differences when asked, frame by frame, up to a limit', async () => {
    const { stdout } = await run([SAMPLE, '--all', '--limit', '1']);
    const lines = stdout.split('\n').filter((line) => line.startsWith('frame '));
    expect(lines).toEqual([
      expect.stringMatching(/^frame \d+: infiniband\.cm\.req\.\w+ .*\(expected: cm-req-prim-flow-label\)$/),
    ]);
  });

  it('ends with 1 and names frame, field and both values when tshark says otherwise', async () => {
    const [frame] = everyFrame(7);
    const file = scratch.file('one.pcapng', captureOf(frame === undefined ? [] : [frame]));
    const tshark = execFileSync('sh', ['-c', 'command -v tshark'], { encoding: 'utf8' }).trim();
    const liar = scratch.file(
      'tshark',
      `#!/bin/sh\n"${tshark}" "$@" | sed 's/\\("infiniband.bth.psn": "\\)[0-9]*/\\112345678/'\n`,
    );
    chmodSync(liar, 0o755);
    const { code, stdout } = await run([file, '--json'], ['env', `PATH=${dirname(liar)}:${process.env['PATH']}`]);
    expect(code).toBe(1);
    const report: unknown = JSON.parse(stdout);
    expect(report).toMatchObject({ file, frames: 1, roceFrames: 1, unexpected: 1 });
    expect(report).toMatchObject({
      differences: [{ frame: 1, field: 'infiniband.bth.psn', theirs: ['12345678'], expectation: null }],
    });
  });

  it('ends with 2 and the reason when a file is no capture, is cut short, or is not there', async () => {
    const cut = captureOf(everyFrame(7).slice(0, 2)).slice(0, -3);
    const [none, garbage, short] = await Promise.all([
      run(['/nonexistent/none.pcap']),
      run([scratch.file('garbage.pcap', 'nothing that a capture begins with')]),
      run([scratch.file('short.pcapng', cut)]),
    ]);
    expect([none.code, garbage.code, short.code]).toEqual([2, 2, 2]);
    for (const { stderr } of [none, garbage, short]) expect(stderr).toMatch(/^roce verify: .+\n$/);
    expect(none.stderr).toContain('none.pcap');
    expect(garbage.stderr).toContain('garbage.pcap');
    expect(short.stderr).toContain('short.pcapng');
  });

  it('shows what was compared before the place where a file is cut short', async () => {
    const cut = captureOf(everyFrame(7).slice(0, 3)).slice(0, -3);
    const { code, stdout, stderr } = await run([scratch.file('short-end.pcapng', cut)]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/^tshark \S+ *: 2 frames, /m);
    expect(stderr).toMatch(/^roce verify: .*short-end\.pcapng: capture file, byte \d+: .+\n$/);
  });

  it('reads standard input', async () => {
    const line = ['sh', '-c', `exec "$@" < '${SAMPLE}'`, 'sh'];
    const [named, piped] = await Promise.all([run([SAMPLE]), run(['-'], line)]);
    expect(piped).toEqual(named);
  });

  it('ends with 2 on a command line that makes no sense', async () => {
    const { code, stderr } = await run([]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('a capture file is missing')]);
  });
});
