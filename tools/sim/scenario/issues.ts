/**
 * What is wrong with a scenario, in one line: where in the file, why, and what stands there. Owns these words, and which of several
 * complaints of a union is the one the writer meant.
 */
import type { z } from 'zod';
import { RoceError } from '../../../packets/errors.ts';
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
  const found = valueAt(value, first.path);
  const shown = first.path.length === 0 || found === undefined ? '' : `, not ${brief(found)}`;
  const where = first.path.length === 0 ? '' : `${pathText(first.path)}: `;
  const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`;
  const message = first.message.includes(' expected') ? first.message + shown : first.message;
  return new RoceError('ERR_ROCE_ARGUMENT', `${file}: ${where}${message.replace(/\s+/g, ' ')}${more}`);
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
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return [
      {
        path,
        message:
          issue.input === undefined && above.length + issue.path.length > 0
            ? missing(issue)
            : issue.message.replace('Invalid input: ', ''),
      },
    ];
  return [{ path, message: issue.message }];
}

function missing({ expected }: z.core.$ZodIssueInvalidType): string {
  return `missing: ${expected} is needed`;
}

function isWrongKind({ code }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' || code === 'invalid_value';
}

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
