/** One command that the target works on, and what comes of it. */
import { NvmeCommand, NvmeStatus, STATUS_DNR } from '../codec/index.ts';
import type { DataMemory } from './data-memory.ts';

/** What a command ends with. */
export interface Outcome {
  /** Type, code, and do not retry. */
  readonly status: number;
  /** Dword 0 of the completion [0]. */
  readonly dw0?: number;
  /** Dword 1 [0]. */
  readonly dw1?: number;
}

/** Where a command lives from its receive to its response; used again and again. */
export class Task {
  /** Which receive of its queue. */
  readonly slot: number;
  readonly command = new NvmeCommand();
  /** Bytes of the capsule. */
  capsuleBytes = 0;
  /** Its data: in the capsule, or in `memory`; of commands that send data to the host, where to put it. */
  data: Uint8Array = NO_DATA;
  /** Memory that was lent for it. */
  memory: DataMemory | undefined;
  /** When it came, where somebody wants to know; in nanoseconds. */
  arrivedAt = 0;
  /** Whether the command has no response yet. */
  busy = false;
  /** Whether a backend may use its memory. */
  executing = false;

  constructor(slot: number) {
    this.slot = slot;
  }

  /** This is the memory for its data. */
  use(memory: DataMemory, bytes: number): void {
    this.memory = memory;
    this.data = memory.region.bytes.subarray(memory.offset, memory.offset + bytes);
  }
}

/** Done. */
export const DONE: Outcome = { status: NvmeStatus.Success };

/** Nothing was done: the command has to be executed again when there is memory for its data. No host sees it. */
export const NEEDS_ROOM: Outcome = { status: NvmeStatus.Success };

/** Refused; sending it again does not help. */
export function refused(status: number, dw0 = 0): Outcome {
  return { status: status | STATUS_DNR, dw0 };
}

export const NO_DATA = new Uint8Array(0);
