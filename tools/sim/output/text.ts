/**
 * What a terminal is told of runs: figures of one, a line for each of many, verdicts. Owns the words; prints nothing
 * itself.
 */
import { formatTable } from '../../table.ts';
import { isGood, type RunRecord } from '../run/record.ts';
import { figureText } from './words.ts';

/** One run in full, or many in a line each. */
export function runsText(records: readonly RunRecord[]): string[] {
  const [only] = records;
  if (only === undefined) return ['no runs'];
  return records.length === 1 ? runText(only) : sweepText(records);
}

function runText(record: RunRecord): string[] {
  const { scenario, seed, variants, verdicts, error } = record;
  const head = `${scenario}, seed ${seed}${parameterText(record)}`;
  if (error !== undefined) return [head, `  failed: ${error}`];
  const names = figureNames([record]).filter((name) => variants.some(({ figures }) => (figures[name] ?? 0) !== 0));
  const rows = names.map((name) => [name, ...variants.map(({ figures }) => figureText(name, figures[name] ?? null))]);
  const aligns = ['left', ...variants.map(() => 'right' as const)] as const;
  return [
    head,
    ...formatTable(['figure', ...variants.map(({ name }) => name)], rows, aligns),
    ...verdicts.map((verdict) => `  ${verdictText(verdict)}`),
  ];
}

function sweepText(records: readonly RunRecord[]): string[] {
  const parameters = sweptNames(records);
  const figures = COLUMNS.filter((name) =>
    records.some(({ variants }) => variants.some((one) => one.figures[name] !== undefined)),
  );
  const rows = records.flatMap((record) => {
    const { index, seed, variants, verdicts, error } = record;
    const lead = [String(index), ...parameters.map((name) => shown(record.parameters[name])), String(seed)];
    if (error !== undefined) return [[...lead, '', ...figures.map(() => ''), error]];
    return variants.map(({ name, figures: all }) => {
      const own = verdicts.filter(({ variant }) => variant === name);
      const passed = own.filter((verdict) => verdict.passed).length;
      const verdict = own.length === 0 ? '' : `${passed}/${own.length}${passed === own.length ? '' : ' FAIL'}`;
      return [...lead, name, ...figures.map((figure) => figureText(figure, all[figure] ?? null)), verdict];
    });
  });
  const headings = ['run', ...parameters, 'seed', 'variant', ...figures, 'passed'];
  return formatTable(
    headings,
    rows,
    headings.map((heading) => (figures.includes(heading) ? 'right' : 'left')),
  );
}

/** `pass fctNs.mean of mlx: 812.3 µs, wanted ~ 810 µs (within 10 %)`. */
export function verdictText({
  passed,
  variant,
  figure,
  operator,
  found,
  wanted,
  terms,
  why,
}: RunRecord['verdicts'][number]): string {
  const rest = [terms === '' ? '' : ` (${terms})`, why === undefined ? '' : ` - ${why}`].join('');
  return `${passed ? 'pass' : 'FAIL'} ${figure} of ${variant}: ${figureText(figure, found)}, wanted ${operator} ${figureText(figure, wanted)}${rest}`;
}

/** `3 of 40 runs are not as expected: 4, 9, 11`, or undefined. */
export function failureText(records: readonly RunRecord[]): string | undefined {
  const bad = records.filter((record) => !isGood(record)).map(({ index }) => index);
  if (bad.length === 0) return undefined;
  if (records.length === 1) return 'not as expected';
  return `${bad.length} of ${records.length} runs are not as expected: ${listText(bad)}`;
}

/** Numbers, cut where there are many. */
export function listText(numbers: readonly number[]): string {
  return numbers.slice(0, 20).join(', ') + (numbers.length > 20 ? ', ...' : '');
}

/** Every figure that some variant has, in the order of the first that has it. */
export function figureNames(records: readonly RunRecord[]): string[] {
  return [...new Set(records.flatMap(({ variants }) => variants.flatMap(({ figures }) => Object.keys(figures))))];
}

export function parameterNames(records: readonly RunRecord[]): string[] {
  return [...new Set(records.flatMap(({ parameters }) => Object.keys(parameters)))];
}

/** Of these the ones that differ between runs. */
export function sweptNames(records: readonly RunRecord[]): string[] {
  return parameterNames(records).filter(
    (name) => new Set(records.map(({ parameters }) => JSON.stringify(parameters[name]))).size > 1,
  );
}

/** A parameter as it was typed. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
}

function parameterText({ parameters }: RunRecord): string {
  return Object.entries(parameters)
    .map(([name, value]) => `, ${name} = ${shown(value)}`)
    .join('');
}

/** What fits on a line. */
const COLUMNS: readonly string[] = [
  'fctNs.mean',
  'fctNs.max',
  'slowdown.p99',
  'throughputBps',
  'windowBps.jain',
  'queueBytes.mean',
  'dropped',
  'pauses',
];
