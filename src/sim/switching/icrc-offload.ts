/**
 * What a NIC with ICRC offload does to a frame that leaves it: makes the ICRC. Only for observers of frames: links of a
 * switched network damage none. Owns no state. What is not RoCE stays as it is.
 */
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { computeIcrc } from '../../../packets/icrc.ts';

/** Writes the ICRC of the frame in [start, end), if it is RoCE; once or more often, the result is the same. */
export function finishIcrc(bytes: Uint8Array, view: DataView, start: number, end: number): void {
  if (parseFrame(bytes, view, start, end, Medium.Ethernet, FRAME) !== FrameStatus.Ok) return;
  const { ipOffset, ipVersion, bthOffset, icrcOffset } = FRAME;
  view.setUint32(icrcOffset, computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset), true);
}

/** Shared: it is used within one call. */
const FRAME = new Frame();
