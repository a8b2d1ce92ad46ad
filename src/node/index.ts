/**
 * `rocev2/node`: what drives a device on this machine: links by name, the driver, the clock, threads. `openDevice` of
 * `rocev2` puts them together; this entry is for programs that take them apart.
 *
 * @module rocev2/node
 */
export { type Crc32Name, installBulkCrc32 } from './bulk-crc32.ts';
export { monotonicNs } from './clock.ts';
export { Driver } from './driver.ts';
export {
  type CaptureSink,
  LINK_KINDS,
  type LinkKind,
  type LinkOptions,
  linkUsage,
  openLink,
  QemuLink,
  type QemuLinkOptions,
  type Requirement,
  ShmLink,
  type ShmLinkOptions,
  TapLink,
  type TapLinkOptions,
} from './links/index.ts';
export type { LinkText } from './links/kind.ts';
export { loadNativeCrc32 } from './links/libc.ts';
export { interfaceMtu } from './links/netdev.ts';
export type { QemuCounters } from './links/qemu.ts';
export type { ShmCounters } from './links/shm-connection.ts';
export type { TapCounters } from './links/tap.ts';
export { nvmeCrypto } from './nvme/crypto.ts';
export { FileBackend, type FileBackendOptions } from './nvme/file-backend.ts';
export { POLL_MODES } from './poll-loop.ts';
export {
  type ServedSizes,
  type ServedUverbs,
  type ServeUverbsOptions,
  serveUverbs,
  uverbsRequirements,
} from './uverbs/serve.ts';
export { type WorkerSource, workerSource } from './worker/worker-source.ts';
