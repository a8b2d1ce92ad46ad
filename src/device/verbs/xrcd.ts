/**
 * XRC domain of the verbs API: a peer of any of its target queue pairs may name any shared receive queue of the domain.
 * Thin: the machine is transport/xrc-domain.ts.
 */
import { RoceError } from '../../../packets/errors.ts';
import { XrcDomain } from '../../../transport/xrc-domain.ts';
import type { RdmaDevice, RdmaXrcd } from '../api.ts';
import type { Qp } from './qp.ts';

/** The device's table of queue pairs. */
export interface XrcdResources {
  createXrcTarget(domain: Xrcd): Qp;
}

/**
 * Joins XRC target queue pairs and XRC shared receive queues (ibv_xrcd).
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const device = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] });
 * const domain = device.openXrcd();
 * const target = domain.createQp();
 * console.log(target.stateName); // RESET
 * target.destroy();
 * domain.close();
 * ```
 */
export class Xrcd implements RdmaXrcd {
  readonly device: RdmaDevice;
  /** @internal */
  readonly core = new XrcDomain();
  readonly #resources: XrcdResources;
  #closed = false;

  /** Called by `Resources.openXrcd`. @internal */
  constructor(device: RdmaDevice, resources: XrcdResources) {
    this.device = device;
    this.#resources = resources;
  }

  createQp(): Qp {
    this.demandOpen();
    return this.#resources.createXrcTarget(this);
  }

  close(): void {
    if (this.#closed) return;
    this.core.demandUnused();
    this.#closed = true;
  }

  /** Throws ERR_ROCE_CLOSED after `close`. @internal */
  demandOpen(): void {
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the XRC domain is closed');
  }
}
