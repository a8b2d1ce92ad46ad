/**
 * The path of a connection, or of an address handle: where packets go and what every one of them has in common. Owns
 * the record.
 */
import type { IpAddress } from '../packets/address.ts';
import type { HeaderTemplate } from '../packets/header-template.ts';

/**
 * The way to the peer: the constant part of every packet, and the two addresses every packet of the peer must carry.
 */
export interface QpPath {
  /** Headers of every packet. */
  readonly template: HeaderTemplate;
  /** Our address on it. */
  readonly local: IpAddress;
  /** The peer's address. */
  readonly remote: IpAddress;
}
