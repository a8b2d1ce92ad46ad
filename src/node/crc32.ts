/**
 * `rocev2/crc32`: the fastest CRC-32 of this machine for the ICRC, without the links that `rocev2/node` brings: for
 * programs that read captures.
 *
 * @module rocev2/crc32
 */
export { type Crc32Name, installBulkCrc32 } from './bulk-crc32.ts';
export { loadNativeCrc32 } from './links/libc.ts';
