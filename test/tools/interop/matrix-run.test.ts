/**
 * Goal: a verdict says whose fault a failure is, and only what is racy runs twice. Method: cells whose stock programs
 * are ours as well, between stacks in this process; `fails` is a command line that makes no sense.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Experiment, HostSpec } from '../../../tools/experiment/types.ts';
import type { CellSide, InteropCell } from '../../../tools/interop/cell.ts';
import { matrixExperiment, pairExperiment } from '../../../tools/interop/experiments.ts';
import { MatrixRun } from '../../../tools/interop/matrix-run.ts';
import { useWhereThere } from '../../support/need.ts';

useWhereThere('tshark');

it('passes when both ends do', async () => {
  const { rows, logs, directory } = await run(cell(() => false));
  expect(rows).toMatchObject([{ verdict: 'pass', capture: 'mtu1024/ping-server', note: '' }]);
  expect(logs).toEqual([]);
  expect(readFileSync(join(directory, 'mtu1024/report.md'), 'utf8')).toContain('## ping-server: as expected');
});

it('is ours when it fails with us alone', async () => {
  const { rows } = await run(cell(({ kind }) => kind === 'ours'));
  expect(rows).toMatchObject([{ verdict: 'fail', capture: 'mtu1024/ping-server' }]);
  expect(rows[0]?.failures).toContain('client ends with exit code 0: 2, not 0');
});

it('is a limit of theirs when it fails between two of them, and the capture is the evidence', async () => {
  const { rows, directory } = await run({ ...cell(() => true), limit: 'it has no such thing' });
  expect(rows).toMatchObject([{ verdict: 'rxe', capture: 'pairs-mtu1024/ping', note: 'it has no such thing' }]);
  expect(readFileSync(join(directory, 'pairs-mtu1024/ping/2-client.log'), 'utf8')).toContain('exit code 2');
});

it('is ours when there is nothing of ours to speak to, and two of them get on', async () => {
  const { rows } = await run({ ...cell(() => false), partnerless: 'nobody has written it' });
  expect(rows).toMatchObject([{ verdict: 'fail', note: 'nobody has written it' }]);
});

it('looks at what has arrived, where the server is theirs', async () => {
  const arrived = { command: 'rping', prints: () => '^nothing$' };
  const { rows } = await run({ ...cell(() => false), arrived });
  expect(rows[0]?.failures).toContain('arrived prints `^nothing$`: 0, not at least 1');
});

it('does not run what there is not', async () => {
  const { rows } = await run({ ...cell(() => false), without: { server: 'there is no server' } });
  expect(rows).toEqual([expect.objectContaining({ verdict: 'n/a', capture: '', note: 'there is no server' })]);
});

it('runs evidence twice where two of them fail by chance, and says why', async () => {
  const { rows, logs, directory } = await run({ ...cell(() => true), racy: 'it opens its eyes late' });
  expect(rows).toMatchObject([{ verdict: 'rxe' }]);
  expect(logs.filter((line) => line.includes('once more'))).toEqual([
    expect.stringMatching(/^ping is run once more, for it is racy: it opens its eyes late; /),
  ]);
  expect(existsSync(join(directory, 'pairs-mtu1024/ping.first/2-client.log'))).toBe(true);
});

/** A ping; where `fails` says so its client has a command line that makes no sense. */
function cell(fails: (side: CellSide) => boolean): InteropCell {
  return {
    name: 'ping',
    tool: 'rping',
    options: '',
    ip: 'IPv4',
    interfaceMtu: 1024,
    pathMtu: 1024,
    inCi: true,
    server: () => ({ command: 'rping -s -C 1 -S 100 -v', ready: { listen: 7174 }, exit: 'any' }),
    client: (side) => ({ command: fails(side) ? 'rping' : `rping -c -a ${side.server} -C 1 -S 100 -v` }),
  };
}

async function run(one: InteropCell): Promise<{ rows: MatrixRun['rows']; logs: string[]; directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'roce-matrix-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const logs: string[] = [];
  const matrix = new MatrixRun({
    kernel: '6.12',
    directory,
    log: (line) => logs.push(line),
    make: {
      matrix: (...parts) => withoutLinux(matrixExperiment(...parts)),
      pairs: (...parts) => withoutLinux(pairExperiment(...parts)),
    },
  });
  await matrix.run({ cell: one, role: 'server' });
  await matrix.findLimits();
  await matrix.close();
  return { rows: matrix.rows, logs: logs.filter((line) => !line.includes('a host of kind')), directory };
}

function withoutLinux(experiment: Experiment): Experiment {
  const stack = ({ addresses, mtu = 1500 }: HostSpec): HostSpec => ({ kind: 'stack', addresses, mtu });
  const hosts = Object.entries(experiment.hosts).map(([name, host]) => [name, stack(host)] as const);
  return { ...experiment, hosts: Object.fromEntries(hosts) };
}
