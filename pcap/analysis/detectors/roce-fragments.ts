/**
 * Fragments of RoCE packets: a sign from the network that the path MTU is too large.
 *
 * Owns their recognition, for IPv4 and IPv6. Never reads outside a frame. Source: RFC 8200 4.5 (fragment header).
 */
import { BTH_BYTES } from '../../../packets/bth.ts';
import { type Frame, FrameStatus, frameDestination, frameSource } from '../../../packets/frame.ts';
import { IP_PROTOCOL_UDP, IPV4_FRAGMENT_AT } from '../../../packets/ipv4.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import { ROCE_UDP_PORT, UDP_BYTES } from '../../../packets/udp.ts';

/** A first fragment of a RoCE packet: the only one that shows the port. */
export function isRoceFragment(frame: Frame, status: FrameStatus): boolean {
  const { view, ipOffset, l4Offset, ipEnd, protocol } = frame;
  if (status === FrameStatus.Fragment) {
    const first = (view.getUint16(ipOffset + IPV4_FRAGMENT_AT) & OFFSET_MASK) === 0;
    return first && protocol === IP_PROTOCOL_UDP && portIsRoce(view, l4Offset, ipEnd);
  }
  if (status !== FrameStatus.NotUdp || protocol !== IPV6_FRAGMENT || ipEnd - l4Offset < FRAGMENT_BYTES) return false;
  const first = view.getUint16(l4Offset + 2) >> 3 === 0 && (view.getUint8(l4Offset + 3) & 1) === 1;
  return first && view.getUint8(l4Offset) === IP_PROTOCOL_UDP && portIsRoce(view, l4Offset + FRAGMENT_BYTES, ipEnd);
}

/** PSN of a first fragment; -1 where it has none. */
export function fragmentPsn({ view, ipVersion, l4Offset, ipEnd }: Frame): number {
  const bth = l4Offset + (ipVersion === 4 ? 0 : FRAGMENT_BYTES) + UDP_BYTES;
  return ipEnd - bth < BTH_BYTES ? -1 : view.getUint32(bth + PSN_WORD_AT) & PSN_MASK;
}

/** Length of the IP packet of a fragment. */
export function fragmentLength({ ipEnd, ipOffset }: Frame): number {
  return ipEnd - ipOffset;
}

function portIsRoce(view: DataView, udpAt: number, end: number): boolean {
  return end - udpAt >= 4 && view.getUint16(udpAt + 2) === ROCE_UDP_PORT;
}

/** Addresses of a fragment, "a b". */
export function fragmentPair(frame: Frame): string {
  return `${frameSource(frame)} ${frameDestination(frame)}`;
}

/** The last three of these four bytes of the BTH are the PSN. */
const PSN_WORD_AT = 8;
const OFFSET_MASK = 0x1f_ff;
const IPV6_FRAGMENT = 44;
const FRAGMENT_BYTES = 8;
