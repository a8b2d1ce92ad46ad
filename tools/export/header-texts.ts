/**
 * Addresses of packets as text, made once for each address: nearly all packets of a capture have the same few.
 *
 * Owns two bounded memories. An address that has lost its place is made again.
 */

import type { IpAddress } from 'rocev2/packets';
import {
  type Frame,
  formatMac,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
} from 'rocev2/packets';

/** Source IP address; only where there is a whole IP header. */
export function sourceText(frame: Frame): string {
  const place = placeOf(frame, 0);
  const known = addresses[place];
  if (known !== undefined && frameSourceIs(frame, known.address)) return known.text;
  return remember(place, frameSource(frame));
}

/** Destination IP address, under the same condition. */
export function destinationText(frame: Frame): string {
  const place = placeOf(frame, 1);
  const known = addresses[place];
  if (known !== undefined && frameDestinationIs(frame, known.address)) return known.text;
  return remember(place, frameDestination(frame));
}

/** The MAC address at this offset. */
export function macText(bytes: Uint8Array, at: number): string {
  let key = 0;
  for (let i = 0; i < MAC_BYTES; i++) key = key * 256 + (bytes[at + i] as number);
  const known = macs.get(key);
  if (known !== undefined) return known;
  if (macs.size >= PLACES) macs.clear();
  const text = formatMac(bytes, at);
  macs.set(key, text);
  return text;
}

/** A place for the address, by its last bytes, where hosts of a network differ. @param nth 0 source, 1 destination */
function placeOf({ view, ipOffset, ipVersion }: Frame, nth: 0 | 1): number {
  const last = ipVersion === 4 ? view.getUint32(ipOffset + 12 + nth * 4) : view.getUint32(ipOffset + 20 + nth * 16);
  return (Math.imul(last, SPREAD) >>> 20) % PLACES;
}

function remember(place: number, address: IpAddress): string {
  const text = address.toString();
  addresses[place] = { address, text };
  return text;
}

const MAC_BYTES = 6;
const PLACES = 4096;
const SPREAD = 0x9e37_79b1;
const macs = new Map<number, string>();
const addresses = new Array<{ readonly address: IpAddress; readonly text: string } | undefined>(PLACES).fill(undefined);
