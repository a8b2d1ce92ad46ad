/**
 * Where the bytes of a namespace are: the interface between the target and a disk.
 *
 * A backend answers with a status of NVMe, 0 for done, and neither throws nor rejects: an error of a disk is part of
 * its work. One that is done at once says so at once, and the response leaves with those of the same turn. The target
 * asks only for what lies within `bytes`, in whole blocks.
 */
import { NvmeStatus } from '../codec/index.ts';

/** Bytes of a disk that are sent from where they are. */
export interface NvmeLoan {
  /** The memory that they are in, registered as a whole while any of it is lent. */
  readonly memory: Uint8Array;
  /** Where in it they begin. */
  readonly offset: number;
  /** They are not needed any more. Called once. */
  end(): void;
}

/** A disk. */
export interface NvmeBackend {
  /** Its size, in bytes; it may change, the subsystem is told by `NvmeSubsystem.resized`. */
  readonly bytes: number;
  /** Nothing is ever written. */
  readonly readOnly: boolean;
  /** Fills `into` with the bytes at `offset`. */
  read(offset: number, into: Uint8Array): number | Promise<number>;
  /**
   * Lends `length` bytes at `offset` instead of copying them. Until the loan ends they do not change, whatever is
   * written: packets of them are sent, and sent again, at times that nobody knows. Undefined: these are not lent now,
   * and are read.
   */
  lend?(offset: number, length: number): NvmeLoan | undefined;
  /** Writes `from` at `offset`; with `fua` it is durable when it has ended. */
  write(offset: number, from: Uint8Array, fua: boolean): number | Promise<number>;
  /** What was written before is durable when it has ended. */
  flush(): number | Promise<number>;
  /** `length` bytes read as zeros from now on; with `fua` durably so. */
  zero(offset: number, length: number, fua: boolean): number | Promise<number>;
}

/** The same disk, that nobody writes to. */
export function readOnlyBackend(disk: NvmeBackend): NvmeBackend {
  const refuse = (): number => NvmeStatus.NamespaceWriteProtected;
  return {
    get bytes() {
      return disk.bytes;
    },
    readOnly: true,
    read: (offset, into) => disk.read(offset, into),
    ...(disk.lend === undefined ? {} : { lend: disk.lend.bind(disk) }),
    write: refuse,
    zero: refuse,
    flush: () => NvmeStatus.Success,
  };
}
