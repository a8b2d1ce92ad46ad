/**
 * A pcapng file that frames are written to as they pass: what `--write` and the interop matrix use.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import { WallClock } from './wall-clock.ts';

export interface CaptureFileOptions {
  readonly interfaceName: string;
  /** Ethernet frames, or bare IP packets. */
  readonly ethernet: boolean;
}

/** Bytes gathered before they go to the file. */
const FLUSH_BYTES = 1 << 16;

export class CaptureFile {
  readonly #writer = new PcapngWriter({ application: 'rocev2' });
  readonly #interface: number;
  readonly #file: number;
  readonly #clock = new WallClock();

  constructor(path: string, { interfaceName, ethernet }: CaptureFileOptions) {
    this.#interface = this.#writer.addInterface({
      name: interfaceName,
      linkType: ethernet ? LinkType.Ethernet : LinkType.Raw,
    });
    this.#file = openSync(path, 'w');
  }

  /** Takes one frame; `timeNs` is monotonic. */
  frame(
    timeNs: number,
    direction: 'in' | 'out',
    bytes: Uint8Array,
    start: number,
    end: number,
    comment?: string,
  ): void {
    const { seconds, nanoseconds } = this.#clock.at(timeNs);
    this.#writer.packet(this.#interface, bytes, start, end, seconds, nanoseconds, {
      direction: direction === 'in' ? Direction.Inbound : Direction.Outbound,
      ...(comment === undefined ? {} : { comments: [comment] }),
    });
    if (this.#writer.pendingBytes >= FLUSH_BYTES) this.#flush();
  }

  close(): void {
    this.#flush();
    closeSync(this.#file);
  }

  #flush(): void {
    writeSync(this.#file, this.#writer.take());
  }
}
