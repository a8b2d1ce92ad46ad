/**
 * Delivery of results: promises are settled and events emitted at the end of each turn of a device, each part for
 * itself, so that an error in one delivers those of the others all the same.
 */
import type { IpAddress } from '../../packets/address.ts';
import type { CmService } from './cm/service.ts';
import type { InternalErrors } from './internal-errors.ts';
import type { Paths } from './paths.ts';
import type { Resources } from './resources.ts';
import type { Services } from './services.ts';

/** Results that may throw while they are delivered, one after the other, before the rest waits for the next turn. */
const ROUNDS = 16;

// Parts of the delivery, in their order.
const PATHS = 0;
const MANAGER = 1;
const RESOURCES = 2;

/** What has results; each part takes one from its queue before it delivers it. */
export interface SettlingParts {
  readonly paths: Pick<Paths, 'settle' | 'unsettled'>;
  readonly cm: Pick<CmService, 'settle' | 'unsettled'>;
  readonly resources: Pick<Resources, 'settle' | 'unsettled'>;
  /** What results of the others are told may give them work. */
  readonly services: Pick<Services, 'disturb'>;
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

  /** At the end of each turn: most have nothing to deliver. */
  settle(): void {
    const { paths, cm, resources, services } = this.#parts;
    if (paths.unsettled || cm.unsettled) services.disturb();
    else if (!resources.unsettled) return;
    this.#settleFrom(PATHS, 0);
  }

  /** What throws is no longer in its queue: the next round does the rest. */
  #settleFrom(first: number, errors: number): void {
    const { paths, cm, resources } = this.#parts;
    let part = first;
    try {
      if (part === PATHS) {
        paths.settle(this.#unreachable);
        part = MANAGER;
      }
      if (part === MANAGER) {
        cm.settle();
        part = RESOURCES;
      }
      if (part === RESOURCES) resources.settle();
    } catch (error) {
      this.#errors.caught('settle', error);
      const round = part === first ? errors + 1 : 1;
      if (round < ROUNDS) this.#settleFrom(part, round);
      else this.#settleFrom(part + 1, 0);
    }
  }
}
