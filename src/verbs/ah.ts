/** Address handle of the verbs API: an address vector, resolved, whose headers follow the neighbour that datagrams go to first. */
import type { HeaderTemplate } from '../../packets/header-template.ts';
import { AddressHandle } from '../../transport/address-handle.ts';
import type { QpPath } from '../../transport/qp-path.ts';
import type { RdmaAh } from '../api.ts';
import type { Device } from '../device.ts';
import type { NextHop, PathUser } from '../paths.ts';
import type { AddressVector } from './address-vector.ts';
import type { Pd } from './pd.ts';

/** Where datagrams go (ibv_ah). */
export class Ah extends AddressHandle implements RdmaAh, PathUser {
  readonly pd: Pd;
  readonly av: AddressVector;
  /** For the device: where datagrams go first, on a link that has neighbours. @internal */
  nextHop: NextHop | undefined = undefined;
  /** @internal */
  readonly template: HeaderTemplate;
  readonly #device: Device;

  /** Called by `Pd.createAh`. @internal */
  constructor(device: Device, pd: Pd, av: AddressVector, path: QpPath) {
    super(pd.core, path);
    this.#device = device;
    this.pd = pd;
    this.av = av;
    this.template = path.template;
    pd.core.users += 1;
    device.paths.follow(this, av.destination);
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#device.paths.unfollow(this);
    this.pd.core.users -= 1;
  }
}
