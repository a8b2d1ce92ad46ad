/**
 * Goal: which ports of many stand out, in what order, and since when. Method: hosts with one port each, whose counters
 * grew by a number; for "since when" a series of snapshots a minute apart.
 */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../tools/counters/diagnose.ts';
import { medianOf } from '../../../tools/counters/fleet.ts';
import { snapshotsOf } from '../../../tools/counters/read.ts';
import { grown, snapshot } from './grown.ts';

/** Who stands out among hosts that received so many packets out of sequence: "n1 50/60, median 5". */
function standsOut(...values: readonly number[]): string[] {
  return grown(values.map((out_of_sequence) => ({ out_of_sequence }))).outliers.map(
    ({ port, value, share, median }) => `${port.split(' ')[0]} ${value}/${Math.round(value / share)}, median ${median}`,
  );
}

describe('a port stands out', () => {
  it.each<[string, readonly number[], readonly string[]]>([
    ['with ten, five times the median', [10, 2, 2], ['n1 10/14, median 2']],
    ['not with nine', [9, 0, 0], []],
    ['not with less than five times the median', [14, 3, 3], []],
    ['among three, of which the others have none', [10, 0, 0], ['n1 10/10, median 0']],
    ['not among two', [1000, 0], []],
    ['against the mean of the middle two of four', [20, 5, 3, 1], ['n1 20/29, median 4']],
    ['not one by one where all are bad', [1000, 1000, 1000], []],
  ])('%s', (_, values, expected) => {
    expect(standsOut(...values)).toEqual(expected);
  });

  it('not by its traffic', () => {
    const busy = { rdma_rx_packets: 1e6, rdma_tx_packets: 1e6, tx_prio3_packets: 1e6, 'cm_rx_msgs/rep': 1e6 };
    const idle = { rdma_rx_packets: 1, rdma_tx_packets: 1, tx_prio3_packets: 1, 'cm_rx_msgs/rep': 1 };
    expect(grown([busy, idle, idle]).outliers).toEqual([]);
  });

  it('only among those that count it', () => {
    const { outliers } = grown([{ out_of_sequence: 50 }, { link_downed: 0 }, { link_downed: 0 }]);
    expect(outliers).toEqual([]);
  });
});

describe('order', () => {
  it('the largest share first', () => {
    expect(standsOut(20, 30, 0, 0, 0)).toEqual(['n2 30/50, median 0', 'n1 20/50, median 0']);
    const { outliers } = grown([
      { out_of_sequence: 900, packet_seq_err: 20 },
      { out_of_sequence: 100, packet_seq_err: 0 },
      { out_of_sequence: 100, packet_seq_err: 0 },
    ]);
    expect(outliers.map(({ kind, share }) => [kind, share])).toEqual([
      ['sequence-nak', 1],
      ['out-of-sequence', 900 / 1100],
    ]);
  });

  it('of equal shares the larger number first', () => {
    const none = { local_ack_timeout_err: 0, out_of_sequence: 0 };
    const { outliers } = grown([{ local_ack_timeout_err: 10, out_of_sequence: 500 }, none, none]);
    expect(outliers.map(({ kind, value, share }) => [kind, value, share])).toEqual([
      ['out-of-sequence', 500, 1],
      ['ack-timeout', 10, 1],
    ]);
  });

  it('twenty at most', () => {
    const values = Array.from({ length: 60 }, (_, at) => (at < 25 ? 100 + at : 0));
    const found = standsOut(...values);
    expect(found).toHaveLength(20);
    expect(found[0]).toMatch(/^n25 124\//);
  });
});

describe('since when', () => {
  /** Totals of n1 at each minute; two others have none. */
  function since(totals: readonly number[]): [number | undefined, number | undefined] | undefined {
    const texts = totals.flatMap((total, minute) => [
      snapshot('n1', minute * 60, { out_of_sequence: total }),
      ...['n2', 'n3'].map((name) => snapshot(name, minute * 60, { out_of_sequence: 0 })),
    ]);
    const [first] = diagnose(texts.flatMap((text) => snapshotsOf(text, 'test'))).outliers;
    if (first === undefined) return undefined;
    const { sinceMs, sinceSnapshot } = first;
    return [sinceMs === undefined ? undefined : (sinceMs - Date.UTC(2026, 0, 1)) / 60_000, sinceSnapshot];
  }

  it.each<[string, readonly number[], number, number]>([
    ['the last snapshot before all of it', [0, 0, 0, 100], 2, 3],
    ['the last before a tenth of the largest step', [0, 10, 110, 110], 0, 1],
    ['not before less than a tenth', [0, 9, 109, 109], 1, 2],
    ['the first, if it was always so', [0, 50, 100, 150], 0, 1],
  ])('%s', (_, totals, minute, at) => {
    expect(since(totals)).toEqual([minute, at]);
  });

  it('two snapshots do not say', () => {
    expect(since([0, 100])).toEqual([undefined, undefined]);
  });
});

it.each([
  [[], 0],
  [[7], 7],
  [[9, 1, 5], 5],
  [[100, 9], 54.5],
])('the median of %j is %d', (values, median) => {
  expect(medianOf(values)).toBe(median);
});
