/**
 * Delivery of results: promises are settled and events emitted at the end of each turn of a device, each part for
 * itself, so that an error in one delivers those of the others all the same.
 */
import type { IpAddress } from '../../packets/address.ts';
import type { CmService } from './cm/service.ts';
import type { InternalErrors } from './internal-errors.ts';
import type { Paths } from './paths.ts';
import type { Resources } from './resources.ts';

/** Results that may throw while they are delivered, one after the other, before the rest waits for the next turn. */
const ROUNDS = 16;

/** Paths, the connection manager, and queue pairs with their queues. */
const PARTS = 3;

export class Settling {
  readonly #paths: Paths;
  readonly #unreachable: (address: IpAddress) => void;
  readonly #cm: CmService;
  readonly #resources: Resources;
  readonly #errors: InternalErrors;

  /** Each part takes a result from its queue before it delivers it. `unreachable` is called for failed resolutions. */
  constructor(
    paths: Paths,
    unreachable: (address: IpAddress) => void,
    cm: CmService,
    resources: Resources,
    errors: InternalErrors,
  ) {
    this.#paths = paths;
    this.#unreachable = unreachable;
    this.#cm = cm;
    this.#resources = resources;
    this.#errors = errors;
  }

  settle(): void {
    for (let part = 0; part < PARTS; part++) this.#settlePart(part);
  }

  /** What throws is no longer in its queue: the next round does the rest. */
  #settlePart(part: number): void {
    for (let round = 0; round < ROUNDS; round++) {
      try {
        if (part === 0) this.#paths.settle(this.#unreachable);
        else if (part === 1) this.#cm.settle();
        else this.#resources.settle();
        return;
      } catch (error) {
        this.#errors.caught('settle', error);
      }
    }
  }
}
