/**
 * The little that mutants need of a syntax tree: parsing, named places of a module, and nodes that are written like a
 * piece of code. The parser is that of vite (rolldown, oxc): a development dependency, as is a checkout to plant bugs
 * in. Positions are UTF-16 units, as in strings.
 */
import { parseAst } from 'vite';

/** A node of an ESTree: these fields, and others by its type. */
export interface SyntaxNode {
  readonly type: string;
  /** Its text is `[start, end)` of the source, without the parentheses around it. */
  readonly start: number;
  readonly end: number;
}

/**
 * A node that was found, and whether it is a member of a list (statements of a block, arguments), so that others may
 * stand beside it.
 */
export interface Found {
  readonly node: SyntaxNode;
  readonly inList: boolean;
}

/** A piece of code by itself. */
export interface Piece {
  readonly kind: 'expression' | 'statement';
  /** One expression, or statements. */
  readonly nodes: readonly SyntaxNode[];
}

type Program = ReturnType<typeof parseAst>;

/** Parses a module. Throws the parser's error, with the place. */
export function parseModule(text: string, file?: string): Program {
  return parseAst(text, { lang: 'ts' }, file);
}

/**
 * Parses a piece of the body of a method: an expression when it can be one, else statements. Throws the parser's error.
 */
export function parsePiece(code: string): Piece {
  const expression = tryParse(`class _ { _() { (${code}\n); } }`);
  if (expression !== undefined) {
    const [statement] = bodyOf(expression);
    const value = statement === undefined ? undefined : field(statement, 'expression');
    if (isNode(value)) return { kind: 'expression', nodes: [value] };
  }
  return { kind: 'statement', nodes: bodyOf(parseModule(`class _ { _() { ${code}\n } }`)) };
}

/** All members, functions and variables of the module that `name` names: `Class.member`, `Class.#member`, `name`. */
export function findPlaces(program: Program, name: string): SyntaxNode[] {
  return program.body.flatMap((statement): readonly SyntaxNode[] => {
    const exported = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration';
    const declaration = exported ? statement.declaration : statement;
    switch (declaration?.type) {
      case 'ClassDeclaration':
        return declaration.body.body.filter(
          (member) => hasBody(member) && `${declaration.id?.name}.${memberName(member)}` === name,
        );
      case 'FunctionDeclaration':
        return declaration.id?.name === name ? [declaration] : [];
      case 'VariableDeclaration':
        return declaration.declarations.filter(({ id }) => id.type === 'Identifier' && id.name === name);
      default:
        return [];
    }
  });
}

/** All nodes in `place` that are the same tree as `wanted`, nested functions included. */
export function findNodes(place: SyntaxNode, wanted: SyntaxNode): Found[] {
  return childrenOf(place).flatMap((found) => [
    ...(sameTree(found.node, wanted) ? [found] : []),
    ...findNodes(found.node, wanted),
  ]);
}

/** Whether two trees mean the same text, but for spaces, comments, parentheses and the spelling of literals. */
export function sameTree(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameTree(item, b[i]));
  if (!isRecord(a) || !isRecord(b)) return Object.is(a, b);
  const keys = meaningOf(a);
  return keys.length === meaningOf(b).length && keys.every((key) => key in b && sameTree(a[key], b[key]));
}

/** The operand of an expression with two, or undefined. */
export function operandOf(node: SyntaxNode, side: 'left' | 'right'): SyntaxNode | undefined {
  const operand = field(node, side);
  return (node.type === 'LogicalExpression' || node.type === 'BinaryExpression') && isNode(operand)
    ? operand
    : undefined;
}

function tryParse(text: string): Program | undefined {
  try {
    return parseModule(text);
  } catch {
    return undefined;
  }
}

/** Statements of the one method that a piece was wrapped in. */
function bodyOf({ body: [wrapper] }: Program): readonly SyntaxNode[] {
  if (wrapper?.type !== 'ClassDeclaration') return [];
  const [method] = wrapper.body.body;
  return method?.type === 'MethodDefinition' ? (method.value.body?.body ?? []) : [];
}

/** Overloads and abstract methods have none. */
function hasBody(member: SyntaxNode): boolean {
  const value = field(member, 'value');
  return !isNode(value) || value.type !== 'TSEmptyBodyFunctionExpression';
}

function memberName(member: SyntaxNode): string | undefined {
  const key = field(member, 'key');
  if (!isNode(key) || field(member, 'computed') === true) return undefined;
  const name = field(key, 'name');
  return typeof name === 'string' ? `${key.type === 'PrivateIdentifier' ? '#' : ''}${name}` : undefined;
}

function childrenOf(node: SyntaxNode): Found[] {
  return Object.values(node).flatMap((value: unknown): Found[] => {
    if (isNode(value)) return [{ node: value, inList: false }];
    return Array.isArray(value) ? value.filter(isNode).map((child) => ({ node: child, inList: true })) : [];
  });
}

/** `raw` is the spelling of a literal; `value` stands beside it. */
function meaningOf(node: object): string[] {
  return Object.keys(node).filter((key) => key !== 'start' && key !== 'end' && key !== 'raw');
}

function field(node: SyntaxNode, name: string): unknown {
  return Reflect.get(node, name);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNode(value: unknown): value is SyntaxNode {
  return isRecord(value) && typeof value['type'] === 'string' && typeof value['start'] === 'number';
}
