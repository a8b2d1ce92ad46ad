/**
 * Whether what a scenario expects has come out: a verdict for each expectation, with the figure. Owns the comparison.
 */
import { defined } from 'rocev2/packets';
import type { FigureExpectation, Selection } from '../scenario/expect.ts';
import { parseFigure } from '../scenario/figures.ts';
import type { Variant } from '../scenario/schema.ts';
import { fluidParameters, fluidValue } from './fluid.ts';
import { measure } from './measure.ts';
import type { RunOutcome } from './outcome.ts';

export interface VariantResult {
  readonly name: string;
  readonly variant: Variant;
  readonly outcome: RunOutcome;
}

/** One expectation of one variant. Goes into records, so it is plain data. */
export interface ExpectationVerdict {
  readonly passed: boolean;
  readonly variant: string;
  readonly figure: string;
  readonly operator: FigureExpectation['operator'];
  /** Null: there is no such figure, so the verdict is a fail. */
  readonly found: number | null;
  readonly wanted: number | null;
  /** What `wanted` is made of, and which part of the result was looked at; for a reader. */
  readonly terms: string;
  readonly why?: string;
}

/** Verdicts on a whole run, in the order of the file. */
export function judge(expectations: readonly FigureExpectation[], run: readonly VariantResult[]): ExpectationVerdict[] {
  return expectations.flatMap((expectation) => {
    const of = expectation.variant === undefined ? run : run.filter(({ name }) => name === expectation.variant);
    return of.map((judged) => verdictOn(expectation, judged, run));
  });
}

function verdictOn(
  expectation: FigureExpectation,
  judged: VariantResult,
  run: readonly VariantResult[],
): ExpectationVerdict {
  const { figure, operator, why, tolerance } = expectation;
  const found = measure(judged.outcome, parseFigure(figure), expectation);
  const wanted = wantedOf(expectation, judged, run);
  const passed = found !== undefined && wanted !== undefined && holds(found, operator, wanted, tolerance);
  return {
    passed,
    variant: judged.name,
    figure,
    operator,
    found: found ?? null,
    wanted: wanted ?? null,
    terms: termsOf(expectation),
    ...defined({ why }),
  };
}

function wantedOf(
  expectation: FigureExpectation,
  own: VariantResult,
  run: readonly VariantResult[],
): number | undefined {
  const { value } = expectation;
  if (typeof value === 'number') return value;
  if ('fluid' in value) {
    const parameters = fluidParameters(own.name, own.variant);
    const theirs = parameters === undefined ? undefined : fluidValue(parameters, value.fluid);
    return theirs === undefined ? undefined : theirs * value.times;
  }
  const other = value.variant === undefined ? own : run.find(({ name }) => name === value.variant);
  // What it does not say of itself is as in the expectation: the same flows, the same time.
  const theirs =
    other && measure(other.outcome, parseFigure(value.figure ?? expectation.figure), { ...expectation, ...value });
  return theirs === undefined ? undefined : theirs * value.times;
}

function holds(found: number, operator: FigureExpectation['operator'], wanted: number, tolerance: number): boolean {
  switch (operator) {
    case '<':
      return found < wanted;
    case '<=':
      return found <= wanted;
    case '>':
      return found > wanted;
    case '>=':
      return found >= wanted;
    case '==':
      return found === wanted;
    case '~':
      return Math.abs(found - wanted) <= tolerance * Math.abs(wanted);
    default:
      return unknownOperator(operator);
  }
}

function unknownOperator(operator: never): never {
  throw new TypeError(`no operator ${String(operator)}`);
}

function termsOf(expectation: FigureExpectation): string {
  const { value, operator, tolerance } = expectation;
  const parts = [selectionText(expectation)];
  if (operator === '~') parts.push(`within ${Number((tolerance * 100).toPrecision(4))} %`);
  if (typeof value === 'object')
    parts.push(`${value.times === 1 ? '' : `${value.times} x `}${otherText(expectation, value)}`);
  return parts.filter((part) => part !== '').join('; ');
}

function otherText(expectation: FigureExpectation, value: Exclude<FigureExpectation['value'], number>): string {
  if ('fluid' in value) return `${value.fluid} of the fluid model`;
  const of = value.variant === undefined ? '' : ` of ${value.variant}`;
  const selected = selectionText(value);
  return `${value.figure ?? expectation.figure}${of}${selected === '' ? '' : ` (${selected})`}`;
}

function selectionText({ group, queue, minBytes, maxBytes, fromNs, toNs }: Selection): string {
  const ms = (ns: number) => `${Number((ns / 1e6).toPrecision(6))} ms`;
  return [
    group === undefined ? '' : `flows of ${group}`,
    queue === undefined ? '' : queue,
    minBytes === undefined ? '' : `from ${minBytes} bytes`,
    maxBytes === undefined ? '' : `up to ${maxBytes} bytes`,
    fromNs === undefined ? '' : `from ${ms(fromNs)}`,
    toNs === undefined ? '' : `before ${ms(toNs)}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}
