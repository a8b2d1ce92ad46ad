/**
 * The numbers both sides of a connection start from: defaults of what an application may choose, how the wire writes a path
 * MTU, and which source port goes with a flow label. Owns constants and their conversions only.
 */
import { IpAddress } from '../packets/address.ts';
import { sourcePortOfFlowLabel } from '../packets/flow-label.ts';
import type { PathTraits } from './device-options.ts';

/** READs and atomics outstanding, in either direction. */
export const DEFAULT_DEPTH = 16;
export const DEFAULT_BACKLOG = 128;
/** 15 as in rdma_cm; REQ is repeated every 4.096 us * 2^20, so a dead peer shows after a minute. */
export const DEFAULT_RETRY = 7;
export const DEFAULT_RNR_TIMER = 12;
/** 4.096 us * 2^17 is 0.54 s: long enough for an emulated peer, short enough to notice a loss. */
export const DEFAULT_ACK_TIMEOUT = 17;

export function addressOf(value: IpAddress | string): IpAddress;
export function addressOf(value: IpAddress | string | undefined): IpAddress | undefined;
export function addressOf(value: IpAddress | string | undefined): IpAddress | undefined {
  return typeof value === 'string' ? IpAddress.parse(value) : value;
}

/** 256 is 1, 4096 is 5. */
export function mtuCode(mtu: number): number {
  return Math.log2(mtu) - MTU_CODE_BASE;
}

export function mtuOfCode(code: number): number {
  return 2 ** (code + MTU_CODE_BASE);
}

/**
 * `chosen` with the source port of the connection's flow label, where none was chosen. A label that nobody chose gives the port
 * and is not put into headers, as with rdma_rxe (ref:rxe#5); label 0 gives none.
 */
export function withPortOf(flowLabel: number, chosen: PathTraits): PathTraits {
  if (flowLabel === 0 || chosen.sourcePort !== undefined) return chosen;
  return { ...chosen, sourcePort: sourcePortOfFlowLabel(flowLabel) };
}

const MTU_CODE_BASE = 7;
