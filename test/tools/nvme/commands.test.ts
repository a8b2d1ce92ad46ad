/**
 * Goal: a disk that one process serves is found, written and read by another, with the commands that a person types.
 * Method: `roce nvme serve` and the host's commands on the two ends of a wire; the file behind the disk is the judge.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatDhchapSecret } from '../../../src/ulp/nvme/index.ts';
import { type Ended, type Running, startProgram } from '../../support/running.ts';

const NQN = 'nqn.2026-11.example:disk';
const FIRST = 100;
const BLOCK = 512;

describe('roce nvme', () => {
  let directory = '';
  let serving: Running;
  const at = (name: string): string => join(directory, name);

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-'));
    const disk = ['--namespace', at('disk.img'), '--size', '1M', '--nqn', NQN];
    const wire = ['--link', `qemu:${at('wire.sock')}`, '--ip', '10.0.0.1/24'];
    serving = startProgram('tools/roce.ts', ['nvme', 'serve', ...disk, ...wire]);
    await serving.shows('nvme connect');
  });

  afterAll(async () => {
    serving.kill();
    await serving.ended;
    rmSync(directory, { recursive: true });
  });

  function host(command: string, ...words: readonly string[]): Promise<Ended> {
    const wire = ['--link', `qemu:${at('wire.sock')},connect`, '--ip', '10.0.0.2/24', '-a', '10.0.0.1'];
    return startProgram('tools/roce.ts', ['nvme', command, ...wire, ...words]).ended;
  }

  it('discovers what is served', async () => {
    const { code, stdout } = await host('discover');
    expect(code).toBe(0);
    expect(stdout).toMatch(/rdma +10\.0\.0\.1 +4420 +nvme subsystem +1 +nqn\.2026-11\.example:disk/);
  });

  it('writes a file and reads it again', async () => {
    const data = randomBytes(300_000);
    writeFileSync(at('data'), data);
    const blocks = Math.ceil(data.length / BLOCK);
    const written = await host('write', '-n', NQN, '--start-block', `${FIRST}`, '--data', at('data'));
    expect(written).toMatchObject({ code: 0, stdout: expect.stringMatching(/^write: 300,000 bytes in /) });
    const onDisk = readFileSync(at('disk.img')).subarray(FIRST * BLOCK, FIRST * BLOCK + data.length);
    expect(onDisk.equals(data)).toBe(true);
    const range = ['--start-block', `${FIRST}`, '--block-count', `${blocks}`];
    const read = await host('read', '-n', NQN, ...range, '--data', at('back'));
    expect(read).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^read: 300,032 bytes in .* sha256 [0-9a-f]{64}\n$/),
    });
    expect(readFileSync(at('back')).subarray(0, data.length).equals(data)).toBe(true);
  });

  it('reads at random for a while, and says how fast', async () => {
    const { code, stdout } = await host('connect-bench', '-n', NQN, '--runtime', '1', '-i', '2');
    expect(code).toBe(0);
    expect(stdout).toMatch(/read: IOPS=[\d,]+, p50 [\d,]+ us, p99 [\d,]+ us\nqueues: .* 0 reconnects\n/);
  });

  it.each([
    ['another subsystem', ['read', '-n', 'nqn.2026-11.example:none', '-d', 'x'], /^roce nvme: .*Connect/],
    ['a range beyond the disk', ['read', '-n', NQN, '--start-block', '2048', '-c', '9', '-d', 'x'], /^roce nvme: /],
  ])('refuses %s in one line', async (_what, words, line) => {
    const [command = '', ...rest] = words;
    const { code, stderr } = await host(command, ...rest.map((word) => (word === 'x' ? at('none') : word)));
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(code).not.toBe(0);
  });

  it('says when the file has become shorter', async () => {
    truncateSync(at('disk.img'), 512 * 1024);
    await serving.shows('disk.img has now');
  });
});

describe('roce nvme with secrets', () => {
  const HOST = 'nqn.2026-11.example:host';
  const SECRETS = [1, 2, 3].map((byte) => formatDhchapSecret(new Uint8Array(32).fill(byte)));
  const [HOST_SECRET = '', CONTROLLER_SECRET = '', OTHER_SECRET = ''] = SECRETS;
  let directory = '';
  let serving: Running;
  const printed: string[] = [];
  const at = (name: string): string => join(directory, name);

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-'));
    writeFileSync(at('host.key'), `${HOST_SECRET}\n`);
    writeFileSync(at('disk.key'), CONTROLLER_SECRET);
    const disk = ['--namespace', at('disk.img'), '--size', '1M', '--nqn', NQN];
    const wire = ['--link', `qemu:${at('wire.sock')}`, '--ip', '10.0.0.1/24', '--write', at('wire.pcapng')];
    const secrets = ['--dhchap-secret', `@${at('host.key')}`, '--dhchap-ctrl-secret', `@${at('disk.key')}`];
    const how = ['--dhchap-hash', 'sha384', '--dhchap-dhgroup', 'ffdhe2048'];
    serving = startProgram('tools/roce.ts', ['nvme', 'serve', ...disk, ...wire, '--host', HOST, ...secrets, ...how]);
    await serving.shows('nvme connect');
  });

  afterAll(async () => {
    serving.kill();
    await serving.ended;
    rmSync(directory, { recursive: true });
  });

  async function host(...words: readonly string[]): Promise<Ended> {
    const wire = ['--link', `qemu:${at('wire.sock')},connect`, '--ip', '10.0.0.2/24', '-a', '10.0.0.1'];
    const range = ['-n', NQN, '-c', '8', '--hostnqn', HOST];
    const ended = await startProgram('tools/roce.ts', ['nvme', 'read', ...wire, ...range, ...words]).ended;
    printed.push(ended.stdout, ended.stderr);
    return ended;
  }

  it('reads with those that the target knows, from files or as they are', async () => {
    const files = await host('--dhchap-secret', `@${at('host.key')}`, '--dhchap-ctrl-secret', `@${at('disk.key')}`);
    expect(files).toMatchObject({ code: 0, stdout: expect.stringMatching(/^read: 4,096 bytes/) });
    expect(await host('--dhchap-secret', HOST_SECRET)).toMatchObject({ code: 0 });
    await serving.shows('controller 1: queue 1: authenticated');
  });

  it.each([
    ['none', [], /demands authentication, and there is no hostSecret/],
    ['another', ['--dhchap-secret', OTHER_SECRET], /refuses this host: authentication failed/],
    [
      'another for the controller',
      ['--dhchap-secret', HOST_SECRET, '--dhchap-ctrl-secret', OTHER_SECRET],
      /controller is not trusted: authentication failed/,
    ],
    ['a file that is not there', ['--dhchap-secret', '@/nowhere/key'], /--dhchap-secret @\/nowhere\/key: ENOENT/],
    [
      'one with a wrong character',
      ['--dhchap-secret', HOST_SECRET.replace(/.:$/, 'z:')],
      /--dhchap-secret: a DH-HMAC-CHAP/,
    ],
  ])('does not read with %s, and says so in one line', async (_, words, line) => {
    const { code, stderr } = await host(...words);
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });

  it('refuses a host without secret on its command line', async () => {
    const serve = ['nvme', 'serve', '--namespace', at('other.img'), '--size', '1M', '--host', HOST];
    const { code, stderr } = await startProgram('tools/roce.ts', [...serve, '--link', 'loopback:10.0.0.1/24']).ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/each --host has a --dhchap-secret: there are 1 and 0/)]);
  });

  it('has told no secret to anybody', async () => {
    serving.kill();
    const { stdout, stderr } = await serving.ended;
    const all = [...printed, stdout, stderr, readFileSync(at('wire.pcapng'), 'latin1')].join('\n');
    expect(stdout).toMatch(/controller \d+: queue 0: authentication failed: authentication failed/);
    // The capture has what was said.
    expect(all.split(HOST).length).toBeGreaterThan(3);
    for (const secret of SECRETS) {
      expect(all).not.toContain(secret.slice(10, 30));
      expect(all).not.toContain(secret.slice(-30, -6));
    }
    for (const byte of ['\x01', '\x02', '\x03']) expect(all).not.toContain(byte.repeat(32));
  });
});
