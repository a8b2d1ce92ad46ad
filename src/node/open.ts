/** Opens a device on a real wire, in the thread that its options name. */
import type { OpenRdmaDevice } from '../device/api.ts';
import { type OpenDevice, type OpenDeviceOptions, openHere } from './open-here.ts';
import { type OpenWorkerDeviceOptions, openWorkerDevice } from './worker/open-worker.ts';

export type { OpenDevice, OpenDeviceOptions } from './open-here.ts';

/**
 * Opens a device; when it resolves, frames can be sent. With `thread: 'worker'` the whole stack runs in a worker thread
 * that owns the link.
 *
 * @throws RoceError ERR_ROCE_ADDRESS or ERR_ROCE_ARGUMENT for bad options (rules of faults by name),
 * ERR_ROCE_LINK_UNAVAILABLE for a wire that is not to be had, ERR_ROCE_UNSUPPORTED for congestion control on one that
 * does not carry what it takes
 */
export function openDevice(options: OpenDeviceOptions): Promise<OpenDevice>;
export function openDevice(options: OpenWorkerDeviceOptions): Promise<OpenRdmaDevice>;
export function openDevice(options: OpenDeviceOptions | OpenWorkerDeviceOptions): Promise<OpenRdmaDevice> {
  return options.thread === 'worker' ? openWorkerDevice(options) : openHere(options);
}
