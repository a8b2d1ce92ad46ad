/**
 * A frame as a map: every byte belongs to a header, every bit of a header to a field, and each field has name, value,
 * meaning and source.
 *
 * Owns the order of headers in a frame and the tiling: from the first byte of the frame to the last, without gap or
 * overlap, whatever the bytes and the status. Where the bits of the declared headers are says `layouts.ts`; the words
 * are in `field-map/`. Cold path: allocates freely.
 */
import { IP_CM_HEADER_BYTES, isRdmaServiceId, parseCmMad } from './cm/index.ts';
import { invariant } from './errors.ts';
import { ETHERTYPE_ARP, ETHERTYPE_AT, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN } from './ethernet.ts';
import { type BitsValue, readBits, type Shape, showBits } from './field-map/bits.ts';
import { CM_MESSAGES, type FieldRow, IP_CM_HEADER, MAD_HEADER, MAD_RULE } from './field-map/mad-fields.ts';
import { HEADER_WORDS } from './field-map/words.ts';
import { type Frame, FrameStatus, Medium } from './frame.ts';
import { isMad } from './frame-fields.ts';
import { computeIcrc, ICRC_BYTES, icrcMatches } from './icrc.ts';
import { IP_PROTOCOL_UDP } from './ipv4.ts';
import { type HeaderLayout, LAYOUTS, type LayoutName } from './layouts.ts';
import { MAD_HEADER_BYTES } from './mad.ts';
import { opcodeInfo } from './opcode.ts';
import { isPfc } from './pfc.ts';
import { isRxeFlush } from './rxe-flush-icrc.ts';
import { UDP_BYTES } from './udp.ts';

/** One field of a frame. */
export interface MappedField {
  /** Name as tshark has it, else beginning with `roce.`; reserved bits may share one. */
  readonly name: string;
  /** From the first bit of the frame. */
  readonly bitOffset: number;
  /** How many bits it has. */
  readonly bits: number;
  /** A number up to 32 bits, a bigint up to 64, bytes for addresses and longer fields. */
  readonly value: BitsValue;
  /** The value as people read it. */
  readonly shown: string;
  /** What it says in this packet, a sentence or two. */
  readonly meaning: string;
  /** Where the rule comes from. */
  readonly rule: string;
}

/** One header of a frame, or its payload, pad, ICRC or bytes of no known header. */
export interface MappedHeader {
  /** Short name: "BTH"; that of `LAYOUTS` where it has one. */
  readonly name: string;
  /** Name in full. */
  readonly title: string;
  /** From the first byte of the frame. */
  readonly byteOffset: number;
  /** How many bytes it has, at least 1. */
  readonly byteLength: number;
  /** In the order of the wire; together they are all bits of the header. */
  readonly fields: readonly MappedField[];
}

/**
 * The map of a frame that `parseFrame` left with `status`. What cannot be told apart is one field of bytes.
 *
 * @param captured bytes of the frame that are to be believed: fewer than the frame has where the capture cut it
 */
export function mapFrame(
  frame: Frame,
  status: FrameStatus,
  captured: number = frame.end - frame.start,
): readonly MappedHeader[] {
  const map = new FrameMap(frame, Math.min(frame.end, frame.start + captured));
  if (frame.medium === Medium.Ethernet) mapEthernet(map, frame);
  if (frame.ipOffset >= 0) {
    map.declared(frame.ipVersion === 4 ? 'IPv4' : 'IPv6');
    const whole = status !== FrameStatus.Fragment && frame.l4Offset >= 0;
    if (whole && frame.protocol === IP_PROTOCOL_UDP && frame.ipEnd - frame.l4Offset >= UDP_BYTES) map.declared('UDP');
  }
  if (frame.bthOffset >= 0) mapTransport(map, frame, status);
  if (frame.ipEnd >= 0) map.data(frame.ipEnd, 'Data', 'Payload of another protocol', 'data');
  const trailer = frame.ipEnd >= 0;
  map.data(
    frame.end,
    trailer ? 'Trailer' : 'Data',
    trailer ? 'Bytes behind the IP packet' : 'Bytes of no protocol known here',
    trailer ? 'eth.trailer' : 'data',
  );
  return map.headers;
}

function mapEthernet(map: FrameMap, frame: Frame): void {
  const { view, start, end } = frame;
  if (!map.declared('Ethernet')) return;
  let etherType = view.getUint16(start + ETHERTYPE_AT);
  for (let tags = 0; tags < MOST_TAGS && isVlan(etherType); tags++) {
    const at = map.at;
    if (!map.declared('VLAN')) return;
    etherType = view.getUint16(at + 2);
  }
  if (etherType === ETHERTYPE_ARP) map.declared('ARP');
  else if (isPfc(view, start, end)) map.declared('PFC');
}

function mapTransport(map: FrameMap, frame: Frame, status: FrameStatus): void {
  map.declared('BTH');
  if (status !== FrameStatus.Ok) {
    map.data(frame.icrcOffset, 'Data', 'Bytes that the opcode does not explain', 'data');
    mapIcrc(map, frame, false);
    return;
  }
  for (const name of opcodeInfo(frame.opcode).headers) map.declared(name);
  if (isMad(frame)) mapMad(map, frame);
  map.data(frame.payloadOffset + frame.payloadLength, 'Payload', 'Data of the message', 'data');
  map.data(frame.icrcOffset, 'Pad', 'Up to a multiple of four bytes', 'roce.pad');
  mapIcrc(map, frame, true);
}

function mapMad(map: FrameMap, { view, payloadOffset, payloadLength }: Frame): void {
  if (payloadLength < MAD_HEADER_BYTES) return;
  map.rows('MAD', 'Management Datagram', MAD_HEADER);
  const mad = parseCmMad(view, payloadOffset, payloadLength);
  if (typeof mad !== 'object') return;
  const { kind, body } = mad.message;
  const rows = CM_MESSAGES[kind];
  const title = `Connection Management ${kind}`;
  if (!('serviceId' in body) || kind === 'SIDR_REP' || !isRdmaServiceId(body.serviceId)) {
    map.rows(`CM ${kind}`, title, rows);
    return;
  }
  const [bits = 0, name = '', shape = 'bytes', meaning] = rows.at(-1) ?? [];
  map.rows(`CM ${kind}`, title, rows.slice(0, -1));
  map.rows('IP CM', 'Header of RDMA CM in the private data', IP_CM_HEADER);
  map.rows('Private data', title, [[bits - 8 * IP_CM_HEADER_BYTES, name, shape, meaning ?? '']]);
}

function mapIcrc(map: FrameMap, frame: Frame, whole: boolean): void {
  const judged = whole && map.reaches(frame.icrcOffset + ICRC_BYTES);
  map.data(frame.icrcOffset + ICRC_BYTES, 'ICRC', 'Invariant CRC', 'infiniband.invariant.crc', {
    meaning: judged
      ? icrcMeaning(frame)
      : 'CRC over all that the network must not change; not computed, for the packet is not whole.',
    rule: 'ref:wire#3',
  });
}

function icrcMeaning(frame: Frame): string {
  if (icrcMatches(frame)) return 'CRC-32 over all that the network must not change, little-endian: right.';
  const { bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
  const right = computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset);
  const order = [right, right >>> 8, right >>> 16, right >>> 24];
  const shown = order.map((byte) => (byte & 0xff).toString(16).padStart(2, '0')).join(' ');
  const rxe = isRxeFlush(frame) ? ' It is what rdma_rxe gives a FLUSH.' : '';
  return `Wrong: it should be ${shown}. A receiver drops the packet in silence.${rxe}`;
}

/** Headers one after the other, from the start of the frame. */
class FrameMap {
  readonly headers: MappedHeader[] = [];
  /** The first byte that no header has yet. */
  at: number;
  readonly #frame: Frame;
  readonly #limit: number;
  /** A header did not fit: what follows it cannot be told apart either. */
  #broken = false;

  constructor(frame: Frame, limit: number) {
    this.#frame = frame;
    this.#limit = limit;
    this.at = frame.start;
  }

  reaches(end: number): boolean {
    return end <= this.#limit;
  }

  /** A header of `LAYOUTS`; false, and nothing, where it does not fit any more. */
  declared(name: LayoutName): boolean {
    const layout: HeaderLayout = LAYOUTS[name];
    const words = HEADER_WORDS[name];
    return this.#header(name, layout.title, layout.byteLength, () =>
      layout.fields.map(({ name: field, bitOffset, bits }) => {
        const row = words[field];
        invariant(row !== undefined, 'every declared field has its words');
        const [shownName, shape, meaning, rule] = row;
        return this.#field(shownName, bitOffset, bits, shape, meaning, rule);
      }),
    );
  }

  /** A header given by widths. */
  rows(name: string, title: string, rows: readonly FieldRow[]): void {
    const bytes = rows.reduce((sum, [bits]) => sum + bits, 0) / 8;
    this.#header(name, title, bytes, () => {
      let bitOffset = 0;
      return rows.map(([bits, field, shape, meaning = RESERVED]) => {
        const mapped = this.#field(field, bitOffset, bits, shape, meaning, MAD_RULE);
        bitOffset += bits;
        return mapped;
      });
    });
  }

  /** Bytes up to `end` as one field; nothing when there are none. */
  data(end: number, name: string, title: string, field: string, { meaning = '', rule = '' } = {}): void {
    const length = Math.min(end, this.#limit) - this.at;
    if (length <= 0) return;
    const words = meaning === '' ? `${title}, ${length} ${length === 1 ? 'byte' : 'bytes'}.` : meaning;
    this.#push(name, title, length, () => [this.#field(field, 0, 8 * length, 'bytes', words, rule)]);
  }

  #header(name: string, title: string, byteLength: number, fields: () => readonly MappedField[]): boolean {
    if (this.#broken || byteLength > this.#limit - this.at) {
      this.#broken = true;
      return false;
    }
    this.#push(name, title, byteLength, fields);
    return true;
  }

  #push(name: string, title: string, byteLength: number, fields: () => readonly MappedField[]): void {
    this.headers.push({ name, title, byteOffset: this.at - this.#frame.start, byteLength, fields: fields() });
    this.at += byteLength;
  }

  #field(
    name: string,
    bitOffset: number,
    bits: number,
    shape: Shape,
    meaning: string | ((value: BitsValue) => string),
    rule: string,
  ): MappedField {
    const value = readBits(this.#frame.bytes, this.at, bitOffset, bits, shape);
    return {
      name,
      bitOffset: 8 * (this.at - this.#frame.start) + bitOffset,
      bits,
      value,
      shown: showBits(value, bits, shape),
      meaning: typeof meaning === 'string' ? meaning : meaning(value),
      rule,
    };
  }
}

function isVlan(etherType: number): boolean {
  return etherType === ETHERTYPE_VLAN || etherType === ETHERTYPE_SERVICE_VLAN;
}

/** As `parseFrame` has it. */
const MOST_TAGS = 2;
const RESERVED = 'Reserved: written 0, ignored when read.';
