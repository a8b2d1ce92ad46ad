/** The server of the verbs ABI for one device: opens files, and describes the device to those who look for it. */
import type { Device } from '../device/device.ts';
import { nameOfCommand } from './command.ts';
import { Context } from './context.ts';
import { DeviceFacts } from './device-facts.ts';
import { nameOfErrno } from './errno.ts';
import type { CommandResult, RdmaCmFile, RdmaCmFileHost, UverbsFile, UverbsFileHost, UverbsServer } from './host.ts';
import { nameOfCmCommand, runCmCommand } from './rdma-cm/commands.ts';
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
  readonly #refusals = new Map<string, number>();
  refused = 0;

  constructor(device: Device, { netdev = 'lo' }: UverbsServerOptions) {
    this.#device = device;
    this.#facts = new DeviceFacts(device);
    this.#netdev = netdev;
    this.#cmFiles = new CmFiles(this.#facts, (file, bytes) => {
      const result = runCmCommand(file, bytes);
      if (result.errno !== 0) this.#refuse(nameOfCmCommand(bytes), result.errno);
      return result;
    });
  }

  get refusals(): ReadonlyMap<string, number> {
    return this.#refusals;
  }

  openUverbs(host: UverbsFileHost): UverbsFile {
    const file = new ServedFile(new Context(this.#device, this.#facts, host));
    const noted = (bytes: Uint8Array, result: CommandResult): CommandResult => {
      if (result.errno !== 0) this.#refuse(nameOfCommand(bytes), result.errno);
      return result;
    };
    return {
      command: (bytes) => {
        const result = file.command(bytes);
        return result instanceof Promise ? result.then((done) => noted(bytes, done)) : noted(bytes, result);
      },
      doorbell: (qpHandle) => {
        const errno = file.doorbell(qpHandle);
        if (errno !== 0) this.#refuse(DOORBELL, errno);
      },
      channelClosed: (channel) => file.channelClosed(channel),
      close: () => file.close(),
    };
  }

  #refuse(command: string, errno: number): void {
    const what = `${command} ${nameOfErrno(errno)}`;
    this.#refusals.set(what, (this.#refusals.get(what) ?? 0) + 1);
    this.refused += 1;
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

const DOORBELL = 'doorbell';
