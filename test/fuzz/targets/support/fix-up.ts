/**
 * What a mutator breaks and a fuzzer would never guess: lengths, checksums and the ICRC of a frame, made right in
 * place. Owns IPv4, IPv6, UDP, the ICRC, TCP, ICMP, ICMPv6, IGMP; whatever is too short stays as it is.
 */
import { computeIcrc, ICRC_BYTES } from '../../../../packets/index.ts';
import { finishChecksum, onesComplementSum, pseudoHeaderSum } from '../../../../packets/network.ts';

/** Makes the frame right from its IP header to its end. */
export function fixFrame(bytes: Uint8Array, ethernet: boolean): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ip = ethernet ? ipOffset(view) : 0;
  if (ip < 0 || bytes.length - ip < 20) return;
  const version = (bytes[ip] ?? 0) >>> 4;
  const length = bytes.length - ip;
  if (version === 4) {
    const protocol = view.getUint8(ip + 9);
    const header = protocol === IGMP ? headerWithOptions(view, ip) : 20;
    view.setUint8(ip, 0x40 | (header / 4));
    view.setUint16(ip + 2, length);
    view.setUint16(ip + 6, 0);
    view.setUint16(ip + 10, 0);
    view.setUint16(ip + 10, finishChecksum(onesComplementSum(view, ip, ip + header, 0)));
    fixPayload(bytes, view, ip, 4, ip + header, protocol);
  } else if (version === 6 && length >= 40) {
    view.setUint16(ip + 4, length - 40);
    const hopByHop = view.getUint8(ip + 6) === 0 && length >= 48;
    const next = view.getUint8(hopByHop ? ip + 40 : ip + 6);
    fixPayload(bytes, view, ip, 6, ip + (hopByHop ? 48 : 40), next);
  }
}

/** What the IPv4 header says of its length, where that is possible. Only IGMP comes with options. */
function headerWithOptions(view: DataView, ip: number): number {
  const bytes = 4 * (view.getUint8(ip) & 0x0f);
  return bytes >= 20 && ip + bytes <= view.byteLength ? bytes : 20;
}

/** Behind the Ethernet header and up to two tags; -1 for what is neither IPv4 nor IPv6. */
function ipOffset(view: DataView): number {
  for (let at = 12, tags = 0; tags < 3 && at + 2 <= view.byteLength; at += 4, tags++) {
    const type = view.getUint16(at);
    if (type === 0x0800 || type === 0x86dd) return at + 2;
    if (type !== 0x8100 && type !== 0x88a8) return -1;
  }
  return -1;
}

function fixPayload(bytes: Uint8Array, view: DataView, ip: number, version: 4 | 6, at: number, protocol: number): void {
  const length = bytes.length - at;
  const checksum = CHECKSUM_AT.get(protocol);
  if (protocol === UDP && length >= 8) {
    view.setUint16(at + 4, length);
    const icrc = bytes.length - ICRC_BYTES;
    if (view.getUint16(at + 2) === 4791 && icrc >= at + 20)
      view.setUint32(icrc, computeIcrc(bytes, view, ip, version, at + 8, icrc), true);
  } else if (checksum !== undefined && length >= checksum + 2) {
    const pseudo = protocol === TCP || protocol === ICMPV6;
    view.setUint16(at + checksum, 0);
    const sum = pseudo ? pseudoHeaderSum(view, ip, version, protocol, length) : 0;
    view.setUint16(at + checksum, finishChecksum(onesComplementSum(view, at, bytes.length, sum)));
  }
}

const IGMP = 2;
const TCP = 6;
const UDP = 17;
const ICMPV6 = 58;
/** ICMP, IGMP, TCP, ICMPv6. */
const CHECKSUM_AT: ReadonlyMap<number, number> = new Map([
  [1, 2],
  [IGMP, 2],
  [TCP, 16],
  [ICMPV6, 2],
]);
