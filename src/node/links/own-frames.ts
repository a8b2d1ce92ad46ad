/**
 * An Ethernet link to which a device may send what is for itself: no switch returns such a frame, and nobody else takes
 * it. On the wire it would cost time, and a place in the receive ring of every other host behind a hub or a veth. The
 * device has looped it back before it sends (`Device.transmit`).
 * Owns a batch without the frames to one MAC address. Never looks at what comes.
 */
import { MAC_BYTES, type MacAddress } from '../../../packets/address.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { Link, LinkSink } from '../../ground/link.ts';
import { LinkDecorator } from './decorator.ts';

export class OwnFramesLink extends LinkDecorator {
  readonly #macHigh: number;
  readonly #macLow: number;
  /** Of the batch that is being sent, those that go on the wire. */
  #others = new Others(0);

  /** @param mac of the device */
  constructor(inner: Link, mac: MacAddress) {
    super(inner);
    const view = new DataView(mac.buffer, mac.byteOffset);
    this.#macHigh = view.getUint32(0);
    this.#macLow = view.getUint16(4);
  }

  start(sink: LinkSink): Promise<void> {
    return this.inner.start(sink);
  }

  send(batch: FrameBatch, from: number): number {
    let first = from;
    while (first < batch.count && !this.#isOwn(batch, first)) first++;
    if (first === batch.count) return this.inner.send(batch, from);
    const others = this.#withoutOwn(batch, from);
    const { count } = others;
    const sent = count === 0 ? 0 : this.inner.send(others, 0);
    return (sent < count ? (others.places[sent] as number) : batch.count) - from;
  }

  #withoutOwn(batch: FrameBatch, from: number): Others {
    if (this.#others.starts.length < batch.count) this.#others = new Others(batch.count);
    const others = this.#others;
    others.begin(batch);
    for (let at = from; at < batch.count; at++) if (!this.#isOwn(batch, at)) others.add(batch, at);
    return others;
  }

  #isOwn({ view, starts, lengths }: FrameBatch, at: number): boolean {
    const start = starts[at] as number;
    if ((lengths[at] as number) < MAC_BYTES) return false;
    return view.getUint32(start) === this.#macHigh && view.getUint16(start + 4) === this.#macLow;
  }
}

/** Frames of another batch, where they lie. */
class Others implements FrameBatch {
  bytes: Uint8Array = new Uint8Array();
  view: DataView = new DataView(new ArrayBuffer(0));
  count = 0;
  readonly starts: Int32Array;
  readonly lengths: Int32Array;
  /** Index of each in the other batch. */
  readonly places: Int32Array;

  constructor(room: number) {
    this.starts = new Int32Array(room);
    this.lengths = new Int32Array(room);
    this.places = new Int32Array(room);
  }

  begin({ bytes, view }: FrameBatch): void {
    this.bytes = bytes;
    this.view = view;
    this.count = 0;
  }

  add({ starts, lengths }: FrameBatch, at: number): void {
    this.starts[this.count] = starts[at] as number;
    this.lengths[this.count] = lengths[at] as number;
    this.places[this.count] = at;
    this.count++;
  }
}
