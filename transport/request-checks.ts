/**
 * Checks of an arriving request that need nothing but the packet and the queue pair's attributes: shared by the
 * responders of every connected service, in the order of rxe:rxe_resp.c (ref:rxe#7). They judge and change nothing.
 */
import type { Frame } from '../packets/frame.ts';
import { OpFlag } from '../packets/opcode.ts';
import { Access } from './memory.ts';
import type { QpConfig } from './qp-config.ts';

/** The multi-packet message a responder is in the middle of. */
export const OpenMessage = { None: 0, Send: 1, Write: 2 } as const;
export type OpenMessage = (typeof OpenMessage)[keyof typeof OpenMessage];

/** ref:conformance#OPS: FIRST and ONLY when nothing is open, MIDDLE and LAST of the same kind otherwise. */
export function continues(open: OpenMessage, flags: number): boolean {
  if ((flags & (OpFlag.Middle | OpFlag.Last)) === 0) return open === OpenMessage.None;
  return open === ((flags & OpFlag.Write) !== 0 ? OpenMessage.Write : OpenMessage.Send);
}

/**
 * ref:conformance#LEN-01..LEN-03, LEN-08, LEN-14: FIRST and MIDDLE are full and unpadded, LAST is not empty, none
 * exceeds the MTU, and payload and pad make whole words.
 */
export function lengthFits(frame: Frame, mtu: number): boolean {
  const { flags, payloadLength, padCount } = frame;
  if (((payloadLength + padCount) & 3) !== 0) return false;
  if ((flags & (OpFlag.First | OpFlag.Middle)) !== 0) return payloadLength === mtu && padCount === 0;
  return payloadLength <= mtu && ((flags & OpFlag.Last) === 0 || payloadLength > 0);
}

/** ref:conformance#OPS-08 to OPS-10: what the queue pair itself does not allow draws an invalid request. */
export function isPermitted(flags: number, config: QpConfig): boolean {
  if ((flags & OpFlag.Read) !== 0) return (config.access & Access.RemoteRead) !== 0 && config.maxDestRdAtomic > 0;
  if ((flags & OpFlag.Atomic) !== 0) return (config.access & Access.RemoteAtomic) !== 0 && config.maxDestRdAtomic > 0;
  if ((flags & OpFlag.Write) !== 0) return (config.access & Access.RemoteWrite) !== 0;
  if ((flags & OpFlag.AtomicWrite) !== 0)
    return (config.access & Access.RemoteWrite) !== 0 && config.maxDestRdAtomic > 0;
  // Which FLUSH is permitted depends on its placement type: flush.ts.
  return (flags & (OpFlag.Send | OpFlag.Flush)) !== 0;
}

/** Two P_Keys match when their numbers agree and at least one is a full member. */
export function pkeysMatch(a: number, b: number): boolean {
  return ((a ^ b) & 0x7fff) === 0 && ((a | b) & 0x8000) !== 0;
}
