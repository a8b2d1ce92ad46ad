/** A finding from counters. Owns the shape, which is that of a finding in a capture where both say the same. */
import type { Finding, Severity } from 'rocev2/pcap';
import type { PortDelta } from './difference.ts';
import type { Kind } from './kinds.ts';

/** See the top of this file. */
export interface CounterFinding {
  /** Of a symptom of the analyzer, or `counter/...` for what a capture does not show. */
  readonly id: string;
  readonly severity: Severity;
  /** What is wrong, in one plain sentence with the figures. */
  readonly text: string;
  /** Ports it is about: "node1 mlx5_0/1". */
  readonly ports: readonly string[];
  /** Figures behind the sentence, by kind and by what they are compared with. */
  readonly evidence: Finding['evidence'];
  /** What counters cannot tell about it. */
  readonly limit: string;
  readonly advice: readonly string[];
  readonly commands: readonly string[];
}

/** What a rule hands in; advice and commands not given are those of the symptom. */
export interface FindingDraft extends Pick<CounterFinding, 'id' | 'severity' | 'text' | 'ports' | 'limit'> {
  readonly evidence?: Finding['evidence'];
  readonly advice?: readonly string[];
  readonly commands?: readonly string[];
}

/** Looks at one port. */
export type PortRule = (delta: PortDelta, all: readonly PortDelta[]) => FindingDraft | undefined;

/** Looks at all ports together. */
export type FleetRule = (all: readonly PortDelta[]) => FindingDraft | undefined;

/** Figures of kinds, for `evidence`. */
export function figuresOf(delta: PortDelta, ...kinds: readonly Kind[]): Record<string, number> {
  const result: Record<string, number> = {};
  for (const kind of kinds) {
    const figure = delta.figures.get(kind);
    if (figure !== undefined) result[kind] = figure.value;
  }
  if (delta.seconds !== undefined) result['seconds'] = delta.seconds;
  return result;
}
