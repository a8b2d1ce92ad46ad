/**
 * What a check has found: for each rule whether it was kept, on how many occasions it was looked at, the first
 * difference in words, and figures. Owns the counting; a rule that no occasion tried proves nothing and says so (`seen`
 * 0).
 */
import type { TrafficEnd } from './trace.ts';

/** A rule, or a check that no rule of the registry stands for, as one run left it. */
export interface CheckResult {
  /** Which check: `gbn-sender`, `counters`, ... */
  readonly check: string;
  /** Id in the registry; absent where there is none. */
  readonly rule?: string;
  /** The end that is judged. */
  readonly end: TrafficEnd;
  /** Occasions on which it could have been broken. */
  readonly seen: number;
  readonly ok: boolean;
  /** What is wrong, a sentence; empty when nothing is. */
  readonly difference: string;
  /** What is legal and worth telling, a sentence; empty when nothing is. */
  readonly variation: string;
  /** What was measured by the check, by name; times in nanoseconds. */
  readonly figures: Readonly<Record<string, number | string>>;
}

/** Gathers what one check finds at one end. */
export class Findings {
  readonly figures: Record<string, number | string> = {};
  readonly #check: string;
  readonly #end: TrafficEnd;
  readonly #rules = new Map<string, Entry>();

  constructor(check: string, end: TrafficEnd, rules: readonly string[]) {
    this.#check = check;
    this.#end = end;
    for (const rule of rules) this.#rules.set(rule, newEntry());
  }

  /** The rule was tried, and kept unless `broken` says otherwise. */
  seen(rule: string, broken?: string | undefined): void {
    const entry = this.#entry(rule);
    entry.seen++;
    if (broken !== undefined) entry.broken.push(broken);
  }

  /** The rule was kept in a way that others would not keep it. */
  varied(rule: string, how: string): void {
    this.#entry(rule).varied.push(how);
  }

  /** Least, median and most of some times or numbers; nothing when there are none. */
  spread(name: string, values: readonly number[]): void {
    if (values.length === 0) return;
    const sorted = [...values].sort((a, b) => a - b);
    this.figures[`${name}Count`] = sorted.length;
    this.figures[`${name}Min`] = sorted[0] ?? 0;
    this.figures[`${name}Median`] = median(sorted);
    this.figures[`${name}Max`] = sorted.at(-1) ?? 0;
  }

  /** One result for each rule. */
  results(): CheckResult[] {
    return [...this.#rules].map(([rule, { seen, broken, varied }]) => ({
      ...{ check: this.#check, rule, end: this.#end, seen, ok: broken.length === 0, figures: this.figures },
      difference: sentence(broken),
      variation: sentence(varied),
    }));
  }

  #entry(rule: string): Entry {
    const entry = this.#rules.get(rule) ?? newEntry();
    this.#rules.set(rule, entry);
    return entry;
  }
}

/** What was seen of one rule. */
interface Entry {
  seen: number;
  readonly broken: string[];
  readonly varied: string[];
}

const newEntry = (): Entry => ({ seen: 0, broken: [], varied: [] });

/** The middle one of sorted numbers; of an even number the lower of the two. */
export function median(sorted: readonly number[]): number {
  return sorted[(sorted.length - 1) >> 1] ?? 0;
}

function sentence([first, ...more]: readonly string[]): string {
  if (first === undefined) return '';
  return more.length === 0 ? first : `${first}; and ${more.length} more`;
}
