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

/** What has results; each part takes one from its queue before it delivers it. */
export interface SettlingParts {
  readonly paths: Pick<Paths, 'settle'>;
  readonly cm: Pick<CmService, 'settle'>;
  readonly resources: Pick<Resources, 'settle'>;
}

export class Settling {
  readonly #parts: SettlingParts;
  readonly #unreachable: (address: IpAddress) => void;
  readonly #errors: InternalErrors;

  /** `unreachable` is called with each address whose resolution has failed. */
  constructor(parts: SettlingParts, unreachable: (address: IpAddress) => void, errors: InternalErrors) {
    this.#parts = parts;
    this.#unreachable = unreachable;
    this.#errors = errors;
  }

  settle(): void {
    for (let part = 0; part < PARTS; part++) this.#settlePart(part);
  }

  /** What throws is no longer in its queue: the next round does the rest. */
  #settlePart(part: number): void {
    for (let round = 0; round < ROUNDS; round++) {
      try {
        if (part === 0) this.#parts.paths.settle(this.#unreachable);
        else if (part === 1) this.#parts.cm.settle();
        else this.#parts.resources.settle();
        return;
      } catch (error) {
        this.#errors.caught('settle', error);
      }
    }
  }
}
