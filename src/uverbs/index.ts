/**
 * The verbs ABI of the Linux kernel on a device of ours, sans I/O: what unmodified programs on libibverbs and librdmacm
 * say to the driver of rdma_rxe, served from this process.
 *
 * @module rocev2/uverbs
 */
export type {
  CommandResult,
  ProcessMemory,
  RdmaCmFile,
  RdmaCmFileHost,
  SharedRing,
  UverbsFile,
  UverbsFileHost,
  UverbsServer,
} from './host.ts';
export { createUverbsServer, type UverbsServerOptions } from './server.ts';
export { DEVICE_NAME, UVERBS_NAME } from './sysfs.ts';
