/**
 * The headers of a packet as a passive check reads them: byte by byte from the frame, without the parser that the stack
 * itself trusts, and the ICRC by a recipe of its own. Owns the reading; never judges.
 * Rules: ref:wire#2 (IP, UDP), ref:wire#3 (ICRC).
 */

/** Below the BTH, of a frame that carries UDP or says it does. Offsets index `bytes`. */
export interface Headers {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly ip: number;
  readonly version: 4 | 6;
  /** IPv4: 32-bit words of the header; IPv6: 0. */
  readonly ihl: number;
  /** DSCP and ECN. */
  readonly trafficClass: number;
  /** IPv4: the three flags, and the offset behind them; IPv6: 0. */
  readonly flags: number;
  readonly fragmentOffset: number;
  /** IPv4 protocol, IPv6 next header. */
  readonly protocol: number;
  /** Total length of IPv4, payload length of IPv6, as written. */
  readonly ipLength: number;
  /** Where the datagram ends by that length. */
  readonly ipEnd: number;
  readonly udp: number;
  readonly sourcePort: number;
  readonly destPort: number;
  readonly udpLength: number;
  readonly udpChecksum: number;
  readonly bth: number;
}

/**
 * The headers from `ip` on; undefined where the bytes are too few for them and a BTH, or the version is neither. Reads
 * nothing outside.
 */
export function readHeaders(bytes: Uint8Array, ip: number): Headers | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = (bytes[ip] ?? 0) >>> 4;
  if (version !== 4 && version !== 6) return undefined;
  const ihl = version === 4 ? (bytes[ip] ?? 0) & 0x0f : 0;
  const udp = ip + (version === 4 ? 4 * ihl : 40);
  const bth = udp + 8;
  if (ihl < 5 && version === 4) return undefined;
  if (bth + 16 > bytes.length) return undefined;
  const first = view.getUint32(ip);
  const fragment = version === 4 ? view.getUint16(ip + 6) : 0;
  const ipLength = view.getUint16(version === 4 ? ip + 2 : ip + 4);
  return {
    ...{ bytes, view, ip, version, ihl, udp, bth, ipLength },
    trafficClass: version === 4 ? (first >>> 16) & 0xff : (first >>> 20) & 0xff,
    flags: fragment >>> 13,
    fragmentOffset: fragment & 0x1f_ff,
    protocol: bytes[version === 4 ? ip + 9 : ip + 6] ?? 0,
    ipEnd: version === 4 ? ip + ipLength : ip + 40 + ipLength,
    sourcePort: view.getUint16(udp),
    destPort: view.getUint16(udp + 2),
    udpLength: view.getUint16(udp + 4),
    udpChecksum: view.getUint16(udp + 6),
  };
}

/** Whether the four bytes before `end` are the ICRC of the packet. */
function icrcIsRight(headers: Headers, end: number): boolean {
  const { bytes, view, ip, version, udp, bth } = headers;
  if (end < bth + 16 || end > bytes.length) return false;
  const copy = bytes.slice(ip, end - 4);
  const ones = (...offsets: readonly number[]): void => {
    for (const at of offsets) copy[at - ip] = 0xff;
  };
  if (version === 4) ones(ip + 1, ip + 8, ip + 10, ip + 11);
  else {
    copy[0] = (copy[0] ?? 0) | 0x0f;
    ones(ip + 1, ip + 2, ip + 3, ip + 7);
  }
  ones(udp + 6, udp + 7, bth + 4);
  return view.getUint32(end - 4, true) === crcAfterOnes(copy);
}

/** Where a right ICRC ends, by any of the lengths that a frame has; undefined where there is none. */
export function findIcrcEnd(headers: Headers): number | undefined {
  const { bytes, udp, udpLength, ipEnd } = headers;
  return [udp + udpLength, ipEnd, bytes.length].find((end) => icrcIsRight(headers, end));
}

/** CRC-32 of eight bytes of ones and `bytes`. */
function crcAfterOnes(bytes: Uint8Array): number {
  let state = 0xff_ff_ff_ff;
  for (let i = -8; i < bytes.length; i++) {
    const byte = i < 0 ? 0xff : (bytes[i] ?? 0);
    state = (state >>> 8) ^ (REMAINDERS[(state ^ byte) & 0xff] ?? 0);
  }
  return ~state >>> 0;
}

/** Of every byte by the reflected polynomial. */
const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xed_b8_83_20 : remainder >>> 1;
  return remainder >>> 0;
});
