/** The verbs of address handles, served in the worker. */
import type { AddressVector, Ah } from '../../device/verbs/index.ts';
import type { ServedObjects } from './served.ts';
import type { AhVerbs } from './verbs.ts';
import { type ObjectHandle, reviveVector } from './wire-values.ts';

export class AhServer {
  readonly #served: ServedObjects;

  /** The handlers. */
  readonly verbs: AhVerbs = {
    createAh: async (pd, av) => this.serve(await this.#served.pds.found(pd).createAh(reviveVector(av))),
    createAhFromWc: async (pd, grh, bytes) => {
      return this.serve(await this.#served.pds.found(pd).createAhFromWc({ grh }, bytes));
    },
    destroyAh: (handle) => {
      this.#served.ahs.get(handle)?.destroy();
      this.#served.ahs.delete(handle);
    },
  };

  constructor(served: ServedObjects) {
    this.#served = served;
  }

  /** For the other servers: adds a new address handle to the table. */
  serve(ah: Ah): { readonly ah: ObjectHandle; readonly av: AddressVector } {
    return { ah: this.#served.ahs.add(ah), av: ah.av };
  }
}
