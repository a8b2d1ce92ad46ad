/** The way to a peer as an application names it (ibv_ah_attr): addresses and what the headers carry by choice. */
import type { IpAddress } from '../../packets/address.ts';
import type { PathTraits } from '../device-options.ts';

/** The way to a peer, as an address handle names it. What is absent takes the device's default. */
export interface AddressVector extends PathTraits {
  readonly destination: IpAddress;
  /** One of the device's addresses; default the one on the destination's subnet. */
  readonly source?: IpAddress;
}
