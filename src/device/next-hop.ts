/**
 * Next hops, and the objects whose packet headers are updated when a next hop moves. Shared by paths, queue pairs and
 * address handles. Types only.
 */
import type { IpAddress } from '../../packets/address.ts';
import type { HeaderTemplate } from '../../packets/header-template.ts';

/** The next hop of connected queue pairs, and the users that send to it. */
export interface NextHop {
  readonly address: IpAddress;
  readonly users: Set<PathUser>;
  /**
   * When the state of the neighbour must be checked before a packet goes there, in nanoseconds of the device's clock.
   */
  checkAt: number;
}

/** Holds packet headers that follow a neighbour: a connected queue pair or an address handle. */
export interface PathUser {
  nextHop: NextHop | undefined;
  readonly template: HeaderTemplate | undefined;
}
