/** Numbers and lists as reports have them. Owns spelling and the breaking of lines; computes nothing. */
import type { LatencyReport } from 'rocev2/pcap';
import { grouped } from '../table.ts';

/** "1.53 s", "67 ms", "80.2 us", "512 ns". */
export function durationText(ns: number): string {
  if (ns >= 1e9) return `${threeDigits(ns / 1e9)} s`;
  if (ns >= 1e6) return `${threeDigits(ns / 1e6)} ms`;
  return ns >= 1e3 ? `${threeDigits(ns / 1e3)} us` : `${Math.round(ns)} ns`;
}

/** "9.43 Gb/s", "320 Mb/s", "12 b/s". */
export function rateText(bps: number): string {
  return `${scaled(bps)}b/s`;
}

/** "1.5 GB", "320 kB", "12 B". */
export function bytesText(bytes: number): string {
  return `${scaled(bytes)}B`;
}

/** Half, nearly all and the longest of some times; a dash for none. */
export function latencyText({ count, p50Ns, p99Ns, maxNs }: LatencyReport): string {
  if (count === 0) return '-';
  return count === 1 ? durationText(maxNs) : [p50Ns, p99Ns, maxNs].map(durationText).join(' / ');
}

/** "0x000011"; a question mark for a queue pair that never showed. */
export function qpText(qpn: number): string {
  return qpn < 0 ? '?' : `0x${qpn.toString(16).padStart(6, '0')}`;
}

/** "3 SEND, 12 WRITE"; empty for nothing. */
export function tallyText(tally: Readonly<Record<string, number>>): string {
  return Object.entries(tally)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${grouped(count)} ${name}`)
    .join(', ');
}

/** "17, 18, 19 and 40 more". */
export function framesText(frames: readonly number[], count: number): string {
  const shown = frames.slice(0, FRAMES_SHOWN);
  const rest = count - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${grouped(rest)} more` : ''}`;
}

/** `text` in lines of at most `width` columns: the first behind `first`, the others behind as many blanks. */
export function wrap(text: string, first: string, width = REPORT_WIDTH): string[] {
  const indent = ' '.repeat(first.length);
  const lines: string[] = [];
  let line = first;
  let bare = true;
  for (const word of text.replaceAll(UNIT, `$1${GLUE}`).split(/[ \n]+/)) {
    if (!bare && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent;
      bare = true;
    }
    line += bare ? word : ` ${word}`;
    bare = false;
  }
  return [...lines, line.trimEnd()].map((each) => each.replaceAll(GLUE, ' '));
}

/** Columns of a report. */
export const REPORT_WIDTH = 100;

function scaled(value: number): string {
  const [unit, prefix] = PREFIXES.find(([least]) => value >= least) ?? [1, ''];
  return unit === 1 ? `${Math.round(value)} ` : `${threeDigits(value / unit)} ${prefix}`;
}

function threeDigits(value: number): string {
  return value >= 999.5 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** The blank between a number and its unit, where no line is broken. */
const UNIT = /(\d) (?=(?:[mnu]?s|[kMGT]?B|[kMGT]?b\/s)\b|%)/g;
const GLUE = '\u00a0';
const PREFIXES: readonly (readonly [number, string])[] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];
const FRAMES_SHOWN = 10;
