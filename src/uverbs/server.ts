/** The server of the verbs ABI for one device: opens files, and describes the device to those who look for it. */
import type { Device } from '../device/device.ts';
import { Context } from './context.ts';
import { DeviceFacts } from './device-facts.ts';
import type { CommandResult, RdmaCmFile, RdmaCmFileHost, UverbsFile, UverbsFileHost, UverbsServer } from './host.ts';
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
  refused = 0;

  constructor(device: Device, { netdev = 'lo' }: UverbsServerOptions) {
    this.#device = device;
    this.#facts = new DeviceFacts(device);
    this.#netdev = netdev;
    this.#cmFiles = new CmFiles(this.#facts, (file, bytes) => this.#count(runCmCommand(file, bytes)));
  }

  openUverbs(host: UverbsFileHost): UverbsFile {
    const file = new ServedFile(new Context(this.#device, this.#facts, host));
    return {
      command: (bytes) => this.#count(file.command(bytes)),
      doorbell: (qpHandle) => {
        if (!file.doorbell(qpHandle)) this.refused += 1;
      },
      close: () => file.close(),
    };
  }

  #count(result: CommandResult | Promise<CommandResult>): CommandResult | Promise<CommandResult> {
    if (result instanceof Promise) return result.then((done) => this.#noted(done));
    return this.#noted(result);
  }

  #noted(result: CommandResult): CommandResult {
    if (result.errno !== 0) this.refused += 1;
    return result;
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
