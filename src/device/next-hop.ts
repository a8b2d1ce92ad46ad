/** Where packets go first and whose headers follow that neighbour: what paths, queue pairs and address handles share. Types only. */
import type { IpAddress } from '../../packets/address.ts';
import type { HeaderTemplate } from '../../packets/header-template.ts';

/** Where the packets of connected queue pairs go first, and what sends there. */
export interface NextHop {
  readonly address: IpAddress;
  readonly users: Set<PathUser>;
  /** When the state of the neighbour must be checked before a packet goes there, in nanoseconds of the device's clock. */
  checkAt: number;
}

/** Whose headers follow a neighbour: a connected queue pair's or an address handle's. */
export interface PathUser {
  nextHop: NextHop | undefined;
  readonly template: HeaderTemplate | undefined;
}
