/**
 * Goal: every program of the table in docs/uverbs.md runs, or fails as it says. Method: `roce run --pair`, exit codes
 * and what is printed; some write a capture in which the analyzer finds nothing above a note. Through loss, on a device
 * opened here, data stay intact. About a minute and a half of one processor.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openDevice } from '../../src/index.ts';
import { serveUverbs } from '../../src/node/uverbs/serve.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { buildShim } from '../../tools/uverbs/build.ts';
import { runPair } from '../../tools/uverbs/run.ts';
import { describeWith } from '../support/need.ts';
import { startRoce } from './roce/run-roce.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-programs-long-'));
afterAll(() => rmSync(directory, { recursive: true }));
const TIMEOUT_MS = 60_000;

/** Server, client, exit code, what is printed by either. */
const TABLE: readonly (readonly [string, string, number, RegExp])[] = [
  ['ibv_rc_pingpong -g 0 -n 100', 'ibv_rc_pingpong -g 0 -n 100 localhost', 0, /100 iters in/],
  ['ibv_uc_pingpong -g 1 -e -n 100', 'ibv_uc_pingpong -g 1 -e -n 100 localhost', 0, /100 iters in/],
  ['ibv_ud_pingpong -g 1 -e -n 100', 'ibv_ud_pingpong -g 1 -e -n 100 localhost', 0, /100 iters in/],
  ['ibv_srq_pingpong -g 1 -n 100', 'ibv_srq_pingpong -g 1 -n 100 localhost', 0, /100 iters in/],
  ['ib_atomic_bw -n 100 -F', 'ib_atomic_bw -n 100 -F localhost', 0, /BW average/],
  ['ib_send_bw -R -n 100 -F', 'ib_send_bw -R -n 100 -F localhost', 0, /BW average/],
  ['rping -s -C 3 -a 127.0.0.1', 'rping -c -C 3 -v -a 127.0.0.1', 0, /rdma-ping-2/],
  ['rdma_server', 'rdma_client -s 10.0.0.1', 0, /rdma_client: end 0/],
  ['ucmatose', 'ucmatose -s 10.0.0.1', 0, /return status 0/],
  ['udaddy', 'udaddy -s 10.0.0.1', 0, /return status 0/],
  ['mckey -m 239.1.1.1 -b 10.0.0.1 -C 1', 'mckey -m 239.1.1.1 -s -b 10.0.0.1 -C 1', 0, /return status 0/],
  ['rstream -S 100000 -C 20 -T v', 'rstream -s 10.0.0.1 -S 100000 -C 20 -T v', 0, /custom +97k/],
  ['riostream -S 1000 -C 10', 'riostream -s 10.0.0.1 -S 1000 -C 10', 0, /custom +1000/],
  ['cmtime -b 10.0.0.1', 'cmtime -b 10.0.0.1 -s 10.0.0.1 -c 10', 0, /resolve route/],
  // What rdma_rxe does not have either.
  ['ibv_xsrq_pingpong -g 1', 'ibv_xsrq_pingpong -g 1 localhost', 1, /XRC Domain 95/],
];
/** Of these a capture is written. */
const CAPTURED = ['udaddy', 'rstream', 'ib_atomic_bw', 'mckey'];

describeWith('verbs', 'every program of the table', () => {
  it.each(TABLE)('%s', { timeout: TIMEOUT_MS }, async (server, client, code, printed) => {
    const capture = join(directory, 'capture.pcapng');
    const captured = CAPTURED.some((name) => server.startsWith(name));
    const options = captured ? ['--write', capture] : [];
    const ended = await startRoce(['run', '--pair', ...options, '--', server, client]).ended;
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringMatching(printed)]);
    if (!captured) return;
    const analyzed = await startRoce(['analyze', '--json', capture]).ended;
    expect(analyzed.stdout).toMatch(/"goodIcrc": [1-9]/);
    expect(severitiesOf(analyzed.stdout)).toEqual([]);
  });

  it('rcopy, and what it copies is whole', { timeout: TIMEOUT_MS }, async () => {
    const [from, to] = [join(directory, 'from'), join(directory, 'to')];
    writeFileSync(
      from,
      Uint8Array.from({ length: 300_000 }, (_, at) => at * 7),
    );
    await startRoce(['run', '--pair', '--', 'rcopy', `rcopy ${from} 10.0.0.1:${to}`]).ended;
    expect(readFileSync(to).equals(readFileSync(from))).toBe(true);
  });

  it('through loss data stay intact', { timeout: TIMEOUT_MS }, async () => {
    const chance = { loss: 0.02, duplicate: 0.02 };
    const faults = { faults: { aToB: chance } };
    const { device, close } = await openDevice({ link: 'loopback:10.0.0.1/24', faults });
    const socket = join(directory, 'socket');
    const served = await serveUverbs({ server: createUverbsServer(device), path: socket });
    try {
      const check = 'ibv_rc_pingpong -g 1 -n 200 -e -c';
      expect(await runPair([check, `${check} localhost`], { shim: await buildShim(), socket }, served)).toBe(0);
      // Something was lost and repeated, or this shows nothing.
      expect(device.portCounters.retransmittedPkts).toBeGreaterThan(0);
    } finally {
      served.close();
      await close();
    }
    expect(existsSync(socket)).toBe(false);
  });
});

/** Severities of findings above a note. */
function severitiesOf(json: string): string[] {
  return [...json.matchAll(/"severity": ?"(\w+)"/g)].map(([, name = '']) => name).filter((name) => name !== 'note');
}
