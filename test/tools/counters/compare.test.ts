/**
 * Goal: what is compared with what, and what is said of wraps, resets and hosts that do not match. Method: snapshots as
 * texts and folders, with figures made for each case.
 */
import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { compareCounters } from '../../../tools/analyze/command.ts';
import { diagnose } from '../../../tools/counters/diagnose.ts';
import { analyzeCounters } from '../../../tools/counters/index.ts';
import { readSnapshots, snapshotsOf } from '../../../tools/counters/read.ts';
import { useFolder } from './folder.ts';

/** A snapshot of host `host` at a minute of an hour. */
function at(minute: number, values: Readonly<Record<string, number>>, host = 'n1'): string {
  const lines = Object.entries(values).map(([name, value]) => `mlx5_0/ports/1/hw_counters/${name}:${value}`);
  const date = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return `# roce-counters 1\n# host ${host}\n# date ${date}\n${lines.join('\n')}\n`;
}

function compare(...texts: readonly string[]): ReturnType<typeof diagnose> {
  return diagnose(texts.flatMap((text) => snapshotsOf(text, 'test')));
}

describe('two snapshots', () => {
  it('give differences and rates, in whatever order they come', () => {
    const later = at(1, { out_of_sequence: 70, rdma_rx_packets: 1e6 });
    const { ports, findings } = compare(later, at(0, { out_of_sequence: 10, rdma_rx_packets: 0 }));
    expect(ports[0]).toMatchObject({ host: 'n1', port: 'mlx5_0/1', seconds: 60 });
    expect(ports[0]?.figures.get('out-of-sequence')).toMatchObject({ value: 60, names: ['out_of_sequence'] });
    // 60 of a million are fewer than one of ten thousand.
    expect(findings).toMatchObject([{ id: 'sequence-error', severity: 'note' }]);
  });

  it('a counter of 32 bits that passes its end goes on', () => {
    const { ports, remarks } = compare(at(0, { packet_seq_err: 4294967290 }), at(1, { packet_seq_err: 4 }));
    expect(ports[0]?.figures.get('sequence-nak')?.value).toBe(10);
    expect(remarks).toEqual(['n1 mlx5_0/1: packet_seq_err passed 2^32 and began again, which is counted in.']);
  });

  it('a counter that fell was reset, and has at least what it shows', () => {
    const { ports, remarks } = compare(at(0, { packet_seq_err: 900 }), at(1, { packet_seq_err: 4 }));
    expect(ports[0]?.figures.get('sequence-nak')?.value).toBe(4);
    expect(remarks[0]).toContain('packet_seq_err fell: reset');
  });

  it('of different hosts are not compared', () => {
    const { ports, remarks } = compare(at(0, { packet_seq_err: 1 }, 'n1'), at(1, { packet_seq_err: 4 }, 'n2'));
    expect(ports).toEqual([]);
    expect(remarks).toEqual(['Host n1 is there once only: not compared.', 'Host n2 is there once only: not compared.']);
  });

  it('tell of a device that came or went', () => {
    const { remarks } = compare(at(0, { packet_seq_err: 1 }), at(1, { packet_seq_err: 1 }).replace('mlx5_0', 'mlx5_9'));
    expect(remarks).toEqual([
      'n1 mlx5_9/1 is in the later snapshot only: not compared.',
      'n1 mlx5_0/1 has gone: it is in the earlier snapshot only.',
    ]);
  });

  it('parts of a kind add up, and names of the same events do not', () => {
    const { ports } = compare(
      at(0, {
        res_rx_invalid_rkey: 0,
        res_rx_no_perm: 0,
        rx_discards_phy: 0,
        rx_prio3_discards: 0,
        rx_prio4_discards: 0,
      }),
      at(1, {
        res_rx_invalid_rkey: 2,
        res_rx_no_perm: 3,
        rx_discards_phy: 9,
        rx_prio3_discards: 7,
        rx_prio4_discards: 2,
      }),
    );
    expect(ports[0]?.figures.get('access-refused')?.value).toBe(5);
    expect(ports[0]?.figures.get('rx-discard')?.value).toBe(9);
  });
});

it('one snapshot is everything since the counters began, and says so', () => {
  const { findings, remarks } = compare(at(0, { req_transport_retries_exceeded: 3 }));
  expect(findings).toMatchObject([{ id: 'retry-exceeded', severity: 'error' }]);
  expect(remarks[0]).toContain('since the counters began');
});

describe('many hosts', () => {
  const fleet = (bad: string): string[] =>
    ['n1', 'n2', 'n3', 'n4', 'n5'].flatMap((host) =>
      [0, 1, 2, 3].map((minute) =>
        at(
          minute,
          { out_of_sequence: host === bad && minute > 1 ? minute * 1000 : minute, rdma_rx_packets: minute * 1e6 },
          host,
        ),
      ),
    );

  it('one stands out, and since when', () => {
    const { outliers } = compare(...fleet('n4'));
    expect(outliers).toEqual([
      {
        kind: 'out-of-sequence',
        port: 'n4 mlx5_0/1',
        value: 3000,
        share: 3000 / 3012,
        median: 3,
        ports: 5,
        sinceMs: Date.UTC(2026, 0, 1, 0, 1),
        sinceSnapshot: 2,
      },
    ]);
  });

  it('none does where all are alike', () => {
    expect(compare(...fleet('nobody')).outliers).toEqual([]);
  });
});

describe('files and folders', () => {
  const folder = useFolder();

  async function run(...paths: readonly string[]): Promise<{ code: number; out: string; err: string }> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const code = await compareCounters(paths, {}, { stdin: stdout, stdout, stderr });
    return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') };
  }

  it('a copied tree of sysfs beside other output is one snapshot', () => {
    folder.put('sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence', '7\n');
    folder.put('ethtool.txt', '$ ethtool -S eth0\nNIC statistics:\n     rx_prio3_pause: 2\n');
    const snapshots = readSnapshots(folder.root);
    expect(snapshots).toHaveLength(1);
    const { values } = snapshots[0]?.ports.get('mlx5_0/1') ?? { values: new Map() };
    expect(Object.fromEntries(values)).toEqual({ out_of_sequence: 7n, rx_prio3_pause: 2n });
  });

  it('folders with one pair for each host need no headers', () => {
    for (const host of ['n1', 'n2']) {
      folder.put(`${host}/before.txt`, 'mlx5_0/ports/1/hw_counters/req_remote_access_errors:1\n');
      folder.put(`${host}/after.txt`, `mlx5_0/ports/1/hw_counters/req_remote_access_errors:${host === 'n2' ? 4 : 1}\n`);
    }
    const { hosts, findings } = diagnose(readSnapshots(folder.root));
    expect(hosts).toEqual(['n1', 'n2']);
    expect(findings.map(({ id, ports }) => [id, ports])).toEqual([['remote-access-error', ['n2 mlx5_0/1']]]);
  });

  it('as JSON names the page of each finding: that of the symptom, or that of counters', () => {
    const values = (count: number): string =>
      ['hw_counters/req_remote_access_errors', 'counters/link_downed']
        .map((name) => `mlx5_0/ports/1/${name}:${count}\n`)
        .join('');
    folder.put('n1/before.txt', values(1));
    folder.put('n1/after.txt', values(4));
    const { findings }: { findings: { id: string; page: string }[] } = JSON.parse(
      analyzeCounters([folder.root], { json: true }).text,
    );
    expect(Object.fromEntries(findings.map(({ id, page }) => [id, page]))).toEqual({
      'counter/link-down': 'docs/counters.html',
      'remote-access-error': 'docs/symptoms.html#remote-access-error',
    });
  });

  it('two folders with the same hosts are before and after', () => {
    for (const [stage, value] of [
      ['old', 1],
      ['new', 3],
    ] as const)
      for (const host of ['n1', 'n2'])
        folder.put(`${stage}/${host}/mlx5_0/ports/1/hw_counters/out_of_buffer`, `${value}\n`);
    const { ports } = diagnose([join(folder.root, 'old'), join(folder.root, 'new')].flatMap(readSnapshots));
    expect(ports.map(({ host, figures }) => [host, figures.get('no-receive')?.value])).toEqual([
      ['n1', 2],
      ['n2', 2],
    ]);
  });

  it('BEFORE and AFTER have the exit codes of a capture', async () => {
    const before = folder.put(
      'a.txt',
      at(0, { req_transport_retries_exceeded: 0, local_ack_timeout_err: 0, out_of_buffer: 0 }),
    );
    const same = folder.put(
      'b.txt',
      at(1, { req_transport_retries_exceeded: 0, local_ack_timeout_err: 0, out_of_buffer: 0 }),
    );
    const worse = folder.put(
      'c.txt',
      at(1, { req_transport_retries_exceeded: 2, local_ack_timeout_err: 16, out_of_buffer: 0 }),
    );
    const slow = folder.put(
      'd.txt',
      at(1, { req_transport_retries_exceeded: 0, local_ack_timeout_err: 0, out_of_sequence: 0 }),
    );
    expect(await run(before, same)).toMatchObject({ code: 0, err: '' });
    expect(await run(before, slow)).toMatchObject({ code: 0 });
    const found = await run(before, worse);
    expect(found.code).toBe(1);
    expect(found.out).toContain('2 requests of n1 mlx5_0/1 used up the retries');
    expect(found.out).toContain('cannot tell which queue pair');
  });

  it('what is not there, or has no counters, is said in one line', async () => {
    const empty = folder.put('empty.txt', 'nothing here\n');
    expect(await run(join(folder.root, 'none'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^roce analyze: .*no such file or folder\n$/),
    });
    expect(await run(empty)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^roce analyze: .*no counters in it\n$/),
    });
  });

  it('snapshot.sh prints what is read back', () => {
    const script = fileURLToPath(new URL('../../../tools/counters/snapshot.sh', import.meta.url));
    folder.put('class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence', '7\n');
    folder.put('class/infiniband/mlx5_0/ports/1/counters/link_downed', '1\n');
    folder.put('class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0', 'eth7\n');
    folder.put('class/infiniband_cm/mlx5_0/1/cm_rx_msgs/rej', '3\n');
    const { stdout, status } = spawnSync('sh', [script], {
      env: { ...process.env, SYSFS: folder.root },
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(stdout).toContain('# netdev mlx5_0 1 eth7');
    const [snapshot] = snapshotsOf(stdout, 'test');
    expect(snapshot?.host).toBe(hostname());
    expect(snapshot?.timeMs).toBeGreaterThan(Date.UTC(2025, 0));
    expect(Object.fromEntries(snapshot?.ports.get('mlx5_0/1')?.values ?? [])).toMatchObject({
      out_of_sequence: 7n,
      link_downed: 1n,
      'cm_rx_msgs/rej': 3n,
    });
  });
});
