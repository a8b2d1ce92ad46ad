/**
 * A namespace as a host sees it: blocks that are read and written, by LBA or by byte.
 *
 * Owns how a transfer becomes commands: none longer than the controller takes, several at a time. Never keeps data: a
 * read fills the caller's memory, a write sends it from there.
 */
import { RoceError } from '../../../../packets/errors.ts';
import {
  type BlockOptions,
  encodeDsmRanges,
  MAX_BLOCKS,
  MAX_DSM_RANGES,
  NvmeStatus,
  NvmOpcode,
  STATUS_CODE_MASK,
  setBlocks,
  setDeallocation,
} from '../codec/index.ts';
import { NvmeError } from './errors.ts';
import { type DataDirection, HostRequest } from './request.ts';

/** What a namespace needs of its controller. */
export interface NamespacePort {
  /** Bytes of one command at most. */
  readonly maxTransferBytes: number;
  /** Sends a command, or keeps it until it can be sent. */
  submit(request: HostRequest): void;
}

/** How blocks are written. */
export interface NvmeWriteOptions {
  /** Durable before it resolves: force unit access. */
  readonly fua?: boolean;
}

/** Blocks to give back. */
export interface NvmeRange {
  /** First block. */
  readonly lba: number;
  /** How many. */
  readonly blocks: number;
}

/**
 * A namespace. Calls reject with NvmeError for what the controller refuses, ERR_ROCE_ARGUMENT for what is no range of
 * blocks, ERR_ROCE_CLOSED when the connection is lost for good.
 *
 * What is sent again after a loss of the connection: reads, writes, flushes, compares, verifies, Write Zeroes and
 * deallocations, each of which does twice what it does once. That is right as long as nobody else writes the same
 * blocks, and as long as the controller ends what it has begun when its connection goes; what it began and could not
 * answer may still be written after the repetition.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { connectNvme, MemoryBackend, NvmeSubsystem, NvmeTarget } from 'rocev2/nvme';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const timers = {
 *   after(ns: number, then: () => void): () => void {
 *     let live = true;
 *     void world.sleep(ns).then(() => live && then());
 *     return () => {
 *       live = false;
 *     };
 *   },
 * };
 * const subsystem = new NvmeSubsystem({ nqn: 'nqn.2026-01.example:disk' });
 * subsystem.addNamespace({ backend: new MemoryBackend(1 << 20), uuid: new Uint8Array(16) });
 * NvmeTarget.listen(b, { subsystems: [subsystem], timers });
 * const host = { hostnqn: 'nqn.2026-01.example:host', hostid: new Uint8Array(16), timers };
 * const controller = await world.run(connectNvme(a, { address: '10.0.0.2', subnqn: subsystem.nqn, ...host }));
 * const disk = await world.run(controller.namespace(1));
 * const block = new Uint8Array(disk.blockBytes).fill(7);
 * await world.run(disk.write(3, block));
 * console.log(disk.blocks, await world.run(disk.compare(3, block))); // 2048 true
 * ```
 */
export class NvmeNamespace {
  /** Its identifier. */
  readonly nsid: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
  /** Blocks. */
  readonly blocks: number;
  readonly #port: NamespacePort;

  /** For the controller. @internal */
  constructor(port: NamespacePort, nsid: number, blockBytes: number, blocks: number) {
    this.#port = port;
    this.nsid = nsid;
    this.blockBytes = blockBytes;
    this.blocks = blocks;
  }

  /** Its size in bytes. */
  get bytes(): number {
    return this.blocks * this.blockBytes;
  }

  /** Fills `into`, a multiple of the block's size, from block `lba` on. */
  async read(lba: number, into: Uint8Array): Promise<void> {
    await this.#transfer('Read', NvmOpcode.Read, 'read', lba, into);
  }

  /** Writes `from`, a multiple of the block's size, from block `lba` on. It must not change until this resolves. */
  async write(lba: number, from: Uint8Array, options: NvmeWriteOptions = {}): Promise<void> {
    await this.#transfer('Write', NvmOpcode.Write, 'write', lba, from, options);
  }

  /** Whether the blocks from `lba` on are these bytes. */
  async compare(lba: number, expected: Uint8Array): Promise<boolean> {
    try {
      await this.#transfer('Compare', NvmOpcode.Compare, 'write', lba, expected);
      return true;
    } catch (error) {
      if (error instanceof NvmeError && error.statusCode === NvmeStatus.CompareFailure) return false;
      throw error;
    }
  }

  /** All that was written and answered is durable when this resolves. */
  async flush(): Promise<void> {
    const request = new HostRequest();
    request.command.begin(NvmOpcode.Flush, this.nsid);
    await this.#run('Flush', request);
  }

  /** Writes zeroes without sending them. With `deallocate` the blocks may be given back. */
  async writeZeroes(
    lba: number,
    blocks: number,
    options: Pick<BlockOptions, 'deallocate' | 'fua'> = {},
  ): Promise<void> {
    await this.#withoutData('Write Zeroes', NvmOpcode.WriteZeroes, lba, blocks, options);
  }

  /** Lets the controller read and check blocks. */
  async verify(lba: number, blocks: number): Promise<void> {
    await this.#withoutData('Verify', NvmOpcode.Verify, lba, blocks);
  }

  /** Gives blocks back; what they read as afterwards is the controller's choice. */
  async deallocate(ranges: readonly NvmeRange[]): Promise<void> {
    for (const { lba, blocks } of ranges) this.#demandRange(lba, blocks);
    for (let at = 0; at < ranges.length; at += MAX_DSM_RANGES) {
      const some = ranges.slice(at, at + MAX_DSM_RANGES);
      const request = new HostRequest();
      setDeallocation(request.command, this.nsid, some.length);
      request.direction = 'write';
      request.data = encodeDsmRanges(some.map((range) => ({ ...range, attributes: 0 })));
      await this.#run('Dataset Management', request);
    }
  }

  async #transfer(
    what: string,
    opcode: number,
    direction: DataDirection,
    lba: number,
    data: Uint8Array,
    options: BlockOptions = {},
  ): Promise<void> {
    if (data.length % this.blockBytes !== 0)
      throw new RoceError('ERR_ROCE_ARGUMENT', `${data.length} bytes are no whole blocks of ${this.blockBytes}`);
    this.#demandRange(lba, data.length / this.blockBytes);
    const step = this.#commandBlocks * this.blockBytes;
    const command = (at: number, piece: Uint8Array): Promise<void> => {
      const request = new HostRequest();
      const blocks = piece.length / this.blockBytes;
      setBlocks(request.command, opcode, this.nsid, lba + at / this.blockBytes, blocks, options);
      request.direction = direction;
      request.data = piece;
      return this.#run(what, request);
    };
    if (data.length > 0 && data.length <= step) return command(0, data);
    const running: Promise<void>[] = [];
    for (let at = 0; at < data.length; at += step) running.push(command(at, data.subarray(at, at + step)));
    await allOf(running);
  }

  async #withoutData(what: string, opcode: number, lba: number, blocks: number, options: BlockOptions = {}) {
    this.#demandRange(lba, blocks);
    const running: Promise<void>[] = [];
    for (let at = 0; at < blocks; at += MAX_BLOCKS) {
      const request = new HostRequest();
      setBlocks(request.command, opcode, this.nsid, lba + at, Math.min(blocks - at, MAX_BLOCKS), options);
      running.push(this.#run(what, request));
    }
    await allOf(running);
  }

  get #commandBlocks(): number {
    return Math.max(1, Math.min(MAX_BLOCKS, Math.floor(this.#port.maxTransferBytes / this.blockBytes)));
  }

  async #run(what: string, request: HostRequest): Promise<void> {
    request.replayable = true;
    this.#port.submit(request);
    await request.done;
    const { status, dw0 } = request.completion;
    if ((status & STATUS_CODE_MASK) !== NvmeStatus.Success) throw new NvmeError(what, status, dw0);
  }

  #demandRange(lba: number, blocks: number): void {
    if (!(Number.isSafeInteger(lba) && lba >= 0 && Number.isSafeInteger(blocks) && blocks >= 0))
      throw new RoceError('ERR_ROCE_ARGUMENT', `${blocks} blocks from ${lba} on are no range`);
    if (lba + blocks > this.blocks)
      throw new RoceError('ERR_ROCE_ARGUMENT', `blocks ${lba} to ${lba + blocks} of a namespace with ${this.blocks}`);
  }
}

/** The first failure, once all have ended: the caller's memory is in use until then. */
async function allOf(running: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(running);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
