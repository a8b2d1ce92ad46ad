/**
 * MRA: "received, the answer takes longer" (attribute 0x11).
 *
 * Offsets from the end of the MAD header:
 *
 *    0 local communication id     4 remote communication id
 *    8 message MRAed (2), reserved (6)       9 service timeout (5), reserved (3)       10 private data (222)
 *
 * Owns: these 232 bytes. The caller has made sure that the whole MAD is there. Source: rdma:ibta_vol1_c12.h.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, writeArea } from './fields.ts';

/** Room for private data in MRA, in bytes. */
export const CM_MRA_PRIVATE_DATA_BYTES = 222;

/** MRA, field by field. */
export interface CmMra {
  /** The sender's id of the connection, 32 bits. */
  readonly localCommId: number;
  /** The receiver's id, 32 bits. */
  readonly remoteCommId: number;
  /** A `CmMessageRef` (rej.ts). */
  readonly messageMraed: number;
  /** 5-bit code: how much longer, 4.096 us * 2^code. */
  readonly serviceTimeout: number;
  /** All 222 bytes when read; up to 222 when written. */
  readonly privateData: Uint8Array;
}

/** Reads the MRA in the MAD that starts at `offset`. */
export function readCmMra(view: DataView, offset: number): CmMra {
  const at = offset + MAD_HEADER_BYTES;
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    messageMraed: view.getUint8(at + MESSAGE_AT) >> 6,
    serviceTimeout: view.getUint8(at + SERVICE_TIMEOUT_AT) >> 3,
    privateData: readArea(view, at + PRIVATE_DATA_AT, CM_MRA_PRIVATE_DATA_BYTES),
  };
}

/**
 * Writes the 232 bytes behind the MAD header; numbers are cut to their width. Throws when the private data is too long.
 */
export function writeCmMra(view: DataView, offset: number, mra: CmMra): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, mra.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, mra.remoteCommId);
  view.setUint8(at + MESSAGE_AT, (mra.messageMraed & 0x03) << 6);
  view.setUint8(at + SERVICE_TIMEOUT_AT, (mra.serviceTimeout & 0x1f) << 3);
  writeArea(view, at + PRIVATE_DATA_AT, CM_MRA_PRIVATE_DATA_BYTES, mra.privateData, 'private data of MRA');
}

const LOCAL_COMM_ID_AT = 0;
const REMOTE_COMM_ID_AT = 4;
const MESSAGE_AT = 8;
const SERVICE_TIMEOUT_AT = 9;
const PRIVATE_DATA_AT = 10;
