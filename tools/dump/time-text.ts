/**
 * The column of times: since the first packet, since the one before, as a date, since 1970, or none.
 *
 * Owns the formats. Remembers the first packet and the one before, and nothing else.
 */
import { type CaptureTime, nanosecondsSince } from 'rocev2/pcap';

/** How times are shown. */
export const TIME_FORMATS = ['relative', 'delta', 'absolute', 'epoch', 'none'] as const;
/** One of the formats. */
export type TimeFormat = (typeof TIME_FORMATS)[number];

export class TimeColumn {
  readonly #format: TimeFormat;
  #first: CaptureTime | undefined;
  #before: CaptureTime | undefined;

  constructor(format: TimeFormat) {
    this.#format = format;
  }

  /** Counts a packet that is not shown. */
  see({ seconds, nanoseconds }: CaptureTime): void {
    this.#first ??= { seconds, nanoseconds };
  }

  /** Since the first packet, shown or not. */
  sinceFirst(time: CaptureTime): number {
    this.see(time);
    return nanosecondsSince(this.#first ?? time, time);
  }

  /** The column for the next packet that is shown, with the blank behind it; empty where there is to be none. */
  next(time: CaptureTime): string {
    this.see(time);
    const { seconds, nanoseconds } = time;
    const before = this.#before ?? time;
    this.#before = { seconds, nanoseconds };
    switch (this.#format) {
      case 'relative':
        return column(secondsText(nanosecondsSince(this.#first ?? time, time)));
      case 'delta':
        return column(secondsText(nanosecondsSince(before, time)));
      case 'epoch':
        return column(`${seconds}.${decimals(nanoseconds)}`);
      case 'absolute':
        return `${dateText(seconds) ?? seconds}.${decimals(nanoseconds)} `;
      default:
        return '';
    }
  }
}

/** "1.000000001" of nanoseconds. */
export function secondsText(nanoseconds: number): string {
  const sign = nanoseconds < 0 ? '-' : '';
  const magnitude = Math.abs(nanoseconds);
  return `${sign}${Math.floor(magnitude / 1e9)}.${decimals(magnitude % 1e9)}`;
}

/** "2026-11-21 17:45:50", UTC; undefined for what a damaged file may take for a time. */
function dateText(seconds: number): string | undefined {
  if (seconds < 0 || seconds >= YEAR_10000) return undefined;
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

function column(text: string): string {
  return `${text.padStart(COLUMNS)} `;
}

function decimals(nanoseconds: number): string {
  return String(nanoseconds).padStart(9, '0');
}

const COLUMNS = 14;
const YEAR_10000 = 253_402_300_800;
