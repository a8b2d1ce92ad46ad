/** The verbs of address handles, served in the worker. */
import type { AddressVector, Ah } from '../../device/verbs/index.ts';
import type { Served } from './served.ts';
import { type Handle, reviveVector, type WireAh, type WireVector } from './wire-values.ts';

export class AhServer {
  readonly #served: Served;

  constructor(served: Served) {
    this.#served = served;
  }

  async createAh(pd: Handle, av: WireVector): Promise<WireAh> {
    return this.serve(await this.#served.pds.found(pd).createAh(reviveVector(av)));
  }

  async createAhFromWc(pd: Handle, grh: boolean, bytes: Uint8Array): Promise<WireAh> {
    return this.serve(await this.#served.pds.found(pd).createAhFromWc({ grh }, bytes));
  }

  destroyAh(handle: Handle): void {
    this.#served.ahs.get(handle)?.destroy();
    this.#served.ahs.delete(handle);
  }

  /** For the other servers: takes a handle that was made into the table. */
  serve(ah: Ah): { readonly ah: Handle; readonly av: AddressVector } {
    return { ah: this.#served.ahs.add(ah), av: ah.av };
  }
}
