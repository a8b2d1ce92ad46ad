/** Figures of two revisions from processes that ran in turns, as ratios with their spread. */
import { formatTable } from '../../table.ts';
import { median } from '../bench.ts';
import { short } from '../report.ts';

/** Figures of one bench: at one index those of two processes that ran one right after the other. */
export interface PairedFigures {
  readonly name: string;
  readonly unit: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

export interface Comparison {
  readonly name: string;
  readonly unit: string;
  /** Medians. */
  readonly before: number;
  readonly after: number;
  /** How much better the later revision is: median of the pairs' ratios, above 1 where it is faster or smaller. */
  readonly better: number;
  /** Quartiles of the same ratios. */
  readonly low: number;
  readonly high: number;
  readonly pairs: number;
}

/** Of at least one pair. More is better for what is counted a second; less is better for times and sizes. */
export function compare({ name, unit, before, after }: PairedFigures): Comparison {
  const moreIsBetter = /\/s$|a second$/.test(unit);
  const ratios = after.map((value, pair) => {
    const earlier = before[pair] ?? Number.NaN;
    return moreIsBetter ? value / earlier : earlier / value;
  });
  ratios.sort((a, b) => a - b);
  const quarter = Math.floor(ratios.length / 4);
  return {
    name,
    unit,
    before: median(before),
    after: median(after),
    better: median(ratios),
    low: ratios[quarter] ?? Number.NaN,
    high: ratios[ratios.length - 1 - quarter] ?? Number.NaN,
    pairs: ratios.length,
  };
}

/**
 * A table. A row is told faster or slower where the quartiles lie on one side of 1 and the median is 3 % away from it;
 * the rest is what processes differ by anyway.
 */
export function comparisonTable(rows: readonly Comparison[], before: string, after: string): string[] {
  const cells = rows.map((row) => [
    row.name,
    `${short(row.before)} ${row.unit}`,
    `${short(row.after)} ${row.unit}`,
    row.better.toFixed(3),
    `${row.low.toFixed(3)} to ${row.high.toFixed(3)}`,
    String(row.pairs),
    verdict(row),
  ]);
  return formatTable(['bench', before, after, 'better', 'quartiles', 'pairs', ''], cells, [
    'left',
    'right',
    'right',
    'right',
    'right',
    'right',
    'left',
  ]);
}

function verdict({ better, low, high, pairs }: Comparison): string {
  if (pairs < FEWEST_PAIRS) return '';
  if (low > 1 && better > 1 + NOTABLE) return 'BETTER';
  return high < 1 && better < 1 - NOTABLE ? 'WORSE' : '';
}

const NOTABLE = 0.03;
/** Fewer say nothing. */
const FEWEST_PAIRS = 3;
