/** Log pages of a controller, whole; the command cuts out what was asked for. */
import {
  AdminOpcode,
  COMMAND_EFFECTS_LOG,
  ERROR_ENTRY,
  encodeAnaLog,
  encodeNamespaceList,
  FIRMWARE_LOG,
  LogPage,
  NvmOpcode,
  SMART_LOG,
} from '../codec/index.ts';
import { type Controller, ERROR_ENTRIES } from './controller.ts';
import type { DiscoverySource } from './identity.ts';
import { ANA_GROUP, MAX_NAMESPACES } from './subsystem.ts';

/** The page; undefined when there is none of this number. Reading the list of changed namespaces empties it. */
export function logPage(
  controller: Controller,
  page: number,
  specific: number,
  discovery: DiscoverySource,
): Uint8Array | undefined {
  if (page === LogPage.Error) return errorLog(controller);
  if (controller.subsystem === undefined)
    return page === LogPage.Discovery ? discovery.discoveryLog(controller) : undefined;
  switch (page) {
    case LogPage.Smart:
      return smartLog(controller);
    case LogPage.Firmware:
      return FIRMWARE_LOG.encode({ activeSlot: 1, revisions: ['1'] });
    case LogPage.ChangedNamespaces: {
      const list = encodeNamespaceList([...controller.changedNamespaces].sort((a, b) => a - b));
      controller.changedNamespaces.clear();
      return list;
    }
    case LogPage.CommandEffects:
      return COMMAND_EFFECTS_LOG.encode({ admin: effects(ADMIN_EFFECTS), io: effects(IO_EFFECTS) });
    case LogPage.Ana:
      return controller.subsystem.ana ? anaLog(controller, specific) : undefined;
    default:
      return undefined;
  }
}

function smartLog({ io, errorCount }: Controller): Uint8Array {
  return SMART_LOG.encode({
    temperature: ROOM_TEMPERATURE,
    availableSpare: 100,
    spareThreshold: 10,
    dataUnitsRead: dataUnits(io.bytesRead),
    dataUnitsWritten: dataUnits(io.bytesWritten),
    hostReads: BigInt(io.reads),
    hostWrites: BigInt(io.writes),
    mediaErrors: BigInt(io.mediaErrors),
    errorLogEntries: BigInt(errorCount),
  });
}

function errorLog({ errors, errorCount }: Controller): Uint8Array {
  const page = new Uint8Array(ERROR_ENTRIES * ERROR_ENTRY.byteLength);
  for (const [i, { sqid, cid, status, nsid }] of errors.entries())
    ERROR_ENTRY.write(
      { errorCount: BigInt(errorCount - i), sqid, cid, status, nsid, parameterError: 0xff_ff },
      page,
      i * ERROR_ENTRY.byteLength,
    );
  return page;
}

function anaLog({ subsystem, port }: Controller, specific: number): Uint8Array | undefined {
  if (subsystem === undefined) return undefined;
  const { anaChanges } = subsystem;
  const nsids = (specific & GROUPS_ONLY) === 0 ? subsystem.namespaces.map(({ nsid }) => nsid) : [];
  const log = encodeAnaLog(anaChanges, [
    { grpid: ANA_GROUP, chgcnt: anaChanges, state: subsystem.anaState(port), nsids },
  ]);
  // As long as it can become: nvme-cli asks for all of that, in pieces, and an offset behind the end is refused.
  const page = new Uint8Array(log.length + 4 * (MAX_NAMESPACES - nsids.length));
  page.set(log);
  return page;
}

function effects(of: ReadonlyMap<number, number>): number[] {
  return Array.from({ length: 256 }, (_, opcode) => of.get(opcode) ?? 0);
}

function dataUnits(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / 512_000));
}

const SUPPORTED = 1;
const CHANGES_BLOCKS = 2;
const ADMIN_EFFECTS: ReadonlyMap<number, number> = new Map(
  Object.values(AdminOpcode).map((opcode) => [opcode, SUPPORTED]),
);
const IO_EFFECTS: ReadonlyMap<number, number> = new Map([
  [NvmOpcode.Flush, SUPPORTED],
  [NvmOpcode.Write, SUPPORTED | CHANGES_BLOCKS],
  [NvmOpcode.Read, SUPPORTED],
  [NvmOpcode.Compare, SUPPORTED],
  [NvmOpcode.WriteZeroes, SUPPORTED | CHANGES_BLOCKS],
  [NvmOpcode.DatasetManagement, SUPPORTED | CHANGES_BLOCKS],
  [NvmOpcode.Verify, SUPPORTED],
]);
/** 20 degrees. */
const ROOM_TEMPERATURE = 293;
const GROUPS_ONLY = 1;
