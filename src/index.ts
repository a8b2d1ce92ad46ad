/**
 * rocev2: a userspace RoCEv2 stack. `openDevice` opens a device on a link; `World` runs devices on a simulated network.
 *
 * @module rocev2
 */
export * from './browser.ts';
export { Bump, type BumpObserver, type BumpOptions } from './node/bump.ts';
export type { CaptureSink } from './node/links/capture.ts';
export { type FaultLink, type FaultOptions, withFaults } from './node/links/fault-link.ts';
export { type OpenDevice, type OpenDeviceOptions, openDevice } from './node/open.ts';
export type { PollMode } from './node/poll-loop.ts';
export type { OpenWorkerDeviceOptions } from './node/worker/open-worker.ts';
