/**
 * Plots as data: what `page/page.js` draws. Owns their shape, and how a long series becomes one that a page can carry
 * without losing its peaks.
 */

export interface Plot {
  readonly title: string;
  readonly about: string;
  /** Labels of the axes, with units. */
  readonly x: string;
  readonly y: string;
  readonly logX?: boolean;
  readonly logY?: boolean;
  /** The value holds until the next one. */
  readonly stepped?: boolean;
  readonly lines: readonly PlotLine[];
}

export interface PlotLine {
  readonly label: string;
  /** A place in the page's palette, so that what belongs together looks alike; or `INK`. */
  readonly colour: number;
  readonly dash: number;
  /** Points are shown, not only what joins them. */
  readonly points?: boolean;
  /** Ascending. */
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** At most about `points` of a series: of each stretch its least and its greatest, in their order. */
export function decimate(
  x: readonly number[],
  y: readonly number[],
  points = MAX_POINTS,
): { x: number[]; y: number[] } {
  if (x.length <= points) return { x: [...x], y: [...y] };
  const stretch = Math.ceil((2 * x.length) / points);
  const kept: number[] = [];
  for (let from = 0; from < x.length; from += stretch) {
    let [least, most] = [from, from];
    for (let at = from; at < Math.min(from + stretch, x.length); at++) {
      if ((y[at] ?? 0) < (y[least] ?? 0)) least = at;
      if ((y[at] ?? 0) > (y[most] ?? 0)) most = at;
    }
    kept.push(Math.min(least, most));
    if (least !== most) kept.push(Math.max(least, most));
  }
  return { x: kept.map((at) => x[at] ?? 0), y: kept.map((at) => y[at] ?? 0) };
}

/** A unit of time in which the numbers of a run are easily read. */
export function timeUnit(endNs: number): { readonly name: string; readonly ns: number } {
  if (endNs >= 2e9) return { name: 's', ns: 1e9 };
  return endNs >= 2e6 ? { name: 'ms', ns: 1e6 } : { name: 'µs', ns: 1e3 };
}

/** Six digits are more than a pixel shows. */
export function rounded(values: readonly number[]): number[] {
  return values.map((value) => (Number.isFinite(value) ? Number(value.toPrecision(6)) : 0));
}

/** The colour of text. */
export const INK = -1;
const MAX_POINTS = 1600;
