/**
 * One port of a simulated network: a `Link` on the machine's side, two wires to the medium.
 * Owns the sink, the batch being filled and the counters. Never moves a frame: the network does, through the methods
 * marked "for the network".
 */
import { RoceError } from '../../packets/errors.ts';
import { MAX_ETHERNET_BYTES } from '../../packets/ethernet.ts';
import type { Medium } from '../../packets/frame.ts';
import type { FrameBatch } from '../../packets/frame-writer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import type { Wire } from '../faults/wire.ts';
import type { FramePool } from '../ground/frame-pool.ts';
import type { Link, LinkSink } from '../ground/link.ts';
import { BATCH_FRAMES, PoolBatch } from '../ground/pool-batch.ts';

/** What a port needs of its network. */
export interface PortMedium {
  readonly medium: Medium;
  sendFrom(port: SimulatedPort, batch: FrameBatch, from: number): number;
  detach(port: SimulatedPort): void;
}

/** Frames, by what the port itself did with them; what the wires did is in their counters. */
export interface SimulatedPortCounters {
  /** Frames sent through the port. */
  sent: number;
  /** Frames handed to the port's sink. */
  delivered: number;
  /** Longer than the MTU allows, on the way in or out: dropped. */
  oversize: number;
  /** Arrived before the port was started or after it was closed: dropped. */
  unheard: number;
  /** Addressed to the port they came from: dropped. */
  hairpinned: number;
}

/**
 * A port of a simulated network: a `Link` in virtual time.
 *
 * @example
 * ```ts
 * import { attachDevice, IpAddress, World } from 'rocev2';
 * import { SimulatedNetwork, type SimulatedPort } from 'rocev2/sim';
 *
 * const network = new SimulatedNetwork();
 * const world = new World({ seed: 1, network });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * // A port without a machine: it hears the ARP requests of the other, and does not answer.
 * const port: SimulatedPort = network.attach('b');
 * let frames = 0;
 * await port.start({
 *   receive(batch) {
 *     frames += batch.count;
 *   },
 *   writable() {},
 *   closed() {},
 * });
 * const found = a.resolve(IpAddress.parse('10.0.0.2')).catch((error: Error) => error.message);
 * world.runFor(10e9);
 * console.log(await found); // no answer from 10.0.0.2 on this link
 * console.log(frames, port.counters.delivered); // 3 3
 * ```
 */
export class SimulatedPort implements Link {
  /** Name in the network. */
  readonly name: string;
  /** Largest IP packet, in bytes. */
  readonly mtu: number;
  /** Position in the network. */
  readonly index: number;
  /** From the port to the medium. */
  readonly sendWire: Wire;
  /** From the medium to the port. */
  readonly receiveWire: Wire;
  /** What the port did with frames. */
  readonly counters: SimulatedPortCounters = { sent: 0, delivered: 0, oversize: 0, unheard: 0, hairpinned: 0 };
  /** `close` was called. */
  closed = false;
  /**
   * For the network: a `send` was cut short and `writable` is due.
   *
   * @internal
   */
  blocked = false;

  readonly #network: PortMedium;
  readonly #batch = new PoolBatch();
  #sink: LinkSink | undefined;

  /**
   * Made by `SimulatedNetwork.attach`.
   *
   * @internal
   */
  constructor(network: PortMedium, name: string, index: number, mtu: number, sendWire: Wire, receiveWire: Wire) {
    this.#network = network;
    this.name = name;
    this.index = index;
    this.mtu = mtu;
    this.sendWire = sendWire;
    this.receiveWire = receiveWire;
  }

  /** What frames begin with. */
  get medium(): Medium {
    return this.#network.medium;
  }

  /** Longest frame, link header included, in bytes. */
  get maxFrameBytes(): number {
    return this.mtu + MAX_ETHERNET_BYTES;
  }

  /** Begins delivery at once. Rejects with ERR_ROCE_STATE on a port that was started or closed before. */
  start(sink: LinkSink): Promise<void> {
    if (this.closed || this.#sink !== undefined)
      return Promise.reject(new RoceError('ERR_ROCE_STATE', `port ${this.name} is started once`));
    this.#sink = sink;
    return Promise.resolve();
  }

  /** As `Link.send`; a closed port takes everything and delivers nothing. */
  send(batch: FrameBatch, from: number): number {
    return this.closed ? batch.count - from : this.#network.sendFrom(this, batch, from);
  }

  /** Takes the port off the network; frames on their way to it are dropped, those from it still arrive. */
  close(): Promise<void> {
    if (this.closed) return Promise.resolve();
    this.closed = true;
    this.#network.detach(this);
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.closed();
    return Promise.resolve();
  }

  /** Replaces the faults of one direction, or of both when it is left out. */
  setFaults(spec: FaultSpec, direction?: 'send' | 'receive'): void {
    if (direction !== 'receive') this.sendWire.setFaults(spec);
    if (direction !== 'send') this.receiveWire.setFaults(spec);
  }

  /**
   * For the network: whether the port is started and open.
   *
   * @internal
   */
  get listening(): boolean {
    return this.#sink !== undefined;
  }

  /**
   * For the network: adds a frame, by its slot, to the batch being filled; true when it is the first.
   *
   * @internal
   */
  stage(slot: number): boolean {
    return this.#batch.add(slot);
  }

  /**
   * For the network: hands over what was staged and gives the slots back.
   *
   * @internal
   */
  flush(pool: FramePool): void {
    const batch = this.#batch;
    batch.bind(pool);
    // An earlier callback of the same round may have closed this port.
    if (this.#sink === undefined) this.counters.unheard += batch.count;
    else {
      this.counters.delivered += batch.count;
      this.#sink.receive(batch);
    }
    batch.release(pool);
  }

  /**
   * For the network: no more frames fit the batch being filled.
   *
   * @internal
   */
  get batchFull(): boolean {
    return this.#batch.count === BATCH_FRAMES;
  }

  /**
   * For the network: `send` takes frames again.
   *
   * @internal
   */
  unblock(): void {
    if (!this.blocked) return;
    this.blocked = false;
    this.#sink?.writable();
  }
}
