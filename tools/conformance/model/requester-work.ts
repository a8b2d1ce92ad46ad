/**
 * Work that was posted, where it stands in the number space, and the request packets that it must become
 * (ref:conformance#REQ-01, REQ-25, OPS-12..OPS-17, LEN-13). PSNs count from the device's first and never wrap.
 */
import { Op } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';

export type WorkKind = 'send' | 'write' | 'read' | 'fetch-add' | 'compare-swap';

/** A work request. */
export interface WorkRequest {
  readonly kind: WorkKind;
  /** What a SEND or WRITE brings; for a READ only its length counts. */
  readonly data: Uint8Array;
  readonly imm?: number | undefined;
  readonly signaled: boolean;
  readonly fence: boolean;
  /** Of all but SEND. */
  readonly va: bigint;
  readonly rkey: number;
  /** Atomics. */
  readonly swapAdd: bigint;
  readonly compare: bigint;
}

/** Work in its place: PSNs of its first and last packet, responses of a READ included. */
export interface Placed extends WorkRequest {
  readonly index: number;
  readonly first: number;
  readonly last: number;
}

/** Answered by more than an ACK. */
export const isAnswered = ({ kind }: WorkRequest): boolean => kind !== 'send' && kind !== 'write';

/** Puts a work request behind those that are there. */
export function placed(before: readonly Placed[], work: WorkRequest, mtu: number): Placed {
  const first = (before.at(-1)?.last ?? -1) + 1;
  const atomic = work.kind === 'fetch-add' || work.kind === 'compare-swap';
  const packets = atomic ? 1 : Math.max(1, Math.ceil(work.data.length / mtu));
  return { ...work, index: before.length, first, last: first + packets - 1 };
}

/** The request at a PSN of this work. For a READ: what is left of it from there on (REQ-25). */
export function requestAt(work: Placed, psn: number, mtu: number): Packet {
  const { kind, data, va, rkey, first, last, swapAdd, compare, imm } = work;
  const skipped = (psn - first) * mtu;
  if (kind === 'read') {
    const reth = { va: va + BigInt(skipped), rkey, length: data.length - skipped };
    return { opcode: Op.ReadRequest, psn, reth };
  }
  if (kind === 'fetch-add') return { opcode: Op.FetchAdd, psn, atomic: { va, rkey, swapAdd, compare: 0n } };
  if (kind === 'compare-swap') return { opcode: Op.CompareSwap, psn, atomic: { va, rkey, swapAdd, compare } };
  const write = kind === 'write';
  const opcode = opcodeAt(write, psn === first, psn === last, imm !== undefined);
  return {
    ...{ opcode, psn, payload: data.slice(skipped, skipped + mtu) },
    ...(write && psn === first ? { reth: { va, rkey, length: data.length } } : {}),
    ...(psn === last && imm !== undefined ? { imm } : {}),
  };
}

function opcodeAt(write: boolean, first: boolean, last: boolean, imm: boolean): number {
  if (first && last) return write ? (imm ? Op.WriteOnlyImm : Op.WriteOnly) : imm ? Op.SendOnlyImm : Op.SendOnly;
  if (first) return write ? Op.WriteFirst : Op.SendFirst;
  if (!last) return write ? Op.WriteMiddle : Op.SendMiddle;
  return write ? (imm ? Op.WriteLastImm : Op.WriteLast) : imm ? Op.SendLastImm : Op.SendLast;
}

/**
 * The rule that the packet breaks as a request at its PSN; undefined when it is right. AckReq is the device's choice
 * (REQ-02).
 */
export function requestFault(
  work: Placed,
  packet: Packet,
  mtu: number,
): { ruleId: string; wanted: Packet } | undefined {
  const wanted = requestAt(work, packet.psn, mtu);
  const broken = (ruleId: string) => ({ ruleId, wanted });
  if (packet.opcode !== wanted.opcode) return broken(work.first === work.last ? 'OPS-17' : 'OPS-14');
  if (packet.imm !== wanted.imm) return broken('OPS-15');
  const { reth, atomic, payload = NOTHING } = packet;
  const sameReth =
    reth?.va === wanted.reth?.va && reth?.rkey === wanted.reth?.rkey && reth?.length === wanted.reth?.length;
  if (!sameReth) return broken(work.kind === 'read' ? 'REQ-25' : 'OPS-16');
  if (wanted.atomic !== undefined) {
    const { va, rkey, swapAdd, compare } = wanted.atomic;
    const same = atomic?.va === va && atomic.rkey === rkey && atomic.swapAdd === swapAdd;
    if (!same || (work.kind === 'compare-swap' && atomic?.compare !== compare)) return broken('REQ-26');
  }
  const data = wanted.payload ?? NOTHING;
  if (payload.length !== data.length) return broken('LEN-13');
  return payload.every((byte, i) => byte === data[i]) ? undefined : broken('REQ-26');
}

const NOTHING = new Uint8Array(0);
