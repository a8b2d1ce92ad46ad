/**
 * Multicast listener discovery, what IGMP is for IPv6: ICMPv6 messages behind a hop-by-hop header with a router alert.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+---------------+-------------------------------+
 *  |     type      |    code 0     |           checksum            |
 *  +---------------+---------------+-------------------------------+
 *  | maximum response code, reserved; or reserved, number of records |
 *  +---------------------------------------------------------------+
 *  |   group, 16 bytes (queries and version 1), or group records   |
 *  +---------------------------------------------------------------+
 *
 * Owns the messages a listener sends and the queries it receives, and the header in front of them. Never keeps a
 * membership. Untrusted bytes give undefined. Sources: RFC 2710 section 3 (version 1), RFC 3810 sections 5 and 8.1, RFC
 * 2711 (router alert).
 */
import { IpAddress } from './address.ts';
import { floatingCode, type GroupRecord, readGroupRecords, writeGroupRecords } from './group-record.ts';
import { icmpv6ChecksumIsRight, writeIcmpv6Checksum } from './icmp.ts';
import { IP_PROTOCOL_ICMPV6 } from './ipv4.ts';

/** Types of messages, those of ICMPv6. */
export const MldType = {
  /** Sent by a router to find listeners. */
  Query: 130,
  /** A host of version 1 listens. */
  V1Report: 131,
  /** A host of version 1 does not listen any more. */
  Done: 132,
  /** A report of a host of version 2. */
  V2Report: 143,
} as const;
/** One of the types. */
export type MldType = (typeof MldType)[keyof typeof MldType];

/** Next header value of a hop-by-hop options header. */
export const IP_PROTOCOL_HOP_BY_HOP = 0;

/** The hop-by-hop header that precedes every message. */
export const ROUTER_ALERT_BYTES = 8;

/** Every message is sent with it: no router forwards one. */
export const MLD_HOP_LIMIT = 1;

/** Of version 1; of a version 2 report before its records. */
export const MLD_V1_BYTES = 24;
/** Length of a report of version 2 before its records, in bytes. */
export const MLD_V2_REPORT_BYTES = 8;
const V2_QUERY_BYTES = 28;

const MAX_RESPONSE = 4;
const RECORD_COUNT = 6;
const GROUP = 8;

/** A router's question. */
export interface MldQuery {
  /** Tells it apart. */
  readonly type: typeof MldType.Query;
  /** Version of the router, known by the length (RFC 3810, 8.1). */
  readonly version: 1 | 2;
  /** Answers are spread over this time, in milliseconds. */
  readonly maxResponse: number;
  /** The group queried; :: for all. */
  readonly group: IpAddress;
}

/** A report or done message of version 1. */
export interface MldGroupMessage {
  /** Which of them. */
  readonly type: typeof MldType.V1Report | typeof MldType.Done;
  /** The group it is about. */
  readonly group: IpAddress;
}

/** A report of version 2. */
export interface MldV2Report {
  /** Tells it apart. */
  readonly type: typeof MldType.V2Report;
  /** What has changed, or all that is listened to. */
  readonly records: readonly GroupRecord[];
}

/** A message, told apart by `type`. */
export type MldMessage = MldQuery | MldGroupMessage | MldV2Report;

/**
 * Where the ICMPv6 message starts behind the IPv6 header whose payload is [at, end) and begins with a hop-by-hop
 * header; -1 for nowhere.
 */
export function afterHopByHop(view: DataView, at: number, end: number): number {
  if (end - at < ROUTER_ALERT_BYTES || view.getUint8(at) !== IP_PROTOCOL_ICMPV6) return -1;
  const next = at + ROUTER_ALERT_BYTES * (1 + view.getUint8(at + 1));
  return next <= end ? next : -1;
}

/** Writes the hop-by-hop header with the alert for listener discovery and two bytes of padding. */
export function writeRouterAlert(view: DataView, at: number): void {
  view.setUint32(at, (IP_PROTOCOL_ICMPV6 << 24) | 0x05_02);
  view.setUint32(at + 4, 0x00_00_01_00);
}

/**
 * The message in [at, end) of the packet whose IPv6 header is at `ipv6At`; undefined for another type, a length that no
 * version has, or a wrong checksum.
 */
export function readMld(view: DataView, ipv6At: number, at: number, end: number): MldMessage | undefined {
  if (end - at < MLD_V2_REPORT_BYTES || !icmpv6ChecksumIsRight(view, ipv6At, at, end)) return undefined;
  const type = view.getUint8(at);
  if (type === MldType.V2Report) {
    const records = readGroupRecords(view, at + MLD_V2_REPORT_BYTES, end, view.getUint16(at + RECORD_COUNT), 6);
    return records === undefined ? undefined : { type, records };
  }
  if (end - at < MLD_V1_BYTES) return undefined;
  const group = IpAddress.read(view, at + GROUP, 6);
  if (type === MldType.V1Report || type === MldType.Done) return { type, group };
  return type === MldType.Query ? readQuery(view, at, end, group) : undefined;
}

/** Writes a report or done message of version 1, whose IPv6 header is there already, and returns where it ends. */
export function writeMldGroupMessage(view: DataView, ipv6At: number, at: number, message: MldGroupMessage): number {
  view.setUint32(at, message.type << 24);
  view.setUint32(at + MAX_RESPONSE, 0);
  message.group.write(view, at + GROUP);
  return finish(view, ipv6At, at, at + MLD_V1_BYTES);
}

/** Writes a report of version 2, whose IPv6 header is there already, and returns where it ends. */
export function writeMldV2Report(view: DataView, ipv6At: number, at: number, records: readonly GroupRecord[]): number {
  view.setUint32(at, MldType.V2Report << 24);
  view.setUint32(at + MAX_RESPONSE, records.length);
  return finish(view, ipv6At, at, writeGroupRecords(view, at + MLD_V2_REPORT_BYTES, records));
}

/**
 * Writes a query without sources, for a router of tests, and returns where it ends. `maxResponse` is below 32,768.
 */
export function writeMldQuery(view: DataView, ipv6At: number, at: number, query: MldQuery): number {
  view.setUint32(at, MldType.Query << 24);
  view.setUint32(at + MAX_RESPONSE, query.maxResponse << 16);
  query.group.write(view, at + GROUP);
  if (query.version === 1) return finish(view, ipv6At, at, at + MLD_V1_BYTES);
  view.setUint32(at + MLD_V1_BYTES, 0);
  return finish(view, ipv6At, at, at + V2_QUERY_BYTES);
}

function readQuery(view: DataView, at: number, end: number, group: IpAddress): MldQuery | undefined {
  const code = view.getUint16(at + MAX_RESPONSE);
  if (end - at >= V2_QUERY_BYTES)
    return { type: MldType.Query, version: 2, maxResponse: floatingCode(code, 16), group };
  return end - at === MLD_V1_BYTES ? { type: MldType.Query, version: 1, maxResponse: code, group } : undefined;
}

function finish(view: DataView, ipv6At: number, at: number, end: number): number {
  writeIcmpv6Checksum(view, ipv6At, at, end);
  return end;
}
