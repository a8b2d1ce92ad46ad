/** The host of a served file, in memory: a process, rings, event channels. What a client reads is taken from here. */
import type { ProcessMemory, SharedRing, UverbsFileHost } from '../../../src/uverbs/index.ts';

const BASE = 0x7f00_0000_0000;

/** 4 MiB of user memory from `BASE` on, of which pages can be unmapped. */
export class TestProcess implements ProcessMemory {
  readonly base = BASE;
  readonly bytes = new Uint8Array(1 << 22);
  readonly view = new DataView(this.bytes.buffer);
  #gone: [number, number][] = [];
  #next = 4096;

  /** The address of `length` fresh bytes at the start of a page. */
  alloc(length: number): number {
    const at = this.#next;
    this.#next += Math.ceil(length / 4096) * 4096;
    return BASE + at;
  }

  /** What stands at an address, shared. */
  at(address: number, length: number): Uint8Array {
    return this.bytes.subarray(address - BASE, address - BASE + length);
  }

  unmap(address: number, length: number): void {
    this.#gone.push([address - BASE, address - BASE + length]);
  }

  read(address: number, to: Uint8Array, toAt: number, length: number): boolean {
    if (!this.#has(address, length)) return false;
    to.set(this.at(address, length), toAt);
    return true;
  }

  write(address: number, from: Uint8Array, fromAt: number, length: number): boolean {
    if (!this.#has(address, length)) return false;
    this.at(address, length).set(from.subarray(fromAt, fromAt + length));
    return true;
  }

  #has(address: number, length: number): boolean {
    const from = address - BASE;
    if (from < 0 || from + length > this.bytes.length) return false;
    return this.#gone.every(([begin, end]) => from >= end || from + length <= begin);
  }
}

export class TestHost implements UverbsFileHost {
  readonly memory: TestProcess;
  readonly rings = new Map<number, SharedRing>();
  /** Events that the client has not read, by channel. */
  readonly events = new Map<number, Uint8Array[]>();
  /** Rings may have so many bytes more. */
  room = 1 << 26;
  completions = 0;
  /** By handle. */
  readonly armed = new Int32Array(992);
  /** Of each channel: more are lost. */
  roomForEvents = Number.POSITIVE_INFINITY;
  readonly #about = new WeakMap<Uint8Array, object>();
  #nextOffset = 0;
  #nextChannel = 3;

  /** What happens while a command waits for what doorbells asked for. */
  meanwhile: () => void = () => undefined;

  constructor(memory = new TestProcess()) {
    this.memory = memory;
  }

  async turn(): Promise<void> {
    this.meanwhile();
  }

  allocate(length: number): SharedRing | undefined {
    if (length > this.room) return undefined;
    this.room -= length;
    const ring = { offset: this.#nextOffset, bytes: new Uint8Array(length) };
    this.#nextOffset += length;
    this.rings.set(ring.offset, ring);
    return ring;
  }

  free(ring: SharedRing): void {
    if (!this.rings.delete(ring.offset)) throw new Error('a ring is freed twice');
    this.room += ring.bytes.length;
  }

  openChannel(): number {
    const channel = this.#nextChannel++;
    this.events.set(channel, []);
    return channel;
  }

  event(channel: number, bytes: Uint8Array, about: object): boolean {
    const queue = this.events.get(channel);
    if (queue === undefined) throw new Error(`there is no channel ${channel}`);
    if (queue.length >= this.roomForEvents) return false;
    queue.push(bytes);
    this.#about.set(bytes, about);
    return true;
  }

  cancelEvents(channel: number, about: object): number {
    const queue = this.events.get(channel) ?? [];
    const left = queue.filter((bytes) => this.#about.get(bytes) !== about);
    this.events.set(channel, left);
    return queue.length - left.length;
  }

  completed(): void {
    this.completions += 1;
  }

  closeChannel(channel: number): void {
    if (!this.events.delete(channel)) throw new Error(`channel ${channel} is closed twice`);
  }
}
