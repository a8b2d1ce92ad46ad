/**
 * Hosts whose counters grew by what a test says, between two snapshots a minute apart.
 *
 * Owns the text of such snapshots: names go where drivers and tools have them (sysfs, `ethtool -S`, `mlnx_qos`).
 */
import { type CounterAnalysis, diagnose } from '../../../tools/counters/diagnose.ts';
import type { CounterFinding } from '../../../tools/counters/finding.ts';
import { snapshotsOf } from '../../../tools/counters/read.ts';

/** By the name that a driver gives the counter: how much it grew. */
export type Growth = Readonly<Record<string, number>>;

/** What else a host has. */
export interface HostOptions {
  readonly seconds?: number;
  /** Priorities with PFC; nothing is said of it where it is left out. */
  readonly pfc?: readonly number[];
  readonly trust?: 'dscp' | 'pcp';
}

/** The diagnosis of hosts n1, n2, ... each with one port, `mlx5_0/1`. */
export function grown(hosts: readonly Growth[], options: HostOptions = {}): CounterAnalysis {
  return diagnose(hosts.flatMap((growth, at) => host(`n${at + 1}`, growth, options)));
}

/** What is said with one id; undefined if nothing is. It is said of the first host, n1. */
export function said(id: string, hosts: readonly Growth[], options: HostOptions = {}): CounterFinding | undefined {
  return grown(hosts, options).findings.find((finding) => finding.id === id && finding.ports.includes('n1 mlx5_0/1'));
}

function host(name: string, growth: Growth, options: HostOptions): ReturnType<typeof snapshotsOf> {
  const zero = Object.fromEntries(Object.keys(growth).map((counter) => [counter, 0]));
  const text = snapshot(name, 0, zero, options) + snapshot(name, options.seconds ?? 60, growth, options);
  return snapshotsOf(text, 'test');
}

/** One snapshot as `snapshot.sh` prints it, some seconds after the first. */
export function snapshot(name: string, second: number, values: Growth, { pfc, trust }: HostOptions = {}): string {
  const ethtool = Object.keys(values).filter((counter) =>
    /^[rt]x_(prio|pfc|global|.*_phy$)|^link_down_events/.test(counter),
  );
  const sysfs = Object.keys(values).filter((counter) => !ethtool.includes(counter));
  const flags = [0, 1, 2, 3, 4, 5, 6, 7].map((priority) => (pfc?.includes(priority) === true ? 1 : 0));
  const lines = [
    '# roce-counters 1',
    `# host ${name}`,
    `# date ${new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()}`,
    ...sysfs.map((counter) => `/sys/class/${pathOf(counter)}:${values[counter]}`),
    '# netdev mlx5_0 1 eth0',
    '# section ethtool -S eth0',
    ...ethtool.map((counter) => `     ${counter}: ${values[counter]}`),
    ...(trust === undefined ? [] : ['# section mlnx_qos -i eth0', `Priority trust state: ${trust}`]),
    ...(pfc === undefined
      ? []
      : ['# section mlnx_qos -i eth0', '\tpriority 0 1 2 3 4 5 6 7', `\tenabled ${flags.join(' ')}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function pathOf(counter: string): string {
  return counter.startsWith('cm_')
    ? `infiniband_cm/mlx5_0/1/${counter}`
    : `infiniband/mlx5_0/ports/1/hw_counters/${counter}`;
}
