/**
 * Host control as a case has it: counts what it tells of the device's behaviour, so that a case that has looked at
 * nothing is no pass. Owns which answers are such facts: completions and events that came, states, memory and counters
 * that were read, and refusals. That an object was made is none.
 */
import {
  type HostCall,
  type HostCalls,
  type HostControl,
  HostControlError,
  type HostDescription,
} from '../host-control/host-control.ts';

export class ObservedHostControl implements HostControl {
  readonly #inner: HostControl;
  readonly #observe: () => void;

  /** `observe` is called once for each answer that is a fact. */
  constructor(inner: HostControl, observe: () => void) {
    this.#inner = inner;
    this.#observe = observe;
  }

  get description(): HostDescription {
    return this.#inner.description;
  }

  async call<C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<HostCalls[C]['gives']> {
    try {
      const given = await this.#inner.call(name, args);
      if (isFact(name, given)) this.#observe();
      return given;
    } catch (error) {
      if (error instanceof HostControlError && error.kind === 'refused') this.#observe();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** What was read is a fact; of what is polled, something has to have come. */
function isFact(name: HostCall, given: object): boolean {
  if (READS.has(name)) return true;
  if ('completions' in given) return isFull(given.completions);
  if ('events' in given) return isFull(given.events);
  return 'count' in given && given.count !== 0;
}

const isFull = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

const READS: ReadonlySet<HostCall> = new Set(['qp.query', 'mem.read', 'port.query', 'counters']);
