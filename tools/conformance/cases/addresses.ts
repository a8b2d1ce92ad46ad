/**
 * Addresses that are not a connection's: of others, and unassigned ones. For stimuli whose sender or receiver is wrong.
 */

/** The address next to one, of the same network as far as that can be told. */
export function neighbourOf(address: string): string {
  const separator = address.includes(':') ? ':' : '.';
  const at = address.lastIndexOf(separator) + 1;
  const last = address.slice(at);
  const other = separator === '.' ? (last === '77' ? '78' : '77') : last === '77' ? '78' : '77';
  return `${address.slice(0, at)}${other}`;
}

/** Of other networks: documentation prefixes (RFC 5737, RFC 3849). */
export const foreignAddresses = (version: 4 | 6): readonly string[] =>
  version === 4 ? ['198.51.100.7', '203.0.113.9'] : ['2001:db8:77::7', 'fe80::77'];

/** What every host answers to in some way, and no port has a GID for. */
export const ownedAddresses = (version: 4 | 6): readonly string[] =>
  version === 4 ? ['127.0.0.1', '224.0.0.1', '255.255.255.255'] : ['::1', 'ff02::1'];
