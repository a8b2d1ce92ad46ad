/**
 * Goal: what an engineer reads: findings first, who stands out, what grew, and what was left out. Method: reports of
 * hosts whose counters grew; lines that an engineer relies on.
 */
import { describe, expect, it } from 'vitest';
import { type CounterAnalysis, diagnose } from '../../../tools/counters/diagnose.ts';
import { snapshotsOf } from '../../../tools/counters/read.ts';
import { counterReport } from '../../../tools/counters/report.ts';
import { type Growth, grown, type HostOptions, snapshot } from './grown.ts';

const report = (hosts: readonly Growth[], options?: HostOptions): string[] =>
  counterReport(grown(hosts, options), false);
const verbose = (hosts: readonly Growth[], options?: HostOptions): string[] =>
  counterReport(grown(hosts, options), true);

describe('the first line', () => {
  it.each<[string, readonly Growth[]]>([
    ['counters of 1 port of 1 host: nothing found that is wrong', [{ link_downed: 0 }]],
    [
      'counters of 2 ports of 2 hosts: 1 error, 2 warnings, 1 note',
      [
        { link_downed: 1, rx_discards_phy: 10 },
        { req_remote_access_errors: 1, rx_icrc_encapsulated: 1 },
      ],
    ],
  ])('%s', (line, hosts) => {
    expect(report(hosts)[0]).toBe(line);
  });

  it('without hosts tells of ports alone; where nothing was compared it says that', () => {
    const plain = (): ReturnType<typeof snapshotsOf> => snapshotsOf('mlx5_0/ports/1/counters/link_downed:0\n', 'a');
    expect(counterReport(diagnose(plain()), false)[0]).toBe('counters of 1 port: nothing found that is wrong');
    const apart = ['n1', 'n2'].flatMap((name) => snapshotsOf(snapshot(name, 0, { link_downed: 0 }), 'test'));
    expect(counterReport(diagnose(apart), false)[0]).toBe('counters of 0 ports: nothing was compared');
  });
});

describe('a finding', () => {
  it('has what counters cannot tell, what to do and where to read more', () => {
    expect(report([{ refused_request: 1 }]).slice(2, 8)).toEqual([
      'ERROR counter/refused',
      '  n1 mlx5_0/1 refused 1 request with NAK 0x61, 0x62 or 0x63; each ends its connection.',
      "  limit    Which of the three it was, this counter does not say; the requester's own counters do.",
      '           Nor does it say which queue pair it was.',
      '  do       Take snapshots of the requesters as well.',
      '  more     docs/counters.md',
    ]);
  });

  it('of a symptom has its title and its page; a note has advice with -v only', () => {
    const note = [{ rnr_nak_retry_err: 1 }];
    const short = report(note);
    expect(short).toContain('NOTE rnr-exceeded: Receiver not ready');
    expect(short).toContain('  more     docs/symptoms.md#rnr-exceeded');
    expect(short.filter((line) => /^ {2}(do|run|why|figures) /.test(line))).toEqual([]);
    const long = verbose(note);
    expect(long).toContain('  figures  rnr-nak-received 1, seconds 60');
    for (const word of ['do', 'run', 'why'])
      expect(
        long.filter((line) => line.startsWith(`  ${word} `)),
        word,
      ).toHaveLength(1);
  });

  it('of an error has advice and commands without -v', () => {
    const lines = report([{ req_rnr_retries_exceeded: 1 }]);
    for (const word of ['do', 'run'])
      expect(
        lines.filter((line) => line.startsWith(`  ${word} `)),
        word,
      ).toHaveLength(1);
  });
});

describe('what stands out', () => {
  const analysis = (sinceMs?: number, sinceSnapshot?: number): CounterAnalysis => ({
    ...grown([{ link_downed: 0 }]),
    outliers: [
      {
        kind: 'out-of-sequence',
        port: 'n4 mlx5_0/1',
        value: 3000,
        share: 0.996,
        median: 3,
        ports: 5,
        sinceMs,
        sinceSnapshot,
      },
    ],
  });
  const text = 'n4 mlx5_0/1: out-of-sequence 3,000, 100 % of all 5 ports, whose median is 3';

  it.each([
    ['alone', undefined, undefined, ''],
    ['since a date', Date.UTC(2026, 0, 1), 2, '; it began after 2026-01-01T00:00:00.000Z'],
    ['since a snapshot without a date', undefined, 2, '; it began after snapshot 2'],
  ])('%s', (_, sinceMs, sinceSnapshot, since) => {
    const lines = counterReport(analysis(sinceMs, sinceSnapshot), false);
    const from = lines.indexOf('STANDS OUT among the ports');
    expect(
      lines
        .slice(from + 1, lines.indexOf('', from))
        .join(' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ).toBe(text + since);
  });
});

describe('a port', () => {
  const about = (lines: readonly string[]): readonly string[] => {
    const from = lines.findIndex((line) => line.startsWith('n1 '));
    return lines.slice(from, lines.indexOf('', from));
  };

  it('shows what grew, with rates, its classes, and what is not known', () => {
    const growth = { rnr_nak_retry_err: 1, rdma_rx_packets: 90_000, rx_prio3_pause: 5999, new_a: 1200 };
    expect(about(report([growth], { pfc: [3, 4], trust: 'dscp' }))).toEqual([
      'n1 mlx5_0/1 in 60 s',
      '  rnr-nak-received       1  0.0167/s  RNR NAK received: the peer has no receive posted',
      '  rx-packets        90,000   1,500/s  RoCE packet received',
      '  pause-rx           5,999     100/s  pause frame received: the link partner stops this port',
      '  PFC on priority 3, 4, trust dscp',
      '  grew, and not known here: new_a 1,200',
    ]);
  });

  it('without any; six of what is not known are shown', () => {
    const growth = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((at) => [`new_${at}`, at]));
    expect(about(verbose([{ link_downed: 0, ...growth }], { pfc: [] }))).toEqual([
      'n1 mlx5_0/1 in 60 s',
      '  nothing grew that is known',
      '  PFC on priority none',
      '  grew, and not known here: new_1 1, new_2 2, new_3 3, new_4 4, new_5 5, new_6 6 and 2 more',
    ]);
  });

  it('a rate below a hundred has three digits', () => {
    expect(about(verbose([{ rdma_rx_packets: 125 }], { seconds: 10 }))).toEqual([
      'n1 mlx5_0/1 in 10 s',
      '  rx-packets  125  12.5/s  RoCE packet received',
    ]);
  });

  it('with nothing but traffic is left out, and so is the ninth; -v shows all', () => {
    const quiet = { rdma_rx_packets: 5, tx_prio3_packets: 5, 'cm_rx_msgs/rep': 1, 'cm_own/ok': 1, link_downed: 0 };
    const last = (lines: readonly string[]): string => lines.find((line) => line.includes('left out here')) ?? '';
    expect(last(report([{ link_downed: 1 }, quiet]))).toBe(
      '1 other port counted nothing but traffic, or is left out here (-v shows all)',
    );
    const nine = Array.from({ length: 9 }, () => ({ link_downed: 1 }));
    expect(last(report([...nine, quiet]))).toBe(
      '2 other ports counted nothing but traffic, or are left out here (-v shows all)',
    );
    expect(verbose([...nine, quiet]).filter((line) => /^n\d+ .* in 60 s$/.test(line))).toHaveLength(10);
  });
});

it('remarks and what counters cannot tell come last', () => {
  const { remarks, ...rest } = grown([{ link_downed: 0 }]);
  expect(remarks).toEqual([]);
  const lines = counterReport({ ...rest, remarks: ['One.', 'Two.'] }, false);
  expect(lines.slice(lines.indexOf('remarks')).slice(0, 4)).toEqual(['remarks', '  One.', '  Two.', '']);
  expect(lines.at(-1)).toContain('A capture can (roce analyze FILE).');
});
