/**
 * Requests before the expected PSN (ref:conformance#RSP-PSN-10 to RSP-PSN-17, RD-07..RD-10, RD-16, ATM-05..ATM-08,
 * MPE-07, MPE-12, C.3): nothing is executed again but a READ. What must be answered is what was there and is still
 * remembered; the rest may be, rightly, or not at all.
 */
import { Op } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import { kindOf, sizeOf } from './responder-faults.ts';
import { type Asked, answersTo } from './responder-replies.ts';
import type { ExpectedReply, ModelOutcome, Past, ResponderSetup, ResponderState } from './responder-state.ts';

/** `psn`: where the packet stands, counted from the connection's first; negative before it. */
export function duplicate(setup: ResponderSetup, state: ResponderState, packet: Packet, psn: number): ModelOutcome {
  const past = state.past.find(({ first, last }) => psn >= first && psn <= last);
  const nothing = { state, replies: [] };
  if (past === undefined) return nothing;
  if (kindOf(packet) !== 'answered') return repeats(past.packet, packet) ? acknowledged(nothing, packet, psn) : nothing;
  const replies = answersAgain(setup, state, past, packet, psn);
  const partly = packet.opcode === Op.ReadRequest && replies.length > 0 && !repeats(past.packet, packet);
  return { state: partly ? { ...state, moved: [...state.moved, past.first] } : state, replies };
}

/** RSP-PSN-10, RSP-PSN-12: with AckReq it is acknowledged, by whatever is newest; without, as the device likes. */
function acknowledged(nothing: ModelOutcome, packet: Packet, psn: number): ModelOutcome {
  return packet.ackReq === true ? { ...nothing, owed: { psn, ruleId: 'RSP-PSN-10' } } : nothing;
}

/** The same request, whatever it brings. */
function repeats(before: Packet, now: Packet): boolean {
  return (
    before.opcode === now.opcode &&
    sizeOf(before) === sizeOf(now) &&
    before.pad === now.pad &&
    before.imm === now.imm &&
    before.reth?.va === now.reth?.va &&
    before.reth?.rkey === now.reth?.rkey &&
    before.reth?.length === now.reth?.length
  );
}

function answersAgain(
  setup: ResponderSetup,
  state: ResponderState,
  past: Past,
  packet: Packet,
  psn: number,
): ExpectedReply[] {
  const { memory } = state;
  const asked: Asked = { psn, memory, again: true, must: isHeld(setup, state, past) };
  if (packet.opcode === Op.ReadRequest) return readAgain(setup, state, past, packet, asked);
  if (packet.opcode === past.packet.opcode) {
    const same = sameOperands(past.packet, packet);
    return answersTo(setup, past, { ...asked, must: asked.must === true && same });
  }
  if (kindOf(past.packet) !== 'answered' || !setup.profile.switches.includes('replayed-by-psn')) return [];
  // Whatever it says the original was.
  const { original: _, ...any } = answersTo(setup, { ...past, packet }, { ...asked, must: false })[0] ?? NO_REPLY;
  return [any];
}

/** RD-08: the tail, moved by whole packets; RD-10: anything outside the original, or by another key, is dropped. */
function readAgain(
  setup: ResponderSetup,
  state: ResponderState,
  past: Past,
  packet: Packet,
  asked: Asked,
): ExpectedReply[] {
  const before = past.packet.reth;
  const now = packet.reth;
  if (past.packet.opcode !== Op.ReadRequest || before === undefined || now === undefined) return [];
  if (now.rkey !== before.rkey && before.length > 0) return [];
  const skipped = (asked.psn - past.first) * setup.mtu;
  const rest = before.length - skipped;
  const inTail = now.length <= rest && (rest === 0 || now.va === before.va + BigInt(skipped));
  const inside = now.va >= before.va && now.va + BigInt(now.length) <= before.va + BigInt(before.length);
  const { switches } = setup.profile;
  if (!inTail && !(inside && switches.includes('read-replayed-anywhere'))) return [];
  // A part that ends early, or that bears a payload, is no tail: answered or not.
  const exact = now.length === rest && now.rkey === before.rkey && now.va === before.va + BigInt(skipped);
  const moved = switches.includes('read-replay-moves') && state.moved.includes(past.first);
  const forgotten = before.length === 0 && switches.includes('empty-read-not-replayed');
  const must = asked.must === true && exact && !moved && !forgotten && sizeOf(packet) === 0 && (packet.pad ?? 0) === 0;
  const offset = now.length === 0 ? 0 : Number(now.va - setup.region.va);
  return answersTo(setup, past, { ...asked, part: { offset, length: now.length }, must });
}

/** ATM-06, MPE-12: with other operands it is answered with the saved result, or not at all. */
function sameOperands(before: Packet, now: Packet): boolean {
  return (
    repeats(before, now) &&
    before.atomic?.va === now.atomic?.va &&
    before.atomic?.rkey === now.atomic?.rkey &&
    before.atomic?.swapAdd === now.atomic?.swapAdd &&
    before.atomic?.compare === now.atomic?.compare &&
    before.feth?.placement === now.feth?.placement &&
    before.feth?.selectivity === now.feth?.selectivity &&
    (before.opcode !== Op.AtomicWrite || sameBytes(before.payload, now.payload))
  );
}

/** RSP-PSN-16, ATM-08: the last `maxDestRdAtomic` of them are remembered, or more. */
function isHeld({ maxDestRdAtomic }: ResponderSetup, { past }: ResponderState, one: Past): boolean {
  const answered = past.filter(({ packet }) => kindOf(packet) === 'answered');
  return answered.slice(-maxDestRdAtomic).includes(one);
}

const sameBytes = (a: Uint8Array = NOTHING, b: Uint8Array = NOTHING): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

const NOTHING = new Uint8Array(0);
const NO_REPLY: ExpectedReply = { opcodes: [], psn: 0, msn: 0, syndrome: 0, must: false, again: true, ruleId: '' };
