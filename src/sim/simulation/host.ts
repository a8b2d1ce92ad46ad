/**
 * A host of a simulation: one device of the real stack on the simulated network, with memory and a completion queue.
 * Owns its setup; `flow-run.ts` sends. The memory is blank, so that a thousand hosts stay small.
 */

import { IpPrefix } from '../../../packets/address.ts';
import { defined } from '../../../packets/defined.ts';
import type { CongestionOptions } from '../../../transport/congestion/congestion-options.ts';
import type { GrantMemory } from '../../../transport/grant.ts';
import { Access, type MemoryRegion } from '../../../transport/memory.ts';
import { WorkCompletion } from '../../../transport/work.ts';
import { Device } from '../../device/device.ts';
import { Cq, type Pd } from '../../device/verbs/index.ts';
import { HOST_PREFIX_LENGTH, hostAddress, hostMac } from '../topology/index.ts';
import type { World, WorldNetwork } from '../world.ts';

/** How hosts are set up. */
export interface HostSetup {
  /** Already with the line rate of the host's port. */
  readonly congestion: CongestionOptions | undefined;
  readonly maxUnacked: number;
  /** Memory that is sent from, and that is received into. */
  readonly source: GrantMemory;
  readonly sink: GrantMemory;
  /** Hosts that this one exchanges packets with. */
  readonly peers: Iterable<number>;
  /** Called for every completion: the number of its work request, which is the flow's, and how it went. */
  readonly completed: (wrId: number, opcode: number, status: number) => void;
}

/** One host of the simulation. */
export class SimulatedHost {
  readonly device: Device;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly source: MemoryRegion;
  readonly sink: MemoryRegion;

  /** Attaches host `number` to the world's network under `name`. */
  constructor(world: World<WorldNetwork>, name: string, number: number, setup: HostSetup) {
    const { congestion, maxUnacked, peers, completed } = setup;
    this.device = world.attach(
      name,
      (host, link, random) =>
        new Device({
          ...{ host, random, name, medium: link.medium, mtu: link.mtu, icrcOffload: link.icrcOffload },
          mac: hostMac(number),
          addresses: [new IpPrefix(hostAddress(number), HOST_PREFIX_LENGTH)],
          neighbours: Array.from(peers, (peer) => ({ address: hostAddress(peer), mac: hostMac(peer) })),
          maxUnacked,
          ...defined({ congestion }),
        }),
    );
    this.pd = this.device.allocPd();
    this.cq = this.device.createCq(COMPLETIONS, (...init) => new DrainedCq(completed, ...init));
    this.source = this.pd.regMr(setup.source, { access: Access.LocalWrite | Access.RemoteRead });
    this.sink = this.pd.regMr(setup.sink, { access: Access.LocalWrite | Access.RemoteWrite });
  }
}

/**
 * A completion queue that passes completions on while the device still handles the packet: nothing waits for a turn of
 * the event loop.
 */
class DrainedCq extends Cq {
  readonly #completed: HostSetup['completed'];
  readonly #wc = new WorkCompletion();

  constructor(completed: HostSetup['completed'], ...init: ConstructorParameters<typeof Cq>) {
    super(...init);
    this.#completed = completed;
    this.arm(false);
  }

  override settle(): void {
    this.takeNotifications();
    // Armed first: what the handler posts may complete at once, and is found by a call of its own.
    this.arm(false);
    while (this.poll(this.#wc)) this.#completed(this.#wc.wrId, this.#wc.opcode, this.#wc.status);
  }
}

/** Work requests that may complete in one instant: only what is waiting takes room. */
const COMPLETIONS = 1 << 20;
