/**
 * The responder's opcode matrix (ref:conformance#D) as data, and a good packet for every opcode. What an opcode does
 * depends on the message that is open; everything else about the packet is right, so that its order is all that can be
 * wrong with it.
 */
import { OPCODE_FLAGS, Op, OpFlag, opcodeInfo, Service } from 'rocev2/packets';
import { type Packet, pattern, request } from 'rocev2/packets/kit';
import type { TesterPeer } from '../tester/peer.ts';
import { target, word } from './answers.ts';

/** The message that a responder is in the middle of. */
export const OPEN_MESSAGES = ['none', 'SEND', 'WRITE'] as const;
export type OpenName = (typeof OPEN_MESSAGES)[number];

/** Requests that are a part of a message and not its beginning. */
export const CONTINUATIONS: readonly number[] = [
  ...[Op.SendMiddle, Op.SendLast, Op.SendLastImm, Op.SendLastInvalidate],
  ...[Op.WriteMiddle, Op.WriteLast, Op.WriteLastImm],
];

/**
 * What becomes of a request of the right class: `execute`, a whole message; `open` and `stay`, a part of one; `close`,
 * its end; `refuse`, NAK 0x61 and ERROR; `ignore`, nothing at all.
 */
export type OpcodeOutcome = 'execute' | 'open' | 'stay' | 'close' | 'refuse' | 'ignore';

type Row = readonly [opcodes: readonly number[], none: OpcodeOutcome, send: OpcodeOutcome, write: OpcodeOutcome];

const ROWS: readonly Row[] = [
  [[Op.SendFirst, Op.WriteFirst], 'open', 'refuse', 'refuse'],
  [[Op.SendMiddle], 'refuse', 'stay', 'refuse'],
  [[Op.SendLast, Op.SendLastImm, Op.SendLastInvalidate], 'refuse', 'close', 'refuse'],
  [[Op.SendOnly, Op.SendOnlyImm, Op.SendOnlyInvalidate], 'execute', 'refuse', 'refuse'],
  [[Op.WriteMiddle], 'refuse', 'refuse', 'stay'],
  [[Op.WriteLast, Op.WriteLastImm], 'refuse', 'refuse', 'close'],
  [[Op.WriteOnly, Op.WriteOnlyImm], 'execute', 'refuse', 'refuse'],
  [[Op.ReadRequest, Op.CompareSwap, Op.FetchAdd, Op.Flush, Op.AtomicWrite], 'execute', 'refuse', 'refuse'],
  [[Op.ReadResponseFirst, Op.ReadResponseMiddle, Op.ReadResponseLast], 'ignore', 'ignore', 'ignore'],
  [[Op.ReadResponseOnly, Op.Acknowledge, Op.AtomicAcknowledge], 'ignore', 'ignore', 'ignore'],
  [[0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f], 'refuse', 'refuse', 'refuse'],
];

const BY_OPCODE = new Map(
  ROWS.flatMap(([opcodes, ...outcomes]) => opcodes.map((opcode) => [opcode, outcomes] as const)),
);

/**
 * What an RC responder makes of an opcode at the expected PSN. Those of other classes, the CNP among them, are not for
 * it.
 */
export function outcomeOf(open: OpenName, opcode: number): OpcodeOutcome {
  return BY_OPCODE.get(opcode)?.[OPEN_MESSAGES.indexOf(open)] ?? 'ignore';
}

/** Opcodes of the RC class, all 32. */
export const RC_OPCODES: readonly number[] = Array.from({ length: 32 }, (_, opcode) => opcode);

/** Unassigned opcodes: those that an unpatched kernel may not survive (CVE-2026-46133). */
export const isReserved = (opcode: number): boolean => !opcodeInfo(opcode).known;

export const isRequest = (opcode: number): boolean => ((OPCODE_FLAGS[opcode] ?? 0) & OpFlag.Request) !== 0;
const isFull = (opcode: number): boolean => ((OPCODE_FLAGS[opcode] ?? 0) & (OpFlag.First | OpFlag.Middle)) !== 0;

/** What opcodes need beside the connection. */
export interface Extras {
  /** A key that the peer may invalidate; any key where it does not matter. */
  readonly inv?: number;
  /** What a WRITE FIRST announces: default two packets of the MTU. */
  readonly announced?: number;
}

/** A packet of this opcode with all that its headers and its length should be; it requests an ACK. */
export function goodPacket(peer: TesterPeer, opcode: number, psn: number, extras: Extras = {}): Packet {
  const { inv = 0, announced = 2 * peer.mtu } = extras;
  const flags = OPCODE_FLAGS[opcode] ?? 0;
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const common = { psn, ackReq: (opcode & 0xe0) === Service.Rc, imm: 0x1234_5678, inv, msn: 0, syndrome: 0x1f };
  const first = has(OpFlag.First) && has(OpFlag.Write);
  const length = has(OpFlag.Read) ? 64 : first ? announced : 8;
  const operands = { ...word(peer, 1024), swapAdd: 1n, compare: 0n };
  const data = has(OpFlag.Send) || has(OpFlag.Write) || has(OpFlag.ReadResponse);
  const size = isFull(opcode) ? peer.mtu : data || has(OpFlag.AtomicWrite) ? 8 : 0;
  return request(opcode, {
    ...common,
    reth: target(peer, has(OpFlag.AtomicWrite) ? 1032 : 0, length),
    feth: { placement: 1, selectivity: 0 },
    atomic: operands,
    original: 0n,
    qkey: 0x1111_1111,
    srcQpn: peer.qpn,
    srqn: 1,
    payload: has(OpFlag.Request) || has(OpFlag.Response) ? pattern(size) : pattern(32),
  });
}
