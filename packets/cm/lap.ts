/**
 * LAP and APR: load an alternate path, and the answer (attributes 0x19 and 0x1a).
 *
 * Offsets from the end of the MAD header:
 *
 *   LAP    0 local communication id     4 remote communication id     8 reserved
 *         12 remote QPN or EECN (24)   15 remote CM response timeout (5), reserved (3)
 *         16 reserved                  20 alternate local port LID   22 alternate remote port LID
 *         24 alternate local port GID  40 alternate remote port GID
 *         56 flow label (20), reserved (4)      59 traffic class     60 hop limit
 *         61 reserved (2), packet rate (6)      62 SL (4), subnet local (1), reserved (3)
 *         63 local ACK timeout (5), reserved (3)                     64 private data (168)
 *   APR    0 local communication id     4 remote communication id
 *          8 additional information length      9 status             10 reserved
 *         12 additional information (72)       84 private data (148)
 *
 * Owns: these 232 bytes each. Source: rdma:ibta_vol1_c12.h; no capture of either exists (ib_core drops both on RoCE:
 * rdma:cm.c#cm_lap_handler). The caller has made sure that the whole MAD is there.
 */
import { IpAddress } from '../address.ts';
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, readU24, writeArea, writeU24 } from './fields.ts';
import type { CmPath } from './path.ts';

/** Room for private data in LAP, in bytes. */
export const CM_LAP_PRIVATE_DATA_BYTES = 168;
/** Room for private data in APR, in bytes. */
export const CM_APR_PRIVATE_DATA_BYTES = 148;
/** Room for additional information in APR, in bytes. */
export const CM_APR_INFO_BYTES = 72;

/** Status of APR (rdma:ib_cm.h). */
export const CmAprStatus = {
  /** The path is loaded. */
  Success: 0,
  /** The connection is unknown. */
  InvalidCommId: 1,
  /** This side has no alternate paths. */
  Unsupported: 2,
  /** The path is refused. */
  Reject: 3,
  /** The request belongs elsewhere; the additional information says where. */
  Redirect: 4,
  /** The path is the primary one already. */
  IsCurrent: 5,
  /** The queue pair is not that of the connection. */
  InvalidQpnEecn: 6,
  /** The LID is not ours. */
  InvalidLid: 7,
  /** The GID is not ours. */
  InvalidGid: 8,
  /** The flow label will not do. */
  InvalidFlowLabel: 9,
  /** The traffic class will not do. */
  InvalidTclass: 10,
  /** The hop limit will not do. */
  InvalidHopLimit: 11,
  /** The packet rate will not do. */
  InvalidPacketRate: 12,
  /** The service level will not do. */
  InvalidSl: 13,
} as const;

/** Name of a status, or its number when it has none. */
export function cmAprStatusName(status: number): string {
  for (const [name, value] of Object.entries(CmAprStatus)) if (value === status) return name;
  return `status ${status}`;
}

/** LAP, field by field. */
export interface CmLap {
  /** The sender's id of the connection, 32 bits. */
  readonly localCommId: number;
  /** The receiver's id, 32 bits. */
  readonly remoteCommId: number;
  /** The receiver's own queue pair, 24 bits. */
  readonly remoteQpn: number;
  /** 5-bit code: how long the sender waits for the APR, 4.096 us * 2^code. */
  readonly remoteCmResponseTimeout: number;
  /** The path to load, as the sender sees it. */
  readonly alternatePath: CmPath;
  /** All 168 bytes when read; up to 168 when written. */
  readonly privateData: Uint8Array;
}

/** APR, field by field. */
export interface CmApr {
  /** The sender's id of the connection, 32 bits. */
  readonly localCommId: number;
  /** The receiver's id, 32 bits. */
  readonly remoteCommId: number;
  /** As sent; not to be trusted as a length. */
  readonly infoLength: number;
  /** A `CmAprStatus`. */
  readonly status: number;
  /** All 72 bytes when read; up to 72 when written. */
  readonly info: Uint8Array;
  /** All 148 bytes when read; up to 148 when written. */
  readonly privateData: Uint8Array;
}

/** Reads the LAP in the MAD that starts at `offset`. */
export function readCmLap(view: DataView, offset: number): CmLap {
  const at = offset + MAD_HEADER_BYTES;
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    remoteQpn: readU24(view, at + LAP_REMOTE_QPN_AT),
    remoteCmResponseTimeout: view.getUint8(at + LAP_TIMEOUT_AT) >> 3,
    alternatePath: {
      localLid: view.getUint16(at + LAP_LOCAL_LID_AT),
      remoteLid: view.getUint16(at + LAP_REMOTE_LID_AT),
      localGid: IpAddress.fromGid(view, at + LAP_LOCAL_GID_AT),
      remoteGid: IpAddress.fromGid(view, at + LAP_REMOTE_GID_AT),
      flowLabel: readU24(view, at + LAP_FLOW_LABEL_AT) >> 4,
      packetRate: view.getUint8(at + LAP_PACKET_RATE_AT) & 0x3f,
      trafficClass: view.getUint8(at + LAP_TRAFFIC_CLASS_AT),
      hopLimit: view.getUint8(at + LAP_HOP_LIMIT_AT),
      serviceLevel: view.getUint8(at + LAP_SERVICE_LEVEL_AT) >> 4,
      subnetLocal: (view.getUint8(at + LAP_SERVICE_LEVEL_AT) & 0x08) !== 0 ? 1 : 0,
      localAckTimeout: view.getUint8(at + LAP_ACK_TIMEOUT_AT) >> 3,
    },
    privateData: readArea(view, at + LAP_PRIVATE_DATA_AT, CM_LAP_PRIVATE_DATA_BYTES),
  };
}

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when the private data is too long.
 */
export function writeCmLap(view: DataView, offset: number, lap: CmLap): void {
  const at = offset + MAD_HEADER_BYTES;
  const path = lap.alternatePath;
  view.setUint32(at + LOCAL_COMM_ID_AT, lap.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, lap.remoteCommId);
  view.setUint32(at + LAP_RESERVED_8_AT, 0);
  writeU24(view, at + LAP_REMOTE_QPN_AT, lap.remoteQpn);
  view.setUint8(at + LAP_TIMEOUT_AT, (lap.remoteCmResponseTimeout & 0x1f) << 3);
  view.setUint32(at + LAP_RESERVED_16_AT, 0);
  view.setUint16(at + LAP_LOCAL_LID_AT, path.localLid);
  view.setUint16(at + LAP_REMOTE_LID_AT, path.remoteLid);
  path.localGid.writeGid(view, at + LAP_LOCAL_GID_AT);
  path.remoteGid.writeGid(view, at + LAP_REMOTE_GID_AT);
  writeU24(view, at + LAP_FLOW_LABEL_AT, path.flowLabel << 4);
  view.setUint8(at + LAP_TRAFFIC_CLASS_AT, path.trafficClass);
  view.setUint8(at + LAP_HOP_LIMIT_AT, path.hopLimit);
  view.setUint8(at + LAP_PACKET_RATE_AT, path.packetRate & 0x3f);
  view.setUint8(at + LAP_SERVICE_LEVEL_AT, ((path.serviceLevel & 0x0f) << 4) | (path.subnetLocal << 3));
  view.setUint8(at + LAP_ACK_TIMEOUT_AT, (path.localAckTimeout & 0x1f) << 3);
  writeArea(view, at + LAP_PRIVATE_DATA_AT, CM_LAP_PRIVATE_DATA_BYTES, lap.privateData, 'private data of LAP');
}

/** Reads the APR in the MAD that starts at `offset`. */
export function readCmApr(view: DataView, offset: number): CmApr {
  const at = offset + MAD_HEADER_BYTES;
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    infoLength: view.getUint8(at + APR_INFO_LENGTH_AT),
    status: view.getUint8(at + APR_STATUS_AT),
    info: readArea(view, at + APR_INFO_AT, CM_APR_INFO_BYTES),
    privateData: readArea(view, at + APR_PRIVATE_DATA_AT, CM_APR_PRIVATE_DATA_BYTES),
  };
}

/** Writes the 232 bytes behind the MAD header. Throws when an area is too small for its data. */
export function writeCmApr(view: DataView, offset: number, apr: CmApr): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, apr.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, apr.remoteCommId);
  view.setUint8(at + APR_INFO_LENGTH_AT, apr.infoLength);
  view.setUint8(at + APR_STATUS_AT, apr.status);
  view.setUint16(at + APR_RESERVED_AT, 0);
  writeArea(view, at + APR_INFO_AT, CM_APR_INFO_BYTES, apr.info, 'additional information of APR');
  writeArea(view, at + APR_PRIVATE_DATA_AT, CM_APR_PRIVATE_DATA_BYTES, apr.privateData, 'private data of APR');
}

const LOCAL_COMM_ID_AT = 0;
const REMOTE_COMM_ID_AT = 4;
const LAP_RESERVED_8_AT = 8;
const LAP_REMOTE_QPN_AT = 12;
const LAP_TIMEOUT_AT = 15;
const LAP_RESERVED_16_AT = 16;
const LAP_LOCAL_LID_AT = 20;
const LAP_REMOTE_LID_AT = 22;
const LAP_LOCAL_GID_AT = 24;
const LAP_REMOTE_GID_AT = 40;
const LAP_FLOW_LABEL_AT = 56;
const LAP_TRAFFIC_CLASS_AT = 59;
const LAP_HOP_LIMIT_AT = 60;
const LAP_PACKET_RATE_AT = 61;
const LAP_SERVICE_LEVEL_AT = 62;
const LAP_ACK_TIMEOUT_AT = 63;
const LAP_PRIVATE_DATA_AT = 64;
const APR_INFO_LENGTH_AT = 8;
const APR_STATUS_AT = 9;
const APR_RESERVED_AT = 10;
const APR_INFO_AT = 12;
const APR_PRIVATE_DATA_AT = APR_INFO_AT + CM_APR_INFO_BYTES;
