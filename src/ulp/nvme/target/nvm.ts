/**
 * Commands on I/O queues: from an entry to calls of a backend.
 *
 * Owns the checks of ranges and the statuses for what does not fit. Rules: ref:nvmeof.
 */
import type { LentBuffers } from '../../../ground/lent-buffers.ts';
import {
  AnaState,
  blocksOf,
  DSM_RANGE_BYTES,
  dsmRangeCount,
  isDeallocation,
  isFua,
  MAX_DSM_RANGES,
  type NvmeCommand,
  NvmeStatus,
  NvmOpcode,
  protectionOf,
  readDsmRanges,
} from '../codec/index.ts';
import { lbaOf } from '../codec/nvm.ts';
import type { NvmeBackend } from './backend.ts';
import type { DataMemory } from './data-memory.ts';
import { type DataPool, MAX_DATA_BYTES } from './data-pool.ts';
import type { NvmeSubsystem, TargetNamespace } from './subsystem.ts';
import { DONE, NEEDS_ROOM, type Outcome, refused, type Task } from './task.ts';

/** What SMART counts. */
export interface IoCounters {
  /** Commands Read. */
  reads: number;
  /** Commands Write. */
  writes: number;
  /** Of them. */
  bytesRead: number;
  /** Of them. */
  bytesWritten: number;
  /** Commands that a backend failed. */
  mediaErrors: number;
}

/**
 * Bytes of data of an I/O command, or a status as its complement. None of a namespace that there is not: `executeIo`
 * refuses the command.
 */
export function ioDataLength(subsystem: NvmeSubsystem, command: NvmeCommand): number {
  switch (command.opcode) {
    case NvmOpcode.Read:
    case NvmOpcode.Write:
    case NvmOpcode.Compare: {
      const namespace = subsystem.namespace(command.nsid);
      if (namespace === undefined) return 0;
      const bytes = blocksOf(command) * namespace.blockBytes;
      return bytes > MAX_DATA_BYTES ? ~refused(NvmeStatus.InvalidField).status : bytes;
    }
    case NvmOpcode.DatasetManagement: {
      // Linux describes room for all ranges there can be, and fills in those that the command counts.
      const bytes = dsmRangeCount(command) * DSM_RANGE_BYTES;
      const described = command.sgl.length;
      return described > bytes && described <= MAX_DSM_RANGES * DSM_RANGE_BYTES ? described : bytes;
    }
    default:
      return 0;
  }
}

/** Memory that I/O commands need: to read into what no host gets, to lend a disk's own, and that of reads. */
export type IoMemory = Pick<DataPool, 'scratch' | 'disks' | 'take'>;

/** Whose command it is. */
export interface IoPlace {
  readonly subsystem: NvmeSubsystem | undefined;
  readonly port: number;
  readonly io: IoCounters;
  readonly ready: boolean;
}

/** Whether the command comes without memory for its data: where that is turns out when it is executed. */
export function findsRoom({ opcode }: NvmeCommand): boolean {
  return opcode === NvmOpcode.Read;
}

/** Does what the command says, at once where the disk does. All that can be wrong with it is found here. */
export function executeIo(
  { subsystem, port, io: counters, ready }: IoPlace,
  task: Task,
  memory: IoMemory,
): Outcome | Promise<Outcome> {
  const { command } = task;
  // The discovery service has no I/O queues.
  if (subsystem === undefined) return refused(NvmeStatus.InvalidOpcode);
  if (!ready) return refused(NvmeStatus.CommandSequenceError);
  if (command.opcode === NvmOpcode.Flush && command.nsid === ALL_NAMESPACES) return flushAll(subsystem, counters);
  const namespace = subsystem.namespace(command.nsid);
  if (namespace === undefined) return refused(NvmeStatus.InvalidNamespace);
  const unreachable = PATH_STATUS.get(subsystem.anaState(port));
  if (unreachable !== undefined) return { status: unreachable };
  const { backend } = namespace;
  switch (command.opcode) {
    case NvmOpcode.Flush:
      return counted(backend.flush(), counters);
    case NvmOpcode.DatasetManagement:
      return deallocate(namespace, task, counters);
    case NvmOpcode.Read:
    case NvmOpcode.Write:
    case NvmOpcode.Compare:
    case NvmOpcode.Verify:
    case NvmOpcode.WriteZeroes:
      return onBlocks(namespace, task, counters, memory);
    default:
      return refused(NvmeStatus.InvalidOpcode);
  }
}

function onBlocks(
  namespace: TargetNamespace,
  task: Task,
  counters: IoCounters,
  memory: IoMemory,
): Outcome | Promise<Outcome> {
  const { backend, blockBytes } = namespace;
  const { command, data } = task;
  const { scratch } = memory;
  const fault = rangeFault(namespace, command);
  if (fault !== NvmeStatus.Success) return refused(fault);
  const offset = lbaOf(command) * blockBytes;
  const bytes = blocksOf(command) * blockBytes;
  // Since its descriptor was found right, the namespace has become another one, with other blocks.
  if (data.length > 0 && data.length !== bytes) return refused(NvmeStatus.InvalidSglDataLength);
  switch (command.opcode) {
    case NvmOpcode.Read:
      return read(backend, offset, bytes, task, counters, memory);
    case NvmOpcode.Compare:
      counters.reads++;
      return counted(
        readThrough(scratch, backend, offset, bytes, (found, at) => isSame(found, data, at)),
        counters,
      );
    case NvmOpcode.Verify:
      return counted(readThrough(scratch, backend, offset, bytes), counters);
    case NvmOpcode.Write:
      if (backend.readOnly) return refused(NvmeStatus.NamespaceWriteProtected);
      counters.writes++;
      counters.bytesWritten += bytes;
      return counted(backend.write(offset, data, isFua(command)), counters);
    default:
      if (backend.readOnly) return refused(NvmeStatus.NamespaceWriteProtected);
      counters.writes++;
      return counted(backend.zero(offset, bytes, isFua(command)), counters);
  }
}

/** Why these are no blocks of the namespace; Success when they are. */
function rangeFault({ backend, blockBytes }: TargetNamespace, command: NvmeCommand): number {
  if (!(lbaOf(command) + blocksOf(command) <= Math.floor(backend.bytes / blockBytes))) return NvmeStatus.LbaOutOfRange;
  return protectionOf(command) === 0 ? NvmeStatus.Success : NvmeStatus.InvalidProtectionInformation;
}

/** Sends the disk's own bytes where it lends them, and a copy where it does not. */
function read(
  backend: NvmeBackend,
  offset: number,
  bytes: number,
  task: Task,
  counters: IoCounters,
  room: IoMemory,
): Outcome | Promise<Outcome> {
  let lent: DataMemory | undefined;
  if (task.memory === undefined) {
    const loan = backend.lend?.(offset, bytes);
    lent = loan && room.disks.take(loan);
    const memory = lent ?? room.take(bytes);
    if (memory === undefined) return NEEDS_ROOM;
    task.use(memory, bytes);
  }
  counters.reads++;
  counters.bytesRead += bytes;
  return lent === undefined ? counted(backend.read(offset, task.data), counters) : DONE;
}

/** Reads what no host gets, piece by piece, until `judge` says other than Success. */
function readThrough(
  scratch: LentBuffers,
  backend: NvmeBackend,
  offset: number,
  bytes: number,
  judge: (found: Uint8Array, at: number) => number = () => NvmeStatus.Success,
): Promise<number> {
  return scratch.lend(async (buffer) => {
    for (let at = 0; at < bytes; at += buffer.length) {
      const found = buffer.subarray(0, Math.min(buffer.length, bytes - at));
      const status = (await backend.read(offset + at, found)) || judge(found, at);
      if (status !== NvmeStatus.Success) return status;
    }
    return NvmeStatus.Success;
  });
}

function isSame(found: Uint8Array, wanted: Uint8Array, at: number): number {
  return found.every((byte, i) => byte === wanted[at + i]) ? NvmeStatus.Success : NvmeStatus.CompareFailure;
}

/**
 * Deallocated blocks read as zeros. All ranges are checked before the first is touched. The command is a hint, and a
 * backend may have to read what it zeroes: what is beyond the work that a host waits for stays as it is.
 */
async function deallocate(
  { backend, blockBytes }: TargetNamespace,
  { command, data }: Task,
  counters: IoCounters,
): Promise<Outcome> {
  if (!isDeallocation(command)) return DONE;
  if (backend.readOnly) return refused(NvmeStatus.NamespaceWriteProtected);
  const ranges = readDsmRanges(data, dsmRangeCount(command));
  const size = Math.floor(backend.bytes / blockBytes);
  if (!ranges.every(({ lba, blocks }) => lba + blocks <= size)) return refused(NvmeStatus.LbaOutOfRange);
  let room = Math.floor(MOST_DEALLOCATED / blockBytes);
  for (const { lba, blocks } of ranges) {
    const zeroed = Math.min(blocks, room);
    room -= zeroed;
    if (zeroed === 0) continue;
    const status = await backend.zero(lba * blockBytes, zeroed * blockBytes, false);
    if (status !== NvmeStatus.Success) return noted(status, counters);
  }
  return DONE;
}

/** All of them, whatever becomes of one: the first fault is told. */
async function flushAll(subsystem: NvmeSubsystem, counters: IoCounters): Promise<Outcome> {
  let first: number = NvmeStatus.Success;
  for (const { backend } of subsystem.namespaces) {
    const status = await backend.flush();
    noted(status, counters);
    if (first === NvmeStatus.Success) first = status;
  }
  return ended(first);
}

function counted(result: number | Promise<number>, counters: IoCounters): Outcome | Promise<Outcome> {
  return typeof result === 'number' ? noted(result, counters) : result.then((status) => noted(status, counters));
}

function noted(status: number, counters: IoCounters): Outcome {
  if (status === NvmeStatus.WriteFault || status === NvmeStatus.UnrecoveredReadError) counters.mediaErrors++;
  return ended(status);
}

function ended(status: number): Outcome {
  return status === NvmeStatus.Success ? DONE : { status };
}

/** Statuses of a path by which the namespaces are not reached. */
const PATH_STATUS: ReadonlyMap<number, number> = new Map([
  [AnaState.Inaccessible, NvmeStatus.AnaInaccessible],
  [AnaState.PersistentLoss, NvmeStatus.AnaPersistentLoss],
  [AnaState.Change, NvmeStatus.AnaTransition],
]);
/** `nsid` of a command to all namespaces. */
export const ALL_NAMESPACES = 0xff_ff_ff_ff;
/** Bytes that one command deallocates at most: a quarter of a second of a file's reads. */
const MOST_DEALLOCATED = 256 << 20;
