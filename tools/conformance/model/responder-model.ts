/**
 * An abstract responder, written from ref:conformance#3 alone (RSP-PSN, OPS, LEN, KEY, RD, ATM, ACK, RNR, MPE,
 * appendices C and D): what one packet after another changes and which replies it draws. It is independent of frames,
 * queues or timers, and shares no code with transport/.
 *
 * Where a device may choose, `step` gives several outcomes or marks a reply as optional. Plain ACKs are no replies
 * here: which are in order is decided from the state (`acknowledges`), for a device may coalesce and repeat them as it
 * likes.
 */
import { OPCODE_FLAGS, Op, OpFlag, SERVICE_MASK, Service } from 'rocev2/packets';
import { isResponse, type Packet } from 'rocev2/packets/kit';
import { duplicate } from './responder-duplicates.ts';
import { type Answer, type Fault, faultsOf, hasFlag, isKnown, kindOf, sizeOf } from './responder-faults.ts';
import { answersTo } from './responder-replies.ts';
import {
  distance,
  type ExpectedReply,
  type ModelOutcome,
  type ResponderSetup,
  type ResponderState,
} from './responder-state.ts';

/**
 * What may come of `packet`, the likeliest first. `inProgress`: READs and atomics whose answers have not all been seen.
 */
export function step(
  setup: ResponderSetup,
  state: ResponderState,
  packet: Packet,
  inProgress = 0,
): readonly ModelOutcome[] {
  if (state.dead || !isRequest(packet)) return [{ state, replies: [] }];
  const ahead = distance(packet.psn, state.expected);
  if (ahead > 0) return [future(setup, state)];
  if (ahead < 0) {
    const outcome = duplicate(setup, state, packet, state.expected + ahead);
    // Half the number space away is either (RSP-PSN-09).
    if (ahead === HALF) return [outcome, future(setup, state)];
    return [outcome, ...refusedAgain(setup, state, packet, state.expected + ahead)];
  }
  return arrival(setup, { ...state, silent: undefined }, packet, inProgress);
}

/** Of our service, and no answer to anything. */
function isRequest({ opcode }: Packet): boolean {
  return (opcode & SERVICE_MASK) === Service.Rc && !isResponse(opcode);
}

/** RSP-PSN-04, RSP-PSN-05, RNR-06. */
function future(setup: ResponderSetup, state: ResponderState): ModelOutcome {
  if (state.silent === 'sequence') return { state, replies: [] };
  const tolerated = state.silent === 'not-ready';
  if (tolerated && !setup.profile.switches.includes('nak-after-rnr')) return { state, replies: [] };
  const reply = refusal(state, 0x60, 'RSP-PSN-04');
  return { state: { ...state, silent: 'sequence' }, replies: [{ ...reply, must: !tolerated }] };
}

/** No duplicate draws a NAK (RSP-PSN-15), but of a device that is known to do so with a READ. */
function refusedAgain({ profile }: ResponderSetup, state: ResponderState, packet: Packet, psn: number): ModelOutcome[] {
  const read = packet.opcode === Op.ReadRequest && psn >= 0;
  if (!read || !profile.switches.includes('read-replay-nak')) return [];
  const reply = { ...refusal(state, 0x62, 'RSP-PSN-15'), psn, again: true };
  return [{ state: { ...state, dead: true }, replies: [reply] }];
}

function arrival(setup: ResponderSetup, state: ResponderState, packet: Packet, inProgress: number): ModelOutcome[] {
  const faults = faultsOf(setup, state, packet, inProgress);
  if (faults.every(({ answers }) => answers.includes('accept'))) {
    const accepted = execute(setup, state, packet);
    const refused = faults.length === 0 ? [] : refusals(setup, state, packet, faults);
    return [accepted, ...refused];
  }
  return refusals(setup, state, packet, faults);
}

function refusals(
  setup: ResponderSetup,
  state: ResponderState,
  packet: Packet,
  faults: readonly Fault[],
): ModelOutcome[] {
  const answers = new Set(faults.flatMap((fault) => fault.answers));
  answers.delete('accept');
  return [...answers].map((answer) => {
    const { ruleId } = faults.find((fault) => fault.answers.includes(answer)) ?? { ruleId: 'PKT-21' };
    return refuse(setup, state, packet, answer, ruleId);
  });
}

/** Appendix C.1: the answer to a fault, and the state of the queue pair after it. */
function refuse(
  setup: ResponderSetup,
  state: ResponderState,
  packet: Packet,
  answer: Answer,
  ruleId: string,
): ModelOutcome {
  if (answer === 'lost') return { state, replies: [] };
  if (answer === 'dies') return { state: dying(setup, state, packet), replies: [] };
  if (answer === 'rnr')
    return {
      state: { ...state, silent: 'not-ready' },
      replies: [refusal(state, 0x20 | setup.rnrTimer, ruleId)],
    };
  const code = answer === 'accept' ? 0x61 : answer;
  const left = code === 0x61 ? leftBehind(setup, state, packet) : [];
  return {
    state: { ...state, dead: true, open: undefined, instead: [...state.instead, ...left] },
    replies: [refusal(state, code, ruleId)],
  };
}

/** KEY-15: no answer, unless the profile has a device that acknowledges the SEND and then goes to ERROR. */
function dying({ profile }: ResponderSetup, state: ResponderState, packet: Packet): ResponderState {
  const { expected, msn, past } = state;
  if (!profile.switches.includes('failed-invalidate-acked')) return { ...state, dead: true };
  const one = { packet, first: expected, last: expected, msn, original: 0n };
  return { ...state, dead: true, expected: expected + 1, past: [...past, one] };
}

/** Bytes of a refused WRITE may have reached the range that it was granted, and nothing else (LEN-05). */
function leftBehind(setup: ResponderSetup, state: ResponderState, packet: Packet): Uint8Array[] {
  if (kindOf(packet) !== 'write' || !isKnown(setup, packet)) return [];
  const { region } = setup;
  const { reth } = packet;
  const starts = hasFlag(packet, OpFlag.First | OpFlag.Only);
  if (!starts && state.open?.kind !== 'write') return [];
  const at = starts ? Number((reth?.va ?? 0n) - region.va) : (state.open?.at ?? 0);
  const granted = starts ? (reth?.length ?? 0) : (state.open?.left ?? 0);
  if (at < 0 || at + granted > region.length || (starts && reth?.rkey !== region.rkey)) return [];
  const image = state.memory.slice();
  image.set((packet.payload ?? NOTHING).subarray(0, granted), at);
  return [image];
}

function execute(setup: ResponderSetup, state: ResponderState, packet: Packet): ModelOutcome {
  if (kindOf(packet) === 'answered') return executeAnswered(setup, state, packet);
  const psn = state.expected;
  const begun = hasFlag(packet, OpFlag.First | OpFlag.Only) ? begin(setup, state, packet) : state;
  const open = begun.open ?? NO_MESSAGE;
  const payload = packet.payload ?? NOTHING;
  const ends = hasFlag(packet, OpFlag.Last | OpFlag.Only);
  const write = kindOf(packet) === 'write';
  const got = write ? NOTHING : joined(open.got, payload);
  const msn = state.msn + (ends ? 1 : 0);
  const takesNow = ends && write && hasFlag(packet, OpFlag.Imm);
  const length = write ? open.at + sizeOf(packet) - open.from : got.length;
  const delivers = ends && (!write || hasFlag(packet, OpFlag.Imm));
  const next: ResponderState = {
    ...begun,
    expected: psn + 1,
    msn,
    memory: write ? written(begun.memory, open.at, payload) : begun.memory,
    open: ends ? undefined : { ...open, got, at: open.at + payload.length, left: open.left - payload.length },
    receives: begun.receives - (takesNow ? 1 : 0),
    delivered: delivers
      ? [...begun.delivered, { length, imm: packet.imm, data: write ? undefined : got }]
      : begun.delivered,
    past: [...begun.past, { packet, first: psn, last: psn, msn, original: 0n }],
  };
  return { state: next, replies: [], ...(packet.ackReq === true ? { owed: { psn, ruleId: 'ACK-01' } } : {}) };
}

/** FIRST or ONLY: a SEND takes its receive at once. */
function begin(setup: ResponderSetup, state: ResponderState, packet: Packet): ResponderState {
  const kind = kindOf(packet) === 'write' ? 'write' : 'send';
  const { va = 0n, length = 0 } = packet.reth ?? {};
  const at = length === 0 ? 0 : Number(va - setup.region.va);
  return {
    ...state,
    receives: state.receives - (kind === 'send' ? 1 : 0),
    open: { kind, got: NOTHING, from: at, at, left: length },
  };
}

/** READ, atomics, FLUSH, ATOMIC WRITE. */
function executeAnswered(setup: ResponderSetup, state: ResponderState, packet: Packet): ModelOutcome {
  const { region, mtu } = setup;
  const { expected } = state;
  const read = packet.opcode === Op.ReadRequest;
  const packets = read ? Math.max(1, Math.ceil((packet.reth?.length ?? 0) / mtu)) : 1;
  const { memory, original } = changed(state.memory, packet, region.va);
  const msn = state.msn + 1;
  const past = { packet, first: expected, last: expected + packets - 1, msn, original };
  const next = { ...state, expected: expected + packets, msn, memory, past: [...state.past, past] };
  return { state: next, replies: answersTo(setup, past, { psn: expected, memory: state.memory, again: false }) };
}

/**
 * Memory after an atomic, and what it held before (ATM-01..ATM-03, ATM-14: operands in the order of the host, which is
 * little-endian).
 */
function changed(memory: Uint8Array, packet: Packet, base: bigint): { memory: Uint8Array; original: bigint } {
  if (packet.opcode === Op.AtomicWrite && packet.reth !== undefined)
    return { memory: written(memory, Number(packet.reth.va - base), packet.payload ?? NOTHING), original: 0n };
  if (packet.atomic === undefined) return { memory, original: 0n };
  const { va, swapAdd, compare } = packet.atomic;
  const after = memory.slice();
  const view = new DataView(after.buffer);
  const at = Number(va - base);
  const original = view.getBigUint64(at, true);
  if (packet.opcode === Op.FetchAdd) view.setBigUint64(at, BigInt.asUintN(64, original + swapAdd), true);
  else if (original === compare) view.setBigUint64(at, swapAdd, true);
  return { memory: after, original };
}

/** KEY-18, ACK-08: a NAK carries the expected PSN and counts what has been completed. */
function refusal(state: ResponderState, syndrome: number, ruleId: string): ExpectedReply {
  const { expected: psn, msn } = state;
  return { opcodes: [Op.Acknowledge], psn, msn, syndrome, must: true, again: false, ruleId };
}

function written(memory: Uint8Array, at: number, payload: Uint8Array): Uint8Array {
  if (payload.length === 0) return memory;
  const after = memory.slice();
  after.set(payload, at);
  return after;
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Whether the opcode is one that a responder knows at all; for generators. */
export const isOpcode = (opcode: number): boolean => (OPCODE_FLAGS[opcode] ?? 0) !== 0;

const HALF = -0x80_00_00;
const NOTHING = new Uint8Array(0);
const NO_MESSAGE = { kind: 'send', got: NOTHING, from: 0, at: 0, left: 0 } as const;
