/**
 * A pcapng file that frames are written to as they pass: what `--write` and the interop matrix use. Times on the wire are
 * monotonic; the file gets the time of day at its start plus what has passed since.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { Direction, LinkType, PcapngWriter } from '../pcap/index.ts';

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
  readonly #wallStartMs = Date.now();
  #startNs = -1;

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
    if (this.#startNs < 0) this.#startNs = timeNs;
    const sinceMs = Math.floor((timeNs - this.#startNs) / 1e6);
    const wallMs = this.#wallStartMs + sinceMs;
    const nanoseconds = (wallMs % 1000) * 1e6 + Math.floor(timeNs - this.#startNs - sinceMs * 1e6);
    this.#writer.packet(this.#interface, bytes, start, end, Math.floor(wallMs / 1000), nanoseconds, {
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
