/**
 * From a name or a file to variants that can be simulated: where files are, what is in them, settings put in, overrides
 * applied. Owns the reading. Whatever is wrong is one line that names file, place and reason.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';
import { suggest } from 'rocev2/pcap/filter';
import type { Setting } from '../run/plan.ts';
import { checkNames, checkVariant, type NamedVariant } from './check.ts';
import { faultOf, type Issue, issuesOf } from './issues.ts';
import { isObject, type Json, type JsonObject, mergePatch, pathText, valueAt, withValueAt } from './json.ts';
import { HEAD_FIELDS, type SimScenario, scenarioSchema, type Variant, variantSchema } from './schema.ts';

/** A file as it was read. */
export interface ScenarioFile {
  /** As typed, or the path of what is built in. */
  readonly path: string;
  readonly json: Json;
}

/** A scenario that is ready to be run. */
export interface LoadedScenario {
  readonly scenario: SimScenario;
  /** With settings, without defaults: what a report shows. */
  readonly json: JsonObject;
  readonly variants: readonly NamedVariant[];
}

/** The scenarios that come with this project, by name. */
export function builtInNames(): string[] {
  return readdirSync(BUILT_IN)
    .filter((name) => name.endsWith('.json'))
    .map((name) => basename(name, '.json'))
    .sort();
}

/** The path of a scenario: a file, or the name of one built in. @throws RoceError ERR_ROCE_ARGUMENT */
export function scenarioPath(fileOrName: string): string {
  if (existsSync(fileOrName) && statSync(fileOrName).isFile()) return fileOrName;
  const path = join(BUILT_IN, `${fileOrName}.json`);
  if (/^[a-z0-9.-]+$/.test(fileOrName) && existsSync(path)) return path;
  const near = suggest(fileOrName, builtInNames());
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : '--list prints the built-in ones';
  throw new RoceError('ERR_ROCE_ARGUMENT', `${fileOrName}: no such file or scenario; ${hint}`);
}

/** @throws RoceError ERR_ROCE_ARGUMENT for what is no JSON */
export function readScenario(fileOrName: string): ScenarioFile {
  const path = scenarioPath(fileOrName);
  try {
    // What JSON.parse gives is a Json; its type says less.
    return { path, json: JSON.parse(readFileSync(path, 'utf8')) as Json };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new RoceError('ERR_ROCE_ARGUMENT', `${path}: ${error.message.replace(/\s+/g, ' ')}`);
  }
}

/** Puts settings in and checks everything. @throws RoceError ERR_ROCE_ARGUMENT: one line with file, place and reason */
export function loadScenario(
  { path, json }: ScenarioFile,
  settings: readonly Setting[] = [],
  seed?: number,
  only: readonly string[] = [],
): LoadedScenario {
  const set = settings.reduce((value, setting) => withValueAt(value, setting.path, setting.value), json);
  const whole = seed === undefined ? set : withValueAt(set, ['seed'], seed);
  const parsed = scenarioSchema.safeParse(whole);
  if (!parsed.success) throw faultOf(path, issuesOf(parsed.error), whole);
  if (!isObject(whole)) throw faultOf(path, [], whole);
  const scenario = parsed.data;
  const variants = variantsOf(path, whole, scenario);
  const issues = checkNames(scenario, variants);
  if (issues.length > 0) throw faultOf(path, issues, whole);
  return only.length === 0 ? { scenario, json: whole, variants } : chosen({ scenario, json: whole, variants }, only);
}

/** Some of the variants, and what is expected of them alone. */
function chosen({ scenario, json, variants }: LoadedScenario, only: readonly string[]): LoadedScenario {
  const strange = only.find((name) => !variants.some((variant) => variant.name === name));
  const known = variants.map(({ name }) => name).join(', ');
  if (strange !== undefined)
    throw new RoceError('ERR_ROCE_ARGUMENT', `--variant: there is no variant ${strange}; there is ${known}`);
  const isThere = (name: string | undefined): boolean => name === undefined || only.includes(name);
  const expect = scenario.expect.filter(({ variant, value }) => {
    const other = typeof value === 'object' && 'variant' in value ? value.variant : undefined;
    return isThere(variant) && isThere(other);
  });
  return { scenario: { ...scenario, expect }, json, variants: variants.filter(({ name }) => only.includes(name)) };
}

function variantsOf(file: string, whole: JsonObject, scenario: SimScenario): NamedVariant[] {
  const base = Object.fromEntries(Object.entries(whole).filter(([key]) => !HEAD_FIELDS.includes(key)));
  const own = parseVariant(base);
  if ('issues' in own) throw faultOf(file, own.issues, whole);
  const patches = whole['compare'];
  if (!isObject(patches)) return [{ name: scenario.name, variant: own.variant }];
  return Object.entries(patches).map(([name, patch]) => {
    const parsed = parseVariant(mergePatch(base, patch));
    if ('variant' in parsed) return { name, variant: parsed.variant };
    throw faultOf(file, placed(parsed.issues, ['compare', name], whole), whole);
  });
}

function parseVariant(json: Json): { variant: Variant } | { issues: readonly Issue[] } {
  const parsed = variantSchema.safeParse(json);
  if (!parsed.success) return { issues: issuesOf(parsed.error) };
  const issues = checkVariant(parsed.data);
  return issues.length > 0 ? { issues } : { variant: parsed.data };
}

/** What the override itself says is wrong there; what comes of both is wrong in this variant. */
function placed(issues: readonly Issue[], at: readonly string[], whole: JsonObject): Issue[] {
  return issues.map(({ path, message }) => {
    const full = [...at, ...path];
    if (valueAt(whole, full) !== undefined) return { path: full, message };
    return { path: at, message: `${pathText(path)}: ${message}` };
  });
}

const BUILT_IN = fileURLToPath(new URL('../scenarios', import.meta.url));
