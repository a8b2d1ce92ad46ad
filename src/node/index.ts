/**
 * `rocev2/node`: what drives a device on this machine: links by name, the driver, the clock, threads. `openDevice` of
 * `rocev2` puts them together; this entry is for programs that take them apart.
 *
 * @module rocev2/node
 */
export { installBulkCrc32 } from './bulk-crc32.ts';
export { monotonicNs } from './clock.ts';
export { Driver } from './driver.ts';
export * from './links/index.ts';
export { loadNativeCrc32 } from './links/libc.ts';
export { interfaceMtu } from './links/netdev.ts';
export { type WorkerSource, workerSource } from './worker/worker-source.ts';
