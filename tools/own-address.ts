/**
 * Which of our addresses speaks to a peer. Owns that choice for tools that have to name it before anything was sent.
 */

import type { RdmaDevice } from 'rocev2';
import { type IpAddress, RoceError } from 'rocev2/packets';

/**
 * The address on the peer's subnet, else the first of its version, else the first. Throws ERR_ROCE_ADDRESS without any.
 */
export function ownAddressFor(device: RdmaDevice, peer: IpAddress | undefined): IpAddress {
  const { addresses } = device;
  const same = peer === undefined ? addresses : addresses.filter(({ address }) => address.version === peer.version);
  const near = peer === undefined ? undefined : same.find((prefix) => prefix.contains(peer));
  const chosen = near ?? same[0] ?? addresses[0];
  if (chosen === undefined) throw new RoceError('ERR_ROCE_ADDRESS', 'the device has no address');
  return chosen.address;
}
