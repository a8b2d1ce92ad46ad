/**
 * Serves the verbs of a device to programs of this machine: Debian's own libibverbs and librdmacm, under the shim that
 * `roce run` puts before them, take it for a device of the kernel's (docs/uverbs.md).
 * Owns the clients. What a client sends is checked here as far as the wire goes; its end, however it comes, closes what
 * it had opened and harms nobody else.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { RoceError } from '../../../packets/errors.ts';
import type { UverbsServer } from '../../uverbs/host.ts';
import type { Requirement } from '../links/kind.ts';
import { EACCES, type Libc, loadLibc } from '../links/libc.ts';
import { linuxRequirement, packageRequirement } from '../links/native-package.ts';
import { Listener } from '../links/unix-listener.ts';
import { admissionFacts, hasSysPtrace, whyDenied, yamaRequirement, yamaScope } from './admission.ts';
import { Connection } from './connection.ts';
import { type OpenFile, OpenRdmaCmFile, OpenUverbsFile } from './open-file.ts';
import { ClientMemory } from './process-memory.ts';
import { FileKind, type Frame, FrameType, TOKEN_BYTES } from './wire.ts';

/** What to serve, and where. */
export interface ServeUverbsOptions {
  /** The device's. */
  readonly server: UverbsServer;
  /**
   * Name of the socket in the file system, 107 bytes at most. Beside it, at `PATH.sys`, is what clients read of sysfs.
   */
  readonly path: string;
  /**
   * Told in a sentence, for people, why a program is refused or its memory is out of reach; twenty times at most.
   * Default: nobody is told.
   */
  readonly complain?: (sentence: string) => void;
}

/** What a server of verbs holds. */
export interface ServedSizes {
  /** Connections of programs. */
  readonly connections: number;
  /** Device files that programs have open. */
  readonly files: number;
  /** How many times a program has begun to listen, since the start. */
  readonly listens: number;
}

/** A socket at which programs find a device. */
export interface ServedUverbs {
  /** The socket's name, absolute: the value of ROCE_UVERBS for the shim. */
  readonly path: string;
  /** What it holds now. */
  readonly sizes: ServedSizes;
  /** Ends all connections and removes the socket. */
  close(): void;
}

/**
 * Serves a device to programs of the same user; the process lives as long. Linux on x64 or arm64, with the package
 * koffi.
 *
 * @throws RoceError ERR_ROCE_LINK_UNAVAILABLE when the package or the machine is missing, ERR_ROCE_ADDRESS for a name
 * that is in use or cannot be used
 */
export async function serveUverbs(options: ServeUverbsOptions): Promise<ServedUverbs> {
  const libc = await loadLibc();
  demandCopies(libc);
  return new Host(libc, options);
}

/** Processes may always reach their own memory: where that fails, a filter of system calls is in the way. */
function demandCopies(libc: Libc): void {
  const memory = new ClientMemory(libc, process.pid);
  const isReached = memory.probe();
  memory.close();
  if (!isReached)
    throw new RoceError(
      'ERR_ROCE_LINK_UNAVAILABLE',
      'process_vm_readv is refused here: the seccomp profile of this container has to allow it, and process_vm_writev',
    );
}

/** What `serveUverbs` needs of this machine. Looks, and changes nothing; never throws. */
export async function uverbsRequirements(): Promise<readonly Requirement[]> {
  return [
    linuxRequirement('programs for verbs run on Linux alone'),
    await packageRequirement('koffi', 'npm install koffi'),
    yamaRequirement(yamaScope() ?? null, hasSysPtrace()),
  ];
}

class Host implements ServedUverbs {
  readonly path: string;
  readonly #libc: Libc;
  readonly #server: UverbsServer;
  readonly #listener: Listener;
  readonly #clients = new Set<Client>();
  readonly #files = new Map<string, OpenFile>();
  readonly #complain: (sentence: string) => void;
  #nextNumber = 1;
  #listens = 0;
  #complaints = 0;

  constructor(libc: Libc, { server, path: name, complain = () => {} }: ServeUverbsOptions) {
    const path = resolve(name);
    this.path = path;
    this.#libc = libc;
    this.#server = server;
    this.#complain = (sentence) => {
      if (this.#complaints++ < MOST_COMPLAINTS) complain(sentence);
    };
    this.#listener = Listener.open(libc, path, (fd, pid) => this.#arrived(fd, pid), this.#complain);
    try {
      writeTree(`${path}.sys`, server.sysfs());
    } catch (cause) {
      this.close();
      throw new RoceError('ERR_ROCE_ADDRESS', `${path}.sys cannot be written`, { cause });
    }
  }

  get sizes(): ServedSizes {
    return { connections: this.#clients.size, files: this.#files.size, listens: this.#listens };
  }

  close(): void {
    this.#listener.close();
    for (const file of this.#files.values()) file.close();
    for (const client of this.#clients) client.close();
    rmSync(`${this.path}.sys`, { recursive: true, force: true });
  }

  /** A file for a client; a number of errno when it cannot have one, undefined when it asks for nonsense. */
  open(kind: number, pid: number): OpenFile | number | undefined {
    if (kind !== FileKind.Uverbs && kind !== FileKind.RdmaCm) return undefined;
    const memory = new ClientMemory(this.#libc, pid, () => this.#complain(whyDenied(admissionFacts(pid))));
    if (!memory.probe()) {
      memory.close();
      return EACCES;
    }
    try {
      const number = this.#nextNumber++;
      const file =
        kind === FileKind.Uverbs
          ? new OpenUverbsFile(this.#libc, this.#server, number, memory)
          : new OpenRdmaCmFile(this.#server, number, memory, () => this.#listens++);
      this.#files.set(file.token, file);
      return file;
    } catch (error) {
      memory.close();
      if (!(error instanceof RoceError)) throw error;
      return ENOMEM;
    }
  }

  find(token: string): OpenFile | undefined {
    return this.#files.get(token);
  }

  left(client: Client): void {
    this.#clients.delete(client);
  }

  closed(file: OpenFile): void {
    this.#files.delete(file.token);
  }

  #arrived(fd: number, pid: number): void {
    if (this.#clients.size >= MOST_CONNECTIONS) this.#libc.close(fd);
    else this.#clients.add(new Client(this.#libc, fd, pid, this));
  }
}

/** One connection: silent, then one for commands or a channel. */
class Client {
  readonly #host: Host;
  readonly #connection: Connection;
  /** Of a connection for commands. */
  #file: OpenFile | undefined;
  /** Of a connection that is a channel: tells its file that it has ended. */
  #channelClosed: (() => void) | undefined;
  #hasGreeted = false;
  readonly #patience: NodeJS.Timeout;

  constructor(libc: Libc, fd: number, pid: number, host: Host) {
    this.#host = host;
    this.#connection = new Connection(libc, fd, pid, {
      frame: (frame) => (this.#hasGreeted ? this.#request(frame) : this.#greeting(frame)),
      closed: () => this.#closed(),
    });
    this.#patience = setTimeout(() => this.close(), PATIENCE_MS).unref();
  }

  close(): void {
    this.#connection.close();
  }

  #greeting({ type, id, view, start, length }: Frame): boolean {
    this.#hasGreeted = true;
    clearTimeout(this.#patience);
    const token = (): string => Buffer.from(view.buffer, view.byteOffset + start, TOKEN_BYTES).toString('hex');
    if (type === FrameType.Open && length === 4) return this.#open(id, view.getUint32(start, true));
    if (type === FrameType.Join && length === TOKEN_BYTES) return this.#join(id, token());
    if (type === FrameType.Channel && length === TOKEN_BYTES + 4)
      return this.#channel(id, token(), view.getUint32(start + TOKEN_BYTES, true));
    return false;
  }

  #open(id: number, kind: number): boolean {
    const connection = this.#connection;
    const file = this.#host.open(kind, connection.pid);
    if (file === undefined) return false;
    if (typeof file === 'number') {
      connection.send(FrameType.Answer, id, file, NOTHING);
      return true;
    }
    this.#file = file;
    file.join(connection);
    const opened = Buffer.alloc(TOKEN_BYTES + 4);
    opened.write(file.token, 'hex');
    opened.writeUInt32LE(file.number, TOKEN_BYTES);
    if (file.descriptor === undefined) connection.send(FrameType.Answer, id, 0, opened);
    else connection.sendDescriptor(FrameType.Answer, id, opened, file.descriptor);
    return true;
  }

  #join(id: number, token: string): boolean {
    const file = this.#host.find(token);
    if (file === undefined) return false;
    this.#file = file;
    file.join(this.#connection);
    this.#connection.send(FrameType.Answer, id, 0, NOTHING);
    return true;
  }

  #channel(id: number, token: string, channel: number): boolean {
    const file = this.#host.find(token);
    if (file?.openChannel(this.#connection, channel) !== true) return false;
    this.#channelClosed = () => file.channelClosed(channel);
    this.#connection.send(FrameType.Answer, id, 0, NOTHING);
    file.channelOpened(channel);
    return true;
  }

  /** Of a connection for commands; a channel's client is silent. */
  #request({ type, id, view, start, length }: Frame): boolean {
    const file = this.#file;
    if (file === undefined) return false;
    if (type === FrameType.Doorbell && length === 4) file.doorbell(view.getUint32(start, true));
    else if (type === FrameType.EventRead && length === 8)
      file.eventRead(view.getUint32(start, true), view.getUint32(start + 4, true));
    else if (type === FrameType.Command && length >= LEAST_COMMAND)
      // A command that waits keeps its bytes.
      file.run(this.#connection, id, new Uint8Array(view.buffer, start, length).slice());
    else return false;
    return true;
  }

  #closed(): void {
    clearTimeout(this.#patience);
    this.#host.left(this);
    this.#channelClosed?.();
    if (this.#file?.leave(this.#connection) === true) this.#host.closed(this.#file);
  }
}

/** What a client finds below /sys, and the directory of the device files, which the shim itself stands for. */
function writeTree(root: string, files: ReadonlyMap<string, string>): void {
  rmSync(root, { recursive: true, force: true });
  const write = (name: string, text: string): void => {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text);
  };
  for (const [name, text] of files) write(name, `${text}\n`);
  for (const name of ['uverbs0', 'rdma_cm']) write(join('dev/infiniband', name), '');
}

const NOTHING = new Uint8Array();
const ENOMEM = 12;
/** What a mistaken or malicious program can make of somebody's terminal. */
const MOST_COMPLAINTS = 20;
const LEAST_COMMAND = 8;
const MOST_CONNECTIONS = 1024;
/** To say what it wants. */
const PATIENCE_MS = 10_000;
