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
 * The info length is 7 bits wide and may claim more than the 72 bytes there are; `cmRejInfo` gives what is really
 * there. The caller has made sure that the whole MAD is there. Sources: rdma:ibta_vol1_c12.h, rdma:ib_cm.h (reasons),
 * ref:conformance#F.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, writeArea } from './fields.ts';

/** Room for private data in REJ, in bytes. */
export const CM_REJ_PRIVATE_DATA_BYTES = 148;
/** Room for additional reject information, in bytes. */
export const CM_REJ_INFO_BYTES = 72;

/** Which message a REJ refuses or an MRA confirms. */
export const CmMessageRef = {
  /** The REQ. */
  Req: 0,
  /** The REP. */
  Rep: 1,
  /** For REJ no message, as when a wait has ended; for MRA the LAP. */
  Other: 2,
} as const;

/** Reasons of REJ. */
export const CmRejReason = {
  /** No queue pair is to be had. */
  NoQp: 1,
  /** No end-to-end context is to be had. */
  NoEec: 2,
  /** Resources are lacking. */
  NoResources: 3,
  /** Nothing came in time. */
  Timeout: 4,
  /** The request cannot be served. */
  Unsupported: 5,
  /** The communication id is unknown. */
  InvalidCommId: 6,
  /** The communication instance is unknown. */
  InvalidCommInstance: 7,
  /** No listener for the service id. */
  InvalidServiceId: 8,
  /** Another transport service is wanted. */
  InvalidTransportType: 9,
  /** The queue pair is that of a connection which this side still has. */
  StaleConnection: 10,
  /** The reliable datagram channel does not exist. */
  RdcNotExist: 11,
  /** The primary path's GID is not ours. */
  InvalidGid: 12,
  /** The primary path's LID is not ours. */
  InvalidLid: 13,
  /** The primary path's service level will not do. */
  InvalidSl: 14,
  /** The primary path's traffic class will not do. */
  InvalidTrafficClass: 15,
  /** The primary path's hop limit will not do. */
  InvalidHopLimit: 16,
  /** The primary path's packet rate will not do. */
  InvalidPacketRate: 17,
  /** The alternate path's GID is not ours. */
  InvalidAltGid: 18,
  /** The alternate path's LID is not ours. */
  InvalidAltLid: 19,
  /** The alternate path's service level will not do. */
  InvalidAltSl: 20,
  /** The alternate path's traffic class will not do. */
  InvalidAltTrafficClass: 21,
  /** The alternate path's hop limit will not do. */
  InvalidAltHopLimit: 22,
  /** The alternate path's packet rate will not do. */
  InvalidAltPacketRate: 23,
  /** Redirects to another connection manager. */
  PortCmRedirect: 24,
  /** Redirects to another port. */
  PortRedirect: 25,
  /** The path MTU will not do. */
  InvalidMtu: 26,
  /** So many READs and atomics cannot be answered at a time. */
  InsufficientRespResources: 27,
  /** The application said no; its private data may say why. What rdma_reject sends. */
  ConsumerDefined: 28,
  /** The RNR retry count will not do. */
  InvalidRnrRetry: 29,
  /** The communication id is in use. */
  DuplicateLocalCommId: 30,
  /** The class version is not 2. */
  InvalidClassVersion: 31,
  /** The primary path's flow label will not do. */
  InvalidFlowLabel: 32,
  /** The alternate path's flow label will not do. */
  InvalidAltFlowLabel: 33,
  /** An option of a vendor is not known here. */
  VendorOptionNotSupported: 35,
} as const;

/** Name of a reason, or its number when it has none. */
export function cmRejReasonName(reason: number): string {
  for (const [name, value] of Object.entries(CmRejReason)) if (value === reason) return name;
  return `reason ${reason}`;
}

/** REJ, field by field. */
export interface CmRej {
  /** The refusing side's id of the connection, 32 bits; 0 when it has none. */
  readonly localCommId: number;
  /** The refused side's id, 32 bits. */
  readonly remoteCommId: number;
  /** A `CmMessageRef`. */
  readonly messageRejected: number;
  /** 7 bits, as sent; not to be trusted as a length. */
  readonly infoLength: number;
  /** 16 bits, a `CmRejReason`. */
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

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when an area is too small for its
 * data.
 */
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
