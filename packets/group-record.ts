/**
 * What IGMPv3 and MLDv2 share: the records of a report, and the floating point of a query's times.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+---------------+-------------------------------+
 *  |  record type  | aux data words|       number of sources       |
 *  +---------------+---------------+-------------------------------+
 *  |              group address, 4 or 16 bytes ...                 |
 *  +---------------------------------------------------------------+
 *
 * Owns records without sources, which is all a listener to every source sends; records with sources are read, their
 * sources passed over. Untrusted bytes give undefined. Sources: RFC 3376 sections 4.1.1, 4.2.4 to 4.2.12; RFC 3810
 * sections 5.1.3, 5.2.4 to 5.2.12.
 */
import { IpAddress } from './address.ts';

/** What a record of a report says about a group (RFC 3376, 4.2.12; RFC 3810, 5.2.12). */
export const GroupRecordType = {
  /** The host listens to the sources listed; with none, to no source. */
  ModeIsInclude: 1,
  /** The host listens to all sources but those listed. */
  ModeIsExclude: 2,
  /** Leaves the group. */
  ChangeToInclude: 3,
  /** Joins the group. */
  ChangeToExclude: 4,
  /** The sources listed are listened to from now on. */
  AllowNewSources: 5,
  /** The sources listed are not listened to any more. */
  BlockOldSources: 6,
} as const;
/** One of the types. */
export type GroupRecordType = (typeof GroupRecordType)[keyof typeof GroupRecordType];

/** One record of a report, without its sources. */
export interface GroupRecord {
  /** What it says. */
  readonly type: GroupRecordType;
  /** About which group. */
  readonly group: IpAddress;
}

const HEADER = 4;
const AUX_WORDS = 1;
const SOURCES = 2;

/** Bytes of a record without sources. */
export function groupRecordBytes(version: 4 | 6): number {
  return HEADER + addressBytes(version);
}

/** Writes records one after another and returns where they end. */
export function writeGroupRecords(view: DataView, at: number, records: readonly GroupRecord[]): number {
  for (const { type, group } of records) {
    view.setUint32(at, type << 24);
    group.write(view, at + HEADER);
    at += groupRecordBytes(group.version);
  }
  return at;
}

/** The `count` records in [at, end), or undefined when they do not fit. */
export function readGroupRecords(
  view: DataView,
  at: number,
  end: number,
  count: number,
  version: 4 | 6,
): readonly GroupRecord[] | undefined {
  const records: GroupRecord[] = [];
  for (let i = 0; i < count; i++) {
    if (end - at < groupRecordBytes(version)) return undefined;
    const type = view.getUint8(at);
    const rest = 4 * view.getUint8(at + AUX_WORDS) + addressBytes(version) * view.getUint16(at + SOURCES);
    const group = IpAddress.read(view, at + HEADER, version);
    at += groupRecordBytes(version);
    if (rest > end - at) return undefined;
    at += rest;
    if (isRecordType(type)) records.push({ type, group });
  }
  return records;
}

/**
 * The value of a code of `bits` bits: as it stands below the upper half, else a mantissa and an exponent of three bits.
 */
export function floatingCode(code: number, bits: 8 | 16): number {
  if (code < 2 ** (bits - 1)) return code;
  const mantissaBits = bits - 4;
  const exponent = (code >>> mantissaBits) & 7;
  return ((code & (2 ** mantissaBits - 1)) | (2 ** mantissaBits)) * 2 ** (exponent + 3);
}

function addressBytes(version: 4 | 6): number {
  return version === 4 ? 4 : 16;
}

function isRecordType(type: number): type is GroupRecordType {
  return type >= GroupRecordType.ModeIsInclude && type <= GroupRecordType.BlockOldSources;
}
