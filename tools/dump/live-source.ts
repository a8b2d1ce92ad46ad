/**
 * The frames of a device's link as they pass, both directions, as an async iterator. A reader that falls far behind
 * loses the newest frames, and they are counted, as in a kernel's capture.
 */

import { AsyncQueue, type LinkFacts } from 'rocev2';
import type { CaptureSink } from 'rocev2/node';
import { Medium, RoceError } from 'rocev2/packets';
import { type CapturedPacket, type CaptureInterface, Direction, LinkType } from 'rocev2/pcap';
import { WallClock } from '../wall-clock.ts';
import type { CaptureSource } from './source.ts';

/** Frames that may wait for the reader. */
const MAX_WAITING = 16_384;

export class LiveSource implements CaptureSource, CaptureSink {
  readonly live = true;
  /** Frames that were lost because the reader was too slow. */
  dropped = 0;
  readonly #queue = new AsyncQueue<CapturedPacket>();
  readonly #clock = new WallClock();
  #interface: CaptureInterface | undefined;
  #number = 0;
  #waiting = 0;

  /** Names the interface; called when the link is opened. */
  attach(link: LinkFacts): this {
    const linkType = link.medium === Medium.Ethernet ? LinkType.Ethernet : LinkType.Raw;
    this.#interface = { linkType, snapLength: 0, name: link.name, description: '' };
    return this;
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.#interface === undefined ? [] : [this.#interface];
  }

  frame(timeNs: number, direction: 'in' | 'out', bytes: Uint8Array, start: number, end: number): void {
    if (this.#interface === undefined)
      throw new RoceError('ERR_ROCE_STATE', 'a live source is attached before frames come');
    if (this.#waiting >= MAX_WAITING) {
      this.dropped += 1;
      return;
    }
    this.#waiting += 1;
    this.#number += 1;
    this.#queue.push({
      number: this.#number,
      ...this.#clock.at(timeNs),
      bytes: bytes.slice(start, end),
      originalLength: end - start,
      linkType: this.#interface.linkType,
      interfaceIndex: 0,
      direction: direction === 'in' ? Direction.Inbound : Direction.Outbound,
      comments: [],
    });
  }

  /** Ends the iteration after what has been seen so far. */
  close(): void {
    this.#queue.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CapturedPacket, void, undefined> {
    for await (const packet of this.#queue) {
      this.#waiting -= 1;
      yield packet;
    }
  }
}
