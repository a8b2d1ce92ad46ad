/**
 * The reference of scenario files, made from the schema that checks them: a field that is not documented does not
 * exist. Owns the form of the tables; the words are the schema's.
 */
import { z } from 'zod';
import { QUANTITIES, SCALARS, STATISTICS } from './figures.ts';
import { scenarioSchema } from './schema.ts';

/** A JSON schema, as far as it is looked at here. */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly unit?: string;
  readonly default?: unknown;
  readonly profileDefault?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly prefixItems?: readonly SchemaNode[];
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly additionalProperties?: boolean | SchemaNode;
}

/** What a scenario file is, for editors. */
export function jsonSchema(): SchemaNode {
  // What zod makes is such a node; its type knows nothing of `unit`.
  return z.toJSONSchema(scenarioSchema, { io: 'input', unrepresentable: 'any' }) as SchemaNode;
}

/** Every field with its unit and default, and every figure, as Markdown. */
export function fieldsMarkdown(): string {
  const sections = new Sections();
  sections.add(jsonSchema(), '', 'The file');
  return [...sections.lines, ...figureLines()].join('\n');
}

/** One table for each object, those of its fields after it; of objects that are alike the first. */
class Sections {
  readonly lines: string[] = [];
  /** Title by fields. */
  readonly #known = new Map<string, string>();

  /** `tag` tells the alternative that the object is in from the others. */
  add(node: SchemaNode, path: string, title: string, tag = ''): void {
    const { properties = {}, required = [] } = node;
    this.#known.set(JSON.stringify(properties), title);
    this.lines.push(`### ${title}`, '');
    if (path !== '' && node.description !== undefined) this.lines.push(node.description, '');
    const rows = Object.entries(properties).map(([name, field]) => {
      const same = field.properties === undefined ? undefined : this.#known.get(JSON.stringify(field.properties));
      const value = [kindOf(field), field.unit ?? '', same === undefined ? '' : `as ${same}`];
      return [`\`${name}\``, joined(value), defaultOf(field, required.includes(name)), aboutOf(field)];
    });
    this.lines.push(...markdownTable(['field', 'value', 'default', 'what it is'], rows), '');
    for (const [name, field] of Object.entries(properties))
      this.#below(field, path === '' ? name : `${path}.${name}`, tag);
  }

  /** Objects in a field: itself, its alternatives, the items of its list. */
  #below(field: SchemaNode, path: string, tag: string): void {
    if (field.properties !== undefined) this.#addNew(field, path, tag);
    for (const one of [...(field.anyOf ?? []), ...(field.oneOf ?? [])]) {
      if (one.properties === undefined) this.#below(one, path, tag);
      else this.#addNew(one, path, tagOf(one));
    }
    if (field.items !== undefined) this.#below(field.items, `${path}[]`, '');
  }

  #addNew(node: SchemaNode, path: string, tag: string): void {
    if (!this.#known.has(JSON.stringify(node.properties))) this.add(node, path, `\`${path}\`${tag}`, tag);
  }
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}

/** Columns as wide as their widest cell, as the formatter of this project's documents has them. */
function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows].map((row) => row.map((text) => text.replaceAll('|', '\\|')));
  const widths = headings.map((_, column) => Math.max(3, ...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = all;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}

/** What tells an alternative from the others: the fields that can have one value only. */
function tagOf({ properties = {} }: SchemaNode): string {
  const fixed = Object.entries(properties).filter(([, field]) => field.const !== undefined);
  if (fixed.length > 0)
    return ` with ${fixed.map(([name, field]) => `\`${name}\` \`${String(field.const)}\``).join(', ')}`;
  return ` with \`${Object.keys(properties)[0] ?? ''}\``;
}

function kindOf(field: SchemaNode): string {
  const { const: only, enum: of, anyOf, oneOf, items, properties, type } = field;
  if (only !== undefined) return `\`${String(only)}\``;
  if (of !== undefined) return of.map((value) => `\`${String(value)}\``).join(', ');
  const alternatives = [...(anyOf ?? []), ...(oneOf ?? [])];
  if (alternatives.length > 0) return [...new Set(alternatives.map(kindOf))].join(' or ');
  if (items !== undefined) return `list of ${kindOf(items)}`;
  if (field.prefixItems !== undefined) return `[${field.prefixItems.map(kindOf).join(', ')}]`;
  if (properties !== undefined) return 'object';
  return { integer: 'whole number', string: 'text', boolean: 'true or false' }[String(type)] ?? String(type ?? 'any');
}

function defaultOf(field: SchemaNode, required: boolean): string {
  if (field.profileDefault !== undefined) return `\`${JSON.stringify(field.profileDefault)}\``;
  if (field.default !== undefined) return `\`${JSON.stringify(field.default)}\``;
  return required ? 'needed' : '';
}

function aboutOf(field: SchemaNode): string {
  if (field.const !== undefined) return field.description ?? 'Which of them it is.';
  return field.description ?? '';
}

function figureLines(): string[] {
  const rows = (of: Readonly<Record<string, readonly [string, string]>>, suffix: string) =>
    Object.entries(of).map(([name, [unit, about]]) => [`\`${name}${suffix}\``, unit, about]);
  return [
    '### Figures',
    '',
    'One number of a run:',
    '',
    ...markdownTable(['figure', 'unit', 'what it is'], rows(SCALARS, '')),
    '',
    'Many numbers, of which a statistic is made: `fctNs.p99`, `windowBps.jain`.',
    '',
    ...markdownTable(['figure', 'unit', 'what it is'], rows(QUANTITIES, '.<statistic>')),
    '',
    ...markdownTable(
      ['statistic', 'what it is'],
      Object.entries(STATISTICS).map(([name, about]) => [`\`${name}\``, about]),
    ),
  ];
}
