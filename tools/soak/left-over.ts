/** What a device still holds when it should hold nothing, or not what it held before. Owns the comparison. */
import type { Device, DeviceTables } from 'rocev2';

/** Neighbours that answered stay known. */
const STAYS: readonly string[] = ['neighbours'];

/** The tables of `device` that are not empty: 'keys: 3'. */
export function leftOver(device: Device): string[] {
  return Object.entries(device.tables()).flatMap(([table, size]) =>
    size === 0 || STAYS.includes(table) ? [] : [`${device.name} ${table}: ${size}`],
  );
}

/** The tables that are not as they were: 'keys: 3, before 2'. */
export function differences(device: Device, before: DeviceTables): string[] {
  const then = new Map<string, number>(Object.entries(before));
  return Object.entries(device.tables()).flatMap(([table, size]) =>
    size === then.get(table) ? [] : [`${device.name} ${table}: ${size}, before ${then.get(table)}`],
  );
}
