/**
 * ICMP echo, what `ping` sends, for IPv4 and IPv6, and the checksums of both.
 *
 * Owns the echo message. Never answers one. Untrusted bytes give undefined. The two versions share the layout; they
 * differ in the type numbers and in the checksum, which for IPv6 covers a pseudo header of the addresses.
 * Sources: RFC 792 (echo), RFC 4443 sections 2.3, 4.1, 4.2 (ICMPv6 checksum, echo), RFC 8200 section 8.1 (pseudo
 * header).
 *
 * ```
 *  0  type   1  code 0   2  checksum, 2   4  identifier, 2   6  sequence number, 2   8  data
 * ```
 */

import { finishChecksum, onesComplementSum, pseudoHeaderSum } from './checksum.ts';
import { IP_PROTOCOL_ICMPV6 } from './ipv4.ts';

/** Length of an echo without data, in bytes. */
export const ICMP_ECHO_BYTES = 8;

/** Types of ICMP that a host answers or sends here. */
export const IcmpType = {
  /** The answer to a ping. */
  EchoReply: 0,
  /** A ping. */
  EchoRequest: 8,
} as const;
/** Types of ICMPv6 that a host answers or sends here. */
export const Icmpv6Type = {
  /** A ping. */
  EchoRequest: 128,
  /** The answer to a ping. */
  EchoReply: 129,
  /** Request for the MAC address of an IP address (ARP's request) */
  NeighborSolicitation: 135,
  /** I have it. (ARP's reply) */
  NeighborAdvertisement: 136,
} as const;

/** A ping or its answer, of either IP version. */
export interface IcmpEcho {
  /** The answer, not the ping. */
  readonly reply: boolean;
  /** 16 bits, chosen by the sender of the request and returned in the reply, as are sequence and data. */
  readonly identifier: number;
  /** 16 bits. */
  readonly sequence: number;
  /** Shares memory with the frame when read. */
  readonly data: Uint8Array;
}

/** The ICMP echo in `[at, end)`; undefined when it is another message, is cut short or has a wrong checksum. */
export function readIcmpEcho(view: DataView, at: number, end: number): IcmpEcho | undefined {
  if (end - at < ICMP_ECHO_BYTES || !icmpChecksumIsRight(view, at, end)) return undefined;
  return readEcho(view, at, end, IcmpType.EchoRequest, IcmpType.EchoReply);
}

/** The ICMPv6 echo in `[at, end)` behind the IPv6 header at `ipv6At`; undefined as for `readIcmpEcho`. */
export function readIcmpv6Echo(view: DataView, ipv6At: number, at: number, end: number): IcmpEcho | undefined {
  if (end - at < ICMP_ECHO_BYTES || !icmpv6ChecksumIsRight(view, ipv6At, at, end)) return undefined;
  return readEcho(view, at, end, Icmpv6Type.EchoRequest, Icmpv6Type.EchoReply);
}

/** Writes the echo with its checksum; returns the number of bytes. */
export function writeIcmpEcho(view: DataView, at: number, echo: IcmpEcho): number {
  const bytes = writeEcho(view, at, echo, echo.reply ? IcmpType.EchoReply : IcmpType.EchoRequest);
  view.setUint16(at + CHECKSUM, finishChecksum(onesComplementSum(view, at, at + bytes, 0)));
  return bytes;
}

/** Writes the echo with its checksum, which needs the addresses of the IPv6 header at `ipv6At`: write that first. */
export function writeIcmpv6Echo(view: DataView, ipv6At: number, at: number, echo: IcmpEcho): number {
  const bytes = writeEcho(view, at, echo, echo.reply ? Icmpv6Type.EchoReply : Icmpv6Type.EchoRequest);
  writeIcmpv6Checksum(view, ipv6At, at, at + bytes);
  return bytes;
}

/** Whether the message `[at, end)`, checksum included, sums up to what it should. */
export function icmpChecksumIsRight(view: DataView, at: number, end: number): boolean {
  return finishChecksum(onesComplementSum(view, at, end, 0)) === 0;
}

/** As `icmpChecksumIsRight`, with the pseudo header of the IPv6 header at `ipv6At`. */
export function icmpv6ChecksumIsRight(view: DataView, ipv6At: number, at: number, end: number): boolean {
  return (
    finishChecksum(onesComplementSum(view, at, end, pseudoHeaderSum(view, ipv6At, 6, IP_PROTOCOL_ICMPV6, end - at))) ===
    0
  );
}

/** Fills in the checksum of the ICMPv6 message `[at, end)`; its header must be at `ipv6At` already. */
export function writeIcmpv6Checksum(view: DataView, ipv6At: number, at: number, end: number): void {
  view.setUint16(at + CHECKSUM, 0);
  const sum = onesComplementSum(view, at, end, pseudoHeaderSum(view, ipv6At, 6, IP_PROTOCOL_ICMPV6, end - at));
  view.setUint16(at + CHECKSUM, finishChecksum(sum));
}

function readEcho(view: DataView, at: number, end: number, request: number, reply: number): IcmpEcho | undefined {
  const type = view.getUint8(at);
  if ((type !== request && type !== reply) || view.getUint8(at + 1) !== 0) return undefined;
  return {
    reply: type === reply,
    identifier: view.getUint16(at + 4),
    sequence: view.getUint16(at + 6),
    data: new Uint8Array(view.buffer, view.byteOffset + at + ICMP_ECHO_BYTES, end - at - ICMP_ECHO_BYTES),
  };
}

function writeEcho(view: DataView, at: number, echo: IcmpEcho, type: number): number {
  view.setUint8(at, type);
  view.setUint8(at + 1, 0);
  view.setUint16(at + CHECKSUM, 0);
  view.setUint16(at + 4, echo.identifier);
  view.setUint16(at + 6, echo.sequence);
  new Uint8Array(view.buffer, view.byteOffset + at + ICMP_ECHO_BYTES, echo.data.length).set(echo.data);
  return ICMP_ECHO_BYTES + echo.data.length;
}

const CHECKSUM = 2;
