/**
 * A served device of which clients do what they like, beside one that does nothing and must notice nothing. Owns the
 * clients' memory, which is there at every address: copies outside of what a client has registered are findings.
 */
import { attachDevice, type Device, World } from '../../../../src/browser.ts';
import { CMD_HDR, DEREG_MR, REG_MR, REG_MR_RESP } from '../../../../src/uverbs/abi/verbs.ts';
import {
  type CommandResult,
  createUverbsServer,
  type ProcessMemory,
  type RdmaCmFile,
  type SharedRing,
  type UverbsFile,
  type UverbsFileHost,
  type UverbsServer,
} from '../../../../src/uverbs/index.ts';
import { promise } from '../../engine/target.ts';

/** 64 KiB that lie at every address below 2^47. */
const MEMORY_BYTES = 1 << 16;
const USER_END = 2 ** 47;
const MOST_RING_BYTES = 1 << 20;

export class GuardedMemory implements ProcessMemory {
  readonly bytes = new Uint8Array(MEMORY_BYTES);
  /** Start and end of each registration, by its handle. */
  readonly registered = new Map<number, readonly [number, number]>();
  /** A command may look where it is told to. */
  inCommand = false;

  read(address: number, to: Uint8Array, toAt: number, length: number): boolean {
    if (!this.#isThere(address, length)) return false;
    for (let i = 0; i < length; i++) to[toAt + i] = this.bytes[(address + i) % MEMORY_BYTES] ?? 0;
    return true;
  }

  write(address: number, from: Uint8Array, fromAt: number, length: number): boolean {
    if (!this.#isThere(address, length)) return false;
    for (let i = 0; i < length; i++) this.bytes[(address + i) % MEMORY_BYTES] = from[fromAt + i] ?? 0;
    return true;
  }

  #isThere(address: number, length: number): boolean {
    const isIn = ([start, end]: readonly [number, number]): boolean => address >= start && address + length <= end;
    promise(
      this.inCommand || length === 0 || [...this.registered.values()].some(isIn),
      'memory is touched where it is registered',
    );
    return address >= 4096 && address + length <= USER_END;
  }
}

/** An open file of uverbs and what is around it. */
export class HostileFile implements UverbsFileHost {
  readonly memory = new GuardedMemory();
  readonly file: UverbsFile;
  /** All that ever were, in their order. */
  readonly rings: SharedRing[] = [];
  readonly freed = new Set<SharedRing>();
  readonly channels = new Set<number>();
  #room = MOST_RING_BYTES;
  #nextOffset = 0;

  constructor(server: UverbsServer) {
    this.file = server.openUverbs(this);
  }

  command(bytes: Uint8Array): CommandResult | Promise<CommandResult> {
    this.memory.inCommand = true;
    const result = this.file.command(bytes);
    this.memory.inCommand = false;
    if (!(result instanceof Promise) && result.errno === 0) this.#note(bytes, result.response);
    return result;
  }

  #note(bytes: Uint8Array, response: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const number = view.getUint32(0, true);
    const at = (offset: number): number => CMD_HDR.size + offset;
    if (number === REG_MR_NUMBER) {
      const start = Number(view.getBigUint64(at(REG_MR.at.start), true));
      const length = Number(view.getBigUint64(at(REG_MR.at.length), true));
      const handle = new DataView(response.buffer, response.byteOffset).getUint32(REG_MR_RESP.at.mr_handle, true);
      this.memory.registered.set(handle, [start, start + length]);
    } else if (number === DEREG_MR_NUMBER)
      this.memory.registered.delete(view.getUint32(at(DEREG_MR.at.mr_handle), true));
  }

  allocate(length: number): SharedRing | undefined {
    if (length > this.#room) return undefined;
    this.#room -= length;
    const ring = { offset: this.#nextOffset, bytes: new Uint8Array(length) };
    this.#nextOffset += length;
    this.rings.push(ring);
    return ring;
  }

  free(ring: SharedRing): void {
    promise(this.rings.includes(ring) && !this.freed.has(ring), 'a ring is freed once');
    this.freed.add(ring);
    this.#room += ring.bytes.length;
  }

  openChannel(): number {
    const channel = this.channels.size + 1;
    this.channels.add(channel);
    return channel;
  }

  event(channel: number): boolean {
    promise(this.channels.has(channel), 'an event is of a channel that was made');
    return true;
  }

  cancelEvents(): number {
    return 0;
  }

  completed(): void {}

  async turn(): Promise<void> {}

  closeChannel(): void {}

  close(): void {
    this.memory.registered.clear();
    this.file.close();
    promise(this.rings.length === this.freed.size, 'a file leaves no ring');
  }
}

export class ServedDevice {
  readonly world = new World({ seed: 1 });
  readonly device: Device = attachDevice(this.world, 'device', { addresses: ['10.0.0.1/24'], mtu: 1500 });
  readonly server = createUverbsServer(this.device);
  readonly #files = new Map<number, HostileFile>();
  readonly #cmFiles = new Map<number, RdmaCmFile>();

  /** The client's open file of this number, opened when it is first asked for. */
  uverbs(number: number): HostileFile {
    const file = this.#files.get(number) ?? new HostileFile(this.server);
    this.#files.set(number, file);
    return file;
  }

  rdmaCm(number: number): RdmaCmFile {
    const memory = new GuardedMemory();
    const host = { memory, number: 100 + number, eventReady: () => undefined };
    const file = this.#cmFiles.get(number) ?? this.server.openRdmaCm(host);
    this.#cmFiles.set(number, file);
    return file;
  }

  /** Closes all, lets time pass, and finds nothing left. */
  async end(): Promise<void> {
    for (const file of this.#files.values()) file.close();
    for (const file of this.#cmFiles.values()) file.close();
    for (let turn = 0; turn < 3; turn++) {
      this.world.runFor(1e11);
      await this.world.run(Promise.resolve());
    }
    const { neighbours: _, ...tables } = this.device.tables();
    for (const [name, size] of Object.entries(tables)) promise(size === 0, `nothing is left: ${size} ${name}`);
    promise(this.device.counters.internalErrors === 0, 'nothing is thrown inside');
  }
}

const REG_MR_NUMBER = 9;
const DEREG_MR_NUMBER = 13;
