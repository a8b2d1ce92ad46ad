/**
 * The reference of scenario files, made from the schema that checks them: a field that is not documented does not exist. Owns the form of the
 * tables; the words are the schema's.
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
  const lines: string[] = [];
  section(jsonSchema(), '', 'The file', lines);
  return [...lines, ...figureLines()].join('\n');
}

/** One table for each object, those of its fields after it. */
function section(node: SchemaNode, path: string, title: string, lines: string[]): void {
  const { properties = {}, required = [] } = node;
  lines.push(`### ${title}`, '');
  if (path !== '' && node.description !== undefined) lines.push(node.description, '');
  lines.push('| field | value | default | what it is |', '| --- | --- | --- | --- |');
  for (const [name, field] of Object.entries(properties)) {
    const value = [kindOf(field), field.unit ?? ''].filter((part) => part !== '').join(', ');
    lines.push(
      `| \`${name}\` | ${cell(value)} | ${cell(defaultOf(field, required.includes(name)))} | ${cell(aboutOf(field))} |`,
    );
  }
  lines.push('');
  for (const [name, field] of Object.entries(properties)) below(field, path === '' ? name : `${path}.${name}`, lines);
}

/** Objects in a field: itself, its alternatives, the items of its list. */
function below(field: SchemaNode, path: string, lines: string[]): void {
  if (field.properties !== undefined) section(field, path, `\`${path}\``, lines);
  for (const one of [...(field.anyOf ?? []), ...(field.oneOf ?? [])]) {
    if (one.properties === undefined) below(one, path, lines);
    else section(one, path, `\`${path}\`${tagOf(one)}`, lines);
  }
  if (field.items !== undefined) below(field.items, `${path}[]`, lines);
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
  const row = (name: string, [unit, about]: readonly [string, string]) => `| \`${name}\` | ${unit} | ${cell(about)} |`;
  return [
    '### Figures',
    '',
    'One number of a run:',
    '',
    '| figure | unit | what it is |',
    '| --- | --- | --- |',
    ...Object.entries(SCALARS).map(([name, about]) => row(name, about)),
    '',
    'Many numbers, of which a statistic is made: `fctNs.p99`, `windowBps.jain`.',
    '',
    '| figure | unit | what it is |',
    '| --- | --- | --- |',
    ...Object.entries(QUANTITIES).map(([name, about]) => row(`${name}.<statistic>`, about)),
    '',
    '| statistic | what it is |',
    '| --- | --- |',
    ...Object.entries(STATISTICS).map(([name, about]) => `| \`${name}\` | ${cell(about)} |`),
  ];
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
