/**
 * The opcode table: what each of the 256 BTH opcodes is and which headers follow it.
 *
 * Owns names, flags, header composition and header offsets, all derived from the rows at the end of this file. Code
 * branches on flags, never on ranges of opcodes. Never reads a packet.
 * Rules: ref:wire#5 (values and header composition), rxe:rxe_opcode.c#rxe_opcode (RC, UC, RD, UD rows). Names as
 * Wireshark prints them. RD RESYNC and the invalidating XRC SENDs are known from Wireshark only; XRC and RD FLUSH and
 * ATOMIC WRITE are left unknown, as there.
 */

import { AETH_BYTES } from './aeth.ts';
import { ATOMIC_ACK_ETH_BYTES } from './atomic-ack-eth.ts';
import { ATOMIC_ETH_BYTES } from './atomic-eth.ts';
import { BTH_BYTES } from './bth.ts';
import { DETH_BYTES } from './deth.ts';
import { FETH_BYTES } from './feth.ts';
import { IETH_BYTES } from './ieth.ts';
import { IMM_DT_BYTES } from './imm-dt.ts';
import { RDETH_BYTES } from './rdeth.ts';
import { RETH_BYTES } from './reth.ts';
import { XRCETH_BYTES } from './xrceth.ts';

/** Top three bits of an opcode: the transport service. `opcode & SERVICE_MASK`. */
export const Service = {
  /** Reliable connection. */
  Rc: 0x00,
  /** Unreliable connection. */
  Uc: 0x20,
  /** Reliable datagram: decoded, never spoken. */
  Rd: 0x40,
  /** Unreliable datagram. */
  Ud: 0x60,
  /** Congestion notification, which has one opcode. */
  Cnp: 0x80,
  /** Extended reliable connection. */
  Xrc: 0xa0,
} as const;
/** One of the services. */
export type Service = (typeof Service)[keyof typeof Service];
/** The bits of an opcode that hold its service; the other five are the operation. */
export const SERVICE_MASK = 0xe0;

/** Opcodes: the RC values, which are also the low five bits in other services; `Ud*` and `Cnp` are complete opcodes. */
export const Op = {
  /** SEND, first packet of several. */
  SendFirst: 0x00,
  /** SEND, neither first nor last. */
  SendMiddle: 0x01,
  /** SEND, last packet. */
  SendLast: 0x02,
  /** SEND, last packet, with immediate data. */
  SendLastImm: 0x03,
  /** SEND of one packet. */
  SendOnly: 0x04,
  /** SEND of one packet, with immediate data. */
  SendOnlyImm: 0x05,
  /** RDMA WRITE, first packet of several. */
  WriteFirst: 0x06,
  /** RDMA WRITE, neither first nor last. */
  WriteMiddle: 0x07,
  /** RDMA WRITE, last packet. */
  WriteLast: 0x08,
  /** RDMA WRITE, last packet, with immediate data. */
  WriteLastImm: 0x09,
  /** RDMA WRITE of one packet. */
  WriteOnly: 0x0a,
  /** RDMA WRITE of one packet, with immediate data. */
  WriteOnlyImm: 0x0b,
  /** RDMA READ request. */
  ReadRequest: 0x0c,
  /** RDMA READ response, first packet of several. */
  ReadResponseFirst: 0x0d,
  /** RDMA READ response, neither first nor last: the one response without AETH. */
  ReadResponseMiddle: 0x0e,
  /** RDMA READ response, last packet. */
  ReadResponseLast: 0x0f,
  /** RDMA READ response of one packet. */
  ReadResponseOnly: 0x10,
  /** ACKNOWLEDGE, positive or negative, by the AETH. */
  Acknowledge: 0x11,
  /** Response to COMPARE SWAP and FETCH ADD. */
  AtomicAcknowledge: 0x12,
  /** COMPARE SWAP request. */
  CompareSwap: 0x13,
  /** FETCH ADD request. */
  FetchAdd: 0x14,
  /** RESYNC of reliable datagrams. */
  Resync: 0x15,
  /** SEND, last packet, that invalidates a key of the receiver. */
  SendLastInvalidate: 0x16,
  /** SEND of one packet that invalidates a key of the receiver. */
  SendOnlyInvalidate: 0x17,
  /** FLUSH request (memory placement extensions). */
  Flush: 0x1c,
  /** ATOMIC WRITE request (memory placement extensions). */
  AtomicWrite: 0x1d,
  /** SEND of an unreliable datagram. */
  UdSendOnly: 0x64,
  /** SEND of an unreliable datagram, with immediate data. */
  UdSendOnlyImm: 0x65,
  /** Congestion notification packet. */
  Cnp: 0x81,
} as const;

/**
 * What an opcode is, as bits. Every request or response is exactly one of First, Middle, Last, Only (operations of a
 * single packet are Only). Operation bits are exclusive: a READ response is ReadResponse and not Read, ATOMIC WRITE is
 * AtomicWrite and neither Atomic nor Write. Known opcodes that are neither request nor response: the CNP.
 */
export const OpFlag = {
  /** From requester to responder. */
  Request: 1 << 0,
  /** From responder to requester. */
  Response: 1 << 1,
  /** SEND of any kind. */
  Send: 1 << 2,
  /** RDMA WRITE of any kind. */
  Write: 1 << 3,
  /** READ request. */
  Read: 1 << 4,
  /** COMPARE SWAP or FETCH ADD request. */
  Atomic: 1 << 5,
  /** Starts a message of several packets. */
  First: 1 << 6,
  /** Neither begins nor ends its message. */
  Middle: 1 << 7,
  /** Ends a message of several packets. */
  Last: 1 << 8,
  /** Is a whole message. */
  Only: 1 << 9,
  /** Carries ImmDt. */
  Imm: 1 << 10,
  /** Carries IETH. */
  Invalidate: 1 << 11,
  /** ACKNOWLEDGE, positive or not. */
  Ack: 1 << 12,
  /** RDMA READ response. */
  ReadResponse: 1 << 13,
  /** Response to an atomic. */
  AtomicAck: 1 << 14,
  /** FLUSH request. */
  Flush: 1 << 15,
  /** ATOMIC WRITE request. */
  AtomicWrite: 1 << 16,
  /** May carry payload. */
  Payload: 1 << 17,
  /** Congestion notification. */
  Cnp: 1 << 18,
  /** RESYNC of reliable datagrams. */
  Resync: 1 << 19,
} as const;

/**
 * Extended headers, in the order in which they follow the BTH. `CNP` is the reserved 16 bytes of a congestion
 * notification.
 */
export type HeaderName =
  | 'RDETH'
  | 'DETH'
  | 'XRCETH'
  | 'FETH'
  | 'RETH'
  | 'AETH'
  | 'AtomicETH'
  | 'AtomicAckETH'
  | 'ImmDt'
  | 'IETH'
  | 'CNP';

/** What is known of one opcode. */
export interface OpcodeInfo {
  /** The opcode, 0..255. */
  readonly code: number;
  /** Whether the table has a row for it. */
  readonly known: boolean;
  /** "RC SEND First"; "Unknown (0x..)" when not known. */
  readonly name: string;
  /** `code & SERVICE_MASK`. */
  readonly service: number;
  /** `OpFlag` bits, 0 when not known. */
  readonly flags: number;
  /** Extended headers in the order in which they follow the BTH. */
  readonly headers: readonly HeaderName[];
  /** Bytes of extended headers after the BTH. */
  readonly headerBytes: number;
}

/** Bytes of each extended header. */
export const HEADER_BYTES: Readonly<Record<HeaderName, number>> = {
  RDETH: RDETH_BYTES,
  DETH: DETH_BYTES,
  XRCETH: XRCETH_BYTES,
  FETH: FETH_BYTES,
  RETH: RETH_BYTES,
  AETH: AETH_BYTES,
  AtomicETH: ATOMIC_ETH_BYTES,
  AtomicAckETH: ATOMIC_ACK_ETH_BYTES,
  ImmDt: IMM_DT_BYTES,
  IETH: IETH_BYTES,
  CNP: 16,
};

type OpcodeRow = readonly [
  op: number,
  name: string,
  headers: readonly HeaderName[],
  flags: number,
  services: readonly Service[],
];

const { Rc, Uc, Rd, Ud, Cnp, Xrc } = Service;
const CONNECTED: readonly Service[] = [Rc, Uc, Rd, Xrc];
const EVERY: readonly Service[] = [Rc, Uc, Rd, Ud, Xrc];
const RELIABLE: readonly Service[] = [Rc, Rd, Xrc];

const F = OpFlag;
const SEND = F.Request | F.Send | F.Payload;
const WRITE = F.Request | F.Write | F.Payload;
const READ_RESPONSE = F.Response | F.ReadResponse | F.Payload;

const ROWS: readonly OpcodeRow[] = [
  [0x00, 'SEND First', [], SEND | F.First, CONNECTED],
  [0x01, 'SEND Middle', [], SEND | F.Middle, CONNECTED],
  [0x02, 'SEND Last', [], SEND | F.Last, CONNECTED],
  [0x03, 'SEND Last with Immediate', ['ImmDt'], SEND | F.Last | F.Imm, CONNECTED],
  [0x04, 'SEND Only', [], SEND | F.Only, EVERY],
  [0x05, 'SEND Only with Immediate', ['ImmDt'], SEND | F.Only | F.Imm, EVERY],
  [0x06, 'RDMA WRITE First', ['RETH'], WRITE | F.First, CONNECTED],
  [0x07, 'RDMA WRITE Middle', [], WRITE | F.Middle, CONNECTED],
  [0x08, 'RDMA WRITE Last', [], WRITE | F.Last, CONNECTED],
  [0x09, 'RDMA WRITE Last with Immediate', ['ImmDt'], WRITE | F.Last | F.Imm, CONNECTED],
  [0x0a, 'RDMA WRITE Only', ['RETH'], WRITE | F.Only, CONNECTED],
  [0x0b, 'RDMA WRITE Only with Immediate', ['RETH', 'ImmDt'], WRITE | F.Only | F.Imm, CONNECTED],
  [0x0c, 'RDMA READ Request', ['RETH'], F.Request | F.Read | F.Only, RELIABLE],
  [0x0d, 'RDMA READ response First', ['AETH'], READ_RESPONSE | F.First, RELIABLE],
  [0x0e, 'RDMA READ response Middle', [], READ_RESPONSE | F.Middle, RELIABLE],
  [0x0f, 'RDMA READ response Last', ['AETH'], READ_RESPONSE | F.Last, RELIABLE],
  [0x10, 'RDMA READ response Only', ['AETH'], READ_RESPONSE | F.Only, RELIABLE],
  [0x11, 'Acknowledge', ['AETH'], F.Response | F.Ack | F.Only, RELIABLE],
  [0x12, 'ATOMIC Acknowledge', ['AETH', 'AtomicAckETH'], F.Response | F.AtomicAck | F.Only, RELIABLE],
  [0x13, 'CmpSwap', ['AtomicETH'], F.Request | F.Atomic | F.Only, RELIABLE],
  [0x14, 'FetchAdd', ['AtomicETH'], F.Request | F.Atomic | F.Only, RELIABLE],
  [0x15, 'RESYNC', [], F.Request | F.Resync | F.Only, [Rd]],
  [0x16, 'SEND Last with Invalidate', ['IETH'], SEND | F.Last | F.Invalidate, [Rc, Xrc]],
  [0x17, 'SEND Only with Invalidate', ['IETH'], SEND | F.Only | F.Invalidate, [Rc, Xrc]],
  [0x1c, 'FLUSH', ['FETH', 'RETH'], F.Request | F.Flush | F.Only, [Rc]],
  [0x1d, 'ATOMIC WRITE', ['RETH'], F.Request | F.AtomicWrite | F.Only | F.Payload, [Rc]],
  [0x01, '', ['CNP'], F.Cnp, [Cnp]],
];

/** All 256 opcodes by value. */
export const OPCODES: readonly OpcodeInfo[] = Array.from({ length: 256 }, (_, code) => describeOpcode(code));

/** `OpFlag` bits by opcode; 0 = unknown opcode. */
export const OPCODE_FLAGS = Uint32Array.from(OPCODES, (info) => info.flags);
/** Bytes of extended headers after the BTH, by opcode. */
export const OPCODE_HEADER_BYTES = Uint8Array.from(OPCODES, (info) => info.headerBytes);

// Offset of a header from the start of the BTH, by opcode; -1 when the opcode does not have it.
/** Offset of the RETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const RETH_AT = headerOffsets('RETH');
/** Offset of the AETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const AETH_AT = headerOffsets('AETH');
/** Offset of the AtomicETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const ATOMIC_ETH_AT = headerOffsets('AtomicETH');
/** Offset of the AtomicAckETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const ATOMIC_ACK_ETH_AT = headerOffsets('AtomicAckETH');
/** Offset of the immediate data from the start of the BTH, by opcode; -1 where the opcode has none. */
export const IMM_AT = headerOffsets('ImmDt');
/** Offset of the IETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const IETH_AT = headerOffsets('IETH');
/** Offset of the DETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const DETH_AT = headerOffsets('DETH');
/** Offset of the RDETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const RDETH_AT = headerOffsets('RDETH');
/** Offset of the XRCETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const XRCETH_AT = headerOffsets('XRCETH');
/** Offset of the FETH from the start of the BTH, by opcode; -1 where the opcode has none. */
export const FETH_AT = headerOffsets('FETH');

/** The table entry of an opcode; `code` is taken modulo 256. */
export function opcodeInfo(code: number): OpcodeInfo {
  return OPCODES[code & 0xff] ?? describeOpcode(code & 0xff);
}

function describeOpcode(code: number): OpcodeInfo {
  const service = code & SERVICE_MASK;
  const row = ROWS.find(([op, , , , services]) => op === (code & ~SERVICE_MASK) && services.some((s) => s === service));
  if (row === undefined) {
    const name = `Unknown (0x${code.toString(16).padStart(2, '0')})`;
    return { code, known: false, name, service, flags: 0, headers: [], headerBytes: 0 };
  }
  const [, operation, ownHeaders, flags] = row;
  const headers = [...serviceHeaders(service, flags), ...ownHeaders];
  const headerBytes = headers.reduce((sum, header) => sum + HEADER_BYTES[header], 0);
  return { code, known: true, name: opcodeName(service, operation), service, flags, headers, headerBytes };
}

/** Headers that come from the service alone: datagram addressing, and XRC's shared receive queue in requests. */
function serviceHeaders(service: number, flags: number): readonly HeaderName[] {
  const request = (flags & OpFlag.Request) !== 0;
  if (service === Service.Rd) return request ? ['RDETH', 'DETH'] : ['RDETH'];
  if (service === Service.Ud) return ['DETH'];
  if (service === Service.Xrc && request) return ['XRCETH'];
  return [];
}

function opcodeName(service: number, operation: string): string {
  const entry = Object.entries(Service).find(([, value]) => value === service);
  return `${entry?.[0].toUpperCase()} ${operation}`.trim();
}

function headerOffsets(name: HeaderName): Int8Array {
  return Int8Array.from(OPCODES, ({ headers }) => {
    const index = headers.indexOf(name);
    if (index < 0) return -1;
    return headers.slice(0, index).reduce((at, header) => at + HEADER_BYTES[header], BTH_BYTES);
  });
}
