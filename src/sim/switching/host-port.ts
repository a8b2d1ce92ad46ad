/**
 * A host's port of a switched network: a `Link` to the machine, a NIC with a short queue to the network.
 * Owns when the NIC takes frames from its machine: only when the wire will be free for one, so that a pause or a lower
 * rate holds for all but the frames that wait here. While a priority is paused its frames may pile up, so that others
 * (CNPs) can still pass.
 */
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { LinkSink } from '../../ground/link.ts';
import type { WorldPort } from '../member.ts';
import type { EgressListener, EgressPort, IngressListener } from './egress-port.ts';
import type { NetworkSettings } from './options.ts';

/** What a host's port needs of its network. */
export interface HostNetwork {
  /** Takes one frame into the NIC's queue, or drops it. */
  sendFrom(host: HostPort, batch: FrameBatch, start: number, length: number): void;
  /** A frame has come for the host. */
  arrived(host: HostPort, from: EgressPort, slot: number): void;
  /** The NIC takes frames again, and its sink's `writable` is due at the end of this instant. */
  takesAgain(host: HostPort): void;
}

/** Frames, by what the port did with them. */
export interface HostPortCounters {
  /** From the machine, to the network. */
  sent: number;
  /** Handed to the machine. */
  delivered: number;
  /** From the machine, longer than the MTU allows: dropped. */
  oversize: number;
  /** From the machine, and not IPv4 to a host of the network: dropped. */
  unroutable: number;
  /** For another host, or for one that is not attached or was closed: dropped. */
  unheard: number;
}

/** A host's port: a `Link` in virtual time. */
export class HostPort implements WorldPort, EgressListener, IngressListener {
  /** The host's name in the topology. */
  readonly name: string;
  /** The host's number. */
  readonly host: number;
  /** Largest IP packet, in bytes. */
  readonly mtu: number;
  /** What frames begin with. */
  readonly medium = Medium.Ethernet;
  /** As `Link` has it. */
  readonly icrcOffload: boolean;
  /** What the port did with frames. */
  readonly counters: HostPortCounters = { sent: 0, delivered: 0, oversize: 0, unroutable: 0, unheard: 0 };
  /** `close` was called. */
  closed = false;
  /** Longest frame, link header included, in bytes. */
  readonly maxFrameBytes: number;
  /** The sending side of the NIC. */
  readonly egress: EgressPort;
  /** Frames that came in this instant, in order; for the network. @internal */
  arrivedHead = -1;
  /** @internal */
  arrivedTail = -1;
  /** The sink; for the network. @internal */
  sink: LinkSink | undefined = undefined;

  readonly #network: HostNetwork;
  readonly #queueFrames: number;
  /** `writable` is due. */
  #refused = false;

  /** @internal */
  constructor(network: HostNetwork, host: number, egress: EgressPort, settings: NetworkSettings) {
    this.#network = network;
    this.host = host;
    this.name = settings.topology.nodeNames[host] ?? '';
    this.mtu = settings.mtu;
    this.icrcOffload = settings.icrcOffload;
    this.maxFrameBytes = settings.maxFrameBytes;
    this.#queueFrames = settings.nicQueueFrames;
    this.egress = egress;
  }

  /** Whether the NIC takes a frame now. After false, `writable` follows when it does. */
  get ready(): boolean {
    if (this.closed || this.#takes()) return true;
    this.#refused = true;
    return false;
  }

  /** Begins delivery at once. Rejects with ERR_ROCE_CLOSED on a closed port. */
  start(sink: LinkSink): Promise<void> {
    if (this.closed) return Promise.reject(new RoceError('ERR_ROCE_CLOSED', `port ${this.name} is closed`));
    this.sink = sink;
    return Promise.resolve();
  }

  /** As `Link.send`; a closed port takes everything and delivers nothing. */
  send(batch: FrameBatch, from: number): number {
    if (this.closed) return batch.count - from;
    for (let index = from; index < batch.count; index++) {
      if (!this.ready) return index - from;
      this.#network.sendFrom(this, batch, batch.starts[index] as number, batch.lengths[index] as number);
    }
    return batch.count - from;
  }

  /** Ends delivery; frames on their way to the host are dropped, those from it still arrive. */
  close(): Promise<void> {
    if (this.closed) return Promise.resolve();
    this.closed = true;
    const { sink } = this;
    this.sink = undefined;
    sink?.closed();
    return Promise.resolve();
  }

  /** @internal */
  leaving(): void {
    this.changed();
  }

  /** @internal */
  changed(): void {
    if (!this.#refused || !this.#takes()) return;
    this.#refused = false;
    this.#network.takesAgain(this);
  }

  /** @internal */
  arrive(from: EgressPort, slot: number): void {
    this.#network.arrived(this, from, slot);
  }

  #takes(): boolean {
    const { egress } = this;
    if (egress.blocked === 0) return egress.queuedFrames < this.#queueFrames;
    const { blockedFrames } = egress;
    return blockedFrames < MAX_BLOCKED_FRAMES && egress.queuedFrames - blockedFrames < this.#queueFrames;
  }
}

/** Frames of paused priorities that a NIC holds before it stops taking anything. */
const MAX_BLOCKED_FRAMES = 32;
