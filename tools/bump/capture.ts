/**
 * One pcapng file for both sides of a bump: interface a and interface b, and a comment where a frame was changed. Owns
 * the blocks and the frame numbers, which are Wireshark's: 1 for the first. The caller takes the bytes.
 */
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import type { Clock } from '../wall-clock.ts';

export class BumpCapture {
  readonly #writer: PcapngWriter;
  readonly #clock: Clock;
  readonly #grown: () => void;
  #frames = 0;

  /**
   * @param grown called when there is more to be taken
   * @param links names of the links, shown as descriptions of the interfaces
   */
  constructor(grown: () => void, links: readonly [string, string], clock: Clock, comment: string) {
    this.#grown = grown;
    this.#clock = clock;
    this.#writer = new PcapngWriter({ application: 'rocev2 bump', comment });
    for (const [side, name] of ['a', 'b'].entries())
      this.#writer.addInterface({ name, description: links[side] ?? '', linkType: LinkType.Ethernet });
  }

  /** Writes a frame as it came in ('in') or left ('out') on a side, 0 for a and 1 for b; returns its number. */
  frame(
    timeNs: number,
    side: number,
    direction: 'in' | 'out',
    bytes: Uint8Array,
    start: number,
    end: number,
    comment: string | undefined,
  ): number {
    const { seconds, nanoseconds } = this.#clock.at(timeNs);
    this.#writer.packet(side, bytes, start, end, seconds, nanoseconds, {
      direction: direction === 'in' ? Direction.Inbound : Direction.Outbound,
      ...(comment === undefined ? {} : { comments: [comment] }),
    });
    this.#grown();
    return ++this.#frames;
  }

  get pendingBytes(): number {
    return this.#writer.pendingBytes;
  }

  /** What has not been taken yet. */
  take(): Uint8Array {
    return this.#writer.take();
  }
}
