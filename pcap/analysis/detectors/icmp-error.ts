/**
 * ICMP and ICMPv6 errors about RoCE packets: who says what of a packet from A to B.
 *
 * Owns the recognition of the messages and their meaning in words. A message quotes the beginning of the packet that it
 * is about; one whose quotation does not reach the UDP ports, or has other ports, is about something else. Never reads
 * outside a frame, whatever the quotation says of itself.
 * Sources: RFC 792, RFC 1122 3.2.2.1 and RFC 1812 5.2.7.1 (codes), RFC 1191 (MTU), RFC 4443.
 */
import { IpAddress } from '../../../packets/address.ts';
import { BTH_BYTES, bthDestQpn } from '../../../packets/bth.ts';
import { type Frame, FrameStatus, frameSource } from '../../../packets/frame.ts';
import {
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  IPV4_DESTINATION_AT,
  IPV4_PROTOCOL_AT,
  IPV4_SOURCE_AT,
  IPV4_TOTAL_LENGTH_AT,
} from '../../../packets/ipv4.ts';
import {
  IPV6_BYTES,
  IPV6_DESTINATION_AT,
  IPV6_NEXT_HEADER_AT,
  IPV6_PAYLOAD_LENGTH_AT,
  IPV6_SOURCE_AT,
} from '../../../packets/ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES, UDP_DEST_PORT_AT } from '../../../packets/udp.ts';
import type { Dissection } from '../../dissection.ts';

/** What is wrong with the packet, as far as advice differs. */
export type IcmpKind = 'too-big' | 'port' | 'host' | 'prohibited' | 'hop-limit';

/** A message of a router or host about a RoCE packet. */
export interface IcmpError {
  readonly kind: IcmpKind;
  /** "port unreachable". */
  readonly says: string;
  readonly reporter: string;
  /** Of the packet that it is about. */
  readonly source: string;
  readonly destination: string;
  /** Queue pair that it was for; -1 where the quotation does not reach that far. */
  readonly destQpn: number;
  /** Length of its IP packet. */
  readonly length: number;
  /** With 'too-big': largest IP packet that fits, in bytes; 0 where the message does not have it. */
  readonly mtu: number;
}

/** The message about a RoCE packet that a frame is; undefined for every other frame. */
export function icmpError({ frame, status, cut, capturedEnd }: Dissection): IcmpError | undefined {
  const { view, l4Offset, ipEnd, protocol, ipVersion } = frame;
  if (status !== FrameStatus.NotUdp || ipEnd - l4Offset < ICMP_BYTES) return undefined;
  if (protocol !== (ipVersion === 4 ? IP_PROTOCOL_ICMP : IP_PROTOCOL_ICMPV6)) return undefined;
  const [type, code] = [view.getUint8(l4Offset), view.getUint8(l4Offset + 1)];
  const meaning = ipVersion === 4 ? meaningV4(type, code) : meaningV6(type, code);
  if (meaning === undefined) return undefined;
  // What lies beyond the capture is zero.
  const end = cut ? Math.min(ipEnd, capturedEnd) : ipEnd;
  const quoted = quotedPacket(frame, l4Offset + ICMP_BYTES, end);
  if (quoted === undefined) return undefined;
  const mtu = ipVersion === 4 ? view.getUint16(l4Offset + 6) : view.getUint32(l4Offset + 4);
  return { ...meaning, ...quoted, reporter: frameSource(frame).toString(), mtu: meaning.kind === 'too-big' ? mtu : 0 };
}

type Meaning = Pick<IcmpError, 'kind' | 'says'>;

function meaningV4(type: number, code: number): Meaning | undefined {
  if (type === 11) return code === 0 ? HOP_LIMIT : undefined;
  return type === 3 ? (UNREACHABLE_V4[code] ?? { kind: 'host', says: `unreachable, code ${code}` }) : undefined;
}

function meaningV6(type: number, code: number): Meaning | undefined {
  if (type === 2) return TOO_BIG;
  if (type === 3) return code === 0 ? HOP_LIMIT : undefined;
  return type === 1 ? (UNREACHABLE_V6[code] ?? { kind: 'host', says: `unreachable, code ${code}` }) : undefined;
}

function quotedPacket(
  frame: Frame,
  at: number,
  end: number,
): Pick<IcmpError, 'source' | 'destination' | 'destQpn' | 'length'> | undefined {
  const { view, ipVersion } = frame;
  const least = ipVersion === 4 ? IPV4_BYTES : IPV6_BYTES;
  if (end - at < least || view.getUint8(at) >> 4 !== ipVersion) return undefined;
  const headerBytes = ipVersion === 4 ? 4 * (view.getUint8(at) & 0x0f) : IPV6_BYTES;
  const udpAt = at + headerBytes;
  if (headerBytes < least || end - udpAt < UDP_DEST_PORT_AT + 2) return undefined;
  const protocol = view.getUint8(at + (ipVersion === 4 ? IPV4_PROTOCOL_AT : IPV6_NEXT_HEADER_AT));
  if (protocol !== IP_PROTOCOL_UDP || view.getUint16(udpAt + UDP_DEST_PORT_AT) !== ROCE_UDP_PORT) return undefined;
  const bthAt = udpAt + UDP_BYTES;
  const destQpn = end - bthAt < BTH_BYTES ? -1 : bthDestQpn(view, bthAt);
  if (ipVersion === 6) {
    return {
      source: IpAddress.read(view, at + IPV6_SOURCE_AT, 6).toString(),
      destination: IpAddress.read(view, at + IPV6_DESTINATION_AT, 6).toString(),
      destQpn,
      length: IPV6_BYTES + view.getUint16(at + IPV6_PAYLOAD_LENGTH_AT),
    };
  }
  return {
    source: IpAddress.read(view, at + IPV4_SOURCE_AT, 4).toString(),
    destination: IpAddress.read(view, at + IPV4_DESTINATION_AT, 4).toString(),
    destQpn,
    length: view.getUint16(at + IPV4_TOTAL_LENGTH_AT),
  };
}

const ICMP_BYTES = 8;
const TOO_BIG: Meaning = { kind: 'too-big', says: 'packet too big' };
const HOP_LIMIT: Meaning = { kind: 'hop-limit', says: 'hop limit exceeded' };
const PROHIBITED: Meaning = { kind: 'prohibited', says: 'administratively prohibited' };
const PORT: Meaning = { kind: 'port', says: 'port unreachable' };
/** By code. */
const UNREACHABLE_V4: Readonly<Record<number, Meaning>> = {
  0: { kind: 'host', says: 'network unreachable' },
  1: { kind: 'host', says: 'host unreachable' },
  2: { kind: 'port', says: 'protocol unreachable' },
  3: PORT,
  4: TOO_BIG,
  6: { kind: 'host', says: 'network unknown' },
  7: { kind: 'host', says: 'host unknown' },
  9: PROHIBITED,
  10: PROHIBITED,
  13: PROHIBITED,
};
const UNREACHABLE_V6: Readonly<Record<number, Meaning>> = {
  0: { kind: 'host', says: 'no route' },
  1: PROHIBITED,
  3: { kind: 'host', says: 'address unreachable' },
  4: PORT,
  5: { kind: 'prohibited', says: 'source address failed policy' },
  6: { kind: 'prohibited', says: 'route rejected' },
};
