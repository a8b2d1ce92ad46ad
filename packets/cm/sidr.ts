/**
 * SIDR_REQ and SIDR_REP: "which queue pair and Q_Key serve this service id?" for datagram services (attributes 0x17 and
 * 0x18).
 *
 * Offsets from the end of the MAD header:
 *
 *   SIDR_REQ   0 request id     4 partition key     6 reserved     8 service id     16 private data (216)
 *   SIDR_REP   0 request id     4 status            5 additional information length 6..7 vendor id, high
 *              8 QPN (24)      11 vendor id, low   12 service id   20 Q_Key
 *             24 additional information (72)       96 private data (136)
 *
 * Owns: these 232 bytes each. Never: the IP CM header inside SIDR_REQ's private data (ip-cm-header.ts).
 * The caller has made sure that the whole MAD is there. Source: rdma:ibta_vol1_c12.h; golden bytes in
 * test/vectors/cm-mads.ts.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, readU24, writeArea, writeU24 } from './fields.ts';

/** Room for private data in SIDR_REQ, in bytes; an RDMA CM application gets 180 of them. */
export const CM_SIDR_REQ_PRIVATE_DATA_BYTES = 216;
/** Room for private data in SIDR_REP, in bytes. */
export const CM_SIDR_REP_PRIVATE_DATA_BYTES = 136;
/** Room for additional information in SIDR_REP, in bytes. */
export const CM_SIDR_REP_INFO_BYTES = 72;

/** Status of SIDR_REP (rdma:ib_cm.h). */
export const CmSidrStatus = {
  /** The queue pair and its Q_Key are given. */
  Success: 0,
  /** The service is not offered. */
  Unsupported: 1,
  /** The service refuses. */
  Reject: 2,
  /** No queue pair is to be had. */
  NoQp: 3,
  /** The request belongs elsewhere; the additional information says where. */
  Redirect: 4,
  /** The class version is not 2. */
  UnsupportedVersion: 5,
} as const;

/** Name of a status, or its number when it has none. */
export function cmSidrStatusName(status: number): string {
  for (const [name, value] of Object.entries(CmSidrStatus)) if (value === status) return name;
  return `status ${status}`;
}

/** Q_Key of the datagram services of RDMA CM (rdma:rdma_cm.h, RDMA_UDP_QKEY). */
export const RDMA_UDP_QKEY = 0x0123_4567;

/** SIDR_REQ, field by field. */
export interface CmSidrReq {
  /** The asker's number of the question, 32 bits; the answer has it too. */
  readonly requestId: number;
  /** P_Key that the datagrams will carry, 16 bits. */
  readonly partitionKey: number;
  /** The service requested, 64 bits: see `rdmaServiceId`. */
  readonly serviceId: bigint;
  /** All 216 bytes when read; up to 216 when written. */
  readonly privateData: Uint8Array;
}

/** SIDR_REP, field by field. */
export interface CmSidrRep {
  /** That of the question, 32 bits. */
  readonly requestId: number;
  /** A `CmSidrStatus`. */
  readonly status: number;
  /** As sent; not to be trusted as a length. */
  readonly infoLength: number;
  /** 24 bits, split over two spare areas. */
  readonly vendorId: number;
  /** Queue pair of the service, 24 bits. */
  readonly qpn: number;
  /** That of the question, 64 bits. */
  readonly serviceId: bigint;
  /** Q_Key of the service, 32 bits. */
  readonly qkey: number;
  /** All 72 bytes when read; up to 72 when written. */
  readonly info: Uint8Array;
  /** All 136 bytes when read; up to 136 when written. */
  readonly privateData: Uint8Array;
}

/** Reads the SIDR_REQ in the MAD that starts at `offset`. */
export function readCmSidrReq(view: DataView, offset: number): CmSidrReq {
  const at = offset + MAD_HEADER_BYTES;
  return {
    requestId: view.getUint32(at + REQUEST_ID_AT),
    partitionKey: view.getUint16(at + REQ_PARTITION_KEY_AT),
    serviceId: view.getBigUint64(at + REQ_SERVICE_ID_AT),
    privateData: readArea(view, at + REQ_PRIVATE_DATA_AT, CM_SIDR_REQ_PRIVATE_DATA_BYTES),
  };
}

/** Writes the 232 bytes behind the MAD header. Throws when the private data is too long. */
export function writeCmSidrReq(view: DataView, offset: number, req: CmSidrReq): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + REQUEST_ID_AT, req.requestId);
  view.setUint16(at + REQ_PARTITION_KEY_AT, req.partitionKey);
  view.setUint16(at + REQ_RESERVED_AT, 0);
  view.setBigUint64(at + REQ_SERVICE_ID_AT, req.serviceId);
  writeArea(
    view,
    at + REQ_PRIVATE_DATA_AT,
    CM_SIDR_REQ_PRIVATE_DATA_BYTES,
    req.privateData,
    'private data of SIDR_REQ',
  );
}

/** Reads the SIDR_REP in the MAD that starts at `offset`. */
export function readCmSidrRep(view: DataView, offset: number): CmSidrRep {
  const at = offset + MAD_HEADER_BYTES;
  return {
    requestId: view.getUint32(at + REQUEST_ID_AT),
    status: view.getUint8(at + REP_STATUS_AT),
    infoLength: view.getUint8(at + REP_INFO_LENGTH_AT),
    vendorId: (view.getUint16(at + REP_VENDOR_HIGH_AT) << 8) | view.getUint8(at + REP_VENDOR_LOW_AT),
    qpn: readU24(view, at + REP_QPN_AT),
    serviceId: view.getBigUint64(at + REP_SERVICE_ID_AT),
    qkey: view.getUint32(at + REP_QKEY_AT),
    info: readArea(view, at + REP_INFO_AT, CM_SIDR_REP_INFO_BYTES),
    privateData: readArea(view, at + REP_PRIVATE_DATA_AT, CM_SIDR_REP_PRIVATE_DATA_BYTES),
  };
}

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when an area is too small for its
 * data.
 */
export function writeCmSidrRep(view: DataView, offset: number, rep: CmSidrRep): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + REQUEST_ID_AT, rep.requestId);
  view.setUint8(at + REP_STATUS_AT, rep.status);
  view.setUint8(at + REP_INFO_LENGTH_AT, rep.infoLength);
  view.setUint16(at + REP_VENDOR_HIGH_AT, (rep.vendorId >>> 8) & 0xff_ff);
  writeU24(view, at + REP_QPN_AT, rep.qpn);
  view.setUint8(at + REP_VENDOR_LOW_AT, rep.vendorId & 0xff);
  view.setBigUint64(at + REP_SERVICE_ID_AT, rep.serviceId);
  view.setUint32(at + REP_QKEY_AT, rep.qkey);
  writeArea(view, at + REP_INFO_AT, CM_SIDR_REP_INFO_BYTES, rep.info, 'additional information of SIDR_REP');
  writeArea(
    view,
    at + REP_PRIVATE_DATA_AT,
    CM_SIDR_REP_PRIVATE_DATA_BYTES,
    rep.privateData,
    'private data of SIDR_REP',
  );
}

const REQUEST_ID_AT = 0;
const REQ_PARTITION_KEY_AT = 4;
const REQ_RESERVED_AT = 6;
const REQ_SERVICE_ID_AT = 8;
const REQ_PRIVATE_DATA_AT = 16;
const REP_STATUS_AT = 4;
const REP_INFO_LENGTH_AT = 5;
const REP_VENDOR_HIGH_AT = 6;
const REP_QPN_AT = 8;
const REP_VENDOR_LOW_AT = 11;
const REP_SERVICE_ID_AT = 12;
const REP_QKEY_AT = 20;
const REP_INFO_AT = 24;
const REP_PRIVATE_DATA_AT = REP_INFO_AT + CM_SIDR_REP_INFO_BYTES;
