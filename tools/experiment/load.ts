/**
 * From a file to an experiment: finds files, reads them, and puts parameters in. Owns the reading and the error
 * messages for files that are no experiments.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';
import { z } from 'zod';
import { issuesOf, parametersSchema, parseExperiment, type SchemaIssue } from './schema.ts';
import type { Experiment, ParameterValue } from './types.ts';

/** Values for parameters, as typed: `--set kernel=6.1`. */
export type ParameterSettings = Readonly<Record<string, string>>;

/** The experiments that come with this project, by name. */
export function builtInNames(): string[] {
  return readdirSync(BUILT_IN)
    .filter((name) => name.endsWith('.json'))
    .map((name) => basename(name, '.json'))
    .sort();
}

/** The path of an experiment: a file, or the name of one built in. @throws RoceError ERR_ROCE_ARGUMENT */
export function experimentPath(fileOrName: string): string {
  if (existsSync(fileOrName)) return fileOrName;
  const path = join(BUILT_IN, `${fileOrName}.json`);
  if (/^[a-z0-9-]+$/.test(fileOrName) && existsSync(path)) return path;
  throw new RoceError('ERR_ROCE_ARGUMENT', `${fileOrName}: no such file, and none of ${builtInNames().join(', ')}`);
}

/** Whether this names an experiment that comes with this project, and not a file, whatever the file is called. */
export function isBuiltIn(fileOrName: string): boolean {
  return dirname(resolve(experimentPath(fileOrName))) === resolve(BUILT_IN);
}

/** Reads an experiment. @throws RoceError ERR_ROCE_ARGUMENT with every fault of the file, a line each */
export function loadExperiment(fileOrName: string, settings: ParameterSettings = {}): Experiment {
  const path = experimentPath(fileOrName);
  return parseText(readFileSync(path, 'utf8'), settings, path);
}

/** What `loadExperiment` makes of the text of a file. */
export function parseText(text: string, settings: ParameterSettings, path: string): Experiment {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw fault(path, [{ path: '', message: error.message }]);
  }
  const head = z.looseObject({ parameters: parametersSchema.default({}) }).safeParse(value);
  if (!head.success) throw fault(path, issuesOf(head.error));
  const issues: SchemaIssue[] = [];
  const parameters = withSettings(head.data.parameters, settings, issues);
  const { parameters: _, ...rest } = head.data;
  const substituted = new Substitution(parameters, issues).apply(rest, '');
  if (issues.length > 0) throw fault(path, issues);
  const parsed = parseExperiment(Object.assign({ parameters }, substituted));
  if ('issues' in parsed) throw fault(path, parsed.issues);
  return parsed.experiment;
}

function fault(path: string, issues: readonly SchemaIssue[]): RoceError {
  const lines = issues.map((issue) => `${path}: ${issue.path === '' ? '' : `${issue.path}: `}${issue.message}`);
  return new RoceError('ERR_ROCE_ARGUMENT', lines.join('\n'));
}

/** A setting has the type of what it replaces. */
function withSettings(
  declared: Readonly<Record<string, ParameterValue>>,
  settings: ParameterSettings,
  issues: SchemaIssue[],
): Record<string, ParameterValue> {
  const parameters: Record<string, ParameterValue> = { ...declared };
  for (const [name, text] of Object.entries(settings)) {
    const before = declared[name];
    const isNumber = typeof before === 'number';
    if (before === undefined) {
      const known = Object.keys(declared).join(', ') || 'none';
      issues.push({ path: 'parameters', message: `There is no parameter ${name}; there is ${known}` });
    } else if (isNumber && (text.trim() === '' || !Number.isFinite(Number(text)))) {
      issues.push({ path: `parameters.${name}`, message: `A number is expected, not ${JSON.stringify(text)}` });
    } else parameters[name] = isNumber ? Number(text) : text;
  }
  return parameters;
}

/** Puts parameters in the place of `${name}`. What is nothing but `${name}` takes the parameter's type as well. */
class Substitution {
  readonly #parameters: Readonly<Record<string, ParameterValue>>;
  readonly #issues: SchemaIssue[];

  constructor(parameters: Readonly<Record<string, ParameterValue>>, issues: SchemaIssue[]) {
    this.#parameters = parameters;
    this.#issues = issues;
  }

  apply(value: unknown, path: string): unknown {
    if (typeof value === 'string') return this.#text(value, path);
    if (Array.isArray(value)) return value.map((item, index) => this.apply(item, `${path}[${index}]`));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      this.apply(item, path === '' ? key : `${path}.${key}`),
    ]);
    return Object.fromEntries(entries);
  }

  #text(text: string, path: string): ParameterValue {
    const whole = /^\$\{([^}]*)\}$/.exec(text)?.[1];
    if (whole !== undefined) return this.#value(whole, path);
    return text.replace(/\$\{([^}]*)\}/g, (_, name: string) => String(this.#value(name, path)));
  }

  #value(name: string, path: string): ParameterValue {
    const value = Object.hasOwn(this.#parameters, name) ? this.#parameters[name] : undefined;
    if (value !== undefined) return value;
    const known = Object.keys(this.#parameters).join(', ') || 'none';
    this.#issues.push({ path, message: `There is no parameter ${name}; there is ${known}` });
    return '';
  }
}

const BUILT_IN = fileURLToPath(new URL('../experiments', import.meta.url));
