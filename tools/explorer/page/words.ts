/** Numbers as people read them. Owns units and digits. */
import { MARK_NAMES } from 'rocev2/pcap';

/** "1.234567890" seconds, with as many decimals as are given. */
export function seconds(timeNs: number, decimals = 9): string {
  return (timeNs / 1e9).toFixed(decimals);
}

/** A span of time in a unit that fits: "12.3 us". */
export function span(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns} ns`;
  if (size < 1e6) return `${digits(ns / 1e3)} us`;
  return size < 1e9 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e9)} s`;
}

/**
 * Ticks of an axis in one unit, the largest that the last of them fills, with the decimals that tell them apart:
 * "9.5 ms", "10.0 ms".
 */
export function timeLabels(timesNs: readonly number[]): string[] {
  const most = Math.max(...timesNs.map(Math.abs));
  const [unit, name] = UNITS.find(([size]) => most >= size) ?? [1, 'ns'];
  const stepNs = timesNs.length > 1 ? Math.abs((timesNs[1] ?? 0) - (timesNs[0] ?? 0)) : unit;
  const decimals = stepNs === 0 ? 0 : Math.max(0, Math.min(9, Math.ceil(-Math.log10(stepNs / unit) - 1e-9)));
  const fits = Number((stepNs / unit).toFixed(decimals)) * unit;
  const more = Math.abs(fits - stepNs) > stepNs / 1000 ? 1 : 0;
  return timesNs.map((timeNs) => `${(timeNs / unit).toFixed(decimals + more)} ${name}`);
}

/** "12.3 MB". */
export function bytes(count: number): string {
  if (count < 1e3) return `${count} B`;
  if (count < 1e6) return `${digits(count / 1e3)} kB`;
  return count < 1e9 ? `${digits(count / 1e6)} MB` : `${digits(count / 1e9)} GB`;
}

/** "12.3 Gb/s". */
export function rate(bps: number): string {
  if (bps < 1e3) return `${Math.round(bps)} b/s`;
  if (bps < 1e6) return `${digits(bps / 1e3)} kb/s`;
  return bps < 1e9 ? `${digits(bps / 1e6)} Mb/s` : `${digits(bps / 1e9)} Gb/s`;
}

/** "12,345", as in the sentences of findings. */
export function count(value: number): string {
  return `${value}`.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** "3 packets", "1 packet". */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? '' : 's'}`;
}

/** Names of the bits of `Mark`. */
export function markNames(marks: number): string[] {
  return MARK_NAMES.filter((_, bit) => (marks & (1 << bit)) !== 0);
}

/** "0x000012". */
export function qpn(value: number): string {
  return value < 0 ? 'unknown' : `0x${value.toString(16).padStart(6, '0')}`;
}

function digits(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);
}

const UNITS: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
];
