/**
 * The headroom of a link and the PFC threshold of a port: the sizing rules of `SharedBuffer`.
 *
 * Owns formulas only; bytes are rounded up. Sources: ref:dcqcn#4 and ref:dcqcn#5.6.
 */
import { PFC_FRAME_BYTES } from '../../../packets/pfc.ts';

/** A link and the reaction time of its other end. */
export interface HeadroomLink {
  /** Bits a second. */
  readonly rateBps: number;
  /** One way, nanoseconds. */
  readonly delayNs: number;
  /** The longest frame on it, as the buffer counts frames; bytes. */
  readonly maxFrameBytes: number;
  /** Between the arrival of a pause and the sender beginning no more frames, nanoseconds. Default 0. */
  readonly reactionNs?: number;
}

/** Headroom of the model: three times what is on the wire one way (ref:dcqcn#4: 37,500 bytes at 100 Gb/s and 1 us). */
export function modelHeadroomBytes(rateBps: number, delayNs: number): number {
  return Math.ceil((MODEL_DELAYS * rateBps * delayNs) / 8e9);
}

/**
 * Headroom with which nothing is lost, whatever the senders do (ref:dcqcn#5.6: 2 rate delay + 2 MTU + the reaction to
 * PFC).
 *
 * What arrives after a sender had to be stopped: while the pause waits behind a frame that is being sent (one frame),
 * travels there and its last effect travels back (2 rate delay), and the frame which the sender had just begun (one
 * more). The reaction is that of both sides: the pause frame itself, what `reactionNs` lets through, and the frame that
 * tripped the threshold, for `SharedBuffer` puts that one into headroom whole.
 */
export function losslessHeadroomBytes(link: HeadroomLink): number {
  const { rateBps, delayNs, maxFrameBytes, reactionNs = 0 } = link;
  const wire = (rateBps * (2 * delayNs + reactionNs)) / 8e9;
  return Math.ceil(wire) + 2 * maxFrameBytes + (maxFrameBytes + PFC_FRAME_BYTES + FRAME_OVERHEAD_BYTES);
}

/**
 * Shift of a port's PFC threshold: 3 at the speed of the hosts' NICs, one less per doubling, never below 0
 * (ref:dcqcn#4).
 *
 * @param nicRateBps of the hosts. Default 100 Gb/s
 */
export function defaultPfcShift(rateBps: number, nicRateBps = 100e9): number {
  let shift = NIC_SHIFT;
  for (let rate = rateBps; rate > nicRateBps && shift > 0; rate /= 2) shift--;
  return shift;
}

const MODEL_DELAYS = 3;
const NIC_SHIFT = 3;
/** Frame check sequence, preamble and the gap between frames, for links that count them. */
const FRAME_OVERHEAD_BYTES = 24;
