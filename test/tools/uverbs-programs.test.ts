/**
 * Goal: programs that nobody has changed run on this stack, with libibverbs, its provider for rxe and librdmacm as the
 * distribution has them. Method: `roce run`, and what the programs print.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { analyzeCapture } from '../../tools/experiment/findings.ts';
import { buildShim } from '../../tools/uverbs/build.ts';
import type { ProgramCase } from '../../tools/uverbs/programs/case.ts';
import { runCase } from '../../tools/uverbs/programs/run-case.ts';
import { describeWith } from '../support/need.ts';
import { startRoce } from './roce/run-roce.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-programs-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeWith('verbs', 'an unmodified program', () => {
  it('finds the device and its addresses', async () => {
    const { code, stdout } = await startRoce(['run', '--', 'ibv_devinfo', '-v']).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/hca_id:\s+rxe0[\s\S]*PORT_ACTIVE[\s\S]*::ffff:10\.0\.0\.1, RoCE v2/);
  });

  // It polls: without rest for the processor it would take minutes.
  it('polls its completion queue', async () => {
    const server = 'ibv_rc_pingpong -g 1 -n 500 -c';
    const { code, stdout } = await startRoce(['run', '--pair', '--', server, `${server} localhost`]).ended;
    expect(code).toBe(0);
    expect(stdout.match(/500 iters in/g)).toHaveLength(2);
    expect(stdout).not.toMatch(/invalid data/);
  });

  it('waits for events', async () => {
    const server = 'ibv_rc_pingpong -g 1 -n 500 -e';
    const { code, stdout } = await startRoce(['run', '--pair', '--', server, `${server} localhost`]).ended;
    expect(code).toBe(0);
    expect(stdout.match(/500 iters in/g)).toHaveLength(2);
  });

  it.each([
    ['rping -s -C 10 -a 10.0.0.1', 'rping -c -C 10 -v -a 10.0.0.1', /rdma-ping-9/],
    // It listens twice on one port, with a connection that has come by it.
    ['ib_send_lat -R -F -n 100', 'ib_send_lat -R -F -n 100 10.0.0.1', /t_typical\[usec\][\s\S]*\n 2 +100 /],
  ])('connects by librdmacm: %s', async (server, client, printed) => {
    const { code, stdout } = await startRoce(['run', '--pair', '--', server, client]).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(printed);
  });

  it('finishes through loss, and its data are whole', async () => {
    const capture = join(directory, 'loss.pcapng');
    const check = 'ibv_rc_pingpong -g 1 -n 200 -e -c';
    const options = ['--pair', '--loss', '0.02', '--seed', '7', '--write', capture];
    const { code, stdout } = await startRoce(['run', ...options, '--', check, `${check} localhost`]).ended;
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/invalid data/);
    // Something was lost and sent again, or this shows nothing.
    const ends = analyzeCapture(capture).conversations.flatMap(({ ends: both }) => both);
    expect(ends.some(({ requester }) => requester.retransmittedPackets > 0)).toBe(true);
  });

  it('that fails is told from one that runs, by what it prints and by its capture', async () => {
    const shim = await buildShim();
    const about = async (line: string, more: Partial<ProgramCase> = {}) => {
      const one: ProgramCase = { from: 'ibverbs-utils', lines: [line], prints: /rxe0/, silent: true, ...more };
      return (await runCase(one, mkdtempSync(join(directory, 'case-')), shim)).faults;
    };
    expect(await about('ibv_devices')).toEqual([]);
    expect(await about('ibv_devices', { silent: false })).toEqual(['0 RoCE packets in the capture']);
    expect(await about('ibv_devices', { prints: /rxe1/ })).toEqual(['it does not print /rxe1/']);
    expect(await about('ibv_devinfo -d rxe0 -i 9')).toContainEqual(expect.stringMatching(/^exit code \d+$/));
    expect(await about('ibv_devices', { loss: 0.5 })).toEqual(['nothing was lost: this shows nothing']);
    expect(await about('ibv_devices', { check: () => 'the copy is another file' })).toHaveLength(1);
  });

  it('measures latency, on a device that others share', async () => {
    const socket = join(directory, 'socket');
    const service = startRoce(['uverbs', '--socket', socket, '--link', 'loopback:10.0.0.7/24']);
    await service.shows('serving at');
    const test = 'ib_send_lat -n 100 -F';
    const server = startRoce(['run', '--on', socket, '--', 'sh', '-c', test]);
    const client = startRoce(['run', '--on', socket, '--', 'sh', '-c', `until ${test} localhost; do sleep 0.1; done`]);
    const [{ code, stdout }, other] = await Promise.all([client.ended, server.ended]);
    expect([code, other.code]).toEqual([0, 0]);
    expect(stdout).toMatch(/t_typical\[usec\][\s\S]*\n 2 +100 /);
    service.interrupt();
    expect((await service.ended).code).toBe(130);
    expect(existsSync(socket)).toBe(false);
  });

  it('that asks for what there is not: "roce uverbs" says on SIGUSR1, and at its end, what it refused', async () => {
    const socket = join(directory, 'asked');
    const service = startRoce(['uverbs', '--socket', socket, '--link', 'loopback:10.0.0.7/24']);
    await service.shows('serving at');
    service.signal('SIGUSR1');
    await service.shows('0 connections, 0 open device files; 0 listens and 0 refusals since the start');
    const asking = startRoce(['run', '--on', socket, '--', 'ibv_rc_pingpong', '-r', '2000000']);
    expect((await asking.ended).code).not.toBe(0);
    service.signal('SIGUSR1');
    await service.shows('0 listens and 1 refusal since the start\n  refused: CREATE_CQ EINVAL, 1 time\n');
    service.interrupt();
    const { code, stdout } = await service.ended;
    expect([code, stdout.match(/refused: CREATE_CQ EINVAL, 1 time/g)?.length]).toEqual([130, 2]);
  });
});
