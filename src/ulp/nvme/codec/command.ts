/**
 * Submission queue entry, 64 bytes: the command of a capsule. Data may follow it in the same SEND.
 *
 *   0  opcode (8) | FUSE (2), reserved (4), PSDT (2) | command identifier (16)
 *   4  namespace (32); of a Fabrics command: type (8), reserved (24)
 *   8  cdw2 (32) | cdw3 (32)
 *  16  metadata pointer (64)
 *  24  SGL descriptor (128)
 *  40  cdw10 ... cdw15, 32 bits each: what they mean depends on the opcode
 *
 * Owns the bits that all commands share, and the opcodes. One object is read into again and again: a command costs no
 * allocation. Rules: ref:nvmeof.
 */
import { readSgl, SglDescriptor, writeSgl } from './sgl.ts';
import type { Fields, Structure, Values } from './structure.ts';

/** Length of an entry, in bytes. */
export const COMMAND_BYTES = 64;

/** Opcodes on an I/O queue. */
export const NvmOpcode = {
  /** What was written becomes durable. */
  Flush: 0x00,
  /** Write blocks. */
  Write: 0x01,
  /** Read blocks. */
  Read: 0x02,
  /** Make blocks unreadable. */
  WriteUncorrectable: 0x04,
  /** Compare blocks with the data of the command. */
  Compare: 0x05,
  /** Write zeroes, without data. */
  WriteZeroes: 0x08,
  /** Hints on ranges; deallocation is one. */
  DatasetManagement: 0x09,
  /** Read and check blocks, and return nothing. */
  Verify: 0x0c,
  /** Reservations: not served. */
  ReservationRegister: 0x0d,
  /** Reservations: not served. */
  ReservationReport: 0x0e,
  /** Reservations: not served. */
  ReservationAcquire: 0x11,
  /** Reservations: not served. */
  ReservationRelease: 0x15,
} as const;

/** Opcodes on the admin queue. */
export const AdminOpcode = {
  /** Read a log page. */
  GetLogPage: 0x02,
  /** Ask who the controller and its namespaces are. */
  Identify: 0x06,
  /** Abort a command. */
  Abort: 0x08,
  /** Set a feature. */
  SetFeatures: 0x09,
  /** Read a feature. */
  GetFeatures: 0x0a,
  /** Answered when something happens. */
  AsyncEventRequest: 0x0c,
  /** The host is alive. */
  KeepAlive: 0x18,
} as const;

/** Opcode of every command of NVMe over Fabrics, on any queue; its type is in the place of the namespace. */
export const FABRICS_OPCODE = 0x7f;

/** Types of Fabrics commands. */
export const FabricsType = {
  /** Write a property: CC. */
  PropertySet: 0x00,
  /** Make a queue of this connection. */
  Connect: 0x01,
  /** Read a property: CAP, VS, CSTS. */
  PropertyGet: 0x04,
  /** A message of authentication to the controller. */
  AuthenticationSend: 0x05,
  /** A message of authentication from the controller. */
  AuthenticationReceive: 0x06,
  /** Delete the queue of this connection. */
  Disconnect: 0x08,
} as const;

/** Values of FUSE: part of a fused operation. */
export const Fuse = {
  /** A command of its own. */
  Normal: 0,
  /** The first of two: a Compare. */
  First: 1,
  /** The second: a Write. */
  Second: 2,
} as const;

/** PSDT of every command over Fabrics: SGLs, in bits 6 and 7 of the second byte. */
export const FLAGS_SGL = 0x40;

/**
 * A submission queue entry, field by field. Numbers are unsigned 32 bits where nothing else is said.
 *
 * @example
 * ```ts
 * import { blocksOf, COMMAND_BYTES, NvmeCommand, NvmOpcode, readCommand, setBlocks, writeCommand } from 'rocev2/nvme';
 *
 * const command = new NvmeCommand();
 * setBlocks(command, NvmOpcode.Read, 1, 2048, 8);
 * command.sgl.setKeyed(0x1000n, 4096, 0x77, true);
 * const view = new DataView(new ArrayBuffer(COMMAND_BYTES));
 * writeCommand(view, 0, command);
 * // One object is read into again and again.
 * const seen = new NvmeCommand();
 * console.log(readCommand(view, 0, COMMAND_BYTES, seen)); // true
 * console.log(blocksOf(seen), seen.sgl.length, seen.sendsData); // 8 4096 false
 * ```
 */
export class NvmeCommand {
  /** 8 bits: one of the opcodes. */
  opcode = 0;
  /** 8 bits: FUSE in bits 0 and 1, PSDT in bits 6 and 7. */
  flags = FLAGS_SGL;
  /** Command identifier, 16 bits: comes back in the completion. */
  cid = 0;
  /** Namespace; of a Fabrics command its type in the low 8 bits. */
  nsid = 0;
  /** Dword 2. */
  cdw2 = 0;
  /** Dword 3. */
  cdw3 = 0;
  /** Lower half of the metadata pointer. */
  mptrLow = 0;
  /** Upper half of the metadata pointer. */
  mptrHigh = 0;
  /** Where the data is. */
  readonly sgl = new SglDescriptor();
  /** Dword 10. */
  cdw10 = 0;
  /** Dword 11. */
  cdw11 = 0;
  /** Dword 12. */
  cdw12 = 0;
  /** Dword 13. */
  cdw13 = 0;
  /** Dword 14. */
  cdw14 = 0;
  /** Dword 15. */
  cdw15 = 0;

  /** One of `Fuse`, or 3, which is reserved. */
  get fuse(): number {
    return this.flags & 0x03;
  }

  /** 0 PRPs, 1 and 2 SGLs, 3 reserved. */
  get psdt(): number {
    return this.flags >>> 6;
  }

  /** Type of a Fabrics command: one of `FabricsType`, or a number nobody knows. */
  get fabricsType(): number {
    return this.nsid & 0xff;
  }

  /** Whether the data goes from the host to the controller: bit 0 of the opcode, or of the type. */
  get sendsData(): boolean {
    return ((this.opcode === FABRICS_OPCODE ? this.nsid : this.opcode) & 1) !== 0;
  }

  /** A command of this opcode without namespace, arguments and data. The identifier stays. */
  begin(opcode: number, nsid = 0): this {
    this.opcode = opcode;
    this.flags = FLAGS_SGL;
    this.nsid = nsid;
    this.cdw2 = 0;
    this.cdw3 = 0;
    this.mptrLow = 0;
    this.mptrHigh = 0;
    this.sgl.setNone();
    this.cdw10 = 0;
    this.cdw11 = 0;
    this.cdw12 = 0;
    this.cdw13 = 0;
    this.cdw14 = 0;
    this.cdw15 = 0;
    return this;
  }

  /** Dwords 10 to 15 as this structure of 24 bytes. Not for the path of data: it allocates. */
  arguments<F extends Fields>(layout: Structure<F>): Values<F> {
    const dwords = new DataView(new ArrayBuffer(ARGUMENT_BYTES));
    writeDwords(dwords, 0, this);
    const values = layout.read(new Uint8Array(dwords.buffer));
    if (values === undefined) throw new RangeError(`${layout.title} has more than ${ARGUMENT_BYTES} bytes`);
    return values;
  }

  /** Sets dwords 10 to 15. Throws as `Structure.write`. */
  setArguments<F extends Fields>(layout: Structure<F>, values: Partial<Values<F>>): this {
    const dwords = new Uint8Array(ARGUMENT_BYTES);
    layout.write(values, dwords);
    readDwords(new DataView(dwords.buffer), 0, this);
    return this;
  }
}

/** Reads the entry at `at`; false, and nothing read, when fewer than 64 of the `length` bytes there are its. */
export function readCommand(view: DataView, at: number, length: number, into: NvmeCommand): boolean {
  if (!(length >= COMMAND_BYTES && at >= 0 && at + COMMAND_BYTES <= view.byteLength)) return false;
  into.opcode = view.getUint8(at);
  into.flags = view.getUint8(at + FLAGS_AT);
  into.cid = view.getUint16(at + CID_AT, true);
  into.nsid = view.getUint32(at + NSID_AT, true);
  into.cdw2 = view.getUint32(at + CDW2_AT, true);
  into.cdw3 = view.getUint32(at + CDW3_AT, true);
  into.mptrLow = view.getUint32(at + MPTR_AT, true);
  into.mptrHigh = view.getUint32(at + MPTR_AT + 4, true);
  readSgl(view, at + SGL_AT, into.sgl);
  readDwords(view, at + CDW10_AT, into);
  return true;
}

/** Writes all 64 bytes; numbers are cut to their width. @throws RangeError when they do not fit */
export function writeCommand(view: DataView, at: number, command: NvmeCommand): void {
  view.setUint8(at, command.opcode);
  view.setUint8(at + FLAGS_AT, command.flags);
  view.setUint16(at + CID_AT, command.cid, true);
  view.setUint32(at + NSID_AT, command.nsid, true);
  view.setUint32(at + CDW2_AT, command.cdw2, true);
  view.setUint32(at + CDW3_AT, command.cdw3, true);
  view.setUint32(at + MPTR_AT, command.mptrLow, true);
  view.setUint32(at + MPTR_AT + 4, command.mptrHigh, true);
  writeSgl(view, at + SGL_AT, command.sgl);
  writeDwords(view, at + CDW10_AT, command);
}

/** The name of a command, for messages and printers. @param fabricsType of one with the opcode of Fabrics */
export function commandName(admin: boolean, opcode: number, fabricsType = -1): string {
  if (opcode === FABRICS_OPCODE) return nameOf(FabricsType, fabricsType) ?? `Fabrics command ${hex(fabricsType)}`;
  const name = nameOf(admin ? AdminOpcode : NvmOpcode, opcode);
  return name ?? `${admin ? 'admin' : 'I/O'} command ${hex(opcode)}`;
}

function nameOf(names: Readonly<Record<string, number>>, value: number): string | undefined {
  const name = Object.keys(names).find((key) => names[key] === value);
  return name?.replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(2, '0')}`;
}

function readDwords(view: DataView, at: number, into: NvmeCommand): void {
  into.cdw10 = view.getUint32(at, true);
  into.cdw11 = view.getUint32(at + 4, true);
  into.cdw12 = view.getUint32(at + 8, true);
  into.cdw13 = view.getUint32(at + 12, true);
  into.cdw14 = view.getUint32(at + 16, true);
  into.cdw15 = view.getUint32(at + 20, true);
}

function writeDwords(view: DataView, at: number, command: NvmeCommand): void {
  view.setUint32(at, command.cdw10, true);
  view.setUint32(at + 4, command.cdw11, true);
  view.setUint32(at + 8, command.cdw12, true);
  view.setUint32(at + 12, command.cdw13, true);
  view.setUint32(at + 16, command.cdw14, true);
  view.setUint32(at + 20, command.cdw15, true);
}

/** Of dwords 10 to 15. */
export const ARGUMENT_BYTES = 24;
const FLAGS_AT = 1;
const CID_AT = 2;
const NSID_AT = 4;
const CDW2_AT = 8;
const CDW3_AT = 12;
const MPTR_AT = 16;
const SGL_AT = 24;
const CDW10_AT = 40;
