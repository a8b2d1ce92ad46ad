/**
 * One pcapng file for both sides of a bump: interface a and interface b, and a comment where a frame was touched.
 * Owns the file and the frame numbers, which are Wireshark's: 1 for the first.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { Direction, LinkType, PcapngWriter } from '../../pcap/index.ts';
import type { WallClock } from '../wall-clock.ts';

export class BumpCapture {
  readonly path: string;
  readonly #writer: PcapngWriter;
  readonly #clock: WallClock;
  readonly #file: number;
  #frames = 0;

  /** @param links names of the links, shown as descriptions of the interfaces */
  constructor(path: string, links: readonly [string, string], clock: WallClock, comment: string) {
    this.path = path;
    this.#clock = clock;
    this.#writer = new PcapngWriter({ application: 'rocev2 bump', comment });
    for (const [side, name] of ['a', 'b'].entries())
      this.#writer.addInterface({ name, description: links[side] ?? '', linkType: LinkType.Ethernet });
    this.#file = openSync(path, 'w');
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
    if (this.#writer.pendingBytes >= FLUSH_BYTES) this.#flush();
    return ++this.#frames;
  }

  close(): void {
    this.#flush();
    closeSync(this.#file);
  }

  #flush(): void {
    writeSync(this.#file, this.#writer.take());
  }
}

/** Bytes gathered before they go to the file. */
const FLUSH_BYTES = 1 << 16;
