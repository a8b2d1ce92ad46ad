/**
 * Block counters in the text of a module. Owns where they stand: at the start of every function, branch, loop body and
 * case, and in a branch that is not written (`if` without `else`). No line is added or moved, so that stacks name the
 * lines of the source. The parser is vite's (rolldown, oxc), a development dependency.
 */
import { parseAst } from 'vite';

/** A module with counters, and what was learned on the way. */
export interface Instrumented {
  readonly text: string;
  /** Counters of the module; they are numbered from `first` on. */
  readonly blocks: number;
  /** Numbers and texts that its code has: what a comparison may want. */
  readonly numbers: ReadonlySet<number>;
  readonly texts: ReadonlySet<string>;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/**
 * Block `n` counts in `__fuzz.hits[n]`; loops and functions also call `__fuzz.step()`, which throws when an input takes
 * too many.
 */
export function instrument(source: string, first: number, file: string): Instrumented {
  const marks: { readonly at: number; readonly text: string; readonly closing: boolean }[] = [];
  const numbers = new Set<number>();
  const texts = new Set<string>();
  let next = first;
  const count = (): string => `__fuzz.hits[${next++}]++`;
  const open = (at: number, text: string): void => void marks.push({ at, text, closing: false });
  const close = (at: number, text: string): void => void marks.push({ at, text, closing: true });

  const asExpression = (node: Node): void => {
    open(node.start, `(${count()},`);
    close(node.end, ')');
  };
  const asStatement = (node: Node, steps = ''): void => {
    if (node.type === 'BlockStatement') open(node.start + 1, `${count()};${steps}`);
    else {
      open(node.start, `{${count()};${steps}`);
      close(node.end, '}');
    }
  };
  const enter = (node: Node): void => {
    const part = (name: string): Node | undefined => (isNode(node[name]) ? node[name] : undefined);
    const body = part('body');
    if (/Function|^While|^DoWhile|^For/.test(node.type) && body !== undefined) {
      if (node.type === 'ArrowFunctionExpression' && body.type !== 'BlockStatement') asExpression(body);
      else asStatement(body, STEP);
    }
    const { type } = node;
    const consequent = part('consequent');
    const alternate = part('alternate');
    if (type === 'IfStatement' && consequent !== undefined) {
      // Before what closes the branch itself: see `inserted`.
      if (alternate === undefined) close(node.end, `else{${count()};}`);
      asStatement(consequent);
      if (alternate !== undefined) asStatement(alternate);
    }
    if (type === 'ConditionalExpression') for (const arm of [consequent, alternate]) if (arm) asExpression(arm);
    const right = part('right');
    if (type === 'LogicalExpression' && right !== undefined) asExpression(right);
    if (type === 'CatchClause' && body !== undefined) asStatement(body);
    const [statement] = Array.isArray(node['consequent']) ? node['consequent'] : [];
    if (type === 'SwitchCase' && isNode(statement)) open(statement.start, `${count()};`);
    if (type === 'Literal' && typeof node['value'] === 'number') numbers.add(node['value']);
    if (type === 'Literal' && typeof node['value'] === 'string') texts.add(node['value']);
  };
  walk(parseAst(source, { lang: 'ts' }, file), enter);
  return { text: inserted(source, marks), blocks: next - first, numbers, texts };
}

function walk(value: unknown, enter: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, enter);
  else if (isNode(value)) {
    // Types are no code; neither are the paths of imports.
    if (value.type.startsWith('TSType') || value.type.startsWith('TSInterface') || value.type.startsWith('Import'))
      return;
    enter(value);
    for (const key of Object.keys(value)) walk(value[key], enter);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Where several stand at one place: what closes comes first, the innermost of them first; then what opens, in order. */
function inserted(source: string, marks: readonly { at: number; text: string; closing: boolean }[]): string {
  const closings = marks.filter(({ closing }) => closing).reverse();
  const openings = marks.filter(({ closing }) => !closing);
  const all = [...closings, ...openings].sort((a, b) => a.at - b.at || Number(b.closing) - Number(a.closing));
  let text = '';
  let from = 0;
  for (const mark of all) {
    text += source.slice(from, mark.at) + mark.text;
    from = mark.at;
  }
  return text + source.slice(from);
}

const STEP = '__fuzz.step();';
