/** What networks do in the runs, and how senders number their packets. Owns both lists. */
import type { FaultSpec } from 'rocev2/faults';
import type { NetworkFaults, Vantage } from './judge.ts';

/** What a network does in runs of one kind. */
export interface RunKind {
  readonly name: string;
  /** On the way to the responder; back; and at the responder's port, behind the middle. */
  readonly faults: FaultSpec;
  readonly reverse?: FaultSpec;
  readonly behindMiddle?: FaultSpec;
}

const MIXED: FaultSpec = { loss: 0.005, reorder: 0.005, reorderDelayNs: 15_000 };

/** Round trips are 6 us or more here. */
export const RUN_KINDS: readonly RunKind[] = [
  { name: '1 % lost', faults: { loss: 0.01 } },
  { name: '1 % late by 3 us', faults: { reorder: 0.01, reorderDelayNs: 3_000 } },
  { name: '1 % late by 10 us', faults: { reorder: 0.01, reorderDelayNs: 10_000 } },
  { name: '0.5 % late by 0.1 ms', faults: { reorder: 0.005, reorderDelayNs: 100_000 } },
  { name: '0.3 % late by 2 ms', faults: { reorder: 0.003, reorderDelayNs: 2_000_000 } },
  { name: '0.5 % lost, 0.5 % late by 15 us', faults: MIXED },
  { name: 'the same, 2 % of ACKs lost', faults: MIXED, reverse: { loss: 0.02 } },
  { name: 'the same, 1 % doubled, no ACKs lost', faults: { ...MIXED, duplicate: 0.01 } },
  { name: '0.5 % lost before the middle, 0.5 % behind', faults: { loss: 0.005 }, behindMiddle: { loss: 0.005 } },
  {
    name: '0.5 % late by 15 us before the middle, 0.5 % lost behind',
    faults: { reorder: 0.005, reorderDelayNs: 15_000 },
    behindMiddle: { loss: 0.005 },
  },
];

/** The places from which runs of a kind are judged. */
export function vantagesOf({ behindMiddle }: RunKind): readonly Vantage[] {
  return behindMiddle === undefined ? ['requester', 'responder'] : ['requester', 'middle', 'responder'];
}

/** What decides whether a loss can be told. */
export function faultsOf({ faults, reverse }: RunKind): NetworkFaults {
  return {
    lateNs: faults.reorder === undefined ? 0 : (faults.reorderDelayNs ?? 0),
    doubles: faults.duplicate !== undefined,
    losesAnswers: reverse?.loss !== undefined,
    steady: true,
  };
}

/** How senders number their packets: IPv4 identifications that count, are random, or are always 0; or IPv6. */
export const NUMBERINGS = ['counted', 'random', 'zero', 'IPv6'] as const;
export type Numbering = (typeof NUMBERINGS)[number];
