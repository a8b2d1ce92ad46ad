/**
 * IGMP, by which an IPv4 host reports to routers and switches which groups it listens to.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+---------------+-------------------------------+
 *  |     type      | max resp code |           checksum            |
 *  +---------------+---------------+-------------------------------+
 *  | group (queries and versions 1, 2), or reserved and number of records |
 *  +---------------------------------------------------------------+
 *  |   version 3: query parameters and sources, or group records   |
 *  +---------------------------------------------------------------+
 *
 * Owns the messages a listener sends and the queries it receives. Never keeps a membership. Untrusted bytes give
 * undefined.
 * Sources: RFC 1112 appendix I (version 1), RFC 2236 section 2, RFC 3376 sections 4 and 7.1 (how versions are told
 * apart).
 */
import { IpAddress } from './address.ts';
import { finishChecksum, onesComplementSum } from './checksum.ts';
import { floatingCode, type GroupRecord, readGroupRecords, writeGroupRecords } from './group-record.ts';

/** Types of messages. */
export const IgmpType = {
  /** Sent by a router to find listeners. */
  Query: 0x11,
  /** A host of version 1 listens. */
  V1Report: 0x12,
  /** A host of version 2 listens. */
  V2Report: 0x16,
  /** A host of version 2 does not listen any more. */
  Leave: 0x17,
  /** A report of a host of version 3. */
  V3Report: 0x22,
} as const;
/** One of the types. */
export type IgmpType = (typeof IgmpType)[keyof typeof IgmpType];

/** Protocol number of IPv4. */
export const IP_PROTOCOL_IGMP = 2;

/** Of versions 1 and 2; of a version 3 report before its records. */
export const IGMP_BYTES = 8;
const V3_QUERY_BYTES = 12;

const MAX_RESPONSE = 1;
const CHECKSUM = 2;
const GROUP = 4;
const RECORD_COUNT = 6;

/** A router's question. */
export interface IgmpQuery {
  /** Tells it apart. */
  readonly type: typeof IgmpType.Query;
  /** Version of the router, known by length and code (RFC 3376, 7.1). */
  readonly version: 1 | 2 | 3;
  /** Answers are spread over this time, in tenths of a second; version 1 stands for 10 s. */
  readonly maxResponse: number;
  /** The group queried; 0.0.0.0 for all. */
  readonly group: IpAddress;
}

/** A report or leave message of versions 1 and 2. */
export interface IgmpGroupMessage {
  /** Which of them. */
  readonly type: typeof IgmpType.V1Report | typeof IgmpType.V2Report | typeof IgmpType.Leave;
  /** The group it is about. */
  readonly group: IpAddress;
}

/** A report of version 3. */
export interface IgmpV3Report {
  /** Tells it apart. */
  readonly type: typeof IgmpType.V3Report;
  /** What has changed, or all that is listened to. */
  readonly records: readonly GroupRecord[];
}

/** A message, told apart by `type`. */
export type IgmpMessage = IgmpQuery | IgmpGroupMessage | IgmpV3Report;

/** The message in [at, end); undefined for another type, a length that no version has, or a wrong checksum. */
export function readIgmp(view: DataView, at: number, end: number): IgmpMessage | undefined {
  if (end - at < IGMP_BYTES || finishChecksum(onesComplementSum(view, at, end, 0)) !== 0) return undefined;
  const type = view.getUint8(at);
  switch (type) {
    case IgmpType.Query:
      return readQuery(view, at, end);
    case IgmpType.V1Report:
    case IgmpType.V2Report:
    case IgmpType.Leave:
      return { type, group: IpAddress.read(view, at + GROUP, 4) };
    case IgmpType.V3Report: {
      const records = readGroupRecords(view, at + IGMP_BYTES, end, view.getUint16(at + RECORD_COUNT), 4);
      return records === undefined ? undefined : { type, records };
    }
    default:
      return undefined;
  }
}

/** Writes a report or leave message of version 1 or 2 and returns where it ends. */
export function writeIgmpGroupMessage(view: DataView, at: number, { type, group }: IgmpGroupMessage): number {
  view.setUint32(at, type << 24);
  group.write(view, at + GROUP);
  return finish(view, at, at + IGMP_BYTES);
}

/** Writes a report of version 3 and returns where it ends. */
export function writeIgmpV3Report(view: DataView, at: number, records: readonly GroupRecord[]): number {
  view.setUint32(at, IgmpType.V3Report << 24);
  view.setUint32(at + GROUP, records.length);
  return finish(view, at, writeGroupRecords(view, at + IGMP_BYTES, records));
}

/** Writes a query without sources, for a router of tests, and returns where it ends. `maxResponse` is below 128. */
export function writeIgmpQuery(view: DataView, at: number, { version, maxResponse, group }: IgmpQuery): number {
  view.setUint32(at, (IgmpType.Query << 24) | ((version === 1 ? 0 : maxResponse) << 16));
  group.write(view, at + GROUP);
  if (version < 3) return finish(view, at, at + IGMP_BYTES);
  view.setUint32(at + IGMP_BYTES, 0);
  return finish(view, at, at + V3_QUERY_BYTES);
}

function readQuery(view: DataView, at: number, end: number): IgmpQuery | undefined {
  const code = view.getUint8(at + MAX_RESPONSE);
  const group = IpAddress.read(view, at + GROUP, 4);
  const common = { type: IgmpType.Query, group };
  if (end - at >= V3_QUERY_BYTES) return { ...common, version: 3, maxResponse: floatingCode(code, 8) };
  if (end - at > IGMP_BYTES) return undefined;
  return code === 0
    ? { ...common, version: 1, maxResponse: V1_MAX_RESPONSE }
    : { ...common, version: 2, maxResponse: code };
}

function finish(view: DataView, at: number, end: number): number {
  view.setUint16(at + CHECKSUM, 0);
  view.setUint16(at + CHECKSUM, finishChecksum(onesComplementSum(view, at, end, 0)));
  return end;
}

const V1_MAX_RESPONSE = 100;
