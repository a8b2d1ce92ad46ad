/**
 * What is wrong with a scenario, in one line: where in the file, why, and what stands there. Owns these words, and
 * which of several complaints of a union is the one the writer meant.
 */

import { RoceError } from 'rocev2/packets';
import type { z } from 'zod';
import { type Json, pathText, valueAt } from './json.ts';

/** A fault and its place. */
export interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** One line for all of them: the first, and how many more there are. */
export function faultOf(file: string, issues: readonly Issue[], value: Json): RoceError {
  const [first] = issues;
  if (first === undefined) return new RoceError('ERR_ROCE_ARGUMENT', `${file}: not a scenario`);
  const where = first.path.length === 0 ? '' : `${pathText(first.path)}: `;
  const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`;
  const message = first.message.replace(/\s+/g, ' ') + foundText(first, value);
  return new RoceError('ERR_ROCE_ARGUMENT', `${file}: ${where}${message}${more}`);
}

/** What stands where something else is expected. */
function foundText({ path, message }: Issue, value: Json): string {
  if (!/ (?:expected|needed)$/.test(message)) return '';
  const found = valueAt(value, path);
  if (found === undefined) return '; it is missing';
  return typeof found === 'object' && found !== null ? '' : `, not ${brief(found)}`;
}

/** What zod found, with places as a reader of the file sees them. */
export function issuesOf(error: z.ZodError): Issue[] {
  return error.issues.flatMap((issue) => flatten(issue, []));
}

function flatten(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): Issue[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key], message: 'unknown field' }));
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }));
  if (issue.code === 'invalid_union') {
    // Of the ways to read it, the one whose kind of value it is.
    const [meant, ...others] = issue.errors.filter((branch) =>
      branch.every((one) => one.path.length > 0 || !isWrongKind(one)),
    );
    if (meant !== undefined && others.length === 0) return meant.flatMap((one) => flatten(one, path));
  }
  return [{ path, message: inOurWords(issue.message) }];
}

/** What zod says by itself, in the form of what the schema says. */
function inOurWords(message: string): string {
  const [, kind] = /^Invalid input: expected (\w+)/.exec(message) ?? [];
  if (kind !== undefined) return `${WORDS[kind] ?? kind} is expected`;
  const [, choices] = /^Invalid discriminator value\. Expected (.*)$/.exec(message) ?? [];
  return choices === undefined ? message : `One of ${choices.replaceAll("'", '').replaceAll(' | ', ', ')} is expected`;
}

function isWrongKind({ code }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' || code === 'invalid_value';
}

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

const WORDS: Readonly<Record<string, string>> = {
  array: 'A list',
  boolean: 'true or false',
  number: 'A number',
  object: 'An object',
  string: 'A text',
  tuple: 'A list of two',
};
