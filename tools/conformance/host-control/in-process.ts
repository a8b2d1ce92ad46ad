/**
 * Host control of a device of our own, in this process: what an agent does with libibverbs, done with our verbs API, so
 * that a case sees no difference. Owns the order of calls, the messages of refusals, and the description. The
 * objects are in in-process-objects.ts, the calls on them in in-process-resources.ts and in-process-queue-pairs.ts, the
 * connection manager in in-process-cm.ts.
 *
 * Never waits for real time: what takes time (finding a neighbour) takes virtual time, and the owner of the world lets
 * it pass. Errno names as verbs have them: ibv_post_send(3), ibv_modify_qp(3), rdma_connect(3), by way of
 * packets/errors.ts.
 */
import type { Device } from 'rocev2';
import { defined, RoceError } from 'rocev2/packets';
import { packageVersion } from '../../package-version.ts';
import {
  FEATURES,
  type Feature,
  type HostCall,
  type HostCalls,
  type HostControl,
  HostControlError,
  type HostDescription,
} from './host-control.ts';
import { connectionCalls } from './in-process-cm.ts';
import { type Handlers, Objects } from './in-process-objects.ts';
import { queuePairCalls } from './in-process-queue-pairs.ts';
import { resourceCalls } from './in-process-resources.ts';

/** What the host control cannot find out themselves. */
export interface InProcessHostOptions {
  /** Default `IN_PROCESS_FEATURES`, and `cnp` where `cnp` says so. */
  readonly features?: readonly Feature[];
  /** The device was made with congestion control: it answers marks with notifications. Default false. */
  readonly cnp?: boolean;
  /** DSCP of its CNPs. */
  readonly cnpDscp?: number;
  /** For reports; default that of this package. */
  readonly version?: string;
}

/** What a device of our own can do, but for congestion control, which it may be made without. */
export const IN_PROCESS_FEATURES: readonly Feature[] = FEATURES.filter((feature) => feature !== 'cnp');

/**
 * Host control of `device`, which stays the caller's: `close` destroys what was made through the host control, and not
 * the device.
 */
export function inProcessHostControl(device: Device, options: InProcessHostOptions = {}): HostControl {
  return new InProcessHostControl(device, options);
}

type Given<C extends HostCall> = HostCalls[C]['gives'];

class InProcessHostControl implements HostControl {
  readonly description: HostDescription;
  readonly #objects: Objects;
  readonly #handlers: Handlers;
  /** The calls that are not over; undefined when none is. */
  #tail: Promise<void> | undefined;
  #closed = false;

  constructor(device: Device, options: InProcessHostOptions) {
    this.description = describe(device, options);
    this.#objects = new Objects(device);
    this.#handlers = {
      ...resourceCalls(this.#objects),
      ...queuePairCalls(this.#objects),
      ...connectionCalls(this.#objects),
    };
  }

  call<C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<Given<C>> {
    if (this.#closed) return Promise.reject(closed());
    try {
      const given = this.#tail === undefined ? this.#do(name, args) : this.#tail.then(() => this.#do(name, args));
      return given instanceof Promise ? this.#follow(given) : Promise.resolve(given);
    } catch (error) {
      return Promise.reject(asHostControlError(error));
    }
  }

  /** Does not wait for virtual time, which may not advance any more. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#objects.close();
  }

  #do<C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Given<C> | Promise<Given<C>> {
    // They may have been closed while the call waited for others.
    if (this.#closed) throw closed();
    return this.#handlers[name](args);
  }

  /** Later calls wait for this one. */
  #follow<T>(given: Promise<T>): Promise<T> {
    const answer = given.catch((error: unknown) => {
      throw asHostControlError(error);
    });
    const over = (): void => {
      if (this.#tail === tail) this.#tail = undefined;
    };
    const tail: Promise<void> = answer.then(over, over);
    this.#tail = tail;
    return answer;
  }
}

function closed(): HostControlError {
  return new HostControlError('gone', 'ENODEV', 'this host control was closed');
}

function describe(device: Device, options: InProcessHostOptions): HostDescription {
  const { addresses, activeMtu, limits, name } = device;
  return {
    device: name,
    driver: 'rocev2',
    version: options.version ?? packageVersion(),
    gids: addresses.map(({ address }, index) => ({ index, address: `${address}`, type: 'v2' })),
    activeMtu,
    maxQpRdAtomic: limits.maxQpRdAtom,
    maxSge: limits.maxSge,
    features: options.features ?? [...IN_PROCESS_FEATURES, ...(options.cnp === true ? (['cnp'] as const) : [])],
    ...defined({ cnpDscp: options.cnpDscp }),
  };
}

/** The error of verbs; a bug of ours stays as it is. */
function asHostControlError(error: unknown): unknown {
  if (!(error instanceof RoceError)) return error;
  const kind = error.code === 'ERR_ROCE_UNSUPPORTED' ? 'unsupported' : 'refused';
  return new HostControlError(kind, error.errno, error.message);
}
