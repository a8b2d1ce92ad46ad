/** Memory of a client that is registered: reached by copies, and gone when the client unmaps it. */

import type { CopiedMemory } from '../../transport/copied-memory.ts';
import { MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import type { ProcessMemory } from './host.ts';

/** `length` bytes of a process from `start` on. */
export class ProcessRegion implements CopiedMemory {
  readonly length: number;
  readonly #memory: ProcessMemory;
  readonly #start: number;

  constructor(memory: ProcessMemory, start: number, length: number) {
    this.#memory = memory;
    this.#start = start;
    this.length = length;
  }

  read(offset: number, to: Uint8Array, toAt: number, length: number, ahead: number): boolean {
    return this.#memory.read(this.#start + offset, to, toAt, length, ahead);
  }

  write(offset: number, from: Uint8Array, fromAt: number, length: number, more: boolean, writer: object): boolean {
    return this.#memory.write(this.#start + offset, from, fromAt, length, more, writer);
  }
}

/**
 * The region of a local key that names none: work that uses it fails in its turn, by a local protection error, as
 * rxe:rxe_mr.c#lookup_mr has it fail.
 */
export const NOWHERE = new MemoryRegion(new ProtectionDomain(0), new Uint8Array(0), 0, { access: 0, iova: 0n });
NOWHERE.grant.valid = false;
