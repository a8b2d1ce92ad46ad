/**
 * A path as REQ and LAP describe it: addresses, labels, rate and the ACK timeout of the connection on it.
 *
 * In REQ a path takes 44 bytes:
 *
 *    0..1  local port LID       2..3  remote port LID
 *    4..19 local port GID      20..35 remote port GID
 *   36..38 flow label (20 bits) and 4 reserved bits     39 reserved (2), packet rate (6)
 *   40     traffic class       41     hop limit
 *   42     SL (4), subnet local (1), reserved (3)       43 local ACK timeout (5), reserved (3)
 *
 * LAP holds the same fields in another order behind the GIDs (lap.ts). "Local" and "remote" are the sender's view.
 * Source: rdma:ibta_vol1_c12.h (field offsets), confirmed by test/vectors/cm-mads.ts. Wireshark 4.0 reads the flow
 * label and the packet rate of REQ from wrong bytes (it shows the label's upper 12 bits, and bits of the label as the
 * rate).
 */
import { IpAddress } from '../address.ts';

/** Size of a path in REQ, in bytes. */
export const CM_PATH_BYTES = 44;
/** The LID that says "not known": what both LIDs of a routed path hold, so always on RoCEv2. */
export const LID_PERMISSIVE = 0xff_ff;

/** One path of a connection, as its sender sees it. */
export interface CmPath {
  /** The sender's LID, 16 bits; `LID_PERMISSIVE` on RoCEv2. */
  readonly localLid: number;
  /** The receiver's LID, 16 bits; `LID_PERMISSIVE` on RoCEv2. */
  readonly remoteLid: number;
  /** The sender's address. */
  readonly localGid: IpAddress;
  /** The receiver's address. */
  readonly remoteGid: IpAddress;
  /** 20 bits. */
  readonly flowLabel: number;
  /** 6-bit rate code; 0 is "the port's own". */
  readonly packetRate: number;
  /** 8 bits: DSCP and ECN. */
  readonly trafficClass: number;
  /** 8 bits. */
  readonly hopLimit: number;
  /** 4 bits. */
  readonly serviceLevel: number;
  /** 0 when the path crosses routers, as RoCEv2 says it does. */
  readonly subnetLocal: 0 | 1;
  /** 5-bit code, 4.096 us * 2^code. */
  readonly localAckTimeout: number;
}

/** No path: what REQ carries as alternate path when there is none. */
export const NO_PATH: CmPath = {
  localLid: 0,
  remoteLid: 0,
  localGid: IpAddress.parse('::'),
  remoteGid: IpAddress.parse('::'),
  flowLabel: 0,
  packetRate: 0,
  trafficClass: 0,
  hopLimit: 0,
  serviceLevel: 0,
  subnetLocal: 0,
  localAckTimeout: 0,
};

/** Reads the path of a REQ that starts at `at`. */
export function readCmPath(view: DataView, at: number): CmPath {
  return {
    localLid: view.getUint16(at + LOCAL_LID_AT),
    remoteLid: view.getUint16(at + REMOTE_LID_AT),
    localGid: IpAddress.fromGid(view, at + LOCAL_GID_AT),
    remoteGid: IpAddress.fromGid(view, at + REMOTE_GID_AT),
    flowLabel: view.getUint32(at + FLOW_LABEL_AT) >>> 12,
    packetRate: view.getUint8(at + PACKET_RATE_AT) & 0x3f,
    trafficClass: view.getUint8(at + TRAFFIC_CLASS_AT),
    hopLimit: view.getUint8(at + HOP_LIMIT_AT),
    serviceLevel: view.getUint8(at + SERVICE_LEVEL_AT) >> 4,
    subnetLocal: (view.getUint8(at + SERVICE_LEVEL_AT) & 0x08) !== 0 ? 1 : 0,
    localAckTimeout: view.getUint8(at + ACK_TIMEOUT_AT) >> 3,
  };
}

/** Writes the 44 bytes of a REQ's path; values are cut to their width. */
export function writeCmPath(view: DataView, at: number, path: CmPath): void {
  view.setUint16(at + LOCAL_LID_AT, path.localLid);
  view.setUint16(at + REMOTE_LID_AT, path.remoteLid);
  path.localGid.writeGid(view, at + LOCAL_GID_AT);
  path.remoteGid.writeGid(view, at + REMOTE_GID_AT);
  view.setUint32(at + FLOW_LABEL_AT, ((path.flowLabel << 12) | (path.packetRate & 0x3f)) >>> 0);
  view.setUint8(at + TRAFFIC_CLASS_AT, path.trafficClass);
  view.setUint8(at + HOP_LIMIT_AT, path.hopLimit);
  view.setUint8(at + SERVICE_LEVEL_AT, ((path.serviceLevel & 0x0f) << 4) | (path.subnetLocal << 3));
  view.setUint8(at + ACK_TIMEOUT_AT, (path.localAckTimeout & 0x1f) << 3);
}

const LOCAL_LID_AT = 0;
const REMOTE_LID_AT = 2;
const LOCAL_GID_AT = 4;
const REMOTE_GID_AT = 20;
const FLOW_LABEL_AT = 36;
const PACKET_RATE_AT = 39;
const TRAFFIC_CLASS_AT = 40;
const HOP_LIMIT_AT = 41;
const SERVICE_LEVEL_AT = 42;
const ACK_TIMEOUT_AT = 43;
