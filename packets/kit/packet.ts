/**
 * Packets as values, for scripts: constructors for every RC packet, and the words a packet prints as. A script's PSNs
 * are relative to the connection's first PSN of their direction, so that the same script runs anywhere in the number
 * space.
 */

import { Syndrome } from '../aeth.ts';
import { crc32 } from '../crc32.ts';
import { defined } from '../defined.ts';
import type { Feth } from '../feth.ts';
import { OPCODE_FLAGS, Op, OpFlag, opcodeInfo, Service } from '../opcode.ts';

/** Fields of an RDMA extended header (RETH). */
export interface RethFields {
  /** Virtual address at the responder, 64 bits. */
  readonly va: bigint;
  /** R_Key, 32 bits. */
  readonly rkey: number;
  /** Bytes of the whole message, 32 bits. */
  readonly length: number;
}

/** Fields of an atomic extended header (AtomicETH). */
export interface AtomicFields {
  /** Virtual address at the responder, 64 bits. */
  readonly va: bigint;
  /** R_Key, 32 bits. */
  readonly rkey: number;
  /** What COMPARE SWAP stores and FETCH ADD adds, 64 bits. */
  readonly swapAdd: bigint;
  /** What COMPARE SWAP compares with, 64 bits; 0 in a FETCH ADD. */
  readonly compare: bigint;
}

/**
 * A packet as a value, right or wrong. `buildFrame` writes those extended headers that the opcode has, from the fields
 * below or with zeros where they are absent; fields of headers that the opcode does not have are ignored.
 */
export interface Packet {
  /** BTH opcode, 8 bits, of the table or not. */
  readonly opcode: number;
  /**
   * In a script relative to the first PSN of its direction, may be negative; in what was received 24 bits, as on the
   * wire.
   */
  readonly psn: number;
  /** AckReq bit of the BTH; default false. */
  readonly ackReq?: boolean;
  /** Solicited event bit of the BTH; default false. */
  readonly solicited?: boolean;
  /** Without the pad; default none. */
  readonly payload?: Uint8Array;
  /** WRITE, READ request, FLUSH, ATOMIC WRITE. */
  readonly reth?: RethFields;
  /** FLUSH: placement type and selectivity level. */
  readonly feth?: Feth;
  /** COMPARE SWAP and FETCH ADD. */
  readonly atomic?: AtomicFields;
  /** Immediate data, 32 bits. */
  readonly imm?: number;
  /** SEND with invalidate: the R_Key, 32 bits. */
  readonly inv?: number;
  /** AETH syndrome, 8 bits. */
  readonly syndrome?: number;
  /** AETH message sequence number, 24 bits. */
  readonly msn?: number;
  /** Atomic response: the value before, 64 bits. */
  readonly original?: bigint;
  /** XRC: number of the shared receive queue of a request, 24 bits. */
  readonly srqn?: number;
  /** UD: Q_Key, 32 bits. */
  readonly qkey?: number;
  /** UD: the queue pair that it names as its sender, 24 bits. */
  readonly srcQpn?: number;
  /** Pad count and bytes of pad, 0 to 3; default what aligns the payload to four bytes. */
  readonly pad?: number;
  /** P_Key, 16 bits; default 0xffff. */
  readonly pkey?: number;
  /** MigReq bit; default 1. */
  readonly migReq?: 0 | 1;
  /** Source address of the IP header; default the route's. */
  readonly source?: string;
  /** UDP source port; default the route's. */
  readonly sourcePort?: number;
  /** Traffic class or TOS byte of the IP header, ECN in its low two bits; default the route's. */
  readonly trafficClass?: number;
  /** BECN bit of the BTH; default 0. */
  readonly becn?: 0 | 1;
  /** FECN bit of the BTH; default 0. */
  readonly fecn?: 0 | 1;
  /** Transport version, 4 bits; default 0. */
  readonly tver?: number;
  /** Reserved bits of byte 4 of the BTH, 6 of them; default 0. */
  readonly reserved6?: number;
  /** Reserved bits of byte 8 of the BTH, 7 of them; default 0. */
  readonly reserved7?: number;
  /** Another destination queue pair than the connection's. */
  readonly destQpn?: number;
  /** Destination address of the IP header; default the route's. */
  readonly destination?: string;
  /** Hop limit or TTL of the IP header; default the route's. */
  readonly hopLimit?: number;
  /** Changes the frame before its IP checksum and ICRC are made (both are right afterwards). */
  readonly edit?: Edit;
  /** Changes the finished frame, so that ICRC or checksum may be wrong. */
  readonly spoil?: Edit;
  /** What `edit` and `spoil` do, in words: printed with the packet. */
  readonly note?: string;
}

/** A frame that is being made. Offsets are into `bytes`. */
export interface Draft {
  /** The frame, whole. */
  readonly bytes: Uint8Array;
  /** Of `bytes`. */
  readonly view: DataView;
  /** Where the IP header begins. */
  readonly ip: number;
  /** Where the UDP header begins. */
  readonly udp: number;
  /** Where the BTH begins. */
  readonly bth: number;
  /** Where the ICRC begins, four bytes before the end. */
  readonly icrc: number;
}

/** Changes a draft in place, or returns the bytes that are to be sent in its stead. */
export type Edit = (draft: Draft) => Uint8Array | undefined;

/** What every packet has, whatever its opcode. */
export type CommonFields = Omit<
  Packet,
  | 'opcode'
  | 'payload'
  | 'reth'
  | 'feth'
  | 'atomic'
  | 'imm'
  | 'inv'
  | 'syndrome'
  | 'msn'
  | 'original'
  | 'srqn'
  | 'qkey'
  | 'srcQpn'
>;
/** A packet that may carry a payload. */
export type DataFields = CommonFields & Pick<Packet, 'payload'>;
/** A packet that carries immediate data. */
export type ImmediateFields = DataFields & Required<Pick<Packet, 'imm'>>;
/** A packet that invalidates an R_Key. */
export type InvalidateFields = DataFields & Required<Pick<Packet, 'inv'>>;
/** A request with an RDMA extended header. */
export type RdmaFields = DataFields & Required<Pick<Packet, 'reth'>>;
/** A datagram. */
export type DatagramFields = Omit<DataFields, 'ackReq'> &
  Required<Pick<Packet, 'qkey' | 'srcQpn'>> &
  Pick<Packet, 'imm'>;
/** An ACK or NAK. */
export type AckFields = CommonFields & Required<Pick<Packet, 'msn'>>;
/** A READ response with an AETH; its syndrome is by default that of an ACK without credits. */
export type ReadResponseFields = AckFields & Pick<Packet, 'payload' | 'syndrome'>;

/** A packet of any opcode. */
export const request = (opcode: number, fields: Omit<Packet, 'opcode'>): Packet => ({ opcode, ...fields });

/** The same request over UC, without AckReq. */
export const uc = (packet: Packet): Packet => ({ ...packet, opcode: packet.opcode | Service.Uc, ackReq: false });

/** The same packet over XRC; a request is for shared receive queue `srqn`. */
export const xrc = (packet: Packet, srqn?: number): Packet => ({
  ...packet,
  opcode: packet.opcode | Service.Xrc,
  ...defined({ srqn }),
});

/** The same packet marked Congestion Experienced. */
export const marked = (packet: Packet): Packet => ({ ...packet, trafficClass: 0b11 });

/** `length` bytes that differ from one another and from those of another seed. */
export function pattern(length: number, seed = 1): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8) * 13 + seed * 31) & 0xff);
}

/** A CNP (RoCEv2 congestion notification packet). */
export const cnp = (f: Partial<Packet> = {}): Packet => ({ opcode: Op.Cnp, psn: 0, migReq: 0, becn: 1, ...f });
/** A UD SEND Only, with immediate data where `imm` is there. */
export const datagram = (f: DatagramFields): Packet =>
  request(f.imm === undefined ? Op.UdSendOnly : Op.UdSendOnlyImm, f);
/** An RC SEND First. */
export const sendFirst = (f: DataFields): Packet => request(Op.SendFirst, f);
/** An RC SEND Middle. */
export const sendMiddle = (f: DataFields): Packet => request(Op.SendMiddle, f);
/** An RC SEND Last. */
export const sendLast = (f: DataFields): Packet => request(Op.SendLast, f);
/** An RC SEND Only. */
export const sendOnly = (f: DataFields): Packet => request(Op.SendOnly, f);
/** An RC SEND Only with immediate data. */
export const sendOnlyImm = (f: ImmediateFields): Packet => request(Op.SendOnlyImm, f);
/** An RC SEND Last with immediate data. */
export const sendLastImm = (f: ImmediateFields): Packet => request(Op.SendLastImm, f);
/** An RC SEND Only with invalidate. */
export const sendOnlyInv = (f: InvalidateFields): Packet => request(Op.SendOnlyInvalidate, f);
/** An RC SEND Last with invalidate. */
export const sendLastInv = (f: InvalidateFields): Packet => request(Op.SendLastInvalidate, f);
/** An RC RDMA WRITE First. */
export const writeFirst = (f: RdmaFields): Packet => request(Op.WriteFirst, f);
/** An RC RDMA WRITE Middle. */
export const writeMiddle = (f: DataFields): Packet => request(Op.WriteMiddle, f);
/** An RC RDMA WRITE Last. */
export const writeLast = (f: DataFields): Packet => request(Op.WriteLast, f);
/** An RC RDMA WRITE Last with immediate data. */
export const writeLastImm = (f: ImmediateFields): Packet => request(Op.WriteLastImm, f);
/** An RC RDMA WRITE Only. */
export const writeOnly = (f: RdmaFields): Packet => request(Op.WriteOnly, f);
/** An RC RDMA WRITE Only with immediate data. */
export const writeOnlyImm = (f: RdmaFields & ImmediateFields): Packet => request(Op.WriteOnlyImm, f);
/** An RC RDMA READ request. */
export const readRequest = (f: RdmaFields): Packet => request(Op.ReadRequest, f);
/** An RC FLUSH; by default global visibility (placement 1) of a memory range (selectivity 0). */
export const flush = (f: RdmaFields & Partial<Feth>): Packet => {
  const { placement = 1, selectivity = 0, ...rest } = f;
  return request(Op.Flush, { ...rest, feth: { placement, selectivity } });
};
/** An RC ATOMIC WRITE; right with a payload of 8 bytes. */
export const atomicWrite = (f: RdmaFields): Packet => request(Op.AtomicWrite, f);
/** An RC FETCH ADD. */
export const fetchAdd = (f: DataFields & { va: bigint; rkey: number; add: bigint }): Packet => {
  const { va, rkey, add, ...rest } = f;
  return request(Op.FetchAdd, { ...rest, atomic: { va, rkey, swapAdd: add, compare: 0n } });
};
/** An RC COMPARE SWAP. */
export const compareSwap = (f: DataFields & { va: bigint; rkey: number; compare: bigint; swap: bigint }): Packet => {
  const { va, rkey, compare, swap, ...rest } = f;
  return request(Op.CompareSwap, { ...rest, atomic: { va, rkey, swapAdd: swap, compare } });
};
/** An RC ACK without credits. */
export const ack = (f: AckFields): Packet => nak(Syndrome.Ack, f);
/** An RC ACKNOWLEDGE with any syndrome: NAK 0x60 to 0x7f, RNR NAK 0x20 to 0x3f, ACK with credits 0x00 to 0x1e. */
export const nak = (syndrome: number, f: AckFields): Packet => ({ opcode: Op.Acknowledge, syndrome, ...f });
/** An RC RNR NAK; `timer` is the code, 0 to 31, of the time to wait. */
export const rnrNak = (timer: number, f: AckFields): Packet => nak(Syndrome.RnrNak | timer, f);
/** An RC ATOMIC ACKNOWLEDGE with the value before. */
export const atomicAck = (f: AckFields & { original: bigint }): Packet => response(Op.AtomicAcknowledge, f);
/** An RC RDMA READ response First. */
export const readFirst = (f: ReadResponseFields): Packet => response(Op.ReadResponseFirst, f);
/** An RC RDMA READ response Middle. */
export const readMiddle = (f: DataFields): Packet => request(Op.ReadResponseMiddle, f);
/** An RC RDMA READ response Last. */
export const readLast = (f: ReadResponseFields): Packet => response(Op.ReadResponseLast, f);
/** An RC RDMA READ response Only. */
export const readOnly = (f: ReadResponseFields): Packet => response(Op.ReadResponseOnly, f);

const response = (opcode: number, f: Omit<Packet, 'opcode'>): Packet => ({ opcode, syndrome: Syndrome.Ack, ...f });

/** The responses to a READ of `data`, as any responder must cut them. */
export function readResponses(f: { psn: number; msn: number; data: Uint8Array; mtu?: number }): Packet[] {
  const { psn, msn, data, mtu = 256 } = f;
  const pieces = cut(data, mtu);
  return pieces.map((payload, i) => {
    const at = { psn: psn + i, payload };
    if (pieces.length === 1) return readOnly({ ...at, msn });
    if (i === 0) return readFirst({ ...at, msn });
    return i === pieces.length - 1 ? readLast({ ...at, msn }) : readMiddle(at);
  });
}

/** The packets of a SEND of `data`; the last one has AckReq set. */
export function sendPackets(f: { psn: number; data: Uint8Array; mtu?: number }): Packet[] {
  const pieces = cut(f.data, f.mtu ?? 256);
  return pieces.map((payload, i) => {
    const last = i === pieces.length - 1;
    const at = { psn: f.psn + i, payload, ackReq: last };
    if (last) return i === 0 ? sendOnly(at) : sendLast(at);
    return i === 0 ? sendFirst(at) : sendMiddle(at);
  });
}

/** The packets of a WRITE of `data`; the last one has AckReq set. */
export function writePackets(f: { psn: number; data: Uint8Array; va: bigint; rkey: number; mtu?: number }): Packet[] {
  const pieces = cut(f.data, f.mtu ?? 256);
  const reth = { va: f.va, rkey: f.rkey, length: f.data.length };
  return pieces.map((payload, i) => {
    const last = i === pieces.length - 1;
    const at = { psn: f.psn + i, payload, ackReq: last };
    if (i === 0) return last ? writeOnly({ ...at, reth }) : writeFirst({ ...at, reth });
    return last ? writeLast(at) : writeMiddle(at);
  });
}

/** `data` in pieces of `mtu` bytes, the last one shorter; one empty piece of nothing. */
export function cut(data: Uint8Array, mtu: number): Uint8Array[] {
  const count = Math.max(1, Math.ceil(data.length / mtu));
  return Array.from({ length: count }, (_, i) => data.slice(i * mtu, (i + 1) * mtu));
}

/** Whether packets of this opcode go from the responder to the requester. */
export const isResponse = (opcode: number): boolean => ((OPCODE_FLAGS[opcode] ?? 0) & OpFlag.Response) !== 0;

/** One line for a packet; two packets print alike when they say the same. */
export function describePacket(packet: Packet): string {
  const words = [title(packet), `psn${packet.psn < 0 ? '' : '+'}${packet.psn}`];
  if (packet.msn !== undefined) words.push(`msn ${packet.msn}`);
  if (packet.ackReq === true) words.push('AckReq');
  if (packet.solicited === true) words.push('SE');
  if (packet.reth !== undefined) {
    const { va, rkey, length } = packet.reth;
    words.push(`va 0x${va.toString(16)} rkey 0x${rkey.toString(16)} len ${length}`);
  }
  if (packet.atomic !== undefined) {
    const { va, rkey, swapAdd, compare } = packet.atomic;
    words.push(`va 0x${va.toString(16)} rkey 0x${rkey.toString(16)} swap/add ${swapAdd} compare ${compare}`);
  }
  if (packet.qkey !== undefined) words.push(`from ${packet.srcQpn} Q_Key 0x${packet.qkey.toString(16)}`);
  if (packet.feth !== undefined) words.push(`type ${packet.feth.placement} level ${packet.feth.selectivity}`);
  if (packet.srqn !== undefined) words.push(`srq 0x${packet.srqn.toString(16)}`);
  if (packet.imm !== undefined) words.push(`imm 0x${packet.imm.toString(16)}`);
  if (packet.inv !== undefined) words.push(`inv 0x${packet.inv.toString(16)}`);
  if (packet.original !== undefined) words.push(`original ${packet.original}`);
  const payload = packet.payload ?? NOTHING;
  if (payload.length > 0) words.push(describePayload(payload));
  words.push(...oddities(packet));
  return words.join(' ');
}

/** What is not as it should be, or not as usual. */
function oddities(packet: Packet): string[] {
  const words: string[] = [];
  const { pad, pkey, migReq, tver, destQpn, source, destination, sourcePort, trafficClass, hopLimit, note } = packet;
  const word = (name: string, value: number | undefined): void => {
    if (value !== undefined && value !== 0) words.push(`${name} 0x${value.toString(16)}`);
  };
  if (pad !== undefined) words.push(`pad ${pad}`);
  if (pkey !== undefined && pkey !== 0xff_ff) words.push(`P_Key 0x${pkey.toString(16)}`);
  if (migReq !== undefined) words.push(`MigReq ${migReq}`);
  word('TVer', tver);
  word('FECN', packet.fecn);
  word('BECN', packet.becn);
  word('reserved6', packet.reserved6);
  word('reserved7', packet.reserved7);
  word('to QPN', destQpn);
  if (source !== undefined) words.push(`source ${source}`);
  if (destination !== undefined) words.push(`destination ${destination}`);
  if (sourcePort !== undefined) words.push(`source port ${sourcePort}`);
  word('traffic class', trafficClass);
  if (hopLimit !== undefined) words.push(`hop limit ${hopLimit}`);
  if (note !== undefined) words.push(`(${note})`);
  return words;
}

const NOTHING = new Uint8Array(0);

function title(packet: Packet): string {
  const { opcode, syndrome = 0 } = packet;
  if (opcode !== Op.Acknowledge) {
    const name = opcodeInfo(opcode).name.replace(/^RC /, '').replace('RDMA ', '');
    return isResponse(opcode) && syndrome !== Syndrome.Ack && syndrome !== 0
      ? `${name} syndrome 0x${syndrome.toString(16)}`
      : name;
  }
  if (syndrome === Syndrome.Ack) return 'ACK';
  const kind = syndrome & 0xe0;
  if (kind === 0) return `ACK credits ${syndrome}`;
  if (kind === Syndrome.RnrNak) return `RNR NAK timer ${syndrome & 0x1f}`;
  return `NAK 0x${syndrome.toString(16)}`;
}

function describePayload(payload: Uint8Array): string {
  const hex = (bytes: Uint8Array) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(' ');
  if (payload.length <= 16) return `[${hex(payload)}]`;
  return `[${payload.length} bytes ${hex(payload.subarray(0, 4))}.. crc ${crc32(payload).toString(16)}]`;
}
