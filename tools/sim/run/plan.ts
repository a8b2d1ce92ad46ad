/**
 * Which runs a command line asks for: every point of the sweeps times every seed, numbered the same whatever shard does
 * them. Owns the order (the last sweep changes fastest, then the seed) and the words `--sweep` and `--seeds` are
 * typed in.
 */
import { RoceError } from 'rocev2/packets';
import { type Json, type JsonPath, parsePath, parseValue, pathText } from '../scenario/json.ts';

/** A value for a field, as `--set` gives it. */
export interface Setting {
  readonly path: JsonPath;
  readonly value: Json;
}

/** Values for a field, one after the other. */
export interface Sweep {
  readonly path: JsonPath;
  readonly values: readonly Json[];
}

export interface PlannedRun {
  /** Among all runs, of all shards. */
  readonly index: number;
  readonly seed: number | undefined;
  readonly settings: readonly Setting[];
}

/** Every run, in order. No seeds: each run has that of its scenario. */
export function planRuns(
  settings: readonly Setting[],
  sweeps: readonly Sweep[],
  seeds: readonly number[],
): PlannedRun[] {
  let points: (readonly Setting[])[] = [settings];
  for (const { path, values } of sweeps)
    points = points.flatMap((point) => values.map((value) => [...point, { path, value }]));
  const each: readonly (number | undefined)[] = seeds.length === 0 ? [undefined] : seeds;
  return points
    .flatMap((point) => each.map((seed) => ({ seed, settings: point })))
    .map((run, index) => ({ index, ...run }));
}

/** `path=value`. @throws RoceError ERR_ROCE_ARGUMENT */
export function parseSetting(text: string): Setting {
  const [path, value] = splitAtEquals(text);
  return { path: parsePath(path), value: parseValue(value) };
}

/** `path=v1,v2,...`, or `path=[...]` where values hold commas. @throws RoceError ERR_ROCE_ARGUMENT */
export function parseSweep(text: string): Sweep {
  const [path, list] = splitAtEquals(text);
  const whole = parseValue(list);
  const values = Array.isArray(whole) ? (whole as readonly Json[]) : splitAtCommas(list).map(parseValue);
  if (values.length === 0) throw new RoceError('ERR_ROCE_ARGUMENT', `${path}: values to sweep over are expected`);
  return { path: parsePath(path), values };
}

/** Commas inside of brackets, braces and quotes belong to a value. */
function splitAtCommas(text: string): string[] {
  return text.match(/(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[^,])+/g) ?? [];
}

function splitAtEquals(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${JSON.stringify(text)}: path=value is expected`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** `1..20` or `1,5,9`. @throws RoceError ERR_ROCE_ARGUMENT */
export function parseSeeds(text: string): number[] {
  const [, first, last] = /^(\d{1,15})\.\.(\d{1,15})$/.exec(text) ?? [];
  if (first !== undefined && last !== undefined) {
    const length = Number(last) - Number(first) + 1;
    if (length < 1 || length > MAX_SEEDS)
      throw new RoceError('ERR_ROCE_ARGUMENT', `${text}: 1 to ${MAX_SEEDS} seeds are expected`);
    return Array.from({ length }, (_, at) => Number(first) + at);
  }
  if (!/^\d{1,15}(?:,\d{1,15})*$/.test(text))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${JSON.stringify(text)}: seeds such as 1..20 or 1,5,9 are expected`);
  const seeds = text.split(',').map(Number);
  if (new Set(seeds).size !== seeds.length) throw new RoceError('ERR_ROCE_ARGUMENT', `${text}: a seed is there twice`);
  return seeds;
}

/** What sweeps and settings say, by path, for a record. */
export function parametersOf({ settings }: PlannedRun): Record<string, Json> {
  return Object.fromEntries(settings.map(({ path, value }) => [pathText(path), value]));
}

const MAX_SEEDS = 1_000_000;
