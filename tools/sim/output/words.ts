/**
 * Figures as people read them: 812.3 µs, 95.8 Gb/s, 17.9 KB. Owns units and digits; KB is 1000 bytes, as everywhere in
 * the literature this is held against.
 */
import { parseFigure, unitOf } from '../scenario/figures.ts';

/** A figure by its name, such as `fctNs.p99` or `group:fctNs.p99`. */
export function figureText(name: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return 'none';
  return inUnit(value, unitOf(parseFigure(withoutGroup(name))));
}

/** Names in records carry the group in front. */
export function withoutGroup(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function inUnit(value: number, unit: string): string {
  switch (unit) {
    case 'ns':
      return scaled(value, TIMES);
    case 'bit/s':
      return scaled(value, RATES);
    case 'bytes':
      return scaled(value, SIZES);
    default:
      return digits(value);
  }
}

/** The largest unit that leaves a number of 1 or more. */
function scaled(value: number, units: readonly (readonly [number, string])[]): string {
  const size = Math.abs(value);
  const [divisor, name] = units.find(([from]) => size >= from) ?? units.at(-1) ?? [1, ''];
  return `${digits(value / divisor)} ${name}`;
}

/** Four digits, whole numbers whole. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  return String(Number.isInteger(value) && Math.abs(value) < 1e9 ? value : Number(value.toPrecision(4)));
}

const TIMES = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
] as const;
const RATES = [
  [1e9, 'Gb/s'],
  [1e6, 'Mb/s'],
  [1e3, 'kb/s'],
  [1, 'b/s'],
] as const;
const SIZES = [
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'KB'],
  [1, 'B'],
] as const;
