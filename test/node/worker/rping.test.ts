/**
 * Goal: rping runs on a device in a worker as on any other, in both roles, and as a command. Method: a cable, ends
 * placed differently.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCapture } from '../../../pcap/index.ts';
import { IpAddress } from '../../../src/index.ts';
import { runRpingClient } from '../../../tools/rping/client.ts';
import { runRpingServer } from '../../../tools/rping/server.ts';
import { startRoce } from '../../tools/roce/run-roce.ts';
import { Transcript } from '../../tools/rping/support.ts';
import { OURS, openCable, THEIRS } from './support.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'roce-rping-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const PORT = 7174;

describe('rping with a device in a worker', () => {
  it.each(['server', 'client'] as const)('is its %s', async (role) => {
    const cable = await openCable('worker');
    const [server, client] = role === 'server' ? [cable.ours, cable.theirs] : [cable.theirs, cable.ours];
    const options = { port: PORT, size: 30_000, verbose: true };
    const address = IpAddress.parse(role === 'server' ? OURS : THEIRS);
    const [said, heard] = [new Transcript(), new Transcript()];
    const codes = await Promise.all([
      runRpingServer(server.device, options, said),
      runRpingClient(client.device, { ...options, address, count: 40, validate: true }, heard),
    ]);
    expect(codes).toEqual([0, 0]);
    expect([said.lines.length, heard.lines.length]).toEqual([40, 40]);
    expect(heard.lines[39]).toBe(said.lines[39]?.replace('server ', ''));
    expect([said.complaints, heard.complaints]).toEqual([
      ['server DISCONNECT EVENT...', 'wait for RDMA_READ_ADV state 10'],
      ['client DISCONNECT EVENT...'],
    ]);
    await cable.close();
  });

  it('is a command with --worker, captures and ends by ctrl-C', async () => {
    const path = join(directory, 'wire');
    const capture = join(directory, 'worker.pcapng');
    const common = ['--worker', '--link'];
    const ours = [...common, `qemu:${path}`, '--ip', `${OURS}/24`, '--write', capture];
    const server = startRoce(['rping', '-s', '-P', '-d', ...ours]);
    await server.shows('rdma_listen');
    const theirs = [...common, `qemu:${path},connect`, '--ip', `${THEIRS}/24`];
    const client = await startRoce(['rping', '-c', '-a', OURS, '-V', '-C', '3', ...theirs]).ended;
    expect(client).toEqual({ code: 0, stdout: '', stderr: 'client DISCONNECT EVENT...\n' });
    server.interrupt();
    expect((await server.ended).code).toBe(130);
    expect([...readCapture(await readFile(capture))].length).toBeGreaterThan(40);
  });

  it('as a command says that its capture cannot be written', async () => {
    const wire = ['--link', `qemu:${join(directory, 'none')}`, '--ip', `${OURS}/24`];
    const { code, stderr } = await startRoce(['rping', '-s', '--worker', ...wire, '--write', '/nowhere/at.all']).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "roce rping: ENOENT: no such file or directory, open '/nowhere/at.all'\n",
    });
  });

  it('as a command says what there is to say about its wire', async () => {
    const { code, stderr } = await startRoce([
      ...['rping', '-c', '-a', OURS, '--worker', '--link', 'qemu:/nowhere/at.all,connect', '--ip', `${THEIRS}/24`],
    ]).ended;
    expect(code).toBe(1);
    expect(stderr).toBe('roce rping: qemu:/nowhere/at.all,connect: connect ENOENT /nowhere/at.all\n');
  });
});
