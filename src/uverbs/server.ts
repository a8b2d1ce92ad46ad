/** The server of the verbs ABI for one device: opens files, and describes the device to those who look for it. */
import type { Device } from '../device/device.ts';
import { Context } from './context.ts';
import { DeviceFacts } from './device-facts.ts';
import type { RdmaCmFile, RdmaCmFileHost, UverbsFile, UverbsFileHost, UverbsServer } from './host.ts';
import { runCmCommand } from './rdma-cm/commands.ts';
import { CmFiles } from './rdma-cm/files.ts';
import { sysfsOf } from './sysfs.ts';
import { ServedFile } from './uverbs-file.ts';

/** How a device is served. */
export interface UverbsServerOptions {
  /**
   * Name of the network interface that the device says it is on [lo]. Programs look for it: one that is not there makes
   * queries of GIDs fail.
   */
  readonly netdev?: string;
}

class Server implements UverbsServer {
  readonly #device: Device;
  readonly #facts: DeviceFacts;
  readonly #netdev: string;
  readonly #cmFiles: CmFiles;

  constructor(device: Device, { netdev = 'lo' }: UverbsServerOptions) {
    this.#device = device;
    this.#facts = new DeviceFacts(device);
    this.#netdev = netdev;
    this.#cmFiles = new CmFiles(this.#facts, runCmCommand);
  }

  openUverbs(host: UverbsFileHost): UverbsFile {
    return new ServedFile(new Context(this.#device, this.#facts, host));
  }

  openRdmaCm(host: RdmaCmFileHost): RdmaCmFile {
    return this.#cmFiles.open(host);
  }

  sysfs(): ReadonlyMap<string, string> {
    return sysfsOf(this.#facts, this.#netdev);
  }
}

/** Serves a device to programs that speak the verbs ABI of the Linux kernel. The device is the caller's to close. */
export function createUverbsServer(device: Device, options: UverbsServerOptions = {}): UverbsServer {
  return new Server(device, options);
}
