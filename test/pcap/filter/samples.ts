/**
 * Packets of every kind for the tests of the filter: real ones, one of each opcode, and damaged ones; with facts for
 * some.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { IpAddress } from '../../../packets/address.ts';
import { ipv4HeaderChecksum } from '../../../packets/checksum.ts';
import type { PathSpec } from '../../../packets/header-template.ts';
import { OPCODES } from '../../../packets/opcode.ts';
import { Mark } from '../../../pcap/analysis/facts.ts';
import { Dissection, dissect } from '../../../pcap/dissection.ts';
import type { FilterFacts, FilterSubject } from '../../../pcap/filter/index.ts';
import { readCapture } from '../../../pcap/reader.ts';
import { type CapturedPacket, Direction, LinkType } from '../../../pcap/types.ts';
import { make } from '../../packets/made-frames.ts';
import { TUNNEL_WRAPPINGS } from '../tunnels/wrappings.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));

/** Dissected, each with a dissection of its own. */
export function samples(): FilterSubject[] {
  const packets = [...readCapture(readFileSync(SAMPLE))];
  let number = packets.length;
  const add = (bytes: Uint8Array, change: Partial<CapturedPacket> = {}): void => {
    packets.push({ ...packetOf(bytes, ++number), ...change });
  };
  for (const { code, known } of OPCODES) if (known) add(madeOf(code));
  for (const path of PATHS) for (const code of [0x06, 0x11, 0x64, 0x81]) add(madeOf(code, path));
  for (const packet of [...packets]) {
    if (packet.number % 7 === 0) add(packet.bytes.slice(0, packet.bytes.length - 3));
    if (packet.number % 5 === 0) add(packet.bytes.slice(0, 60), { originalLength: packet.bytes.length });
    if (packet.number % 6 === 0)
      add(packet.bytes.map((byte, at) => (at === packet.bytes.length - 5 ? byte ^ 1 : byte)));
    if (packet.number % 11 === 0) add(tagged(packet.bytes));
  }
  for (const syndrome of SYNDROMES) add(make(0x11, (view, at) => view.setUint32(at, (syndrome << 24) | 7)));
  for (const bits of [0x80, 0x40, 0x10, 0x20, 0x30]) add(withByte(madeOf(0x0a), BTH_AT + 1, bits));
  for (const bits of [0x80, 0x40]) add(withByte(madeOf(0x0a), BTH_AT + 4, bits));
  add(withByte(madeOf(0x0a), 20, 0x20));
  for (const [type, rest] of OTHER_ETHERTYPES)
    add(Uint8Array.from([...PFC_GROUP, ...new Uint8Array(6), ...type, ...rest, ...new Uint8Array(50)]));
  add(withByte(withByte(madeOf(0x0a), 23, 1), 24, 0));
  for (const { wrap } of TUNNEL_WRAPPINGS) add(wrap(madeOf(0x0a)));
  add(new Uint8Array(3));
  add(new Uint8Array(64), { linkType: 147 });
  return packets.map(subjectOf);
}

export function packetOf(bytes: Uint8Array, number = 1): CapturedPacket {
  return {
    number,
    seconds: 1_795_230_354,
    nanoseconds: number,
    bytes,
    originalLength: bytes.length,
    linkType: LinkType.Ethernet,
    interfaceIndex: 0,
    direction: [Direction.Unknown, Direction.Inbound, Direction.Outbound][number % 3] ?? Direction.Unknown,
    ...(number % 9 === 0 ? { dropCount: number, packetId: (1n << 60n) + BigInt(number) } : {}),
    comments: number % 4 === 0 ? [`packet ${number} was lost`] : [],
  };
}

export function subjectOf(packet: CapturedPacket): FilterSubject {
  const dissection = new Dissection();
  dissect(packet, dissection);
  const facts: FilterFacts = {
    marks:
      packet.number % 3 === 0
        ? 1 << (Math.floor(packet.number / 3) % 12)
        : packet.number % 10 === 0
          ? Mark.Gap | Mark.Late
          : 0,
    relativePsn: packet.number % 2 === 0 ? packet.number : Number.NaN,
    conversation: packet.number % 5 === 0 ? undefined : { id: packet.number % 4 },
  };
  return { packet, dissection, facts, interfaceName: packet.number % 2 === 0 ? 'eth0' : undefined };
}

/** A frame of this opcode whose header bytes and payload are all different. */
function madeOf(code: number, path: Partial<PathSpec> = {}): Uint8Array {
  const fill = (view: DataView, at: number): void => {
    for (let offset = at; offset < at + 80; offset++) view.setUint8(offset, (offset * 7 + code) & 0xff);
  };
  return make(code, fill, path, 32);
}

/** A copy with one byte changed and the IPv4 checksum set right. */
function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const changed = bytes.slice();
  const view = new DataView(changed.buffer);
  changed[at] = value;
  view.setUint16(24, 0);
  view.setUint16(24, ipv4HeaderChecksum(view, 14));
  return changed;
}

function tagged(bytes: Uint8Array): Uint8Array {
  const tag = [0x81, 0x00, 0xa0 | ((bytes.length >> 3) & 1), 5];
  return Uint8Array.from([...bytes.subarray(0, 12), ...tag, ...bytes.subarray(12)]);
}

/** Of the BTH behind Ethernet, IPv4 and UDP. */
const BTH_AT = 14 + 20 + 8;
const SYNDROMES = [0x1f, 0x00, 0x20, 0x3f, 0x40, 0x60, 0x61, 0x62, 0x63, 0x6a, 0x9f, 0xa1, 0xe0];
const PFC_GROUP = [0x01, 0x80, 0xc2, 0, 0, 1];
const OTHER_ETHERTYPES = [
  [
    [0x88, 0x08],
    [0x01, 0x01, 0x00, 0x08],
  ],
  [[0x89, 0x15], []],
] as const;
const PATHS: readonly Partial<PathSpec>[] = [
  { trafficClass: 0x6b },
  { trafficClass: 0x02, hopLimit: 1 },
  { source: IpAddress.parse('fe80::1'), destination: IpAddress.parse('fe80::2'), trafficClass: 0xff },
  { source: IpAddress.parse('10.77.1.9') },
];
