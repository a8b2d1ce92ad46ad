/**
 * Protection domain of the verbs API: what regions, queue pairs and everything else that belongs together is made from.
 * Thin: the machine is in transport/memory.ts, the tables are the device's (resources.ts).
 */
import { type MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import type { RdmaPd } from '../api.ts';
import type { Device } from '../device.ts';
import type { Resources } from '../resources.ts';
import type { Qp, QpInit } from './qp.ts';

export interface RegMrOptions {
  /** Bit set of `Access`; default local write only. */
  readonly access?: number;
  /** Virtual address of the first byte; default a random page-aligned one. */
  readonly iova?: bigint;
  /** Whether a SEND with invalidate may kill the key. Default false. */
  readonly remoteInvalidate?: boolean;
}

/** Groups regions and queue pairs (ibv_pd). */
export class Pd implements RdmaPd {
  readonly device: Device;
  readonly core: ProtectionDomain;
  readonly #resources: Resources;

  /** Called by `Resources.allocPd`. */
  constructor(device: Device, resources: Resources, handle: number) {
    this.device = device;
    this.#resources = resources;
    this.core = new ProtectionDomain(handle);
  }

  /** Registers memory (ibv_reg_mr): bytes of the caller's, shared, or that many fresh zeroed ones. */
  regMr(memory: Uint8Array | number, options: RegMrOptions = {}): MemoryRegion {
    return this.#resources.regMr(this, memory, options);
  }

  /** Ends a registration; its key opens nothing from now on. */
  deregMr(region: MemoryRegion): void {
    this.#resources.deregMr(region);
  }

  /** Makes a queue pair of type RC in state RESET (ibv_create_qp). */
  createQp(init: QpInit): Qp {
    return this.#resources.createQp(this, init);
  }

  /** Frees the domain. Throws ERR_ROCE_IN_USE while regions or queue pairs remain. */
  dealloc(): void {
    this.core.demandUnused();
  }
}
