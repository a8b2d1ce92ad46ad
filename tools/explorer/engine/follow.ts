/**
 * The seam between the explorer and the analysis: packets in, facts out, one report at the end.
 *
 * Owns nothing but that seam.
 */
import type { PacketFacts } from '../../../pcap/analysis/facts.ts';
import { Role } from '../../../pcap/analysis/facts.ts';
import type { Analysis } from '../../../pcap/analysis/types.ts';
import { Dissection, dissect, icrcState } from '../../../pcap/dissection.ts';
import { type CapturedPacket, type CaptureTime, nanosecondsSince } from '../../../pcap/types.ts';

/** What follows a capture from its first packet to its last. */
export interface Follower {
  /** What is known of the packet; the same object for each, to be read before the next. */
  push(packet: CapturedPacket): PacketFacts;
  finish(): Analysis | null;
}

/** The analysis of this project. */
export function makeFollower(): Follower {
  return new PlainFollower();
}

class PlainFollower implements Follower {
  readonly #dissection = new Dissection();
  #first: CaptureTime | undefined;

  push(packet: CapturedPacket): PacketFacts {
    dissect(packet, this.#dissection);
    this.#first ??= { seconds: packet.seconds, nanoseconds: packet.nanoseconds };
    return {
      packet,
      dissection: this.#dissection,
      icrc: icrcState(this.#dissection),
      timeNs: nanosecondsSince(this.#first, packet),
      conversation: undefined,
      sender: 0,
      requester: 0,
      role: Role.None,
      relativePsn: Number.NaN,
      psnCount: 1,
      marks: 0,
      missing: 0,
      refersTo: -1,
    };
  }

  finish(): Analysis | null {
    return null;
  }
}
