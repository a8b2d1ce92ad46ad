/**
 * Records of what a program does to a server of verbs, as the recorder writes them and the target `uverbs` reads them:
 * what kinds there are, and the words that stand for what a server gives out.
 */
import { CREATE_QP_RESP } from '../../../../src/uverbs/abi/queues.ts';
import { REG_MR_RESP } from '../../../../src/uverbs/abi/verbs.ts';
import type { CommandResult } from '../../../../src/uverbs/index.ts';

/** The lower three bits of a record's flags. */
export const Kind = { Uverbs: 0, RdmaCm: 2, Ring: 3, Doorbell: 4, Time: 6, LongTime: 7 } as const;

/** The upper 24 bits of a word that stands for a key or a queue pair number; the others say which. */
export const Mark = { Key: 0x4b_45_59_00, Qpn: 0x51_50_4e_00 } as const;
export const MARKED = 0xff_ff_ff_00;

const REG_MR = 9;
const CREATE_QP = 24;

/** The key that a command of uverbs was given. */
export function newKeys(bytes: Uint8Array, { errno, response }: CommandResult): number[] {
  if (errno !== 0 || bytes[0] !== REG_MR || response.length < REG_MR_RESP.size) return [];
  return [wordOf(response, REG_MR_RESP.at.lkey)];
}

/** The number of a queue pair that a command of uverbs has made. */
export function newQpns(bytes: Uint8Array, { errno, response }: CommandResult): number[] {
  if (errno !== 0 || bytes[0] !== CREATE_QP || response.length < CREATE_QP_RESP.size) return [];
  return [wordOf(response, CREATE_QP_RESP.at.qpn)];
}

function wordOf(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);
}
