/** The target of NVMe over Fabrics: what it serves, and where. Owns nothing but this list. */
export { type NvmeBackend, type NvmeLoan, readOnlyBackend } from './backend.ts';
export type { Controller, FailedCommand, TargetTimers } from './controller.ts';
export { type DiskFault, type DiskOperation, FaultyBackend } from './faulty-backend.ts';
export type { HostAccess } from './hosts.ts';
export { MemoryBackend } from './memory-backend.ts';
export type { IoCounters } from './nvm.ts';
export type { Portal, TargetCounters, TargetObserver, TargetOptions, TargetSettings } from './options.ts';
export type { QueueCounters, TargetQueue } from './queue.ts';
export {
  type NamespaceOptions,
  NvmeSubsystem,
  type SubsystemOptions,
  type SubsystemWatcher,
  type TargetNamespace,
} from './subsystem.ts';
export { NvmeTarget } from './target.ts';
