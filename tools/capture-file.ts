/**
 * A pcapng file that frames are written to as they pass: what `--write` and the interop matrix use.
 */
import type { RoceError } from 'rocev2/packets';
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import { type FileCalls, RecordFile } from './record-file.ts';
import { WallClock } from './wall-clock.ts';

export interface CaptureFileOptions {
  readonly interfaceName: string;
  /** Ethernet frames, or bare IP packets. */
  readonly ethernet: boolean;
}

export class CaptureFile {
  readonly #writer = new PcapngWriter({ application: 'rocev2' });
  readonly #interface: number;
  readonly #file: RecordFile;
  readonly #clock = new WallClock();

  /** @param failed, calls see `RecordFile` */
  constructor(
    path: string,
    { interfaceName, ethernet }: CaptureFileOptions,
    failed?: (failure: RoceError) => void,
    calls?: FileCalls,
  ) {
    this.#interface = this.#writer.addInterface({
      name: interfaceName,
      linkType: ethernet ? LinkType.Ethernet : LinkType.Raw,
    });
    this.#file = new RecordFile(path, this.#writer, failed, calls);
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
    this.#file.grown();
  }

  close(): void {
    this.#file.close();
  }

  /** Why the file ends early: a full disk. */
  get failure(): RoceError | undefined {
    return this.#file.failure;
  }
}
