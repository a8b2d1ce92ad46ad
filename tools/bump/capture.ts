/**
 * One pcapng file for both sides of a bump: interface a and interface b, and a comment where a frame was changed. Owns
 * the blocks and the frame numbers, which are Wireshark's: 1 for the first. The caller takes the bytes.
 */
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import type { Clock } from '../wall-clock.ts';

export class BumpCapture {
  readonly #writer: PcapngWriter;
  readonly #clock: Clock;
  readonly #write: (bytes: Uint8Array) => void;
  #frames = 0;

  /**
   * @param write takes the next bytes of the file
   * @param links names of the links, shown as descriptions of the interfaces
   */
  constructor(write: (bytes: Uint8Array) => void, links: readonly [string, string], clock: Clock, comment: string) {
    this.#write = write;
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
    if (this.#writer.pendingBytes >= FLUSH_BYTES) this.flush();
    return ++this.#frames;
  }

  /** Hands over what has not been. */
  flush(): void {
    this.#write(this.#writer.take());
  }
}

/** Bytes gathered before they go to the file. */
const FLUSH_BYTES = 1 << 16;
