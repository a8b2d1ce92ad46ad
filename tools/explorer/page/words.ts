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
