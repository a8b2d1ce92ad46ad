/**
 * Memory for the data of commands: registered once, lent to one command at a time, bounded over all queues of a target.
 *
 * A command whose data finds no room waits for that of others. Lent memory may hold what an earlier command left in it;
 * users send only what they have written. What is read and goes to no host has a little memory of its own, `scratch`.
 */
import { invariant, RoceError } from '../../../../packets/errors.ts';
import { Access } from '../../../../transport/memory.ts';
import type { RdmaPd } from '../../../device/api.ts';
import { LentBuffers } from '../../../ground/lent-buffers.ts';
import { type DataMemory, LentDisks } from './data-memory.ts';

type Take = (memory: DataMemory | undefined) => void;

export class DataPool {
  /** For what is read to be looked at: Compare, Verify. */
  readonly scratch = new LentBuffers(SCRATCH_BYTES, SCRATCH_BUFFERS);
  /** Disks that lend what is read of them. */
  readonly disks: LentDisks;
  readonly #pd: RdmaPd;
  readonly #limitBytes: number;
  /** Free memory by its size class. */
  readonly #free: DataMemory[][] = Array.from({ length: CLASSES }, () => []);
  readonly #waiting: { readonly sizeClass: number; readonly take: Take }[] = [];
  /** Bytes that are registered, lent or not. */
  #registered = 0;
  #serving = false;

  /** @param limitBytes at least one piece of the largest class */
  constructor(pd: RdmaPd, limitBytes: number) {
    invariant(limitBytes >= LARGEST, 'the pool has room for the largest command');
    this.#pd = pd;
    this.disks = new LentDisks(pd);
    this.#limitBytes = limitBytes;
  }

  /** Commands that wait for memory. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Calls `take` with memory of `bytes` bytes or more, at most `MAX_DATA_BYTES`: at once where there is room. Without
   * one when the device takes no more registrations: nobody knows when it will.
   */
  lend(bytes: number, take: Take): void {
    const sizeClass = classOf(bytes);
    const found = this.#waiting.length === 0 ? this.#find(sizeClass) : 'wait';
    if (found === 'wait') this.#waiting.push({ sizeClass, take });
    else take(found);
  }

  /** The same where there is room now, and nobody waits for it; else undefined. */
  take(bytes: number): DataMemory | undefined {
    const found = this.#waiting.length === 0 ? this.#find(classOf(bytes)) : 'wait';
    return found === 'wait' ? undefined : found;
  }

  #giveBack(memory: DataMemory): void {
    this.#free[classOf(memory.region.length)]?.push(memory);
    // Who waited may give back at once: that is for the loop that runs, not for one within it.
    if (this.#serving) return;
    this.#serving = true;
    try {
      this.#serveWaiting();
    } finally {
      this.#serving = false;
    }
  }

  #serveWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const found = this.#find(next.sizeClass);
      if (found === 'wait') return;
      this.#waiting.shift();
      next.take(found);
    }
  }

  /** Ends the registrations of what is free. What is lent belongs to queues that must be closed before. */
  free(): void {
    for (const list of this.#free) for (const memory of list.splice(0)) this.#drop(memory);
  }

  /** 'wait': until others have given back. Undefined: the device refuses. */
  #find(sizeClass: number): DataMemory | undefined | 'wait' {
    const free = this.#free[sizeClass]?.pop();
    if (free !== undefined) return free;
    const bytes = SMALLEST * 4 ** sizeClass;
    // Free pieces of other sizes make room, the largest first.
    for (let other = CLASSES - 1; other >= 0 && this.#registered + bytes > this.#limitBytes; other--)
      for (let unused = this.#free[other]?.pop(); unused !== undefined; unused = this.#free[other]?.pop()) {
        this.#drop(unused);
        if (this.#registered + bytes <= this.#limitBytes) break;
      }
    if (this.#registered + bytes > this.#limitBytes) return 'wait';
    try {
      const region = this.#pd.regMr(bytes, { access: Access.LocalWrite });
      this.#registered += bytes;
      const memory: DataMemory = { region, offset: 0, giveBack: () => this.#giveBack(memory) };
      return memory;
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      return undefined;
    }
  }

  #drop({ region }: DataMemory): void {
    this.#registered -= region.length;
    this.#pd.deregMr(region);
  }
}

function classOf(bytes: number): number {
  let sizeClass = 0;
  while (SMALLEST * 4 ** sizeClass < bytes) sizeClass++;
  invariant(sizeClass < CLASSES, 'no command has so much data');
  return sizeClass;
}

/** 4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB. */
const SMALLEST = 4096;
const CLASSES = 5;
const LARGEST = SMALLEST * 4 ** (CLASSES - 1);
/** Data of one command at most, in bytes: MDTS says so. */
export const MAX_DATA_BYTES = LARGEST;
const SCRATCH_BYTES = 256 << 10;
const SCRATCH_BUFFERS = 4;
/** The same as a power of two of pages of 4 KiB. */
export const MDTS = 8;
