/**
 * What a device is given to do as a requester, and what it gets as answers: plain data, and how it is drawn by chance.
 * The simplest value comes first.
 */
import fc from 'fast-check';
import type { WorkKind } from '../model/requester-work.ts';
import { startingPsn } from './responder-steps.ts';

/** A work request. */
export interface WorkSpec {
  readonly kind: WorkKind;
  readonly length: number;
  /** Offset in what is sent from, and in the tester's memory. */
  readonly at: number;
  readonly imm: boolean;
  readonly signaled: boolean;
  readonly fence: boolean;
  readonly value: number;
}

export type AnswerStep =
  /** The next so many packets are answered as they should be; `each`: every one by itself. */
  | { readonly do: 'serve'; readonly count: number; readonly each: boolean }
  /** A NAK reports a packet as missing. */
  | { readonly do: 'missing'; readonly ahead: number }
  | { readonly do: 'not-ready'; readonly ahead: number; readonly code: number }
  /** An ACK of what was acknowledged long ago, or a response to it with other data. */
  | { readonly do: 'ghost'; readonly back: number; readonly response: boolean }
  /** An ACK of what was never sent. */
  | { readonly do: 'beyond'; readonly ahead: number }
  /** The newest packet is acknowledged, whatever is open before it. */
  | { readonly do: 'overtake' }
  /** An ACK of a PSN inside of an open READ. */
  | { readonly do: 'inside'; readonly ahead: number }
  /** Responses of a READ, without the first that is due. */
  | { readonly do: 'gap' }
  /** A reserved syndrome. */
  | { readonly do: 'reserved'; readonly syndrome: number }
  | { readonly do: 'fatal'; readonly ahead: number; readonly code: 0x61 | 0x62 | 0x63 }
  | { readonly do: 'post'; readonly work: WorkSpec }
  /** Nothing, for as long as an ACK timeout. */
  | { readonly do: 'wait' };

export interface AnswersPlan {
  readonly psn: number;
  readonly maxRdAtomic: number;
  readonly works: readonly WorkSpec[];
  readonly steps: readonly AnswerStep[];
}

/**
 * Which packets do not get through, counted from the first of their direction; each list is short, so that no retry
 * counter runs out.
 */
export interface LossPlan {
  readonly psn: number;
  readonly maxRdAtomic: number;
  readonly works: readonly WorkSpec[];
  readonly lostRequests: readonly number[];
  readonly lostAnswers: readonly number[];
  readonly doubledAnswers: readonly number[];
  /** Answers that come after the next one. */
  readonly lateAnswers: readonly number[];
}

/** @param beyond ACKs of what was never sent are among the answers */
export function answers(mtu: number, atomics: boolean, fences: boolean, beyond: boolean): fc.Arbitrary<AnswersPlan> {
  const spec = work(mtu, atomics, fences);
  return fc.record({
    psn: startingPsn,
    maxRdAtomic: fc.constantFrom(4, 1, 2),
    works: fc.array(spec, { minLength: 1, maxLength: 4 }),
    steps: fc.array(answerStep(spec, beyond), { minLength: 1, maxLength: 12, size: 'max' }),
  });
}

export function losses(mtu: number, atomics: boolean, fences: boolean): fc.Arbitrary<LossPlan> {
  const some = (maxLength: number): fc.Arbitrary<number[]> => fc.uniqueArray(fc.nat(24), { maxLength, size: 'max' });
  return fc.record({
    psn: startingPsn,
    maxRdAtomic: fc.constantFrom(4, 1, 2),
    works: fc.array(work(mtu, atomics, fences), { minLength: 1, maxLength: MAX_WORKS, size: 'max' }),
    lostRequests: some(3),
    lostAnswers: some(2),
    doubledAnswers: some(3),
    lateAnswers: some(2),
  });
}

function work(mtu: number, atomics: boolean, fences: boolean): fc.Arbitrary<WorkSpec> {
  const kinds: WorkKind[] = ['send', 'write', 'read'];
  if (atomics) kinds.push('fetch-add', 'compare-swap');
  return fc.record({
    kind: fc.constantFrom(...kinds),
    length: fc.oneof(fc.constantFrom(4, 0, 1, mtu, mtu + 1, 3 * mtu), fc.nat(3 * mtu)),
    at: fc.nat(63),
    imm: fc.boolean(),
    signaled: fc.boolean().map((unsignaled) => !unsignaled),
    fence: fences ? fc.boolean() : fc.constant(false),
    value: fc.nat(3),
  });
}

function answerStep(spec: fc.Arbitrary<WorkSpec>, beyond: boolean): fc.Arbitrary<AnswerStep> {
  const small = fc.nat(4);
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('serve' as const),
        count: fc.integer({ min: 1, max: 6 }),
        each: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('missing' as const), ahead: small }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('not-ready' as const), ahead: small, code: fc.constantFrom(1, 5) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('ghost' as const),
        back: fc.integer({ min: 1, max: 9 }),
        response: fc.boolean(),
      }),
    },
    {
      weight: beyond ? 2 : 0,
      arbitrary: fc.record({ do: fc.constant('beyond' as const), ahead: fc.constantFrom(0, 1, 1000, 0x3f_ff_ff) }),
    },
    { weight: 2, arbitrary: fc.constant({ do: 'overtake' as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('inside' as const), ahead: small }) },
    { weight: 1, arbitrary: fc.constant({ do: 'gap' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('reserved' as const), syndrome: fc.constantFrom(0x40, 0x5f, 0x65, 0x7f) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('fatal' as const),
        ahead: small,
        code: fc.constantFrom(0x61, 0x62, 0x63),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('post' as const), work: spec }) },
    { weight: 1, arbitrary: fc.constant({ do: 'wait' as const }) },
  );
}

/** Of one connection. */
export const MAX_WORKS = 8;
