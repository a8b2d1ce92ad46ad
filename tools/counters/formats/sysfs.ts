/**
 * Counters of /sys/class/infiniband: as `path:value`, which `grep . -r` prints, and as files of a copied tree.
 *
 * Owns the paths. Device counters, which have no port, count as port 0.
 */
import type { SnapshotBuilder } from '../snapshot.ts';

/** Where a file of the tree belongs; undefined for one that is no counter. */
export interface SysfsPlace {
  /** What stands before the device in the path. */
  readonly prefix: string;
  readonly port: string;
  readonly counter: string;
}

export function sysfsPlace(path: string): SysfsPlace | undefined {
  const cm = /^(.*?)(?:(?:sys\/)?class\/)?infiniband_cm\/([^/]+)\/(\d+)\/(cm_\w+)\/(\w+)$/.exec(path);
  if (cm !== null) return { prefix: cm[1] ?? '', port: `${cm[2]}/${cm[3]}`, counter: `${cm[4]}/${cm[5]}` };
  const match =
    /^(.*?)(?:(?:(?:sys\/)?class\/)?infiniband\/)?([^/]+)\/(?:ports\/(\d+)\/)?((?:hw_)?counters|cm_\w+)\/([^/]+)$/.exec(
      path,
    );
  if (match === null) return undefined;
  const [, prefix = '', device = '', port, folder = '', name = ''] = match;
  if (port === undefined && folder !== 'hw_counters') return undefined;
  return { prefix, port: `${device}/${port ?? 0}`, counter: folder.startsWith('cm_') ? `${folder}/${name}` : name };
}

/** Whether the line is `path:value`. */
export function readSysfsLine(line: string, into: SnapshotBuilder): boolean {
  const [, path = '', value = ''] = /^\s*(\S.*?):\s*(\d{1,20}|N\/A.*)\s*$/.exec(line) ?? [];
  const place = path === '' ? undefined : sysfsPlace(path);
  if (place === undefined) return false;
  setCounter(place, value, into);
  return true;
}

/** A value as a file of the tree has it; "N/A (no PMA)" is none, and the counters that are settings are left out. */
export function setCounter({ port, counter }: SysfsPlace, value: string, into: SnapshotBuilder): void {
  const trimmed = value.trim();
  if (/^\d{1,20}$/.test(trimmed) && !SETTINGS.has(counter)) into.set(port, counter, BigInt(trimmed));
}

/** How long a value is remembered by the kernel, in milliseconds: no counter. */
const SETTINGS: ReadonlySet<string> = new Set(['lifespan']);
