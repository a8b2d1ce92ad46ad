/**
 * The common part of the native Ethernet links: one non-blocking descriptor, read on events of the event loop, written
 * at once. Owns the watch of the descriptor, and frames that stay until they have been delivered. Each kind supplies a
 * `DescriptorPort`.
 *
 * A link that is started is held by its watch in the event loop, and holds its port; so nothing that the kernel may
 * write to is collected before `close`, whether or not the link is still referenced. Node does not manage the
 * descriptor: a worker thread that is terminated with its link open leaves it open, and a TAP busy, until the process
 * ends.
 */
import { invariant, type RoceError } from '../../../packets/errors.ts';
import { ETHERNET_BYTES, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN } from '../../../packets/ethernet.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { type LinkPoller, WHOLE_PACKETS } from '../../ground/link.ts';
import { FAILED, type Libc, loadLibc, WRITABLE } from './libc.ts';
import { type Abandonment, LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';
import { DescriptorWatch } from './poller.ts';

/** An open descriptor and the memory behind it. None of its methods throws. */
export interface DescriptorPort {
  readonly fd: number;
  /** As `Link.send`: fewer than offered means that the kernel's queue is full. */
  send(batch: FrameBatch, from: number): number;
  /** The next frames that wait, a bounded number; none is a count of 0. They stay until `release`. */
  receive(): FrameBatch;
  /** Gives back the frames of the last `receive`. */
  release(): void;
  /** Takes the error that waits at the descriptor; undefined when the link still works. */
  failure(): RoceError | undefined;
  close(): void;
}

export abstract class DescriptorLink extends LifecycleLink {
  readonly name: string;
  readonly medium = Medium.Ethernet;
  /** As `Link.ecn`. */
  readonly ecn = WHOLE_PACKETS;
  readonly mtu: number;

  constructor(name: string, mtu: number) {
    super();
    this.name = name;
    this.mtu = mtu;
  }

  /**
   * Opens the descriptor in the network namespace of the calling thread. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE
   */
  protected abstract openPort(libc: Libc): DescriptorPort;

  protected override async open(events: LinkEvents, abandoned: Abandonment): Promise<LinkPort> {
    const libc = await loadLibc();
    abandoned.throwIfAborted();
    return new WatchedPort(libc, this.openPort(libc), events);
  }
}

/** A descriptor in the event loop. */
class WatchedPort implements LinkPort {
  readonly #port: DescriptorPort;
  readonly #events: LinkEvents;
  readonly #watch: DescriptorWatch;
  readonly poller: LinkPoller = { begin: () => {}, poll: () => this.#receive(), end: () => {} };
  #delivering = false;
  #closed = false;

  constructor(libc: Libc, port: DescriptorPort, events: LinkEvents) {
    this.#port = port;
    this.#events = events;
    this.#watch = new DescriptorWatch(libc, port.fd, (bits) => this.#ready(bits));
  }

  send(batch: FrameBatch, from: number): number {
    const count = this.#port.send(batch, from);
    if (count < batch.count - from) this.#watch.wantWritable(true);
    return count;
  }

  close(): void {
    this.#closed = true;
    this.#watch.stop();
    // Frames must stay until the sink returns.
    if (!this.#delivering) this.#port.close();
  }

  #ready(bits: number): void {
    // What came before an error is still delivered.
    this.#receive();
    if (this.#closed) return;
    if (bits === FAILED) {
      const error = this.#port.failure();
      if (error !== undefined) this.#events.ended(error);
      return;
    }
    if ((bits & WRITABLE) === 0) return;
    this.#watch.wantWritable(false);
    this.#events.writable();
  }

  /** Whether there was something. */
  #receive(): boolean {
    const batch = this.#port.receive();
    const { count } = batch;
    this.#delivering = true;
    try {
      if (count > 0) this.#events.receive(batch);
    } finally {
      this.#delivering = false;
      this.#port.release();
      if (this.#closed) this.#port.close();
    }
    return count > 0;
  }
}

/**
 * Where frames lie in memory, for calls that take addresses: asked for once per buffer, and a device sends from one.
 */
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
