/**
 * What the native Ethernet links have in common: one non-blocking descriptor, read when the event loop says so, written at once.
 * Owns the life of a link: started once, told of the end once, and nothing delivered after it. What is behind the descriptor is a `Port`.
 *
 * A link that is started is held by its watch in the event loop, and holds its port; so nothing that the kernel may write to is
 * collected before `close`, whether or not somebody still refers to the link. Node knows nothing of the descriptor: a worker thread
 * that is terminated with its link open leaves it open, and a TAP busy, until the process ends.
 */
import { invariant, RoceError } from '../../../packets/errors.ts';
import { ETHERNET_BYTES, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN } from '../../../packets/ethernet.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { type Link, type LinkSink, WHOLE_PACKETS } from '../../ground/link.ts';
import { FAILED, type Libc, loadLibc, WRITABLE } from './libc.ts';
import { DescriptorWatch } from './poller.ts';

/** An open descriptor and the memory behind it. None of its methods throws. */
export interface Port {
  readonly fd: number;
  /** As `Link.send`: fewer than offered means that the kernel's queue is full. */
  send(batch: FrameBatch, from: number): number;
  /** The next frames that wait, a bounded number; none is a count of 0. They stay until `release`. */
  receive(): FrameBatch;
  /** Gives back the frames of the last `receive`. */
  release(): void;
  /** Takes the error that waits at the descriptor; undefined when the wire goes on all the same. */
  failure(): RoceError | undefined;
  close(): void;
}

export abstract class DescriptorLink implements Link {
  readonly name: string;
  readonly medium = Medium.Ethernet;
  readonly ecn = WHOLE_PACKETS;
  readonly mtu: number;
  #starting: Promise<void> | undefined;
  #ended = false;
  #blocked = false;
  #delivering = false;
  #sink: LinkSink | undefined;
  #port: Port | undefined;
  #watch: DescriptorWatch | undefined;

  constructor(name: string, mtu: number) {
    this.name = name;
    this.mtu = mtu;
  }

  /** Opens the descriptor in the network namespace of the calling thread. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
  protected abstract openPort(libc: Libc): Port;

  /** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE, ERR_ROCE_STATE, ERR_ROCE_CLOSED when closed meanwhile */
  async start(sink: LinkSink): Promise<void> {
    if (this.#starting !== undefined || this.#ended)
      throw new RoceError('ERR_ROCE_STATE', `${this.name} is started once`);
    this.#starting = this.#begin(sink);
    await this.#starting;
  }

  async #begin(sink: LinkSink): Promise<void> {
    try {
      const libc = await loadLibc();
      if (this.#ended) throw new RoceError('ERR_ROCE_CLOSED', `${this.name} was closed before it had started`);
      const port = this.openPort(libc);
      this.#port = port;
      this.#sink = sink;
      this.#watch = new DescriptorWatch(libc, port.fd, (bits) => this.#ready(port, sink, bits));
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  send(batch: FrameBatch, from: number): number {
    // After the end there is no wire to wait for: what is sent is lost.
    if (this.#port === undefined || this.#ended) return batch.count - from;
    const count = this.#port.send(batch, from);
    if (count < batch.count - from && !this.#blocked) {
      this.#blocked = true;
      this.#watch?.wantWritable(true);
    }
    return count;
  }

  async close(): Promise<void> {
    this.#end(undefined);
    await this.#starting?.catch(() => undefined);
  }

  #ready(port: Port, sink: LinkSink, bits: number): void {
    // What came before an error is still delivered.
    this.#receive(port, sink);
    if (this.#ended) return;
    if (bits === FAILED) {
      const error = port.failure();
      if (error !== undefined) this.#end(error);
      return;
    }
    if ((bits & WRITABLE) === 0 || !this.#blocked) return;
    this.#blocked = false;
    this.#watch?.wantWritable(false);
    sink.writable();
  }

  #receive(port: Port, sink: LinkSink): void {
    const batch = port.receive();
    this.#delivering = true;
    try {
      if (batch.count > 0) sink.receive(batch);
    } finally {
      this.#delivering = false;
      port.release();
      // Closed by the one who was given the frames: they had to stay until now.
      if (this.#ended) port.close();
    }
  }

  #end(error: RoceError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#watch?.stop();
    if (!this.#delivering) this.#port?.close();
    this.#sink?.closed(error);
  }
}

/** Where frames lie in memory, for calls that take addresses: asked for once per buffer, and a device sends from one. */
export class FrameAddresses {
  readonly #libc: Libc;
  /** Held, so that the address stays good. */
  #bytes: Uint8Array = new Uint8Array();
  #base = 0;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Address of frame `index`. */
  of(batch: FrameBatch, index: number): number {
    const { bytes } = batch;
    if (bytes !== this.#bytes) {
      this.#base = this.#libc.address(bytes);
      this.#bytes = bytes;
    }
    const start = batch.starts[index] as number;
    invariant(
      start >= 0 && start + (batch.lengths[index] as number) <= bytes.length,
      'a frame lies within the bytes of its batch',
    );
    return this.#base + start;
  }
}

/** Whether the frame at `start` holds more than an IP packet of `mtu` bytes; a VLAN tag or two do not count. */
export function isOversize(view: DataView, start: number, length: number, mtu: number): boolean {
  if (length <= mtu + ETHERNET_BYTES) return false;
  let header = ETHERNET_BYTES;
  for (let tag = 0; tag < MAX_TAGS && isTag(view.getUint16(start + header - 2)); tag++) header += TAG_BYTES;
  return length > mtu + header;
}

function isTag(etherType: number): boolean {
  return etherType === ETHERTYPE_VLAN || etherType === ETHERTYPE_SERVICE_VLAN;
}

const TAG_BYTES = 4;
const MAX_TAGS = 2;
/** Ethernet header and two VLAN tags, the most that a frame has beside its IP packet. */
export const MAX_HEADER_BYTES = ETHERNET_BYTES + MAX_TAGS * TAG_BYTES;
