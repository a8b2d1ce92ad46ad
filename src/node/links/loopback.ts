/**
 * A wire that leads back: what a device sends comes to itself, for programs that share one device and talk to each
 * other through it, without any network.
 *
 *   loopback:10.0.0.1/24+fd00::1/64    the addresses
 *
 * Owns two batches that take turns: one is filled while the other is delivered, in the check phase of the event loop.
 * Frames never leave the memory of this process: as in a NIC that loops back, no ICRC protects them, but where somebody
 * looks at them or changes them on the way (a capture, faults).
 */
import { IpPrefix } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { FramePool } from '../../ground/frame-pool.ts';
import { WHOLE_PACKETS } from '../../ground/link.ts';
import { BATCH_FRAMES, PoolBatch } from '../../ground/pool-batch.ts';
import type { LinkKind } from './kind.ts';
import { LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';

export const loopbackKind: LinkKind = {
  name: 'loopback',
  usage: 'IP/PREFIX[+IP/PREFIX...][,mtu=N]',
  summary: 'one device that talks to itself: for programs under roce run, without any network',
  medium: Medium.Ip,
  ecn: WHOLE_PACKETS,
  requirements: () => Promise.resolve([]),
  open: (spec) => {
    const addresses = spec.target.split('+');
    for (const address of addresses) {
      try {
        IpPrefix.parse(address);
      } catch (error) {
        throw error instanceof RoceError ? spec.error(error.message) : error;
      }
    }
    return new LoopbackLink(addresses, spec.takeMtu() ?? DEFAULT_MTU);
  },
};

export class LoopbackLink extends LifecycleLink {
  readonly name: string;
  readonly medium = Medium.Ip;
  readonly ecn = WHOLE_PACKETS;
  readonly reflects = true;
  readonly icrcOffload = true;
  readonly mtu: number;
  readonly addresses: readonly string[];

  constructor(addresses: readonly string[], mtu: number) {
    super();
    this.name = `loopback:${addresses.join('+')}`;
    this.addresses = addresses;
    this.mtu = mtu;
  }

  /** Datagrams to every group come back. */
  join(): Promise<void> {
    return Promise.resolve();
  }

  /** Nothing has to be undone. */
  leave(): void {}

  protected override open(events: LinkEvents): Promise<LinkPort> {
    return Promise.resolve(new LoopbackPort(events, this.mtu));
  }
}

class LoopbackPort implements LinkPort {
  readonly #events: LinkEvents;
  readonly #pool = new FramePool();
  #filling = new PoolBatch();
  #delivering = new PoolBatch();
  #isClosed = false;

  constructor(events: LinkEvents, mtu: number) {
    this.#events = events;
    this.#pool.reserve(mtu);
  }

  send(batch: FrameBatch, from: number): number {
    const { bytes, view, starts, lengths } = batch;
    let at = from;
    for (; at < batch.count && this.#filling.count < BATCH_FRAMES; at++) {
      const slot = this.#pool.copyIn(bytes, view, starts[at] ?? 0, lengths[at] ?? 0);
      if (this.#filling.add(slot)) setImmediate(this.#deliver);
    }
    return at - from;
  }

  close(): void {
    this.#isClosed = true;
  }

  readonly #deliver = (): void => {
    if (this.#isClosed) return;
    const batch = this.#filling;
    this.#filling = this.#delivering;
    this.#delivering = batch;
    batch.bind(this.#pool);
    this.#events.receive(batch);
    batch.release(this.#pool);
    this.#events.writable();
  };
}

/** A path MTU of 4096. */
const DEFAULT_MTU = 4200;
