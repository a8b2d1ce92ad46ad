/**
 * The packets that steps stand for, given what the responder expects: legal ones unless the step says what is wrong.
 */
import { OPCODE_FLAGS, Op, OpFlag } from 'rocev2/packets';
import { type Packet, pattern } from 'rocev2/packets/kit';
import { hasFlag } from '../model/responder-faults.ts';
import type { ResponderSetup, ResponderState, UnfinishedMessage } from '../model/responder-state.ts';
import type { OpcodeStep, ReplayStep, RequestStep } from './responder-steps.ts';

/** The packet of a step; undefined where there is none (nothing to replay). */
export function packetOf(
  step: RequestStep | ReplayStep | OpcodeStep,
  setup: ResponderSetup,
  state: ResponderState,
): Packet | undefined {
  if (step.do === 'replay') return replayed(step, setup, state);
  if (step.do === 'opcode') return strange(step, setup, state);
  const packet = legal(step, setup, state);
  return spoiled(step, setup, { ...packet, psn: state.expected + step.ahead });
}

/**
 * What ends the open message, if there is one, then a request that a queue pair which is well answers: a WRITE of no
 * bytes, or what else its rights allow; a SEND draws an RNR NAK at least.
 */
export function sentinel(setup: ResponderSetup, state: ResponderState): Packet[] {
  const packets: Packet[] = [];
  let psn = state.expected;
  if (state.open?.kind === 'send') packets.push({ opcode: Op.SendLast, psn: psn++, payload: pattern(4) });
  if (state.open?.kind === 'write') {
    let { left } = state.open;
    for (; left > setup.mtu; left -= setup.mtu)
      packets.push({ opcode: Op.WriteMiddle, psn: psn++, payload: pattern(setup.mtu) });
    packets.push({ opcode: Op.WriteLast, psn: psn++, payload: pattern(left) });
  }
  const reth = { va: 0n, rkey: 0, length: 0 };
  const { write, read } = setup.access;
  const opcode = write ? Op.WriteOnly : read ? Op.ReadRequest : Op.SendOnly;
  return [...packets, { opcode, psn, ackReq: true, ...(write || read ? { reth } : {}) }];
}

/** A READ of the whole region at the next expected PSN. */
export const readBack = ({ region }: ResponderSetup, { expected }: ResponderState): Packet => ({
  opcode: Op.ReadRequest,
  psn: expected,
  ackReq: true,
  reth: { va: region.va, rkey: region.rkey, length: region.length },
});

function legal(step: RequestStep, setup: ResponderSetup, state: ResponderState): Packet {
  const { kind, at, size, ackReq, value } = step;
  const { region, mtu } = setup;
  if (state.open !== undefined) return continued(step, setup, state.open);
  const common = { psn: state.expected, ackReq };
  if (kind === 'send') return begun(step, setup);
  if (kind === 'write') return begun(step, setup);
  const aligned = region.va + BigInt((at % (region.length - 8)) & ~7);
  const { rkey } = region;
  if (kind === 'read') {
    const length = Math.min(size + (step.packets - 1) * mtu, region.length);
    const va = region.va + BigInt(at % (region.length - length + 1));
    return { ...common, opcode: Op.ReadRequest, reth: { va, rkey, length } };
  }
  if (kind === 'flush') {
    const reth = { va: aligned, rkey, length: size % 9 };
    return { ...common, opcode: Op.Flush, reth, feth: { placement: 1, selectivity: value & 1 } };
  }
  if (kind === 'atomic-write')
    return { ...common, opcode: Op.AtomicWrite, reth: { va: aligned, rkey, length: 8 }, payload: pattern(8, at) };
  const operands = { swapAdd: BigInt(value + 1), compare: BigInt(value >> 1) };
  const opcode = kind === 'fetch-add' ? Op.FetchAdd : Op.CompareSwap;
  return { ...common, opcode, atomic: { va: aligned, rkey, ...operands } };
}

/** The first packet of a SEND or WRITE. */
function begun(step: RequestStep, setup: ResponderSetup): Packet {
  const { kind, more, at, ackReq, imm } = step;
  const { region, mtu, receiveBytes } = setup;
  const write = kind === 'write';
  const room = write ? region.length : receiveBytes;
  const several = more && room > mtu;
  const size = several ? mtu : Math.min(step.size, mtu, room);
  const length = several ? Math.min(mtu + Math.max(1, step.size) + (step.packets - 1) * mtu, region.length) : size;
  const reth = { va: region.va + BigInt(at % (region.length - length + 1)), rkey: region.rkey, length };
  const opcode = several ? (write ? Op.WriteFirst : Op.SendFirst) : only(write, imm);
  return {
    ...{ opcode, psn: 0, ackReq, payload: pattern(size, at) },
    ...(write ? { reth } : {}),
    ...(imm && !several ? { imm: at } : {}),
  };
}

const only = (write: boolean, imm: boolean): number =>
  write ? (imm ? Op.WriteOnlyImm : Op.WriteOnly) : imm ? Op.SendOnlyImm : Op.SendOnly;

/** The next packet of the open message. */
function continued(step: RequestStep, { mtu, receiveBytes }: ResponderSetup, open: UnfinishedMessage): Packet {
  const { at, ackReq, imm } = step;
  const write = open.kind === 'write';
  const left = write ? open.left : step.more ? receiveBytes - open.got.length : Math.min(mtu, Math.max(1, step.size));
  const common = { psn: 0, ackReq };
  if (left > mtu) return { ...common, opcode: write ? Op.WriteMiddle : Op.SendMiddle, payload: pattern(mtu, at) };
  const fits = write ? left : Math.min(left, receiveBytes - open.got.length);
  const last = write ? (imm ? Op.WriteLastImm : Op.WriteLast) : imm ? Op.SendLastImm : Op.SendLast;
  return { ...common, opcode: last, payload: pattern(fits, at), ...(imm ? { imm: at } : {}) };
}

/** The packet with the flaw of the step; as it is where the flaw has no meaning for it. */
function spoiled(step: RequestStep, { region, mtu }: ResponderSetup, packet: Packet): Packet {
  const { flaw, value } = step;
  const { reth, atomic, payload } = packet;
  const size = payload?.length ?? 0;
  const carries = hasFlag(packet, OpFlag.Payload);
  const sized = (n: number): Packet => (carries ? { ...packet, payload: pattern(Math.max(0, n), step.at) } : packet);
  const addressed = (va: bigint): Packet => ({
    ...packet,
    ...(reth === undefined ? {} : { reth: { ...reth, va } }),
    ...(atomic === undefined ? {} : { atomic: { ...atomic, va } }),
  });
  const lengthened = (n: number): Packet =>
    reth === undefined ? packet : { ...packet, reth: { ...reth, length: Math.max(0, n) >>> 0 } };
  const wrongKey = (region.rkey ^ 0x100) >>> 0;
  if (flaw === 'key')
    return {
      ...packet,
      ...(reth === undefined ? {} : { reth: { ...reth, rkey: wrongKey } }),
      ...(atomic === undefined ? {} : { atomic: { ...atomic, rkey: wrongKey } }),
    };
  if (flaw === 'below') return addressed(region.va - 8n);
  if (flaw === 'above') return addressed(region.va + BigInt(region.length - (value & ~1)));
  if (flaw === 'wrap') return addressed(0xffff_ffff_ffff_fff8n);
  if (flaw === 'unaligned')
    return addressed((atomic ?? reth)?.va === undefined ? 0n : ((atomic ?? reth)?.va ?? 0n) + 1n);
  if (flaw === 'longer') return lengthened((reth?.length ?? 0) + 1);
  if (flaw === 'shorter') return lengthened((reth?.length ?? 0) - 1);
  if (flaw === 'huge') return lengthened(0x8000_0000 + value);
  if (flaw === 'oversize') return sized(mtu + 4);
  if (flaw === 'undersize') return sized(size - 4);
  if (flaw === 'empty') return sized(0);
  if (flaw === 'pad') return carries ? { ...packet, pad: (-size & 3) ^ 1 } : packet;
  if (flaw === 'payload') return carries ? packet : { ...packet, payload: pattern(4) };
  if (flaw === 'invalidate') return invalidating(packet);
  return packet;
}

/** A SEND that invalidates an unknown key. */
function invalidating(packet: Packet): Packet {
  const inv = 0xdead_be00;
  const { imm: _, ...plain } = packet;
  if (hasFlag(packet, OpFlag.Send) && hasFlag(packet, OpFlag.Only))
    return { ...plain, opcode: Op.SendOnlyInvalidate, inv };
  if (hasFlag(packet, OpFlag.Send) && hasFlag(packet, OpFlag.Last))
    return { ...plain, opcode: Op.SendLastInvalidate, inv };
  return packet;
}

/** Any opcode with headers that would be right for it. */
function strange(
  { opcode, ahead, ackReq }: OpcodeStep,
  { region, mtu }: ResponderSetup,
  state: ResponderState,
): Packet {
  const flags = OPCODE_FLAGS[opcode] ?? 0;
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const { va, rkey } = region;
  const first = has(OpFlag.First | OpFlag.Only);
  const full = has(OpFlag.First | OpFlag.Middle);
  const size = !has(OpFlag.Payload) ? 0 : opcode === Op.AtomicWrite ? 8 : full ? mtu : 4;
  const length = has(OpFlag.Read) ? 4 : full ? mtu + 4 : size;
  const reth = has(OpFlag.Read | OpFlag.Flush | OpFlag.AtomicWrite) || (has(OpFlag.Write) && first);
  return {
    ...{ opcode, psn: state.expected + ahead, ackReq, payload: pattern(size) },
    ...(reth ? { reth: { va, rkey, length } } : {}),
    ...(has(OpFlag.Flush) ? { feth: { placement: 1, selectivity: 0 } } : {}),
    ...(has(OpFlag.Atomic) ? { atomic: { va, rkey, swapAdd: 1n, compare: 0n } } : {}),
    ...(has(OpFlag.Imm) ? { imm: 1 } : {}),
    ...(has(OpFlag.Invalidate) ? { inv: 0xdead_be00 } : {}),
    ...(has(OpFlag.Response) ? { syndrome: 0x1f, msn: 0 } : {}),
    ...(has(OpFlag.AtomicAck) ? { original: 0n } : {}),
  };
}

function replayed(step: ReplayStep, setup: ResponderSetup, state: ResponderState): Packet | undefined {
  const past = state.past[state.past.length - 1 - (step.back % Math.max(1, state.past.length))];
  if (past === undefined) return undefined;
  const packet: Packet = { ...past.packet, psn: past.first, ackReq: step.ackReq };
  const { reth, atomic, payload } = packet;
  const { twist } = step;
  if (twist === 'opcode') return { ...strange({ ...step, do: 'opcode', ahead: 0 }, setup, state), psn: past.first };
  if (twist === 'payload' && payload !== undefined) return { ...packet, payload: pattern(payload.length, 77) };
  if (twist === 'operand' && atomic !== undefined)
    return { ...packet, atomic: { ...atomic, swapAdd: atomic.swapAdd + 1n } };
  if (reth === undefined) return packet;
  if (twist === 'key') return { ...packet, reth: { ...reth, rkey: (reth.rkey ^ 0x100) >>> 0 } };
  if (twist === 'address') return { ...packet, reth: { ...reth, va: reth.va + 4n } };
  if (twist === 'longer') return { ...packet, reth: { ...reth, length: reth.length + 4 } };
  if (packet.opcode !== Op.ReadRequest) return packet;
  const skip = Math.min(step.skip, past.last - past.first);
  const skipped = skip * setup.mtu;
  const tail = { va: reth.va + BigInt(skipped), rkey: reth.rkey, length: reth.length - skipped };
  if (twist === 'tail') return { ...packet, psn: past.first + skip, reth: tail };
  if (twist === 'part') return { ...packet, psn: past.first + skip, reth: { ...tail, length: tail.length >> 1 } };
  return packet;
}
