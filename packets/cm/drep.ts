/**
 * DREP: the answer to DREQ (attribute 0x16).
 *
 * Offsets from the end of the MAD header:
 *
 *    0 local communication id     4 remote communication id     8 private data (224)
 *
 * Owns: these 232 bytes. The caller has made sure that the whole MAD is there.
 * Source: rdma:ibta_vol1_c12.h; golden bytes in test/vectors/cm-mads.ts.
 */
import { MAD_HEADER_BYTES } from '../mad.ts';
import { readArea, writeArea } from './fields.ts';

/** Room for private data in DREP, in bytes. */
export const CM_DREP_PRIVATE_DATA_BYTES = 224;

/** DREP, field by field. */
export interface CmDrep {
  /** The sender's id of the connection, 32 bits. */
  readonly localCommId: number;
  /** The receiver's id, 32 bits. */
  readonly remoteCommId: number;
  /** All 224 bytes when read; up to 224 when written. */
  readonly privateData: Uint8Array;
}

/** Reads the DREP in the MAD that starts at `offset`. */
export function readCmDrep(view: DataView, offset: number): CmDrep {
  const at = offset + MAD_HEADER_BYTES;
  return {
    localCommId: view.getUint32(at + LOCAL_COMM_ID_AT),
    remoteCommId: view.getUint32(at + REMOTE_COMM_ID_AT),
    privateData: readArea(view, at + PRIVATE_DATA_AT, CM_DREP_PRIVATE_DATA_BYTES),
  };
}

/** Writes the 232 bytes behind the MAD header. Throws when the private data is too long. */
export function writeCmDrep(view: DataView, offset: number, drep: CmDrep): void {
  const at = offset + MAD_HEADER_BYTES;
  view.setUint32(at + LOCAL_COMM_ID_AT, drep.localCommId);
  view.setUint32(at + REMOTE_COMM_ID_AT, drep.remoteCommId);
  writeArea(view, at + PRIVATE_DATA_AT, CM_DREP_PRIVATE_DATA_BYTES, drep.privateData, 'private data of DREP');
}

const LOCAL_COMM_ID_AT = 0;
const REMOTE_COMM_ID_AT = 4;
const PRIVATE_DATA_AT = 8;
