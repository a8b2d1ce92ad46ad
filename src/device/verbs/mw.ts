/**
 * Memory window of the verbs API. Thin: what a window may do is in transport/key-table.ts; a work request binds it, and
 * each bind changes its key.
 */
import type { ProtectionDomain, WindowType } from '../../../transport/memory.ts';
import { MemoryWindow } from '../../../transport/memory.ts';
import type { RdmaMw } from '../api.ts';

/** The device's table of windows. */
export interface MwResources {
  deallocMw(mw: Mw): void;
}

/** A part of a region, lent to one queue pair or to all of a domain (ibv_mw). */
export class Mw extends MemoryWindow implements RdmaMw {
  readonly #resources: MwResources;

  /** Called by `Resources.allocMw`. @internal */
  constructor(resources: MwResources, pd: ProtectionDomain, rkey: number, type: WindowType) {
    super(pd, rkey, type);
    this.#resources = resources;
  }

  /** Frees the window, bound or not (ibv_dealloc_mw). Throws ERR_ROCE_STATE when it is freed already. */
  dealloc(): void {
    this.#resources.deallocMw(this);
  }
}
