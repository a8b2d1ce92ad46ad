/**
 * The types of the display filter: the packet that it tests, and the tree of an expression.
 *
 * Owns the vocabulary of this folder. Computes nothing. The tree is plain data: it can be printed, stored and sent to a
 * worker.
 */
import type { PacketFacts } from '../analysis/facts.ts';
import type { Dissection, IcrcState } from '../dissection.ts';
import type { CapturedPacket } from '../types.ts';

/** The facts of the analysis that filters use; `PacketFacts` is one of these. */
export interface FilterFacts extends Pick<PacketFacts, 'marks' | 'relativePsn'> {
  /** The conversation it belongs to; undefined: none is known. */
  readonly conversation:
    | {
        /** Its number in the analysis, from 1. */
        readonly id: number;
      }
    | undefined;
  /** Whether its ICRC is right, where that is known already: it is computed for the filter otherwise. */
  readonly icrc?: IcrcState;
}

/** One packet, as a filter sees it. */
export interface FilterSubject {
  /** As read from the capture. */
  readonly packet: CapturedPacket;
  /** Of that packet. */
  readonly dissection: Dissection;
  /** Without them, words of the analysis match nothing. */
  readonly facts?: FilterFacts | undefined;
  /** Name of the packet's interface, where it has one. */
  readonly interfaceName?: string | undefined;
}

/** A compiled piece of a filter. */
export type Predicate = (subject: FilterSubject) => boolean;

/** Comparison operators, as they are printed. */
export const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=', 'contains'] as const;
/** One of them. */
export type Comparison = (typeof COMPARISONS)[number];

/** An expression as a tree. */
export type FilterNode =
  /** The empty filter: matches everything. */
  | { readonly kind: 'all' }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly operand: FilterNode }
  /** One of `FILTER_WORDS` and its operand as text; empty for none. */
  | { readonly kind: 'word'; readonly word: string; readonly operand: string }
  /** A field that is there at all; or a header, by the common start of its fields. */
  | { readonly kind: 'field'; readonly field: string }
  | { readonly kind: 'comparison'; readonly field: string; readonly operator: Comparison; readonly value: string };
