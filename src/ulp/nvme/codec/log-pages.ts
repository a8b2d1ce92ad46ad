/**
 * Get Log Page: its arguments, and the pages errors, SMART, firmware and command effects.
 *
 * Owns layouts. The log of changed namespaces (04h) is a list as Identify has it; `discovery.ts` and `ana.ts` have the
 * others. Rules: ref:nvmeof.
 */
import { ARGUMENT_BYTES } from './command.ts';
import { ascii, bits, flag, list, structure, u8, u16, u32, u64, u128, type ValuesOf } from './structure.ts';

/** Arguments of Get Log Page. */
export const GET_LOG_PAGE = structure('Get Log Page', ARGUMENT_BYTES, {
  /** The page: one of `LogPage`. */
  lid: u8(0),
  /** Specific to the page. ANA: bit 0, groups without their namespaces. */
  lsp: bits(8, 7),
  /** The event that the page explains is not acknowledged. */
  rae: flag(15),
  /** Dwords to return, less 1. */
  numd: u32(2),
  /** Specific to the page. */
  lsi: u16(6),
  /** Where to begin, in bytes; a multiple of 4. */
  lpo: u64(8),
  /** Command set, for some. */
  csi: u8(19),
});
/** Values of `GET_LOG_PAGE`. */
export type GetLogPage = ValuesOf<typeof GET_LOG_PAGE>;

/** Log pages. */
export const LogPage = {
  /** Which pages there are. */
  Supported: 0x00,
  /** Errors. */
  Error: 0x01,
  /** SMART and health. */
  Smart: 0x02,
  /** Firmware slots. */
  Firmware: 0x03,
  /** Namespaces that have changed: a list. */
  ChangedNamespaces: 0x04,
  /** Commands and their effects. */
  CommandEffects: 0x05,
  /** Asymmetric namespace access. */
  Ana: 0x0c,
  /** Discovery. */
  Discovery: 0x70,
} as const;

/** An entry of the error log; the log has the newest first. */
export const ERROR_ENTRY = structure('Error log entry', 64, {
  /** Its number, from 1 on; 0 for no entry. */
  errorCount: u64(0),
  /** Queue of the command. */
  sqid: u16(8),
  /** The command; 0xffff for none. */
  cid: u16(10),
  /** Phase (1) and status (15), as in the completion. */
  status: bits(12 * 8 + 1, 15),
  /** Where in the command the mistake is: byte (8), bit (3); 0xffff for nowhere. */
  parameterError: u16(14),
  /** First block. */
  lba: u64(16),
  /** Namespace. */
  nsid: u32(24),
  /** The vendor's log page with more; 0 for none. */
  vendorLog: u8(28),
  /** Of the command. */
  commandSpecific: u64(32),
});
/** Values of `ERROR_ENTRY`. */
export type ErrorEntry = ValuesOf<typeof ERROR_ENTRY>;

/** SMART and health information. */
export const SMART_LOG = structure('SMART / Health log', 512, {
  /** Warnings: bits 0 spare, 1 temperature, 2 reliability, 3 read-only, 4 backup. */
  criticalWarning: u8(0),
  /** Temperature, in kelvins. */
  temperature: u16(1),
  /** Spare that is left, in percent. */
  availableSpare: u8(3),
  /** Spare below which there is a warning. */
  spareThreshold: u8(4),
  /** Life that is over, in percent; may exceed 100. */
  percentageUsed: u8(5),
  /** Read, in units of 512,000 bytes, rounded up. */
  dataUnitsRead: u128(32),
  /** Written, the same. */
  dataUnitsWritten: u128(48),
  /** Reads and Compares. */
  hostReads: u128(64),
  /** Writes. */
  hostWrites: u128(80),
  /** Busy, in minutes. */
  controllerBusyTime: u128(96),
  /** Power cycles. */
  powerCycles: u128(112),
  /** Hours of power. */
  powerOnHours: u128(128),
  /** Shutdowns without notice. */
  unsafeShutdowns: u128(144),
  /** Errors of media and integrity. */
  mediaErrors: u128(160),
  /** Entries that the error log ever had. */
  errorLogEntries: u128(176),
  /** Minutes above the warning temperature. */
  warningTemperatureTime: u32(192),
  /** Minutes above the critical temperature. */
  criticalTemperatureTime: u32(196),
  /** Sensors, in kelvins; 0 for none. */
  temperatureSensors: list(200, 8, 2, u16),
});
/** Values of `SMART_LOG`. */
export type SmartLog = ValuesOf<typeof SMART_LOG>;

/** Firmware slots. */
export const FIRMWARE_LOG = structure('Firmware slot log', 512, {
  /** The slot that runs. */
  activeSlot: bits(0, 3),
  /** The slot at the next reset; 0 for the same. */
  nextSlot: bits(4, 3),
  /** Revisions, slot 1 first. */
  revisions: list(8, 7, 8, (at) => ascii(at, 8)),
});
/** Values of `FIRMWARE_LOG`. */
export type FirmwareLog = ValuesOf<typeof FIRMWARE_LOG>;

/** Commands supported and effects. */
export const COMMAND_EFFECTS_LOG = structure('Command effects log', 4096, {
  /** By admin opcode: bit 0 supported, bit 1 changes blocks, others. */
  admin: list(0, 256, 4, u32),
  /** By I/O opcode. */
  io: list(1024, 256, 4, u32),
});
/** Values of `COMMAND_EFFECTS_LOG`. */
export type CommandEffectsLog = ValuesOf<typeof COMMAND_EFFECTS_LOG>;
