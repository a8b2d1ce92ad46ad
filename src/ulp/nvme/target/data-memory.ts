/**
 * Where the data of a command is: memory of the pool, or the disk itself where that lends its bytes.
 *
 * Owns the registrations of disks: each is registered while any of it is lent, without rights for anybody else.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { MemoryRegion } from '../../../../transport/memory.ts';
import type { RdmaPd } from '../../../device/api.ts';
import type { NvmeLoan } from './backend.ts';

/** Registered memory that one command has to itself. */
export interface DataMemory {
  readonly region: MemoryRegion;
  /** Where in the region the data begins. */
  readonly offset: number;
  /** Nobody uses it any more, the queue pair included. Called once. */
  giveBack(): void;
}

interface Registered {
  readonly region: MemoryRegion;
  loans: number;
}

/** Disks that are registered. */
export class LentDisks {
  readonly #pd: RdmaPd;
  readonly #registered = new Map<Uint8Array, Registered>();

  constructor(pd: RdmaPd) {
    this.#pd = pd;
  }

  /** Memories that are registered. */
  get size(): number {
    return this.#registered.size;
  }

  /** The bytes of a loan; undefined, and the loan has ended, where the device does not register them. */
  take(loan: NvmeLoan): DataMemory | undefined {
    const found = this.#registered.get(loan.memory) ?? this.#register(loan.memory);
    if (found === undefined) {
      loan.end();
      return undefined;
    }
    found.loans++;
    const giveBack = (): void => {
      loan.end();
      if (--found.loans === 0) this.#drop(loan.memory, found);
    };
    return { region: found.region, offset: loan.offset, giveBack };
  }

  #register(memory: Uint8Array): Registered | undefined {
    try {
      const registered: Registered = { region: this.#pd.regMr(memory, { access: 0 }), loans: 0 };
      this.#registered.set(memory, registered);
      return registered;
    } catch (error) {
      // No more registrations, or memory that the device cannot share.
      if (!(error instanceof RoceError)) throw error;
      return undefined;
    }
  }

  #drop(memory: Uint8Array, { region }: Registered): void {
    this.#registered.delete(memory);
    this.#pd.deregMr(region);
  }
}
