/**
 * A server of verbs without verbs: each command does one thing that shows what the wire, the shim and the host do with
 * it. The C programs beside it are its clients. Numbers of commands are those of the kernel's where the shim knows them.
 */
import {
  Armed,
  type CommandResult,
  type RdmaCmFile,
  type RdmaCmFileHost,
  type UverbsFile,
  type UverbsFileHost,
  type UverbsServer,
} from '../../../src/uverbs/host.ts';

/** Entries of a queue that is armed without a command. */
const CAN_BE_ARMED = 77;
const EAGAIN = 11;
const EFAULT = 14;
const EINVAL = 22;
const ENOSYS = 38;

/** What events are about that no queue sends. */
export const NO_QUEUE = {};

export class FakeServer implements UverbsServer {
  readonly refused = 0;
  readonly refusals = new Map<string, number>();
  readonly opened: UverbsFileHost[] = [];
  readonly channelsClosed: number[] = [];
  closed = 0;
  cmClosed = 0;

  openUverbs(host: UverbsFileHost): UverbsFile {
    this.opened.push(host);
    return new FakeFile(
      host,
      () => this.closed++,
      (channel) => this.channelsClosed.push(channel),
    );
  }

  openRdmaCm(host: RdmaCmFileHost): RdmaCmFile {
    return new FakeCmFile(host, () => this.cmClosed++);
  }

  sysfs(): ReadonlyMap<string, string> {
    return new Map([
      ['class/infiniband/rxe0/node_guid', '0200:00ff:fe00:0001'],
      ['class/infiniband_verbs/uverbs0/ibdev', 'rxe0'],
      ['class/misc/rdma_cm/abi_version', '4'],
    ]);
  }
}

interface Cq {
  readonly channel: number;
  readonly user: Uint8Array;
  sent: number;
}

class FakeFile implements UverbsFile {
  readonly #host: UverbsFileHost;
  readonly #onClose: () => void;
  readonly #onChannelClosed: (channel: number) => void;
  readonly #cqs = new Map<number, Cq>();
  #next = 1;
  #doorbells = 0;
  #posts = 0;
  readonly #idle = new Set<number>();
  #waiting: ((result: CommandResult) => void)[] = [];

  constructor(host: UverbsFileHost, onClose: () => void, channelClosed: (channel: number) => void) {
    this.#host = host;
    this.#onClose = onClose;
    this.#onChannelClosed = channelClosed;
  }

  channelClosed(channel: number): void {
    this.#host.cancelEvents(channel, NO_QUEUE);
    this.#onChannelClosed(channel);
  }

  command(bytes: Uint8Array): CommandResult | Promise<CommandResult> {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const word = (at: number): number => (at + 4 <= bytes.length ? view.getUint32(at, true) : 0);
    const long = (at: number): number => Number(view.getBigUint64(at, true));
    switch (word(0)) {
      case 0: // GET_CONTEXT
        return done(this.#host.openChannel(), 1);
      case 2: // how many doorbells came
        return done(this.#doorbells);
      case 3: // how many of them were commands, which are answered
        return done(this.#posts);
      case 4: // waits for command 13
        return new Promise((resolve) => this.#waiting.push(resolve));
      case 9:
        return this.#invert(long(16), word(24));
      case 13:
        for (const wake of this.#waiting.splice(0)) wake(done(13));
        return done();
      case 16: // as much as asked for
        return { errno: 0, response: new Uint8Array(word(16)).fill(0x5a) };
      case 17: // CREATE_COMP_CHANNEL
        return done(this.#host.openChannel());
      case 18: {
        const handle = this.#next++;
        this.#cqs.set(handle, { channel: word(32), user: bytes.slice(16, 24), sent: 0 });
        if (word(24) === CAN_BE_ARMED && this.#host.armed !== undefined) this.#host.armed[handle] = Armed.Queue;
        return done(handle, word(32));
      }
      case 20: {
        const cq = this.#cqs.get(word(16));
        if (cq === undefined) return { errno: EFAULT, response: new Uint8Array() };
        return done(cq.sent - this.#host.cancelEvents(cq.channel, cq), 0);
      }
      case 23: {
        const cq = this.#cqs.get(word(8));
        if (cq !== undefined) {
          cq.sent++;
          this.#host.event(cq.channel, cq.user, cq);
        }
        return done();
      }
      case 24: {
        const ring = this.#host.allocate(word(16));
        ring?.bytes.fill(0xa5);
        return ring === undefined ? { errno: 12, response: new Uint8Array() } : done(ring.offset, ring.bytes.length);
      }
      case 26: // MODIFY_QP: by its mask this one cannot send, or can
        if (word(76) === 0) this.#idle.add(word(72));
        else this.#idle.delete(word(72));
        return done();
      case 27: // DESTROY_QP
        return done(0);
      case 28: // POST_SEND
        if (this.#idle.has(word(16))) return { errno: EINVAL, response: new Uint8Array() };
        this.#doorbells++;
        this.#posts++;
        return done(0);
      case 25: // what the word of a queue says
        return done(this.#host.armed?.[word(16)] ?? 0);
      case 33: // one completion
        this.#host.completed();
        return done();
      default:
        return { errno: ENOSYS, response: new Uint8Array() };
    }
  }

  doorbell(): void {
    this.#doorbells++;
  }

  close(): void {
    this.#onClose();
  }

  /** Reads memory of the client and writes it back with every bit changed; the response is the sum of what was there. */
  #invert(address: number, length: number): CommandResult {
    const bytes = new Uint8Array(length);
    if (!this.#host.memory.read(address, bytes, 0, length)) return { errno: EFAULT, response: new Uint8Array() };
    const sum = bytes.reduce((total, byte) => total + byte, 0);
    const inverted = bytes.map((byte) => ~byte);
    return this.#host.memory.write(address, inverted, 0, length)
      ? done(sum)
      : { errno: EFAULT, response: new Uint8Array() };
  }
}

class FakeCmFile implements RdmaCmFile {
  readonly #host: RdmaCmFileHost;
  readonly #onClose: () => void;
  #events = 0;

  constructor(host: RdmaCmFileHost, onClose: () => void) {
    this.#host = host;
    this.#onClose = onClose;
  }

  command(bytes: Uint8Array): CommandResult {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    switch (view.getUint32(0, true)) {
      case 0: // CREATE_ID
        return done(this.#host.number);
      case 7: // an event that can be had
        this.#events++;
        this.#host.eventReady();
        return done();
      case 8: // an event that is withdrawn before it is had
        this.#host.eventReady();
        return done();
      case 12:
        if (this.#events === 0) return { errno: EAGAIN, response: new Uint8Array() };
        return done(this.#events--);
      case 18: // MIGRATE_ID
        return done(view.getUint32(20, true));
      default:
        return { errno: ENOSYS, response: new Uint8Array() };
    }
  }

  close(): void {
    this.#onClose();
  }
}

function done(...words: readonly number[]): CommandResult {
  return { errno: 0, response: new Uint8Array(Uint32Array.from(words).buffer) };
}
