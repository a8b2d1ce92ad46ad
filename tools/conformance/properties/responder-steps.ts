/**
 * What a tester may do to a responder, as plain data, and how it is drawn by chance. A step says what kind of packet
 * comes next; which packet that is depends on what the responder expects by then (`responder-packets.ts`). The simplest
 * value comes first everywhere, so that shrinking ends there.
 */
import fc from 'fast-check';
import { Op } from 'rocev2/packets';

export type Kind = 'write' | 'send' | 'read' | 'fetch-add' | 'compare-swap' | 'flush' | 'atomic-write';

/** What is wrong with a packet. */
export type Flaw =
  | 'none'
  | 'key'
  | 'below'
  | 'above'
  | 'wrap'
  | 'longer'
  | 'shorter'
  | 'huge'
  | 'oversize'
  | 'undersize'
  | 'empty'
  | 'pad'
  | 'payload'
  | 'unaligned'
  | 'invalidate';

/** The next packet of the open message, or the first of a new one. */
export interface RequestStep {
  readonly do: 'request';
  readonly kind: Kind;
  /** More packets of the message follow. */
  readonly more: boolean;
  /** Of its payload, or of a READ in packets and bytes. */
  readonly size: number;
  readonly packets: number;
  /** Offset in the region, before it is made to fit. */
  readonly at: number;
  readonly ackReq: boolean;
  readonly imm: boolean;
  readonly value: number;
  /** How far ahead of the expected PSN it comes. */
  readonly ahead: number;
  readonly flaw: Flaw;
}

/** A request that has been executed, once more. */
export interface ReplayStep {
  readonly do: 'replay';
  /** Which, counted from the newest. */
  readonly back: number;
  readonly twist: 'none' | 'payload' | 'tail' | 'part' | 'key' | 'address' | 'longer' | 'operand' | 'opcode';
  readonly ackReq: boolean;
  /** Packets that a tail leaves out, and the opcode that `opcode` puts in. */
  readonly skip: number;
  readonly opcode: number;
}

/** Any opcode, whether it fits or not. */
export interface OpcodeStep {
  readonly do: 'opcode';
  readonly opcode: number;
  readonly ahead: number;
  readonly ackReq: boolean;
}

/** The application posts receives. */
export interface PostStep {
  readonly do: 'post';
  readonly count: number;
}

export type ResponderStep = (RequestStep | ReplayStep | OpcodeStep | PostStep) & {
  /** The next packet waits for the answers to this one. */
  readonly wait: boolean;
};

/** What a device can be asked for, and what it had better not. */
export interface SubjectLimits {
  readonly mtu: number;
  readonly flush: boolean;
  readonly atomicWrite: boolean;
  readonly atomics: boolean;
  readonly posts: boolean;
  readonly fragile: boolean;
}

/** A run: where PSNs begin, what is there at first, what is done. */
export interface ResponderPlan {
  readonly psn: number;
  readonly receives: number;
  readonly maxDestRdAtomic: number;
  readonly access: { readonly read: boolean; readonly write: boolean; readonly atomic: boolean };
  readonly steps: readonly ResponderStep[];
}

/** Starting PSNs: the borders of the number space, and anything. */
export const startingPsn: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 0x7f_ff_ff, 0x80_00_00, 0xff_ff_fa, 0xff_ff_fe, 0xff_ff_ff),
  fc.integer({ min: 0, max: 0xff_ff_ff }),
);

/** Everything, right and wrong. */
export function sequences(limits: SubjectLimits): fc.Arbitrary<ResponderPlan> {
  const step = fc.oneof(
    { weight: 24, arbitrary: request(limits, rarely('none', flaw(limits), 40), rarely(0, far, 12)) },
    { weight: 6, arbitrary: replay(limits) },
    { weight: 1, arbitrary: strange(limits) },
    ...(limits.posts ? [{ weight: 2, arbitrary: post }] : []),
  );
  return plan(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), true);
}

/** A legal run with many duplicates. */
export function duplicates(limits: SubjectLimits): fc.Arbitrary<ResponderPlan> {
  const step = fc.oneof(
    { weight: 4, arbitrary: request(limits, fc.constant('none'), rarely(0, fc.integer({ min: 1, max: 3 }), 20)) },
    { weight: 5, arbitrary: replay(limits) },
  );
  return plan(fc.array(step, { minLength: 2, maxLength: 40, size: 'max' }), false);
}

/** A legal run with one fault somewhere, and a little more behind it. */
export function faults(limits: SubjectLimits): fc.Arbitrary<ResponderPlan> {
  const legal = request(limits, fc.constant('none'), fc.constant(0));
  const wrong = fc.oneof(
    { weight: 4, arbitrary: request(limits, flaw(limits), fc.constant(0)) },
    { weight: 2, arbitrary: request(limits, fc.constant('none'), far) },
    { weight: 2, arbitrary: strange(limits) },
  );
  const before = fc.array(legal, { maxLength: 10, size: 'max' });
  const behind = fc.array(fc.oneof(legal, replay(limits)), { maxLength: 3, size: 'max' });
  const steps = fc.tuple(before, wrong, behind).map(([a, b, c]) => [...a, b, ...c]);
  return plan(steps, true);
}

function plan(steps: fc.Arbitrary<ResponderStep[]>, withoutRights: boolean): fc.Arbitrary<ResponderPlan> {
  const allowed = withoutRights ? rarely(true, fc.constant(false), 12) : fc.constant(true);
  return fc.record({
    psn: startingPsn,
    receives: fc.constantFrom(8, 0, 1, 2),
    maxDestRdAtomic: fc.constantFrom(4, 1, 2),
    access: fc.record({ read: allowed, write: allowed, atomic: allowed }),
    steps,
  });
}

const rarely = <T>(usual: T, unusual: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: unusual });

/** Ahead of what is expected: a gap, or the far end of the number space. */
const far: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(0x7f_ff_ff, -0x7f_ff_ff, -0x80_00_00, 1000, -1000) },
);

function request(
  limits: SubjectLimits,
  flaws: fc.Arbitrary<Flaw>,
  ahead: fc.Arbitrary<number>,
): fc.Arbitrary<ResponderStep> {
  const kinds: Kind[] = ['write', 'send', 'read'];
  if (limits.atomics) kinds.push('fetch-add', 'compare-swap');
  if (limits.flush) kinds.push('flush');
  if (limits.atomicWrite) kinds.push('atomic-write');
  const { mtu } = limits;
  return fc.record({
    do: fc.constant('request' as const),
    kind: fc.constantFrom(...kinds),
    more: fc.boolean(),
    size: fc.oneof(fc.constantFrom(4, 0, 1, 3, mtu - 1, mtu), fc.nat(mtu)),
    packets: fc.integer({ min: 1, max: 3 }),
    at: fc.nat(1023),
    ackReq: fc.boolean(),
    imm: fc.boolean(),
    value: fc.nat(3),
    ahead,
    flaw: flaws,
    wait: fc.boolean(),
  });
}

function replay(limits: SubjectLimits): fc.Arbitrary<ResponderStep> {
  const twists: ReplayStep['twist'][] = [
    'none',
    'payload',
    'tail',
    'part',
    'key',
    'address',
    'longer',
    'operand',
    'opcode',
  ];
  return fc.record({
    do: fc.constant('replay' as const),
    back: fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(20) }),
    twist: rarely<ReplayStep['twist']>('none', fc.constantFrom(...twists), 2),
    ackReq: fc.boolean(),
    skip: fc.nat(3),
    opcode: opcode(limits),
    wait: fc.boolean(),
  });
}

function strange(limits: SubjectLimits): fc.Arbitrary<ResponderStep> {
  return fc.record({
    do: fc.constant('opcode' as const),
    opcode: opcode(limits),
    ahead: rarely(0, far, 6),
    ackReq: fc.boolean(),
    wait: fc.boolean(),
  });
}

function opcode({ fragile, flush, atomicWrite }: SubjectLimits): fc.Arbitrary<number> {
  const known = Object.values(Op).filter((op) => op < 0x20 && op !== Op.Resync);
  const usable = known.filter((op) => (op !== Op.Flush || flush) && (op !== Op.AtomicWrite || atomicWrite));
  // The others are for devices that are known to survive whatever comes.
  const safe = usable.filter((op) => op !== Op.SendOnlyInvalidate && op !== Op.SendLastInvalidate);
  return fc.constantFrom(...(fragile ? safe : [...known, 0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f]));
}

function flaw({ fragile }: SubjectLimits): fc.Arbitrary<Flaw> {
  const flaws: Flaw[] = ['key', 'below', 'above', 'longer', 'shorter', 'huge', 'oversize', 'undersize', 'empty'];
  flaws.push('pad', 'payload', 'unaligned');
  // What follows a failing invalidation is executed or not as rdma_rxe has time for (KEY-15).
  return fc.constantFrom(...(fragile ? flaws : [...flaws, 'wrap' as const, 'invalidate' as const]));
}

const post: fc.Arbitrary<ResponderStep> = fc.record({
  do: fc.constant('post' as const),
  count: fc.integer({ min: 1, max: 2 }),
  wait: fc.constant(true),
});
