/** The host of NVMe over Fabrics on RDMA: connects to controllers, reads and writes their namespaces. */
import type { RdmaDevice } from '../../../device/api.ts';
import { NvmeController } from './controller.ts';
import type { NvmeConnectOptions } from './options.ts';

export { NvmeController, type NvmeState } from './controller.ts';
export { type Discovered, discoverNvme, type NvmeDiscoverOptions } from './discover.ts';
export { NvmeAuthenticationError, NvmeError } from './errors.ts';
export type { NvmeEvent } from './events.ts';
export { NvmeNamespace, type NvmeRange, type NvmeWriteOptions } from './namespace.ts';
export type { NvmeAddress, NvmeConnectOptions, NvmeSecrets, NvmeTimers } from './options.ts';
export { type NvmeStreamOptions, readNvme, writeNvme } from './stream.ts';

/**
 * Connects to a controller of a subsystem, on an admin queue and as many I/O queues as it grants. Rejects as
 * `RdmaCm.connect`, with NvmeError when the controller refuses, with NvmeAuthenticationError when it or this host does
 * not prove itself, with ERR_ROCE_UNSUPPORTED when it cannot do what a host on RDMA needs, with ERR_ROCE_ARGUMENT for
 * options out of their ranges; nothing is left behind then.
 */
export function connectNvme(device: RdmaDevice, options: NvmeConnectOptions): Promise<NvmeController> {
  return NvmeController.connect(device, options);
}
