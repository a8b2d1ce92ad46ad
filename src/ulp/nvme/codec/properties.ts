/**
 * Properties of a controller, read and set by Fabrics commands: CAP, VS, CC, CSTS.
 *
 * Owns the layouts of these registers, each as one number: `CC.ofNumber(value)`. Rules: ref:nvmeof.
 */
import { bits, flag, structure, u8, u16, type ValuesOf } from './structure.ts';

/** Which property: its offset in the registers of a controller on PCI Express. */
export const PropertyOffset = {
  /** Capabilities, eight bytes. */
  Cap: 0x00,
  /** Version, four bytes. */
  Vs: 0x08,
  /** Configuration, four bytes: the only one that is set. */
  Cc: 0x14,
  /** Status, four bytes. */
  Csts: 0x1c,
  /** Reset of the subsystem, four bytes. */
  Nssr: 0x20,
  /** Timeouts of readiness, four bytes: of controllers of version 2.0. */
  Crto: 0x68,
} as const;

/** Controller capabilities. */
export const CAP = structure('Controller capabilities', 8, {
  /** Entries of a queue at most, less 1; 0 makes Linux refuse the controller. */
  mqes: bits(0, 16),
  /** Queues have to be contiguous. Linux's target leaves it 0. */
  cqr: flag(16),
  /** Arbitration mechanisms beside round robin. */
  ams: bits(17, 2),
  /** Longest time until the controller is ready, in units of 500 ms. */
  to: bits(24, 8),
  /** Distance of doorbells: 0 over Fabrics. */
  dstrd: bits(32, 4),
  /** Whether the subsystem can be reset. */
  nssrs: flag(36),
  /** Command sets: bit 0 NVM, bit 6 more than one, bit 7 none but admin. */
  css: bits(37, 8),
  /** Boot partitions. */
  bps: flag(45),
  /** Smallest page of the host, 2^(12 + n) bytes. */
  mpsmin: bits(48, 4),
  /** Largest page of the host, 2^(12 + n) bytes. */
  mpsmax: bits(52, 4),
  /** Ready modes: bit 0 with media, bit 1 independent of media. */
  crms: bits(59, 2),
});
/** Values of `CAP`. */
export type Cap = ValuesOf<typeof CAP>;

/** Version. */
export const VS = structure('Version', 4, {
  /** Third part of the version. */
  ter: u8(0),
  /** Second part. */
  mnr: u8(1),
  /** First part. */
  mjr: u16(2),
});
/** Values of `VS`. */
export type Vs = ValuesOf<typeof VS>;

/** Controller configuration: the host sets it. */
export const CC = structure('Controller configuration', 4, {
  /** Enabled. */
  en: flag(0),
  /** Command set: 0 NVM, 6 all, 7 admin only. */
  css: bits(4, 3),
  /** Page of the host, 2^(12 + n) bytes. */
  mps: bits(7, 4),
  /** Arbitration mechanism: 0 round robin. */
  ams: bits(11, 3),
  /** Shutdown: 0 none, 1 normal, 2 abrupt. */
  shn: bits(14, 2),
  /** Submission queue entries have 2^n bytes: 6. */
  iosqes: bits(16, 4),
  /** Completion queue entries have 2^n bytes: 4. */
  iocqes: bits(20, 4),
  /** Ready independent of media. */
  crime: flag(24),
});
/** Values of `CC`. */
export type Cc = ValuesOf<typeof CC>;

/** Controller status. */
export const CSTS = structure('Controller status', 4, {
  /** Ready: follows CC.EN. */
  rdy: flag(0),
  /** Fatal error. */
  cfs: flag(1),
  /** Shutdown: one of `ShutdownStatus`. */
  shst: bits(2, 2),
  /** The subsystem was reset. */
  nssro: flag(4),
  /** Processing is paused. */
  pp: flag(5),
});
/** Values of `CSTS`. */
export type Csts = ValuesOf<typeof CSTS>;

/** Values of CSTS.SHST. */
export const ShutdownStatus = {
  /** No shutdown was asked for. */
  Normal: 0,
  /** Under way. */
  Occurring: 1,
  /** Done. */
  Complete: 2,
} as const;
