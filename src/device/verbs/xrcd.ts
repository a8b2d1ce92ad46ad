/**
 * XRC domain of the verbs API: the shared receive queues made in it may be named by whoever speaks to one of its target queue
 * pairs. Thin: the machine is transport/xrc-domain.ts.
 */
import { RoceError } from '../../../packets/errors.ts';
import { XrcDomain } from '../../../transport/xrc-domain.ts';
import type { RdmaDevice, RdmaXrcd } from '../api.ts';
import type { Qp } from './qp.ts';

/** The table of the device in which queue pairs stand. */
export interface XrcdResources {
  createXrcTarget(domain: Xrcd): Qp;
}

/** Joins XRC target queue pairs and XRC shared receive queues (ibv_xrcd). */
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
