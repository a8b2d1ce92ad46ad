/**
 * What our codecs read of the data of a command, under tshark's names for it, and the values that both are compared by.
 */
import {
  AdminOpcode,
  CONNECT_DATA,
  ERROR_ENTRY,
  FABRICS_OPCODE,
  FIRMWARE_LOG,
  GET_LOG_PAGE,
  IDENTIFY,
  IDENTIFY_CONTROLLER,
  IDENTIFY_NAMESPACE,
  IdentifyCns,
  LBA_FORMAT,
  LogPage,
  type NvmeCommand,
  readAnaLog,
  readNamespaceList,
  SMART_LOG,
} from '../../../../src/ulp/nvme/codec/index.ts';
import type { Message } from './capsules-of.ts';

/** Some bits of a number. */
export class Masked {
  readonly value: number;
  readonly mask: number;

  constructor(value: number, mask: number) {
    this.value = value;
    this.mask = mask;
  }
}

export type Value = number | bigint | boolean | string | Uint8Array | Masked | readonly Value[];
/** Values by tshark's names. */
export type Named = Readonly<Record<string, Value>>;

/** Of data of a command, whichever way it goes. */
export function namesOfData(qid: number, command: NvmeCommand, { bytes }: Message): Named {
  if (command.opcode === FABRICS_OPCODE) return namesOfConnectData(CONNECT_DATA.read(bytes));
  if (qid !== 0) return {};
  if (command.opcode === AdminOpcode.Identify) return namesOfIdentify(command.arguments(IDENTIFY).cns, bytes);
  if (command.opcode !== AdminOpcode.GetLogPage) return {};
  const { lid, lpo } = command.arguments(GET_LOG_PAGE);
  return lpo === 0n ? namesOfLog(lid, bytes) : {};
}

function namesOfIdentify(cns: number, bytes: Uint8Array): Named {
  if (cns === IdentifyCns.ActiveNamespaces) return { 'nvme.cmd.identify.nslist.nsid': readNamespaceList(bytes) };
  if (cns === IdentifyCns.Namespace) {
    const namespace = IDENTIFY_NAMESPACE.read(bytes);
    if (namespace === undefined) return {};
    const { lbaf, thin, atomics, deallocatedError, uidReuse, optimal } = namespace;
    const bits = [thin, atomics, deallocatedError, uidReuse, optimal];
    const value = bits.reduce((sum, on, bit) => sum + (on ? 1 << bit : 0), 0);
    return under('nvme.cmd.identify.ns', {
      ...namespace,
      // tshark has no names for its bits; those above are newer.
      nsfeat: new Masked(value, 0x1f),
      // One for each format that counts, as one number.
      lbaf: lbaf.slice(0, namespace.nlbaf + 1).map((format) => LBA_FORMAT.toNumber(format)),
    });
  }
  if (cns !== IdentifyCns.Controller) return {};
  const controller = IDENTIFY_CONTROLLER.read(bytes);
  return controller === undefined ? {} : under('nvme.cmd.identify.ctrl', controllerNames(controller));
}

type ControllerValues = NonNullable<ReturnType<typeof IDENTIFY_CONTROLLER.read>>;

function controllerNames(c: ControllerValues): Record<string, Value> {
  const { fguid, lpa, ...rest } = c;
  return {
    ...rest,
    fguid: littleEndian(fguid, 16),
    'ver.mjr': c.ver >>> 16,
    'ver.min': (c.ver >>> 8) & 0xff,
    'ver.ter': c.ver & 0xff,
    // tshark takes the number for a flag; its parts are right.
    'lpa.smrt': lpa & 1,
    'lpa.cmds': (lpa >> 1) & 1,
    'lpa.elp': (lpa >> 2) & 1,
    'oncs.ccs': c.oncsCompare,
    'oncs.wus': c.oncsWriteUncorrectable,
    'oncs.dsms': c.oncsDsm,
    'oncs.wzs': c.oncsWriteZeroes,
    'oncs.nzfs': c.oncsSave,
    'oncs.ress': c.oncsReservations,
    'oncs.tstmps': c.oncsTimestamp,
    'oncs.vers': c.oncsVerify,
    nvscc: c.icsvscc,
    'sgls.sgls': c.sglsSupport,
    'sgls.kdbs': c.sglsKeyed,
    'sgls.bbd': c.sglsBitBucket,
    'sgls.lsgl': c.sglsExcess,
    'sgls.kmptr': c.sglsMetadata,
    'sgls.offs': c.sglsOffset,
    ...under('nvmeof', {
      ioccsz: c.ioccsz,
      iorcsz: c.iorcsz,
      icdoff: c.icdoff,
      fcatt: c.fcatt,
      msdbd: c.msdbd,
      ofcs: c.ofcs,
    }),
  };
}

function namesOfLog(page: number, bytes: Uint8Array): Named {
  switch (page) {
    case LogPage.Smart:
      return namesOfSmart(SMART_LOG.read(bytes));
    case LogPage.Error: {
      const entry = ERROR_ENTRY.read(bytes);
      if (entry === undefined) return {};
      const { errorCount, sqid, cid, status, parameterError, lba, nsid, vendorLog, commandSpecific } = entry;
      return under('nvme.cmd.get_logpage.errinf', {
        errcnt: errorCount,
        sqid,
        cid,
        // The phase is the lowest bit; tshark takes the highest for it.
        sf: status * 2,
        pel: parameterError,
        lba,
        // tshark reads half of it.
        nsid: nsid & 0xff_ff,
        vsi: vendorLog,
        csi: commandSpecific,
      });
    }
    case LogPage.Firmware: {
      const slots = FIRMWARE_LOG.read(bytes);
      if (slots === undefined) return {};
      const revisions = Object.fromEntries(slots.revisions.map((revision, i) => [`frs.s${i + 1}`, revision]));
      const names = { 'afi.afs': slots.activeSlot, 'afi.nfs': slots.nextSlot, ...revisions };
      return under('nvme.cmd.get_logpage.fw_slot', names);
    }
    case LogPage.ChangedNamespaces:
      // tshark goes on behind the end of the list.
      return { 'nvme.cmd.get_logpage.changed_nslist': padded(readNamespaceList(bytes), bytes.length / 4) };
    case LogPage.Ana: {
      const log = readAnaLog(bytes);
      const group = log?.groups[0];
      if (log === undefined || group === undefined) return {};
      return under('nvme.cmd.get_logpage.ana', {
        chcnt: log.header.chgcnt,
        ngd: log.header.ngrps,
        'grp.id': group.grpid,
        'grp.nns': group.nsids.length,
        'grp.chcnt': group.chgcnt,
        'grp.anas.state': group.state,
        'grp.nsid': group.nsids,
      });
    }
    default:
      return {};
  }
}

function namesOfSmart(smart: ReturnType<typeof SMART_LOG.read>): Named {
  if (smart === undefined) return {};
  return under('nvme.cmd.get_logpage.smart', {
    cw: smart.criticalWarning,
    ct: smart.temperature,
    asc: smart.availableSpare,
    ast: smart.spareThreshold,
    lae: smart.percentageUsed,
    dur: smart.dataUnitsRead,
    duw: smart.dataUnitsWritten,
    hrc: smart.hostReads,
    hwc: smart.hostWrites,
    cbt: smart.controllerBusyTime,
    pc: smart.powerCycles,
    poh: smart.powerOnHours,
    us: smart.unsafeShutdowns,
    mie: smart.mediaErrors,
    ele: smart.errorLogEntries,
    wctt: smart.warningTemperatureTime,
    cctt: smart.criticalTemperatureTime,
    ...Object.fromEntries(smart.temperatureSensors.map((kelvins, i) => [`ts.s${i + 1}`, kelvins])),
  });
}

/** Of the data of Connect. */
export function namesOfConnectData(data: ReturnType<typeof CONNECT_DATA.read>): Named {
  if (data === undefined) return {};
  const { cntlid, ...rest } = data;
  return under('nvme.fabrics.cmd.connect.data', { ...rest, cntrlid: cntlid });
}

/** Names below another. */
export function under(prefix: string, values: Readonly<Record<string, unknown>> | undefined): Record<string, Value> {
  return Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [`${prefix}.${name}`, value as Value]));
}

/** A number as bytes. */
export function littleEndian(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => Number((value >> BigInt(i * 8)) & 0xffn));
}

function padded(values: readonly number[], length: number): number[] {
  return Array.from({ length }, (_, i) => values[i] ?? 0);
}
