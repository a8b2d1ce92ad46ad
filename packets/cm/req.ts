/**
 * REQ: the request for a connection (attribute 0x10).
 *
 * Offsets from the end of the MAD header:
 *
 *    0 local communication id            4 reserved             5..7 vendor id (enhanced connection establishment)
 *    8 service id                       16 local CA GUID       24 reserved            28 local Q_Key
 *   32 local QPN (24)                   35 responder resources
 *   36 local EECN (24)                  39 initiator depth
 *   40 remote EECN (24)                 43 remote CM response timeout (5), transport service type (2), flow control (1)
 *   44 starting PSN (24)                47 local CM response timeout (5), retry count (3)
 *   48 partition key                    50 path packet payload MTU (4), RDC exists (1), RNR retry count (3)
 *                                       51 max CM retries (4), SRQ (1), extended transport type (3)
 *   52 primary path (44)                96 alternate path (44); SAP supported is a spare bit of its last byte
 *  140 private data (92)
 *
 * Owns: these 232 bytes. Never: the IP CM header inside the private data (ip-cm-header.ts).
 * The caller has made sure that the whole MAD is there. Source: rdma:ibta_vol1_c12.h; golden bytes in
 * test/vectors/cm-mads.ts.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, readU24, writeArea, writeU24 } from './fields.ts';
import { CM_PATH_BYTES, type CmPath, NO_PATH, readCmPath, writeCmPath } from './path.ts';

/** Room for private data in REQ, in bytes; an RDMA CM application gets 56 of them. */
export const CM_REQ_PRIVATE_DATA_BYTES = 92;

/** Values of the transport service type. */
export const CmTransport = {
  /** Reliable connection. */
  Rc: 0,
  /** Unreliable connection. */
  Uc: 1,
  /** Reliable datagram. */
  Rd: 2,
  /** What the extended transport type says. */
  Extended: 3,
} as const;
/** Values of the extended transport type, when the service type is `CmTransport.Extended`. */
export const CmExtendedTransport = {
  /** Extended reliable connection. */
  Xrc: 1,
} as const;

/** What a connection carries, as REQ can say it. Reliable datagrams (`CmTransport.Rd`) are not supported. */
export type CmTransportService = 'rc' | 'uc' | 'xrc';

/** REQ, field by field. */
export interface CmReq {
  /** The sender's id of the connection, 32 bits: all later messages carry it. */
  readonly localCommId: number;
  /** 24 bits. */
  readonly vendorId: number;
  /** The service requested, 64 bits: see `rdmaServiceId`. */
  readonly serviceId: bigint;
  /** EUI-64 of the sender's adapter. */
  readonly localCaGuid: bigint;
  /** Q_Key of the sender's queue pair, 32 bits; unused by connected services. */
  readonly localQkey: number;
  /** The sender's queue pair, 24 bits. */
  readonly localQpn: number;
  /** READs and atomics that the sender answers at a time, 8 bits. */
  readonly responderResources: number;
  /** The sender's end-to-end context, 24 bits; 0 but for reliable datagrams. */
  readonly localEecn: number;
  /** READs and atomics that the sender wants to have outstanding, 8 bits. */
  readonly initiatorDepth: number;
  /** The receiver's end-to-end context, 24 bits; 0 but for reliable datagrams. */
  readonly remoteEecn: number;
  /** 5-bit code: how long the sender waits for a REP, 4.096 us * 2^code. */
  readonly remoteCmResponseTimeout: number;
  /** A `CmTransport`. */
  readonly transportServiceType: number;
  /** Whether the sender gives credits in its ACKs. */
  readonly endToEndFlowControl: 0 | 1;
  /** PSN with which the receiver of this REQ begins to send, 24 bits. */
  readonly startingPsn: number;
  /** 5-bit code: how long the receiver should wait for an answer to its own messages. */
  readonly localCmResponseTimeout: number;
  /** Transport retries of both sides, 0..7. */
  readonly retryCount: number;
  /** P_Key of the connection, 16 bits. */
  readonly partitionKey: number;
  /** MTU code: 1 is 256, 5 is 4096. */
  readonly pathMtu: number;
  /** A reliable datagram channel is there already. */
  readonly rdcExists: 0 | 1;
  /** How often the receiver is to retry when the sender of this REQ is not ready, 0..7; 7 infinitely. */
  readonly rnrRetryCount: number;
  /** How often the sender repeats a message of its own, 0..15. */
  readonly maxCmRetries: number;
  /** Whether the sender's queue pair takes from a shared receive queue: it gives no credits then. */
  readonly srq: 0 | 1;
  /** A `CmExtendedTransport`; 0 unless the service type is `CmTransport.Extended`. */
  readonly extendedTransportType: number;
  /** The path to use. */
  readonly primaryPath: CmPath;
  /** The path to migrate to; `NO_PATH` where there is none. */
  readonly alternatePath: CmPath;
  /** Suggested alternate paths are understood in REJ. */
  readonly sapSupported: 0 | 1;
  /** All 92 bytes when read; up to 92 when written. */
  readonly privateData: Uint8Array;
}

/** The service a REQ requests; undefined for one that has no name here (rdma:cm_msgs.h#cm_req_get_qp_type). */
export function cmReqService(
  req: Pick<CmReq, 'transportServiceType' | 'extendedTransportType'>,
): CmTransportService | undefined {
  if (req.transportServiceType === CmTransport.Rc) return 'rc';
  if (req.transportServiceType === CmTransport.Uc) return 'uc';
  const xrc =
    req.transportServiceType === CmTransport.Extended && req.extendedTransportType === CmExtendedTransport.Xrc;
  return xrc ? 'xrc' : undefined;
}

/** The two fields of a REQ that name the service it requests. */
export function cmTransportFields(
  service: CmTransportService,
): Pick<CmReq, 'transportServiceType' | 'extendedTransportType'> {
  if (service === 'xrc') {
    return { transportServiceType: CmTransport.Extended, extendedTransportType: CmExtendedTransport.Xrc };
  }
  return { transportServiceType: service === 'uc' ? CmTransport.Uc : CmTransport.Rc, extendedTransportType: 0 };
}

/** Whether the REQ names an alternate path. */
export function hasAlternatePath(req: CmReq): boolean {
  const { alternatePath } = req;
  return alternatePath.localLid !== 0 || !alternatePath.localGid.equals(NO_PATH.localGid);
}

/** Reads the REQ in the MAD that starts at `offset`. */
export function readCmReq(view: DataView, offset: number): CmReq {
  const at = offset + MAD_HEADER_BYTES;
  const timeouts = view.getUint8(at + REMOTE_TIMEOUT_AT);
  const retries = view.getUint8(at + LOCAL_TIMEOUT_AT);
  const mtu = view.getUint8(at + MTU_AT);
  const cmRetries = view.getUint8(at + MAX_CM_RETRIES_AT);
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    vendorId: readU24(view, at + VENDOR_ID_AT),
    serviceId: view.getBigUint64(at + SERVICE_ID_AT),
    localCaGuid: view.getBigUint64(at + LOCAL_CA_GUID_AT),
    localQkey: view.getUint32(at + LOCAL_QKEY_AT),
    localQpn: readU24(view, at + LOCAL_QPN_AT),
    responderResources: view.getUint8(at + RESPONDER_RESOURCES_AT),
    localEecn: readU24(view, at + LOCAL_EECN_AT),
    initiatorDepth: view.getUint8(at + INITIATOR_DEPTH_AT),
    remoteEecn: readU24(view, at + REMOTE_EECN_AT),
    remoteCmResponseTimeout: timeouts >> 3,
    transportServiceType: (timeouts >> 1) & 0x03,
    endToEndFlowControl: (timeouts & 0x01) !== 0 ? 1 : 0,
    startingPsn: readU24(view, at + STARTING_PSN_AT),
    localCmResponseTimeout: retries >> 3,
    retryCount: retries & 0x07,
    partitionKey: view.getUint16(at + PARTITION_KEY_AT),
    pathMtu: mtu >> 4,
    rdcExists: (mtu & 0x08) !== 0 ? 1 : 0,
    rnrRetryCount: mtu & 0x07,
    maxCmRetries: cmRetries >> 4,
    srq: (cmRetries & 0x08) !== 0 ? 1 : 0,
    extendedTransportType: cmRetries & 0x07,
    primaryPath: readCmPath(view, at + PRIMARY_PATH_AT),
    alternatePath: readCmPath(view, at + ALTERNATE_PATH_AT),
    sapSupported: (view.getUint8(at + SAP_AT) & 0x04) !== 0 ? 1 : 0,
    privateData: readArea(view, at + PRIVATE_DATA_AT, CM_REQ_PRIVATE_DATA_BYTES),
  };
}

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when the private data is too long.
 */
export function writeCmReq(view: DataView, offset: number, req: CmReq): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, req.localCommId);
  view.setUint8(at + RESERVED_4_AT, 0);
  writeU24(view, at + VENDOR_ID_AT, req.vendorId);
  view.setBigUint64(at + SERVICE_ID_AT, req.serviceId);
  view.setBigUint64(at + LOCAL_CA_GUID_AT, req.localCaGuid);
  view.setUint32(at + RESERVED_24_AT, 0);
  view.setUint32(at + LOCAL_QKEY_AT, req.localQkey);
  writeU24(view, at + LOCAL_QPN_AT, req.localQpn);
  view.setUint8(at + RESPONDER_RESOURCES_AT, req.responderResources);
  writeU24(view, at + LOCAL_EECN_AT, req.localEecn);
  view.setUint8(at + INITIATOR_DEPTH_AT, req.initiatorDepth);
  writeU24(view, at + REMOTE_EECN_AT, req.remoteEecn);
  view.setUint8(
    at + REMOTE_TIMEOUT_AT,
    ((req.remoteCmResponseTimeout & 0x1f) << 3) | ((req.transportServiceType & 0x03) << 1) | req.endToEndFlowControl,
  );
  writeU24(view, at + STARTING_PSN_AT, req.startingPsn);
  view.setUint8(at + LOCAL_TIMEOUT_AT, ((req.localCmResponseTimeout & 0x1f) << 3) | (req.retryCount & 0x07));
  view.setUint16(at + PARTITION_KEY_AT, req.partitionKey);
  view.setUint8(at + MTU_AT, ((req.pathMtu & 0x0f) << 4) | (req.rdcExists << 3) | (req.rnrRetryCount & 0x07));
  view.setUint8(
    at + MAX_CM_RETRIES_AT,
    ((req.maxCmRetries & 0x0f) << 4) | (req.srq << 3) | (req.extendedTransportType & 0x07),
  );
  writeCmPath(view, at + PRIMARY_PATH_AT, req.primaryPath);
  writeCmPath(view, at + ALTERNATE_PATH_AT, req.alternatePath);
  view.setUint8(at + SAP_AT, view.getUint8(at + SAP_AT) | (req.sapSupported << 2));
  writeArea(view, at + PRIVATE_DATA_AT, CM_REQ_PRIVATE_DATA_BYTES, req.privateData, 'private data of REQ');
}

const LOCAL_COMM_ID_AT = 0;
const RESERVED_4_AT = 4;
const VENDOR_ID_AT = 5;
const SERVICE_ID_AT = 8;
const LOCAL_CA_GUID_AT = 16;
const RESERVED_24_AT = 24;
const LOCAL_QKEY_AT = 28;
const LOCAL_QPN_AT = 32;
const RESPONDER_RESOURCES_AT = 35;
const LOCAL_EECN_AT = 36;
const INITIATOR_DEPTH_AT = 39;
const REMOTE_EECN_AT = 40;
const REMOTE_TIMEOUT_AT = 43;
const STARTING_PSN_AT = 44;
const LOCAL_TIMEOUT_AT = 47;
const PARTITION_KEY_AT = 48;
const MTU_AT = 50;
const MAX_CM_RETRIES_AT = 51;
const PRIMARY_PATH_AT = 52;
const ALTERNATE_PATH_AT = PRIMARY_PATH_AT + CM_PATH_BYTES;
const PRIVATE_DATA_AT = ALTERNATE_PATH_AT + CM_PATH_BYTES;
const SAP_AT = PRIVATE_DATA_AT - 1;
