/** Addresses as node:net and node:dgram tell them. Owns their reading, nothing else. */
import { IpAddress } from 'rocev2/packets';

/** The address in `text`; the zone of a link-local one, which names an interface of this host, is left out. */
export function kernelAddress(text: string): IpAddress {
  return IpAddress.parse(text.replace(/%.*$/, ''));
}
