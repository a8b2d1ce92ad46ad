/**
 * Whether a capture could have shown packets to a host: only then does their absence mean anything.
 *
 * Owns the bounded memory of stations that were the destination of packets. Responses of a conversation count, and so
 * does anything else that was addressed to the host: ARP, TCP, connection management, other conversations.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import type { PacketFacts } from '../facts.ts';
import type { ConversationReport, EndReport } from '../types.ts';

export class ReverseWatch {
  /** Destination addresses of packets that belong to no conversation, as numbers. */
  readonly #stations = new Set<number>();
  /** Destination addresses of the conversations; made on the first call. */
  #addresses: Set<string> | undefined;

  packet(facts: PacketFacts): void {
    if (facts.conversation !== undefined || this.#stations.size >= MOST_STATIONS) return;
    const { frame, status, linkKnown } = facts.dissection;
    // An Ethernet header is there when an EtherType was read from one.
    if (!linkKnown || frame.etherType === 0 || (status === FrameStatus.Truncated && frame.end - frame.start < 14))
      return;
    const { view, start } = frame;
    if (frame.end - start < 14 || (view.getUint8(start) & 1) !== 0) return;
    this.#stations.add(view.getUint16(start) * 0x1_00_00_00_00 + view.getUint32(start + 2));
  }

  /**
   * Whether the capture has any packet to the host of this end. Only to be called after the last packet: the first call
   * fixes `conversations`.
   */
  sawTraffic(to: EndReport, conversations: readonly ConversationReport[]): boolean {
    if (to.mac !== '' && this.#stations.has(Number.parseInt(to.mac.replaceAll(':', ''), 16))) return true;
    this.#addresses ??= new Set(
      conversations.flatMap(({ ends: [first, second] }) => [
        ...(second.packets > 0 ? [first.address] : []),
        ...(first.packets > 0 ? [second.address] : []),
      ]),
    );
    return this.#addresses.has(to.address);
  }
}

const MOST_STATIONS = 4096;
