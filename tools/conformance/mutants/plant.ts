/**
 * Plants a deliberate bug: finds the node of its anchor in the text of a file and splices the edit in. All other text
 * stays as it is.
 */
import { invariant } from 'rocev2/packets';
import { type Found, findNodes, findPlaces, operandOf, type Piece, parseModule, parsePiece } from './syntax.ts';
import type { Anchor, Edit, Mutant } from './types.ts';

/**
 * The text of the mutant's file with its bug. Fails with a sentence that names mutant, place and anchor when the anchor
 * is not exactly one node, or the edit does not suit it; with the parser's error when the result is no module.
 */
export function plant(mutant: Omit<Mutant, 'says' | 'caughtBy'>, text: string): string {
  const where = `mutant ${mutant.id}: ${mutant.in} of ${mutant.file}`;
  const anchor = onePiece(mutant.at, where);
  const found = findAnchor(mutant, anchor, text, where);
  const { start, end } = found.node;
  const code =
    anchor.kind === 'statement'
      ? editStatement(found, mutant.edit, text, where)
      : `(${editExpression(found, mutant.edit, text, where)})`;
  const planted = text.slice(0, start) + code + text.slice(end);
  parseModule(planted, mutant.file);
  return planted;
}

function findAnchor({ in: name, at }: Anchor, { nodes: [wanted] }: Piece, text: string, where: string): Found {
  const places = findPlaces(parseModule(text), name);
  const [place] = places;
  invariant(place !== undefined && places.length === 1, `${where} names ${places.length} places`);
  invariant(wanted !== undefined, `${where} has an anchor`);
  const all = findNodes(place, wanted);
  const [found] = all;
  invariant(found !== undefined && all.length === 1, `${where} has ${all.length} nodes like "${at}", not one`);
  return found;
}

/** Expressions replace what is in parentheses, whatever stands around it. */
function editExpression({ node }: Found, edit: Edit, text: string, where: string): string {
  const old = text.slice(node.start, node.end);
  invariant(edit !== 'drop' && !('after' in edit), `${where}: this edit is for a statement, the anchor an expression`);
  if ('replace' in edit) return expression(edit.replace, where);
  if ('and' in edit) return `(${old}) && (${expression(edit.and, where)})`;
  if ('or' in edit) return `(${old}) || (${expression(edit.or, where)})`;
  if ('offset' in edit) return `(${old}) ${edit.offset < 0 ? '-' : '+'} ${Math.abs(edit.offset)}`;
  const operand = operandOf(node, edit.keep);
  invariant(operand !== undefined, `${where}: the anchor has two operands`);
  return text.slice(operand.start, operand.end);
}

/** What is not one statement is put in braces where only one may stand. */
function editStatement({ node, inList }: Found, edit: Edit, text: string, where: string): string {
  if (edit === 'drop') return inList ? '' : '{}';
  const old = text.slice(node.start, node.end);
  if ('after' in edit) return statements(edit.after, `${old} `, inList, where);
  invariant('replace' in edit, `${where}: this edit is for an expression, the anchor a statement`);
  return statements(edit.replace, '', inList, where);
}

function expression(code: string, where: string): string {
  invariant(parsePiece(code).kind === 'expression', `${where}: "${code}" is an expression`);
  return code;
}

function statements(code: string, before: string, inList: boolean, where: string): string {
  const { kind, nodes } = parsePiece(code);
  invariant(kind === 'statement', `${where}: "${code}" is a statement, with its semicolon`);
  return inList || (before === '' && nodes.length === 1) ? before + code : `{ ${before}${code} }`;
}

function onePiece(code: string, where: string): Piece {
  const piece = parsePiece(code);
  invariant(piece.nodes.length === 1, `${where}: the anchor "${code}" is one expression or statement`);
  return piece;
}
