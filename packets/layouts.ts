/**
 * Every header once more, declared: the readable specification, the source of field maps for tools, and the oracle of
 * the fast codecs.
 *
 * Owns declarations with npm `buffer-layout` and two functions to run them. Never on the way of a packet: thirty times
 * slower than the hand-written codecs (ref:platform#5). Field names are those of the records; names that begin with
 * "reserved" are written 0.
 * Rules: ref:wire#4, ref:wire#6, ref:wire#9; XRCETH as in `xrceth.ts`; RFC 826 for ARP; PFC as in `pfc.ts`.
 *
 * `buffer-layout` says it needs a Buffer, and a plain Uint8Array does not do: it calls readUIntBE and writeUIntBE.
 * These two are all that the parts used here call, and loading the package touches no global, so `ByteWindow` stands in
 * and a browser bundle needs no polyfill.
 *
 * @module rocev2/packets/layouts
 */

import { BitStructure, type ByteAccess, Layout, Structure, UIntBE } from 'buffer-layout';
import { invariant, RoceError } from './errors.ts';

/** A number up to 32 bits, a bigint for 64, bytes for addresses. */
export type LayoutValue = number | bigint | Uint8Array;
/** Values of a header's fields by name. */
export type LayoutValues = Record<string, LayoutValue>;

/** Where a field is and what it is called. */
export interface LayoutField {
  /** Name of the field, that of the codec's record. */
  readonly name: string;
  /** From the most significant bit of the header's first byte. */
  readonly bitOffset: number;
  /** Width. */
  readonly bits: number;
  /** Written as 0 and ignored: its name begins with "reserved". */
  readonly reserved: boolean;
}

/** One declared header, to be used with `decodeLayout` and `encodeLayout`. */
export interface HeaderLayout {
  /** Name of the header in full. */
  readonly title: string;
  /** Length of the header, in bytes. */
  readonly byteLength: number;
  /** In wire order, without gaps. */
  readonly fields: readonly LayoutField[];
}

/**
 * Values by field name, reserved fields included; undefined when the header does not fit between `offset` and the end
 * of `bytes`.
 */
export function decodeLayout(layout: HeaderLayout, bytes: Uint8Array, offset = 0): LayoutValues | undefined {
  if (offset < 0 || layout.byteLength > bytes.length - offset) return undefined;
  const values: LayoutValues = {};
  for (const [name, value] of Object.entries(structureOf(layout).decode(new ByteWindow(bytes), offset))) {
    if (isLayoutValue(value)) values[name] = value;
    else Object.assign(values, value);
  }
  return values;
}

/**
 * Writes all bytes of the header; reserved fields that `values` lacks become 0. Returns the bytes written.
 *
 * @throws RoceError ERR_ROCE_ARGUMENT when a field is missing or out of range, or the header does not fit
 */
export function encodeLayout(layout: HeaderLayout, values: LayoutValues, bytes: Uint8Array, offset = 0): number {
  if (offset < 0 || layout.byteLength > bytes.length - offset) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${layout.title} does not fit ${bytes.length} bytes at ${offset}`);
  }
  const source: Record<string, unknown> = {};
  for (const field of layout.fields) source[field.name] = checkedValue(layout, field, values[field.name]);
  const structure = structureOf(layout);
  // A bit structure picks its own fields out of what it is given: give it all of them.
  for (const part of structure.fields) {
    if (part instanceof BitStructure && part.property !== undefined) source[part.property] = source;
  }
  return structure.encode(source, new ByteWindow(bytes), offset);
}

// These classes stand before the declarations because those use them when the module loads.

/** What `buffer-layout` needs of a Buffer, over any bytes. */
class ByteWindow implements ByteAccess {
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  readUIntBE(offset: number, byteLength: number): number {
    let value = 0;
    for (let at = offset; at < offset + byteLength; at++) value = value * 256 + this.#view.getUint8(at);
    return value;
  }

  /** `value` may come signed: the package's bit arithmetic ends in 32-bit integers. */
  writeUIntBE(value: number, offset: number, byteLength: number): void {
    for (let at = 0; at < byteLength; at++) {
      this.#view.setUint8(offset + at, value >>> (8 * (byteLength - 1 - at)));
    }
  }
}

/** A header with the structure that reads and writes it. */
class DeclaredHeader implements HeaderLayout {
  readonly title: string;
  readonly byteLength: number;
  readonly fields: readonly LayoutField[];
  readonly structure: Structure;

  constructor(title: string, parts: readonly Layout<unknown>[]) {
    this.title = title;
    this.structure = new Structure(parts);
    this.byteLength = this.structure.span;
    this.fields = fieldsOf(parts);
  }
}

/** Unsigned, big-endian, 64 bits: the package itself stops at 53. */
class Uint64Layout extends Layout<bigint> {
  constructor(name: string) {
    super(8, name);
  }

  override decode(b: ByteAccess, offset = 0): bigint {
    return (BigInt(b.readUIntBE(offset, 4)) << 32n) | BigInt(b.readUIntBE(offset + 4, 4));
  }

  override encode(value: bigint, b: ByteAccess, offset = 0): number {
    b.writeUIntBE(Number(value >> 32n), offset, 4);
    b.writeUIntBE(Number(value & 0xff_ff_ff_ffn), offset + 4, 4);
    return this.span;
  }
}

/** Bytes as they stand: the package's own blob wants a Buffer. */
class BytesLayout extends Layout<Uint8Array> {
  override decode(b: ByteAccess, offset = 0): Uint8Array {
    return Uint8Array.from({ length: this.span }, (_, index) => b.readUIntBE(offset + index, 1));
  }

  override encode(value: Uint8Array, b: ByteAccess, offset = 0): number {
    value.forEach((byte, index) => {
      b.writeUIntBE(byte, offset + index, 1);
    });
    return this.span;
  }
}

/**
 * The headers by name; extended headers have their `HeaderName`. VLAN begins after the 0x8100, CNP after the BTH, PFC
 * after the Ethernet header.
 */
export const LAYOUTS = {
  /** Untagged Ethernet header, 14 bytes. */
  Ethernet: header('Ethernet II', [mac('destMac'), mac('sourceMac'), uint(16, 'etherType')]),
  /** VLAN tag after its 0x8100, 4 bytes. */
  VLAN: header('802.1Q Virtual LAN', [bitFields({ pcp: 3, dei: 1, vid: 12 }), uint(16, 'etherType')]),
  /** ARP message, 28 bytes. */
  ARP: header('Address Resolution Protocol', [
    uint(16, 'hardwareType'),
    uint(16, 'protocolType'),
    uint(8, 'hardwareLength'),
    uint(8, 'protocolLength'),
    uint(16, 'operation'),
    mac('senderMac'),
    ipv4Address('senderIp'),
    mac('targetMac'),
    ipv4Address('targetIp'),
  ]),
  /** Priority flow control after its EtherType 0x8808 and without padding, 20 bytes. */
  PFC: header('Priority Flow Control', [
    uint(16, 'opcode'),
    bitFields({ reserved8: 8, enableVector: 8 }),
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((priority) => uint(16, `quanta${priority}`)),
  ]),
  /** IPv4 header without options, 20 bytes. */
  IPv4: header('Internet Protocol Version 4', [
    bitFields({ version: 4, ihl: 4, trafficClass: 8, totalLength: 16 }),
    bitFields({ identification: 16, flags: 3, fragmentOffset: 13 }),
    bitFields({ ttl: 8, protocol: 8, checksum: 16 }),
    ipv4Address('source'),
    ipv4Address('destination'),
  ]),
  /** IPv6 header, 40 bytes. */
  IPv6: header('Internet Protocol Version 6', [
    bitFields({ version: 4, trafficClass: 8, flowLabel: 20 }),
    bitFields({ payloadLength: 16, nextHeader: 8, hopLimit: 8 }),
    gid('source'),
    gid('destination'),
  ]),
  /** UDP header, 8 bytes. */
  UDP: header('User Datagram Protocol', [
    uint(16, 'sourcePort'),
    uint(16, 'destPort'),
    uint(16, 'length'),
    uint(16, 'checksum'),
  ]),
  /** Base transport header, 12 bytes. */
  BTH: header('Base Transport Header', [
    bitFields({ opcode: 8, solicited: 1, migReq: 1, padCount: 2, transportVersion: 4, pkey: 16 }),
    bitFields({ fecn: 1, becn: 1, reserved6: 6, destQpn: 24 }),
    bitFields({ ackReq: 1, reserved7: 7, psn: 24 }),
  ]),
  /** Reliable datagram extended header, 4 bytes. */
  RDETH: header('Reliable Datagram Extended Transport Header', [bitFields({ reserved: 8, eeContext: 24 })]),
  /** Datagram extended header, 8 bytes. */
  DETH: header('Datagram Extended Transport Header', [uint(32, 'qkey'), bitFields({ reserved: 8, sourceQpn: 24 })]),
  /** XRC extended header, 4 bytes. */
  XRCETH: header('XRC Extended Transport Header', [bitFields({ reserved: 8, xrcSrq: 24 })]),
  /** Flush extended header, 4 bytes. */
  FETH: header('Flush Extended Transport Header', [bitFields({ reserved: 26, selectivity: 2, placement: 4 })]),
  /** RDMA extended header, 16 bytes. */
  RETH: header('RDMA Extended Transport Header', [uint64('va'), uint(32, 'rkey'), uint(32, 'dmaLength')]),
  /** ACK extended header, 4 bytes. */
  AETH: header('ACK Extended Transport Header', [bitFields({ syndrome: 8, msn: 24 })]),
  /** Atomic extended header, 28 bytes. */
  AtomicETH: header('Atomic Extended Transport Header', [
    uint64('va'),
    uint(32, 'rkey'),
    uint64('swapAdd'),
    uint64('compare'),
  ]),
  /** Atomic ACK extended header, 8 bytes. */
  AtomicAckETH: header('Atomic Acknowledge Extended Transport Header', [uint64('original')]),
  /** Immediate data, 4 bytes. */
  ImmDt: header('Immediate Data', [uint(32, 'immDt')]),
  /** Invalidate extended header, 4 bytes. */
  IETH: header('Invalidate Extended Transport Header', [uint(32, 'rkey')]),
  /** The reserved part of a congestion notification, 16 bytes after its BTH. */
  CNP: header('Congestion Notification, reserved part', [uint64('reservedHigh'), uint64('reservedLow')]),
  /** Global route header, 40 bytes. */
  GRH: header('Global Route Header', [
    bitFields({ version: 4, trafficClass: 8, flowLabel: 20 }),
    bitFields({ payloadLength: 16, nextHeader: 8, hopLimit: 8 }),
    gid('sourceGid'),
    gid('destinationGid'),
  ]),
} as const;

/** Name of a declared header. */
export type LayoutName = keyof typeof LAYOUTS;

function header(title: string, parts: readonly Layout<unknown>[]): HeaderLayout {
  return new DeclaredHeader(title, parts);
}

function uint(bits: 8 | 16 | 32, name: string): Layout<unknown> {
  return new UIntBE(bits / 8, name);
}

function uint64(name: string): Layout<unknown> {
  return new Uint64Layout(name);
}

function mac(name: string): Layout<unknown> {
  return new BytesLayout(6, name);
}

function ipv4Address(name: string): Layout<unknown> {
  return new BytesLayout(4, name);
}

function gid(name: string): Layout<unknown> {
  return new BytesLayout(16, name);
}

/** One word of bit fields, most significant first; together they are 8, 16, 24 or 32 bits. */
function bitFields(widths: Readonly<Record<string, number>>): Layout<unknown> {
  const bits = Object.values(widths).reduce((sum, width) => sum + width, 0);
  invariant(bits % 8 === 0 && bits <= 32, 'bit fields fill a whole number of bytes, at most four');
  const structure = new BitStructure(new UIntBE(bits / 8), true, Object.keys(widths).join('|'));
  for (const [name, width] of Object.entries(widths)) structure.addField(width, name);
  return structure;
}

function fieldsOf(parts: readonly Layout<unknown>[]): readonly LayoutField[] {
  const fields: LayoutField[] = [];
  let bitOffset = 0;
  for (const part of parts) {
    const pieces = part instanceof BitStructure ? part.fields : [{ property: part.property, bits: 8 * part.span }];
    for (const { property = '', bits } of pieces) {
      fields.push({ name: property, bitOffset, bits, reserved: property.startsWith('reserved') });
      bitOffset += bits;
    }
  }
  return fields;
}

function structureOf(layout: HeaderLayout): Structure {
  invariant(layout instanceof DeclaredHeader, 'a header layout comes from this file');
  return layout.structure;
}

function checkedValue(layout: HeaderLayout, field: LayoutField, given: LayoutValue | undefined): LayoutValue {
  const { name, bits, reserved } = field;
  const value = given ?? (reserved ? zero(bits) : undefined);
  const fits =
    typeof value === 'number'
      ? bits <= 32 && Number.isInteger(value) && value >= 0 && value < 2 ** bits
      : typeof value === 'bigint'
        ? bits === 64 && BigInt.asUintN(64, value) === value
        : value !== undefined && value.length * 8 === bits;
  if (value === undefined || !fits) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${layout.title}: ${name} must be a value of ${bits} bits`);
  }
  return value;
}

function zero(bits: number): LayoutValue {
  return bits === 64 ? 0n : 0;
}

function isLayoutValue(value: unknown): value is LayoutValue {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Uint8Array;
}
