/** Address handle of the verbs API: an address vector, resolved, whose headers follow the neighbour at its next hop. */
import type { IpAddress } from '../../../packets/address.ts';
import type { HeaderTemplate } from '../../../packets/header-template.ts';
import { AddressHandle } from '../../../transport/address-handle.ts';

import type { QpPath } from '../../../transport/qp-path.ts';
import type { RdmaAh } from '../api.ts';
import type { NextHop, PathUser } from '../next-hop.ts';
import type { AddressVector } from './address-vector.ts';
import type { LocalPd } from './ports.ts';

/** Registers objects whose headers follow a neighbour. */
export interface AhPaths {
  follow(user: PathUser, destination: IpAddress): void;
  unfollow(user: PathUser): void;
}

/**
 * Where datagrams go (ibv_ah).
 *
 * @example
 * ```ts
 * import { attachDevice, IpAddress, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const ah = await world.run(a.allocPd().createAh({ destination: IpAddress.parse('10.0.0.2') }));
 * console.log(ah.av.destination.toString()); // 10.0.0.2
 * ah.destroy();
 * ```
 */
export class Ah extends AddressHandle implements RdmaAh, PathUser {
  readonly pd: LocalPd;
  readonly av: AddressVector;
  /** For the device: the next hop, on a link that has neighbours. @internal */
  nextHop: NextHop | undefined = undefined;
  /** @internal */
  readonly template: HeaderTemplate;
  readonly #paths: AhPaths;

  /** Called by `Pd.createAh`. @internal */
  constructor(paths: AhPaths, pd: LocalPd, av: AddressVector, path: QpPath) {
    super(pd.core, path);
    this.#paths = paths;
    this.pd = pd;
    this.av = av;
    this.template = path.template;
    pd.core.users += 1;
    paths.follow(this, av.destination);
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#paths.unfollow(this);
    this.pd.core.users -= 1;
  }
}
