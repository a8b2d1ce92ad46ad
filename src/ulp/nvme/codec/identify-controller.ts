/**
 * Identify Controller data, 4096 bytes (CNS 01h): what a controller is and can do.
 *
 * Owns the layout of what a controller over Fabrics has; power states and vendor bytes are left out. Offsets are those
 * of linux:include/linux/nvme.h; ref:nvmeof says which of them Linux insists on.
 */
import { ascii, bits, flag, structure, u8, u16, u24, u32, u64, u128, utf8, type ValuesOf } from './structure.ts';

/** Every data structure of Identify has as many bytes. */
export const IDENTIFY_BYTES = 4096;

/** Identify Controller. */
export const IDENTIFY_CONTROLLER = structure('Identify Controller', IDENTIFY_BYTES, {
  /** PCI vendor. */
  vid: u16(0),
  /** PCI vendor of the subsystem. */
  ssvid: u16(2),
  /** Serial number, 20 characters at most. */
  sn: ascii(4, 20),
  /** Model, 40 characters at most. */
  mn: ascii(24, 40),
  /** Firmware, 8 characters at most. */
  fr: ascii(64, 8),
  /** Recommended arbitration burst, 2^n commands. */
  rab: u8(72),
  /** IEEE OUI of the vendor. */
  ieee: u24(73),
  /** Paths: bit 0 ports, bit 1 controllers, bit 3 ANA. */
  cmic: u8(76),
  /** Largest transfer, 2^n units of the smallest page; 0 for no limit. */
  mdts: u8(77),
  /** Controller identifier. */
  cntlid: u16(78),
  /** Version, as the property. */
  ver: u32(80),
  /** Time to resume, in microseconds. */
  rtd3r: u32(84),
  /** Time to enter, in microseconds. */
  rtd3e: u32(88),
  /** Asynchronous events that it sends: bits as those of the feature. */
  oaes: u32(92),
  /** Attributes: bit 0 host identifiers of 16 bytes, bit 6 traffic based keep-alive. */
  ctratt: u32(96),
  /** Kind of controller: 1 I/O, 2 discovery, 3 administrative. */
  cntrltype: u8(111),
  /** Globally unique identifier. */
  fguid: u128(112),
  /** Retry delay 1, in units of 100 ms. */
  crdt1: u16(128),
  /** Retry delay 2. */
  crdt2: u16(130),
  /** Retry delay 3. */
  crdt3: u16(132),
  /** Optional admin commands. */
  oacs: u16(256),
  /** Aborts at a time, less 1. */
  acl: u8(258),
  /** Asynchronous Event Requests at a time, less 1. */
  aerl: u8(259),
  /** Firmware updates: bit 0 slot 1 read-only, bits 1 to 3 slots. */
  frmw: u8(260),
  /** Log pages: bit 0 SMART by namespace, bit 1 command effects, bit 2 long lengths and offsets. */
  lpa: u8(261),
  /** Entries of the error log, less 1. */
  elpe: u8(262),
  /** Power states, less 1. */
  npss: u8(263),
  /** Vendor specific commands have the common format. */
  avscc: u8(264),
  /** Autonomous power states. */
  apsta: u8(265),
  /** Temperature of a warning, in kelvins. */
  wctemp: u16(266),
  /** Critical temperature, in kelvins. */
  cctemp: u16(268),
  /** Capacity of the subsystem, in bytes. */
  tnvmcap: u128(280),
  /** Of it not allocated. */
  unvmcap: u128(296),
  /** Granularity of the keep-alive timer, in units of 100 ms; 0 for none. */
  kas: u16(320),
  /** Longest ANA transition, in seconds. */
  anatt: u8(342),
  /** ANA states that it reports: bits 0 optimized, 1 non-optimized, 2 inaccessible, 3 loss, 4 change, 6 group fixed. */
  anacap: u8(343),
  /** Largest ANA group identifier. */
  anagrpmax: u32(344),
  /** ANA groups. */
  nanagrpid: u32(348),
  /** Submission queue entries: smallest 2^n in bits 0 to 3, largest in bits 4 to 7: 0x66. */
  sqes: u8(512),
  /** Completion queue entries, the same: 0x44. */
  cqes: u8(513),
  /** Commands outstanding at most; over Fabrics not 0. */
  maxcmd: u16(514),
  /** Largest namespace identifier. */
  nn: u32(516),
  /** Compare. */
  oncsCompare: flag(520 * 8),
  /** Write Uncorrectable. */
  oncsWriteUncorrectable: flag(520 * 8 + 1),
  /** Dataset Management. */
  oncsDsm: flag(520 * 8 + 2),
  /** Write Zeroes. */
  oncsWriteZeroes: flag(520 * 8 + 3),
  /** Features can be saved. */
  oncsSave: flag(520 * 8 + 4),
  /** Reservations. */
  oncsReservations: flag(520 * 8 + 5),
  /** Timestamp. */
  oncsTimestamp: flag(520 * 8 + 6),
  /** Verify. */
  oncsVerify: flag(520 * 8 + 7),
  /** Copy and others to come. */
  oncsMore: bits(521 * 8, 8),
  /** Fused operations: bit 0 Compare and Write. */
  fuses: u16(522),
  /** Format: for all namespaces at once, and erasure. */
  fna: u8(524),
  /** Volatile write cache: bit 0 there is one, bits 1 and 2 how a Flush of all namespaces is taken. */
  vwc: u8(525),
  /** Blocks written atomically, less 1. */
  awun: u16(526),
  /** Blocks written atomically when the power fails, less 1. */
  awupf: u16(528),
  /** Vendor specific I/O commands have the common format. */
  icsvscc: u8(530),
  /** Write protection of namespaces. */
  nwpc: u8(531),
  /** Blocks of a Compare and Write, less 1. */
  acwu: u16(532),
  /** SGLs: 1 any alignment, 2 of dwords. */
  sglsSupport: bits(536 * 8, 2),
  /** Keyed data block descriptors: Linux insists on it. */
  sglsKeyed: flag(536 * 8 + 2),
  /** Bit bucket descriptors. */
  sglsBitBucket: flag(536 * 8 + 16),
  /** Longer SGLs than data are taken. */
  sglsExcess: flag(536 * 8 + 18),
  /** Metadata pointers to SGLs. */
  sglsMetadata: flag(536 * 8 + 19),
  /** Data in the capsule by offset. */
  sglsOffset: flag(536 * 8 + 20),
  /** Namespaces that there can be. */
  mnan: u32(540),
  /** Name of the subsystem. */
  subnqn: utf8(768, 256),
  /** I/O command capsule, in units of 16 bytes: 4 and the data in the capsule. */
  ioccsz: u32(1792),
  /** I/O response capsule, in units of 16 bytes: 1. */
  iorcsz: u32(1796),
  /** Where data begins in a capsule behind the entry, in units of 16 bytes: 0. */
  icdoff: u16(1800),
  /** Bit 0: the controller is a static one. */
  fcatt: u8(1802),
  /** SGL descriptors of a capsule: 1 on RDMA. */
  msdbd: u8(1803),
  /** Bit 0: Disconnect is supported. */
  ofcs: u16(1804),
  /** Kind of discovery controller: 0 not reported, 1 direct, 2 central. */
  dctype: u8(1806),
});
/** Values of `IDENTIFY_CONTROLLER`. */
export type IdentifyController = ValuesOf<typeof IDENTIFY_CONTROLLER>;

/** Kinds of controllers. */
export const ControllerType = {
  /** Has namespaces. */
  Io: 1,
  /** Tells where subsystems are. */
  Discovery: 2,
  /** Has no namespaces and manages. */
  Administrative: 3,
} as const;

/** Identify Controller of the NVM command set (CNS 06h): limits of commands without data. */
export const IDENTIFY_CONTROLLER_NVM = structure('Identify Controller, NVM', IDENTIFY_BYTES, {
  /** Largest Verify, 2^n units of the smallest page; 0 for no limit. */
  vsl: u8(0),
  /** Largest Write Zeroes, the same. */
  wzsl: u8(1),
  /** Largest Write Uncorrectable, the same. */
  wusl: u8(2),
  /** Ranges of a Dataset Management; 0 for no limit. */
  dmrl: u8(3),
  /** Blocks of a range; 0 for no limit. */
  dmrsl: u32(4),
  /** Blocks of all ranges; 0 for no limit. */
  dmsl: u64(8),
});
/** Values of `IDENTIFY_CONTROLLER_NVM`. */
export type IdentifyControllerNvm = ValuesOf<typeof IDENTIFY_CONTROLLER_NVM>;
