/**
 * A disk that notices: bytes on both sides of it that nobody may touch, a shadow of what it ought to hold, and a list
 * of what was asked of it. Owns what counts as an access out of bounds.
 */
import { type NvmeBackend, NvmeStatus } from '../../../../src/ulp/nvme/index.ts';

const GUARD_BYTES = 4096;
const GUARD = 0xc7;
const UNTOUCHED = new Uint8Array(GUARD_BYTES).fill(GUARD);

/** What a fuzzer does to one operation. */
export interface Trouble {
  readonly wait: Promise<void> | undefined;
  readonly status: number | undefined;
}

export class NoticingDisk implements NvmeBackend {
  readonly bytes: number;
  readonly readOnly: boolean;
  readonly blockBytes: number;
  /** What it ought to hold. */
  readonly shadow: Uint8Array;
  /** What it holds. */
  readonly content: Uint8Array;
  /** Operations so far. */
  accesses = 0;
  /** What was out of bounds, in words. */
  readonly breaches: string[] = [];
  /** Asked before each operation. */
  trouble: () => Trouble | undefined = () => undefined;
  readonly #whole: Uint8Array;

  constructor(bytes: number, blockBytes: number, fill: (content: Uint8Array) => void, readOnly = false) {
    this.bytes = bytes;
    this.blockBytes = blockBytes;
    this.readOnly = readOnly;
    this.#whole = new Uint8Array(bytes + 2 * GUARD_BYTES).fill(GUARD);
    this.content = this.#whole.subarray(GUARD_BYTES, GUARD_BYTES + bytes);
    fill(this.content);
    this.shadow = this.content.slice();
  }

  read(offset: number, into: Uint8Array): Promise<number> {
    return this.#run('read', offset, into.length, () => into.set(this.#at(offset, into.length)));
  }

  write(offset: number, from: Uint8Array): Promise<number> {
    return this.#run('write', offset, from.length, () => this.#at(offset, from.length).set(from));
  }

  zero(offset: number, length: number): Promise<number> {
    return this.#run('zero', offset, length, () => this.#at(offset, length).fill(0));
  }

  flush(): Promise<number> {
    return this.#run('flush', 0, 0, () => undefined);
  }

  /** Whether it holds what it ought to, and its neighbours are untouched. */
  get sound(): boolean {
    const { bytes } = this;
    const guards = [this.#whole.subarray(0, GUARD_BYTES), this.#whole.subarray(GUARD_BYTES + bytes)];
    const intact = guards.every((guard) => Buffer.compare(guard, UNTOUCHED) === 0);
    return intact && Buffer.compare(this.content, this.shadow) === 0;
  }

  /** After commands whose outcome is open: the shadow is what is there. */
  accept(): void {
    this.shadow.set(this.content);
  }

  async #run(kind: string, offset: number, length: number, act: () => void): Promise<number> {
    this.accesses++;
    const inside = offset >= 0 && offset + length <= this.bytes;
    const whole = offset % this.blockBytes === 0 && length % this.blockBytes === 0;
    if (!(inside && whole)) this.breaches.push(`${kind} of ${length} bytes at ${offset} of ${this.bytes}`);
    if (this.readOnly && (kind === 'write' || kind === 'zero')) this.breaches.push(`${kind} of a read-only disk`);
    const trouble = this.trouble();
    await trouble?.wait;
    if (trouble?.status !== undefined) return trouble.status;
    act();
    return NvmeStatus.Success;
  }

  #at(offset: number, length: number): Uint8Array {
    return this.content.subarray(offset, offset + length);
  }
}
