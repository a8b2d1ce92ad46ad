/**
 * The counters of one of our own devices, as the text of a snapshot.
 *
 * Owns the names: those of sysfs for what rdma_rxe and mlx5 have, the properties in snake case for the rest.
 */
import type { Device } from 'rocev2';

/** What is read of a device. */
export type CountingDevice = Pick<Device, 'name' | 'counters' | 'portCounters'> & {
  readonly cm: { counters(): Readonly<Record<string, number>> };
};

/** One snapshot; the time in milliseconds since 1970. */
export function snapshotOfDevice(host: string, device: CountingDevice, timeMs: number): string {
  const folder = `/sys/class/infiniband/${device.name}/ports/1`;
  const counters = { ...device.portCounters, ...device.counters };
  const lines = [
    '# roce-counters 1',
    `# host ${host}`,
    `# date ${new Date(timeMs).toISOString()}`,
    ...Object.entries(counters).map(([name, value]) => `${folder}/hw_counters/${snakeCase(name)}:${value}`),
    ...Object.entries(device.cm.counters()).map(([name, value]) => `${folder}/cm_own/${snakeCase(name)}:${value}`),
  ];
  return `${lines.join('\n')}\n`;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`);
}
