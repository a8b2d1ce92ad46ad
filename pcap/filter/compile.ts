/**
 * Compiles a filter to a function of a packet.
 *
 * Owns the translation. Words and fields of the BTH read the frame only. Other fields need the record of all fields,
 * which is built once for each packet however many of them a filter names.
 */

import { invariant } from '../../packets/errors.ts';
import type { FieldValue } from '../../packets/field-list.ts';
import { compileComparison, type FieldReader } from './compare.ts';
import { fastField, isOutlineField, mayHave } from './fast-fields.ts';
import { fieldsOf, isAnalysisField } from './field-names.ts';
import { fieldsWithoutIcrc, ICRC_FIELD, subjectFields } from './fields.ts';
import { findWord } from './language.ts';
import { parseFilter, printFilter } from './parse.ts';
import type { FilterNode, FilterSubject, Predicate } from './types.ts';
import { anyOf } from './word.ts';

/** A compiled filter: whether a packet passes. Not to be called while it runs. */
export interface PacketFilter {
  (subject: FilterSubject): boolean;
  /**
   * Whether it needs the analysis: subjects without `facts` are then treated as packets without anything remarkable.
   */
  readonly needsAnalysis: boolean;
  /** Whether it reads bytes of packets: where it does not, a `PacketOutline` with facts may stand in for the packet. */
  readonly needsPacket: boolean;
  /** In its normal form. */
  readonly text: string;
}

/**
 * Compiles the filter `text`; the empty one passes everything.
 *
 * @throws FilterError, a `RoceError` ERR_ROCE_ARGUMENT with the column
 */
export function compileFilter(text: string): PacketFilter {
  return compileTree(parseFilter(text));
}

/** The filter of a tree that `parseFilter` made, here or elsewhere. */
export function compileTree(tree: FilterNode): PacketFilter {
  const memo = new FieldMemo(names(tree, ICRC_FIELD));
  const test = compileNode(tree, memo.read);
  const judge = (subject: FilterSubject): boolean => {
    memo.forget();
    return test(subject);
  };
  return Object.assign(judge, {
    needsAnalysis: needsAnalysis(tree),
    needsPacket: needsPacket(tree),
    text: printFilter(tree),
  });
}

function compileNode(node: FilterNode, read: FieldReader): Predicate {
  switch (node.kind) {
    case 'all':
      return () => true;
    case 'and':
      return allOf(node.terms.map((term) => compileNode(term, read)));
    case 'or':
      return anyOf(node.terms.map((term) => compileNode(term, read)));
    case 'not': {
      const operand = compileNode(node.operand, read);
      return (subject) => !operand(subject);
    }
    case 'word': {
      const test = findWord(node.word)?.bind(node.operand);
      invariant(test !== undefined, 'a parsed word binds');
      return test;
    }
    case 'field':
      return presence(node.field, read);
    case 'comparison': {
      const test = compileComparison(node.field, node.operator, node.value, read);
      invariant(typeof test !== 'string', 'a parsed comparison compiles');
      return test;
    }
  }
}

function allOf(tests: readonly Predicate[]): Predicate {
  return (subject) => {
    for (const test of tests) if (!test(subject)) return false;
    return true;
  };
}

/** Whether the packet has the field, or any below it. */
function presence(field: string, read: FieldReader): Predicate {
  const fast = fastField(field);
  if (fast !== undefined) return (subject) => !Number.isNaN(fast(subject));
  const names = fieldsOf(field);
  const below = `${field}.`;
  const possible = mayHave(field);
  return (subject) => {
    if (!possible(subject)) return false;
    const fields = read(subject);
    if (names.some((name) => name in fields)) return true;
    return Object.keys(fields).some((name) => name.startsWith(below));
  };
}

function needsAnalysis(tree: FilterNode): boolean {
  return someLeaf(tree, (leaf) => {
    return leaf.kind === 'word' ? findWord(leaf.word)?.analysis === true : isAnalysisField(fieldOf(leaf));
  });
}

function needsPacket(tree: FilterNode): boolean {
  return someLeaf(tree, (leaf) => {
    if (leaf.kind === 'all') return false;
    return leaf.kind === 'word' ? findWord(leaf.word)?.needsPacket !== false : !isOutlineField(fieldOf(leaf));
  });
}

function names(tree: FilterNode, field: string): boolean {
  return someLeaf(tree, (leaf) => fieldOf(leaf) === field);
}

function fieldOf(leaf: FilterNode): string {
  return leaf.kind === 'field' || leaf.kind === 'comparison' ? leaf.field : '';
}

function someLeaf(node: FilterNode, holds: (leaf: FilterNode) => boolean): boolean {
  if (node.kind === 'not') return someLeaf(node.operand, holds);
  return node.kind === 'and' || node.kind === 'or' ? node.terms.some((term) => someLeaf(term, holds)) : holds(node);
}

/** The field record of the current packet, made when the first field needs it. */
class FieldMemo {
  readonly #withIcrc: boolean;
  #fields: Record<string, FieldValue> | undefined;

  constructor(withIcrc: boolean) {
    this.#withIcrc = withIcrc;
  }

  readonly read: FieldReader = (subject) => {
    this.#fields ??= this.#withIcrc ? subjectFields(subject) : fieldsWithoutIcrc(subject);
    return this.#fields;
  };

  forget(): void {
    this.#fields = undefined;
  }
}
