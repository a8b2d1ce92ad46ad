/**
 * DREQ: the request to end a connection (attribute 0x15).
 *
 * Offsets from the end of the MAD header:
 *
 *    0 local communication id     4 remote communication id
 *    8 remote QPN or EECN (24)   11 reserved                  12 private data (220)
 *
 * Owns: these 232 bytes. The caller has made sure that the whole MAD is there.
 * Source: rdma:ibta_vol1_c12.h; golden bytes in test/vectors/cm-mads.ts.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, readU24, writeArea, writeU24 } from './fields.ts';

/** Room for private data in DREQ, in bytes. */
export const CM_DREQ_PRIVATE_DATA_BYTES = 220;

/** DREQ, field by field. */
export interface CmDreq {
  /** The sender's id of the connection, 32 bits. */
  readonly localCommId: number;
  /** The receiver's id, 32 bits. */
  readonly remoteCommId: number;
  /** The receiver's own queue pair: it must match, or the DREQ is not meant for this connection. */
  readonly remoteQpn: number;
  /** All 220 bytes when read; up to 220 when written. */
  readonly privateData: Uint8Array;
}

/** Reads the DREQ in the MAD that starts at `offset`. */
export function readCmDreq(view: DataView, offset: number): CmDreq {
  const at = offset + MAD_HEADER_BYTES;
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    remoteQpn: readU24(view, at + REMOTE_QPN_AT),
    privateData: readArea(view, at + PRIVATE_DATA_AT, CM_DREQ_PRIVATE_DATA_BYTES),
  };
}

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when the private data is too long.
 */
export function writeCmDreq(view: DataView, offset: number, dreq: CmDreq): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, dreq.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, dreq.remoteCommId);
  writeU24(view, at + REMOTE_QPN_AT, dreq.remoteQpn);
  view.setUint8(at + RESERVED_AT, 0);
  writeArea(view, at + PRIVATE_DATA_AT, CM_DREQ_PRIVATE_DATA_BYTES, dreq.privateData, 'private data of DREQ');
}

const LOCAL_COMM_ID_AT = 0;
const REMOTE_COMM_ID_AT = 4;
const REMOTE_QPN_AT = 8;
const RESERVED_AT = 11;
const PRIVATE_DATA_AT = 12;
