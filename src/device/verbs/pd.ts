/**
 * Protection domain of the verbs API: makes regions, queue pairs, address handles and shared receive queues that belong
 * together. Thin: the machine is in transport/memory.ts, the tables are the device's (resources.ts).
 */

import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { GrantMemory } from '../../../transport/grant.ts';
import type { KeyTable } from '../../../transport/key-table.ts';
import { type MemoryRegion, ProtectionDomain, type WindowType } from '../../../transport/memory.ts';
import type { QpPath } from '../../../transport/qp-path.ts';

import type { WorkCompletion } from '../../../transport/work.ts';
import type { RdmaDevice } from '../api.ts';
import { type AddressVector, addressVectorOfGrh } from './address-vector.ts';
import { Ah, type AhPaths } from './ah.ts';
import type { RegMrOptions } from './attributes.ts';
import type { Mw } from './mw.ts';
import type { LocalPd } from './ports.ts';
import type { Qp, QpInit } from './qp.ts';
import type { Srq, SrqInit } from './srq.ts';

/** What a protection domain needs of its device. */
export interface PdDevice extends RdmaDevice {
  readonly paths: PdPaths;
}

/** Paths to peers, as address handles need them. */
export interface PdPaths extends AhPaths {
  isOurs(address: IpAddress): boolean;
  pathTo(qpn: number, av: AddressVector, destQpn: number): QpPath;
}

/** The tables of the device that hold a protection domain's objects. */
export interface PdResources {
  readonly keys: KeyTable;
  regMr(pd: Pd, memory: GrantMemory | number, options: RegMrOptions): MemoryRegion;
  deregMr(region: MemoryRegion): void;
  allocMr(pd: Pd, maxBytes: number): MemoryRegion;
  allocMw(pd: Pd, type: WindowType): Mw;
  createQp(pd: Pd, init: QpInit): Qp;
  createSrq(pd: Pd, init: SrqInit): Srq;
  /** A number for the next address handle. */
  ahNumber(): number;
}

/**
 * Groups regions and queue pairs (ibv_pd).
 *
 * @example
 * ```ts
 * import { Access, attachDevice, World } from 'rocev2';
 *
 * const device = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] });
 * const pd = device.allocPd();
 * const region = pd.regMr(4096, { access: Access.LocalWrite | Access.RemoteRead });
 * region.bytes.fill(7);
 * console.log(region.length, region.bytes[4095]); // 4096 7
 * pd.deregMr(region);
 * ```
 */
export class Pd implements LocalPd {
  readonly device: RdmaDevice;
  /** @internal */
  readonly core: ProtectionDomain;
  readonly #paths: PdPaths;
  readonly #resources: PdResources;

  /** Called by `Resources.allocPd`. @internal */
  constructor(device: PdDevice, resources: PdResources, handle: number) {
    this.device = device;
    this.#paths = device.paths;
    this.#resources = resources;
    this.core = new ProtectionDomain(handle);
  }

  /** Registers memory (ibv_reg_mr): the caller's, shared, or that many fresh zeroed bytes. */
  regMr(memory: GrantMemory | number, options: RegMrOptions = {}): MemoryRegion {
    return this.#resources.regMr(this, memory, options);
  }

  /** Ends a registration; its key is invalid from now on. */
  deregMr(region: MemoryRegion): void {
    this.#resources.deregMr(region);
  }

  /**
   * Gives a region this domain, of whichever of the device it is, and other rights (ibv_rereg_mr). Throws
   * ERR_ROCE_ARGUMENT for rights that no region has, ERR_ROCE_IN_USE while memory windows are bound to it. @internal
   */
  reregMr(region: MemoryRegion, access: number): void {
    this.#resources.keys.reregister(region, this.core, access);
  }

  /** A region for fast registration of at most `maxBytes` (ib_alloc_mr): a work request gives it memory and a key. */
  allocMr(maxBytes: number): MemoryRegion {
    return this.#resources.allocMr(this, maxBytes);
  }

  /** A memory window (ibv_alloc_mw), of type 2B by default: a work request binds it to a region. */
  allocMw(type: WindowType = 2): Mw {
    return this.#resources.allocMw(this, type);
  }

  /** Makes a queue pair in state RESET (ibv_create_qp). */
  createQp(init: QpInit): Qp {
    return this.#resources.createQp(this, init);
  }

  /** Makes an address handle (ibv_create_ah). Rejects with ERR_ROCE_ADDRESS when the next hop does not resolve. */
  async createAh(av: AddressVector): Promise<Ah> {
    await this.device.resolve(av.destination);
    return new Ah(this.#paths, this, av, this.#paths.pathTo(this.#resources.ahNumber(), av, 1));
  }

  /**
   * Makes an address handle to the sender of a datagram (ibv_create_ah_from_wc); rejects with ERR_ROCE_ARGUMENT too,
   * for no header.
   */
  async createAhFromWc(wc: Pick<WorkCompletion, 'grh'>, grh: Uint8Array): Promise<Ah> {
    const av = wc.grh ? addressVectorOfGrh(grh) : undefined;
    if (av === undefined)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'the first 40 bytes received do not hold the header of a datagram');
    const { source, ...rest } = av;
    return this.createAh(this.#paths.isOurs(source) ? av : rest);
  }

  /**
   * Makes a shared receive queue (ibv_create_srq); with an XRC domain and a completion queue an XRC one
   * (ibv_create_srq_ex).
   */
  createSrq(init: SrqInit): Srq {
    return this.#resources.createSrq(this, init);
  }

  /** Frees the domain. Throws ERR_ROCE_IN_USE while regions, queue pairs or address handles remain. */
  dealloc(): void {
    this.core.demandUnused();
  }
}
