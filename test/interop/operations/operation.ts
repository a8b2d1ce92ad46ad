/** What an operation is to these tests: how it is done, and what it must put on the wire. */
import type { Stage } from './stage.ts';

/**
 * The last bytes of each packet before the ICRC, as hex, up to its BTH; undefined where a reader's word is proof
 * enough.
 */
export type Golden = readonly (string | undefined)[];

export interface Operation {
  readonly name: string;
  /**
   * Does it once; resolves when all its packets have passed. What it gives are bytes of its packets, in their order.
   */
  readonly perform: (stage: Stage) => Promise<Golden | undefined>;
  /**
   * One line a packet: `>` from A to B, `<` back; the words of `describePacket`. Frames that only look for neighbours
   * are left out.
   */
  readonly packets: readonly string[];
}

/** A big-endian word of so many bytes, as hex. */
export function word(value: number | bigint, bytes: number): string {
  return value.toString(16).padStart(bytes * 2, '0');
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** A BTH as ref:wire#4 lays it out, the codecs aside: MigReq set, no pad, P_Key 0xffff, version 0. */
export function bth(opcode: number, destQpn: number, psn: number, ackReq = true): string {
  return [word(opcode, 1), '40ffff00', word(destQpn, 3), ackReq ? '80' : '00', word(psn, 3)].join('');
}
