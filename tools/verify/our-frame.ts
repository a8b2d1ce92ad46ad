/**
 * What this project says of a captured frame: the side of a comparison that tshark is compared with.
 *
 * Owns which of our fields count where the capture kept only the beginning of a frame. Never asks tshark.
 */

import { type FieldValue, type Frame, type FrameStatus, frameFields } from 'rocev2/packets';
import { type CapturedPacket, Dissection, dissect, IcrcState, icrcState } from 'rocev2/pcap';

/** One frame as we decode it. Its `frame` is that of the describer, overwritten by the next packet. */
export interface OurFrame {
  /** Position in the file, from 1. */
  readonly number: number;
  /** Fields by name; what tshark does not know begins with `roce.`. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** Where things are in the bytes. */
  readonly frame: Frame;
  /** What `parseFrame` says. */
  readonly status: FrameStatus;
  /** What is known of the ICRC. */
  readonly icrc: IcrcState;
  /** Whether the capture kept fewer bytes than were on the wire. */
  readonly cut: boolean;
  /** Whether the link type is one this project reads; without, there are no fields. */
  readonly linkKnown: boolean;
  /** Tunnels around the packet that the fields are of. */
  readonly depth: number;
}

/** Describes packets one after the other. */
export class FrameDescriber {
  readonly #dissection = new Dissection();

  describe(packet: CapturedPacket): OurFrame {
    const dissection = this.#dissection;
    const status = dissect(packet, dissection);
    const { frame, cut, linkKnown, depth } = dissection;
    const icrc = linkKnown ? icrcState(dissection) : IcrcState.Unknown;
    const all = linkKnown ? frameFields(frame, status, icrc === IcrcState.Good) : {};
    const fields = cut ? withoutTail(all) : all;
    return { number: packet.number, fields, frame, status, icrc, cut, linkKnown, depth };
  }
}

/** Without what lies where the capture may have been cut: behind the headers. */
function withoutTail(fields: Record<string, FieldValue>): Record<string, FieldValue> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !TAIL.test(name)));
}

const TAIL = /^infiniband\.(?:invariant|mad|cm)\b|^roce\.(?:cm|icrc|payload)\b/;
