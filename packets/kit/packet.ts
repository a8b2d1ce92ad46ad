/**
 * Packets as values, for scripts: constructors for every RC packet, and the words a packet prints as. A script's PSNs are
 * relative to the connection's first PSN of their direction, so that the same script runs anywhere in the number space.
 */
import { Syndrome } from '../aeth.ts';
import { crc32 } from '../crc32.ts';
import type { Feth } from '../feth.ts';
import { OPCODE_FLAGS, Op, OpFlag, opcodeInfo, Service } from '../opcode.ts';

export interface RethFields {
  readonly va: bigint;
  readonly rkey: number;
  readonly length: number;
}

export interface AtomicFields {
  readonly va: bigint;
  readonly rkey: number;
  readonly swapAdd: bigint;
  readonly compare: bigint;
}

export interface Packet {
  readonly opcode: number;
  readonly psn: number;
  readonly ackReq?: boolean;
  readonly solicited?: boolean;
  readonly payload?: Uint8Array;
  readonly reth?: RethFields;
  readonly feth?: Feth;
  readonly atomic?: AtomicFields;
  readonly imm?: number;
  readonly inv?: number;
  readonly syndrome?: number;
  readonly msn?: number;
  readonly original?: bigint;
  /** XRC: the shared receive queue it is for. */
  readonly srqn?: number;
  /** UD: the Q_Key it carries, and who says to have sent it. */
  readonly qkey?: number;
  readonly srcQpn?: number;
  /** What only a stimulus says: lies about the pad, another P_Key, another sender. */
  readonly pad?: number;
  readonly pkey?: number;
  readonly migReq?: 0 | 1;
  readonly source?: string;
  readonly sourcePort?: number;
  /** The IP header's, ECN in its low two bits; default 0. */
  readonly trafficClass?: number;
  readonly becn?: 0 | 1;
  readonly fecn?: 0 | 1;
  /** Transport version, 4 bits; default 0. */
  readonly tver?: number;
  /** Reserved bits of BTH byte 4 (6 of them) and byte 8 (7). */
  readonly reserved6?: number;
  readonly reserved7?: number;
  /** Another queue pair than the connection's. */
  readonly destQpn?: number;
  readonly destination?: string;
  readonly hopLimit?: number;
  /** Changes the frame before its IP checksum and ICRC are made (both are right afterwards). */
  readonly edit?: Edit;
  /** Changes the finished frame, so that ICRC or checksum may be wrong. */
  readonly spoil?: Edit;
  /** What `edit` and `spoil` do, in words: printed with the packet. */
  readonly note?: string;
}

/** A frame that is being made: `bytes` whole, from `ip`, `udp`, `bth` on the headers, `icrc` the last four bytes of the packet. */
export interface Draft {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly ip: number;
  readonly udp: number;
  readonly bth: number;
  readonly icrc: number;
}

/** Changes a draft in place, or returns the bytes that are to be sent in its stead. */
export type Edit = (draft: Draft) => Uint8Array | undefined;

/** The same request over UC, where nobody asks for acknowledges. */
export const uc = (packet: Packet): Packet => ({ ...packet, opcode: packet.opcode | Service.Uc, ackReq: false });

/** The same packet over XRC; a request is for shared receive queue `srqn`. */
export const xrc = (packet: Packet, srqn?: number): Packet => ({
  ...packet,
  opcode: packet.opcode | Service.Xrc,
  ...(srqn === undefined ? {} : { srqn }),
});

type Datagram = Omit<Data, 'ackReq'> & { readonly qkey: number; readonly srcQpn: number; readonly imm?: number };
export const datagram = (f: Datagram): Packet => request(f.imm === undefined ? Op.UdSendOnly : Op.UdSendOnlyImm, f);

type Common = Pick<
  Packet,
  | 'psn'
  | 'ackReq'
  | 'solicited'
  | 'pad'
  | 'pkey'
  | 'migReq'
  | 'source'
  | 'sourcePort'
  | 'trafficClass'
  | 'becn'
  | 'fecn'
  | 'tver'
  | 'reserved6'
  | 'reserved7'
  | 'destQpn'
  | 'destination'
  | 'hopLimit'
  | 'edit'
  | 'spoil'
  | 'note'
>;

/** A packet that came through a full queue. */
export const marked = (packet: Packet): Packet => ({ ...packet, trafficClass: 0b11 });

/** A congestion notification. */
export const cnp = (f: Partial<Packet> = {}): Packet => ({ opcode: Op.Cnp, psn: 0, migReq: 0, becn: 1, ...f });
type Data = Common & Pick<Packet, 'payload'>;

/** `length` bytes that differ from one another and from those of another seed. */
export function pattern(length: number, seed = 1): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8) * 13 + seed * 31) & 0xff);
}

export const request = (opcode: number, fields: Omit<Packet, 'opcode'>): Packet => ({ opcode, ...fields });

export const sendFirst = (f: Data): Packet => request(Op.SendFirst, f);
export const sendMiddle = (f: Data): Packet => request(Op.SendMiddle, f);
export const sendLast = (f: Data): Packet => request(Op.SendLast, f);
export const sendOnly = (f: Data): Packet => request(Op.SendOnly, f);
export const sendOnlyImm = (f: Data & { imm: number }): Packet => request(Op.SendOnlyImm, f);
export const sendLastImm = (f: Data & { imm: number }): Packet => request(Op.SendLastImm, f);
export const sendOnlyInv = (f: Data & { inv: number }): Packet => request(Op.SendOnlyInvalidate, f);
export const sendLastInv = (f: Data & { inv: number }): Packet => request(Op.SendLastInvalidate, f);
export const writeFirst = (f: Data & { reth: RethFields }): Packet => request(Op.WriteFirst, f);
export const writeMiddle = (f: Data): Packet => request(Op.WriteMiddle, f);
export const writeLast = (f: Data): Packet => request(Op.WriteLast, f);
export const writeLastImm = (f: Data & { imm: number }): Packet => request(Op.WriteLastImm, f);
export const writeOnly = (f: Data & { reth: RethFields }): Packet => request(Op.WriteOnly, f);
export const writeOnlyImm = (f: Data & { reth: RethFields; imm: number }): Packet => request(Op.WriteOnlyImm, f);
export const readRequest = (f: Data & { reth: RethFields }): Packet => request(Op.ReadRequest, f);
export const flush = (f: Data & { reth: RethFields; placement?: number; selectivity?: number }): Packet => {
  const { placement = 1, selectivity = 0, ...rest } = f;
  return request(Op.Flush, { ...rest, feth: { placement, selectivity } });
};
export const atomicWrite = (f: Data & { reth: RethFields }): Packet => request(Op.AtomicWrite, f);
export const fetchAdd = (f: Data & { va: bigint; rkey: number; add: bigint }): Packet => {
  const { va, rkey, add, ...rest } = f;
  return request(Op.FetchAdd, { ...rest, atomic: { va, rkey, swapAdd: add, compare: 0n } });
};
export const compareSwap = (f: Data & { va: bigint; rkey: number; compare: bigint; swap: bigint }): Packet => {
  const { va, rkey, compare, swap, ...rest } = f;
  return request(Op.CompareSwap, { ...rest, atomic: { va, rkey, swapAdd: swap, compare } });
};

type Answer = Common & { readonly msn: number };

export const ack = (f: Answer): Packet => ({ opcode: Op.Acknowledge, syndrome: Syndrome.Ack, ...f });
/** NAK 0x60..0x7f, RNR NAK 0x20..0x3f, or anything else in the syndrome byte. */
export const nak = (syndrome: number, f: Answer): Packet => ({ opcode: Op.Acknowledge, syndrome, ...f });
export const rnrNak = (timer: number, f: Answer): Packet => nak(Syndrome.RnrNak | timer, f);
export const atomicAck = (f: Answer & { original: bigint }): Packet => ({
  opcode: Op.AtomicAcknowledge,
  syndrome: Syndrome.Ack,
  ...f,
});
type Response = Answer & { readonly payload?: Uint8Array; readonly syndrome?: number };
const response = (opcode: number, f: Response): Packet => ({ opcode, syndrome: Syndrome.Ack, ...f });
export const readFirst = (f: Response): Packet => response(Op.ReadResponseFirst, f);
export const readMiddle = (f: Data): Packet => request(Op.ReadResponseMiddle, f);
export const readLast = (f: Response): Packet => response(Op.ReadResponseLast, f);
export const readOnly = (f: Response): Packet => response(Op.ReadResponseOnly, f);

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

/** The packets of a SEND of `data`; the last one asks for an acknowledge. */
export function sendPackets(f: { psn: number; data: Uint8Array; mtu?: number }): Packet[] {
  const pieces = cut(f.data, f.mtu ?? 256);
  return pieces.map((payload, i) => {
    const last = i === pieces.length - 1;
    const at = { psn: f.psn + i, payload, ackReq: last };
    if (last) return i === 0 ? sendOnly(at) : sendLast(at);
    return i === 0 ? sendFirst(at) : sendMiddle(at);
  });
}

/** The packets of a WRITE of `data`; the last one asks for an acknowledge. */
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

export function cut(data: Uint8Array, mtu: number): Uint8Array[] {
  const count = Math.max(1, Math.ceil(data.length / mtu));
  return Array.from({ length: count }, (_, i) => data.slice(i * mtu, (i + 1) * mtu));
}

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
    const name = opcodeInfo(opcode).name.replace('RC ', '').replace('RDMA ', '');
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
