/** RoCEv2 where nobody looks for it: in tunnels that are not known. */
import { ipv4ChecksumMatches } from '../../packets/checksum.ts';
import { IP_PROTOCOL_UDP, IPV4_BYTES } from '../../packets/ipv4.ts';
import { IPV6_BYTES } from '../../packets/ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES, UDP_DEST_PORT_AT, UDP_LENGTH_AT } from '../../packets/udp.ts';

/**
 * Whether [start, end), which nobody could read, has a packet to UDP port 4791 in its first bytes: an IP header whose
 * checksum or whose lengths are right, and UDP behind it. So a tunnel that is not known is at least seen.
 */
export function concealsRoce(view: DataView, start: number, end: number): boolean {
  const last = Math.min(end - IPV4_BYTES - UDP_BYTES, start + MOST_SEARCHED);
  for (let at = start; at <= last; at++) {
    const first = view.getUint8(at);
    if (first === IPV4_FIRST_BYTE && isRoceOverIpv4(view, at)) return true;
    if (first >>> 4 === 6 && at + IPV6_BYTES + UDP_BYTES <= end && isRoceOverIpv6(view, at)) return true;
  }
  return false;
}

function isRoceOverIpv4(view: DataView, at: number): boolean {
  return (
    view.getUint8(at + 9) === IP_PROTOCOL_UDP &&
    view.getUint16(at + IPV4_BYTES + UDP_DEST_PORT_AT) === ROCE_UDP_PORT &&
    ipv4ChecksumMatches(view, at)
  );
}

function isRoceOverIpv6(view: DataView, at: number): boolean {
  const udp = at + IPV6_BYTES;
  return (
    view.getUint8(at + 6) === IP_PROTOCOL_UDP &&
    view.getUint16(udp + UDP_DEST_PORT_AT) === ROCE_UDP_PORT &&
    view.getUint16(udp + UDP_LENGTH_AT) === view.getUint16(at + 4)
  );
}

const IPV4_FIRST_BYTE = 0x45;
/** Where the packet within an unknown tunnel begins at the latest. */
const MOST_SEARCHED = 160;
