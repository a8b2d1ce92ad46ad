/**
 * Response placement: checks the response of a request, and stores the data of READs and atomics in the sink. It keeps
 * nothing; which response comes when is the completer's. Rules: ref:conformance#REQ-31, RD-09, LEN-16, LEN-17, ATM-14.
 */
import { aethSyndrome, SYNDROME_KIND_MASK, SyndromeKind } from '../packets/aeth.ts';
import { atomicAckHi, atomicAckLo } from '../packets/atomic-ack-eth.ts';
import type { Frame } from '../packets/frame.ts';
import { AETH_AT, ATOMIC_ACK_ETH_AT, Op, SERVICE_MASK } from '../packets/opcode.ts';
import type { QpConfig } from './qp-config.ts';
import type { SendEntry } from './send-entry.ts';
import { WcStatus, WrOpcode } from './work.ts';

/** The opcode without the bits of the service, which is the queue pair's. */
function operationOf(frame: Frame): number {
  return frame.opcode & ~SERVICE_MASK;
}

function hasGoodSyndrome(frame: Frame): boolean {
  const at = AETH_AT[frame.opcode] as number;
  return at < 0 || (aethSyndrome(frame.view, frame.bthOffset + at) & SYNDROME_KIND_MASK) === SyndromeKind.Ack;
}

/**
 * Checks the response that `entry` expects next, and places the data that it carries. `more`: the response behind it,
 * if there is one, has not come yet.
 */
export function placeResponse(frame: Frame, entry: SendEntry, more: boolean, config: QpConfig): WcStatus {
  if (entry.isAtomic) return placeAtomic(frame, entry, config);
  return entry.returnsData ? placeRead(frame, entry, entry.answered, more, config) : checkEmptyResponse(frame);
}

/** FLUSH and ATOMIC WRITE are answered by an empty READ response (ref:conformance#MPE-02). */
function checkEmptyResponse(frame: Frame): WcStatus {
  if (operationOf(frame) !== Op.ReadResponseOnly || !hasGoodSyndrome(frame)) return WcStatus.BadRespErr;
  return frame.payloadLength === 0 ? WcStatus.Success : WcStatus.LocLenErr;
}

/**
 * Copies the READ response `index` of `entry` into the sink; never a byte more than was requested. `more`: the copy may
 * be put off until that of the response behind it.
 */
export function placeRead(frame: Frame, entry: SendEntry, index: number, more: boolean, config: QpConfig): WcStatus {
  const done = index * config.mtu;
  const left = entry.length - done;
  const ends = left <= config.mtu;
  const opcode = operationOf(frame);
  // A resumed READ may be answered from FIRST or ONLY, or, by rxe, from MIDDLE or LAST (ref:conformance#RD-09).
  const fits = ends
    ? opcode === Op.ReadResponseLast || opcode === Op.ReadResponseOnly
    : opcode === Op.ReadResponseFirst || opcode === Op.ReadResponseMiddle;
  if (!fits || !hasGoodSyndrome(frame)) return WcStatus.BadRespErr;
  if (frame.payloadLength !== Math.min(left, config.mtu)) return WcStatus.LocLenErr;
  if (!entry.segments.accessible(config.pd, true)) return WcStatus.LocProtErr;
  const placed = entry.segments.scatter(done, frame.bytes, frame.payloadOffset, frame.payloadLength, more && !ends);
  return placed ? WcStatus.Success : WcStatus.LocProtErr;
}

/** Stores the original value in host order, which is little-endian here (ref:conformance#ATM-14). */
function placeAtomic(frame: Frame, entry: SendEntry, config: QpConfig): WcStatus {
  if (operationOf(frame) !== Op.AtomicAcknowledge || !hasGoodSyndrome(frame)) return WcStatus.BadRespErr;
  if (!entry.segments.accessible(config.pd, true)) return WcStatus.LocProtErr;
  const at = frame.bthOffset + (ATOMIC_ACK_ETH_AT[frame.opcode] as number);
  const placed = entry.segments.scatter64(atomicAckHi(frame.view, at), atomicAckLo(frame.view, at));
  return placed ? WcStatus.Success : WcStatus.LocProtErr;
}

/** The message bytes a completed request reports: what a READ or atomic returned. */
export function completedBytes(entry: SendEntry): number {
  return entry.opcode === WrOpcode.RdmaRead || entry.isAtomic ? entry.length : 0;
}
