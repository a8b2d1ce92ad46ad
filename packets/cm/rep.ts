/**
 * REP: the passive side's answer to REQ (attribute 0x13).
 *
 * Offsets from the end of the MAD header:
 *
 *    0 local communication id     4 remote communication id     8 local Q_Key
 *   12 local QPN (24)            15 vendor id, high byte
 *   16 local EECN (24)           19 vendor id, middle byte
 *   20 starting PSN (24)         23 vendor id, low byte
 *   24 responder resources       25 initiator depth
 *   26 target ACK delay (5), failover accepted (2), flow control (1)
 *   27 RNR retry count (3), SRQ (1), reserved (4)
 *   28 local CA GUID             36 private data (196)
 *
 * Owns: these 232 bytes. The caller has made sure that the whole MAD is there.
 * Source: rdma:ibta_vol1_c12.h; golden bytes in test/vectors/cm-mads.ts.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, readU24, writeArea, writeU24 } from './fields.ts';
import type { CmTransportService } from './req.ts';

/** Room for private data in REP, in bytes. */
export const CM_REP_PRIVATE_DATA_BYTES = 196;

/** REP, field by field. */
export interface CmRep {
  /** The sender's id of the connection, 32 bits: all later messages carry it. */
  readonly localCommId: number;
  /** The receiver's id, that of the REQ, 32 bits. */
  readonly remoteCommId: number;
  /** Q_Key of the sender's queue pair, 32 bits; unused by connected services. */
  readonly localQkey: number;
  /** The sender's queue pair, 24 bits. */
  readonly localQpn: number;
  /** End-to-end context number; an XRC target gives its QPN here. */
  readonly localEecn: number;
  /** PSN with which the receiver of this REP begins to send, 24 bits. */
  readonly startingPsn: number;
  /** 24 bits, scattered over three spare bytes. */
  readonly vendorId: number;
  /** READs and atomics that the sender answers at a time, 8 bits. */
  readonly responderResources: number;
  /** READs and atomics that the sender may have outstanding, 8 bits. */
  readonly initiatorDepth: number;
  /** 5-bit code: the longest time until this side sends an ACK. */
  readonly targetAckDelay: number;
  /** 0 accepted, 1 not supported, 2 rejected. */
  readonly failoverAccepted: number;
  /** Whether the sender gives credits in its ACKs. */
  readonly endToEndFlowControl: 0 | 1;
  /** How often the receiver is to retry when the sender of this REP is not ready, 0..7; 7 infinitely. */
  readonly rnrRetryCount: number;
  /** Whether the sender's queue pair takes from a shared receive queue: it gives no credits then. */
  readonly srq: 0 | 1;
  /** EUI-64 of the sender's adapter. */
  readonly localCaGuid: bigint;
  /** All 196 bytes when read; up to 196 when written. */
  readonly privateData: Uint8Array;
}

/**
 * The queue pair that answers: an XRC target's number stands in the end-to-end context (rdma:cm_msgs.h#cm_rep_get_qpn).
 */
export function cmRepQpn(rep: CmRep, service: CmTransportService): number {
  return service === 'xrc' ? rep.localEecn : rep.localQpn;
}

/** Reads the REP in the MAD that starts at `offset`. */
export function readCmRep(view: DataView, offset: number): CmRep {
  const at = offset + MAD_HEADER_BYTES;
  const delay = view.getUint8(at + ACK_DELAY_AT);
  const rnr = view.getUint8(at + RNR_AT);
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    localQkey: view.getUint32(at + LOCAL_QKEY_AT),
    localQpn: readU24(view, at + LOCAL_QPN_AT),
    localEecn: readU24(view, at + LOCAL_EECN_AT),
    startingPsn: readU24(view, at + STARTING_PSN_AT),
    vendorId:
      (view.getUint8(at + VENDOR_HIGH_AT) << 16) |
      (view.getUint8(at + VENDOR_MIDDLE_AT) << 8) |
      view.getUint8(at + VENDOR_LOW_AT),
    responderResources: view.getUint8(at + RESPONDER_RESOURCES_AT),
    initiatorDepth: view.getUint8(at + INITIATOR_DEPTH_AT),
    targetAckDelay: delay >> 3,
    failoverAccepted: (delay >> 1) & 0x03,
    endToEndFlowControl: (delay & 0x01) !== 0 ? 1 : 0,
    rnrRetryCount: rnr >> 5,
    srq: (rnr & 0x10) !== 0 ? 1 : 0,
    localCaGuid: view.getBigUint64(at + LOCAL_CA_GUID_AT),
    privateData: readArea(view, at + PRIVATE_DATA_AT, CM_REP_PRIVATE_DATA_BYTES),
  };
}

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when the private data is too long.
 */
export function writeCmRep(view: DataView, offset: number, rep: CmRep): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, rep.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, rep.remoteCommId);
  view.setUint32(at + LOCAL_QKEY_AT, rep.localQkey);
  writeU24(view, at + LOCAL_QPN_AT, rep.localQpn);
  view.setUint8(at + VENDOR_HIGH_AT, (rep.vendorId >>> 16) & 0xff);
  writeU24(view, at + LOCAL_EECN_AT, rep.localEecn);
  view.setUint8(at + VENDOR_MIDDLE_AT, (rep.vendorId >>> 8) & 0xff);
  writeU24(view, at + STARTING_PSN_AT, rep.startingPsn);
  view.setUint8(at + VENDOR_LOW_AT, rep.vendorId & 0xff);
  view.setUint8(at + RESPONDER_RESOURCES_AT, rep.responderResources);
  view.setUint8(at + INITIATOR_DEPTH_AT, rep.initiatorDepth);
  view.setUint8(
    at + ACK_DELAY_AT,
    ((rep.targetAckDelay & 0x1f) << 3) | ((rep.failoverAccepted & 0x03) << 1) | rep.endToEndFlowControl,
  );
  view.setUint8(at + RNR_AT, ((rep.rnrRetryCount & 0x07) << 5) | (rep.srq << 4));
  view.setBigUint64(at + LOCAL_CA_GUID_AT, rep.localCaGuid);
  writeArea(view, at + PRIVATE_DATA_AT, CM_REP_PRIVATE_DATA_BYTES, rep.privateData, 'private data of REP');
}

const LOCAL_COMM_ID_AT = 0;
const REMOTE_COMM_ID_AT = 4;
const LOCAL_QKEY_AT = 8;
const LOCAL_QPN_AT = 12;
const VENDOR_HIGH_AT = 15;
const LOCAL_EECN_AT = 16;
const VENDOR_MIDDLE_AT = 19;
const STARTING_PSN_AT = 20;
const VENDOR_LOW_AT = 23;
const RESPONDER_RESOURCES_AT = 24;
const INITIATOR_DEPTH_AT = 25;
const ACK_DELAY_AT = 26;
const RNR_AT = 27;
const LOCAL_CA_GUID_AT = 28;
const PRIVATE_DATA_AT = 36;
