/**
 * REJ: the refusal of a REQ or REP, and the end of an attempt that timed out (attribute 0x12).
 *
 * Offsets from the end of the MAD header:
 *
 *    0 local communication id     4 remote communication id
 *    8 message rejected (2), reserved (6)                9 rejected info length (7), reserved (1)
 *   10 reason                    12 additional reject information (72)      84 private data (148)
 *
 * Owns: these 232 bytes. Never: what a reason's additional information means.
 * The info length is 7 bits wide and may claim more than the 72 bytes there are; `cmRejInfo` gives what is really there.
 * The caller has made sure that the whole MAD is there. Sources: rdma:ibta_vol1_c12.h, rdma:ib_cm.h (reasons), ref:conformance#F.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, writeArea } from './fields.ts';

/** Room for private data in REJ, in bytes. */
export const CM_REJ_PRIVATE_DATA_BYTES = 148;
/** Room for additional reject information, in bytes. */
export const CM_REJ_INFO_BYTES = 72;

/** Which message a REJ refuses or an MRA confirms. */
export const CmMessageRef = { Req: 0, Rep: 1, Other: 2 } as const;

/** Reasons of REJ. */
export const CmRejReason = {
  NoQp: 1,
  NoEec: 2,
  NoResources: 3,
  Timeout: 4,
  Unsupported: 5,
  InvalidCommId: 6,
  InvalidCommInstance: 7,
  InvalidServiceId: 8,
  InvalidTransportType: 9,
  StaleConnection: 10,
  RdcNotExist: 11,
  InvalidGid: 12,
  InvalidLid: 13,
  InvalidSl: 14,
  InvalidTrafficClass: 15,
  InvalidHopLimit: 16,
  InvalidPacketRate: 17,
  InvalidAltGid: 18,
  InvalidAltLid: 19,
  InvalidAltSl: 20,
  InvalidAltTrafficClass: 21,
  InvalidAltHopLimit: 22,
  InvalidAltPacketRate: 23,
  PortCmRedirect: 24,
  PortRedirect: 25,
  InvalidMtu: 26,
  InsufficientRespResources: 27,
  ConsumerDefined: 28,
  InvalidRnrRetry: 29,
  DuplicateLocalCommId: 30,
  InvalidClassVersion: 31,
  InvalidFlowLabel: 32,
  InvalidAltFlowLabel: 33,
  VendorOptionNotSupported: 35,
} as const;

/** Name of a reason, or its number when it has none. */
export function cmRejReasonName(reason: number): string {
  for (const [name, value] of Object.entries(CmRejReason)) if (value === reason) return name;
  return `reason ${reason}`;
}

export interface CmRej {
  readonly localCommId: number;
  readonly remoteCommId: number;
  /** A `CmMessageRef`. */
  readonly messageRejected: number;
  /** 7 bits, as sent; not to be trusted as a length. */
  readonly infoLength: number;
  readonly reason: number;
  /** All 72 bytes when read; up to 72 when written. */
  readonly info: Uint8Array;
  /** All 148 bytes when read; up to 148 when written. */
  readonly privateData: Uint8Array;
}

/** The additional information that the length field covers and the area really holds. */
export function cmRejInfo(rej: CmRej): Uint8Array {
  return rej.info.subarray(0, Math.min(rej.infoLength, CM_REJ_INFO_BYTES));
}

/** Reads the REJ in the MAD that starts at `offset`. */
export function readCmRej(view: DataView, offset: number): CmRej {
  const at = offset + MAD_HEADER_BYTES;
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    messageRejected: view.getUint8(at + MESSAGE_AT) >> 6,
    infoLength: view.getUint8(at + INFO_LENGTH_AT) >> 1,
    reason: view.getUint16(at + REASON_AT),
    info: readArea(view, at + INFO_AT, CM_REJ_INFO_BYTES),
    privateData: readArea(view, at + PRIVATE_DATA_AT, CM_REJ_PRIVATE_DATA_BYTES),
  };
}

/** Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when an area is too small for its data. */
export function writeCmRej(view: DataView, offset: number, rej: CmRej): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, rej.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, rej.remoteCommId);
  view.setUint8(at + MESSAGE_AT, (rej.messageRejected & 0x03) << 6);
  view.setUint8(at + INFO_LENGTH_AT, (rej.infoLength & 0x7f) << 1);
  view.setUint16(at + REASON_AT, rej.reason);
  writeArea(view, at + INFO_AT, CM_REJ_INFO_BYTES, rej.info, 'additional information of REJ');
  writeArea(view, at + PRIVATE_DATA_AT, CM_REJ_PRIVATE_DATA_BYTES, rej.privateData, 'private data of REJ');
}

const LOCAL_COMM_ID_AT = 0;
const REMOTE_COMM_ID_AT = 4;
const MESSAGE_AT = 8;
const INFO_LENGTH_AT = 9;
const REASON_AT = 10;
const INFO_AT = 12;
const PRIVATE_DATA_AT = INFO_AT + CM_REJ_INFO_BYTES;
