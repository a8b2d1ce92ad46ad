/**
 * Identify but for the controller: its arguments, namespaces, lists, and identifiers of namespaces.
 *
 * Owns layouts. Lists that a peer has made are read up to their end or the first 0, whatever else is in them. Rules:
 * ref:nvmeof.
 */
import { RoceError } from '../../../../packets/errors.ts';
import { ARGUMENT_BYTES } from './command.ts';
import { IDENTIFY_BYTES } from './identify-controller.ts';
import { bits, bytes, flag, list, part, structure, u8, u16, u32, u64, u128, type ValuesOf } from './structure.ts';

/** Arguments of Identify. */
export const IDENTIFY = structure('Identify', ARGUMENT_BYTES, {
  /** What is asked for: one of `IdentifyCns`. */
  cns: u8(0),
  /** A controller, for some. */
  cntid: u16(2),
  /** Specific to `cns`. */
  cnssid: u16(4),
  /** Command set, for some: 0 NVM. */
  csi: u8(7),
});
/** Values of `IDENTIFY`. */
export type Identify = ValuesOf<typeof IDENTIFY>;

/** What Identify can be asked for. */
export const IdentifyCns = {
  /** A namespace. */
  Namespace: 0x00,
  /** The controller. */
  Controller: 0x01,
  /** Active namespaces above `nsid`, in order. */
  ActiveNamespaces: 0x02,
  /** Identifiers of a namespace. */
  NamespaceDescriptors: 0x03,
  /** A namespace, by command set. */
  NamespaceOfSet: 0x05,
  /** The controller, by command set. */
  ControllerOfSet: 0x06,
  /** Active namespaces, by command set. */
  ActiveNamespacesOfSet: 0x07,
  /** A namespace, what all command sets share. */
  NamespaceIndependent: 0x08,
  /** Allocated namespaces. */
  AllocatedNamespaces: 0x10,
  /** Controllers that have a namespace. */
  ControllersOfNamespace: 0x12,
  /** Controllers of the subsystem. */
  Controllers: 0x13,
  /** Command sets. */
  CommandSets: 0x1c,
} as const;

/** A format of blocks. */
export const LBA_FORMAT = structure('LBA format', 4, {
  /** Metadata of a block, in bytes. */
  ms: u16(0),
  /** A block has 2^n bytes: 9 or 12. */
  lbads: u8(2),
  /** How fast it is, 0 the best. */
  rp: bits(24, 2),
});
/** Values of `LBA_FORMAT`. */
export type LbaFormat = ValuesOf<typeof LBA_FORMAT>;

/** Identify Namespace (CNS 00h). */
export const IDENTIFY_NAMESPACE = structure('Identify Namespace', IDENTIFY_BYTES, {
  /** Size, in blocks; 0 where there is no such namespace. */
  nsze: u64(0),
  /** Blocks that may be in use. */
  ncap: u64(8),
  /** Blocks that are. */
  nuse: u64(16),
  /** Thin provisioning: `ncap` may be less than `nsze`. */
  thin: flag(24 * 8),
  /** Atomic sizes of its own. */
  atomics: flag(24 * 8 + 1),
  /** Reading deallocated blocks can be an error. */
  deallocatedError: flag(24 * 8 + 2),
  /** Identifiers are never used again. */
  uidReuse: flag(24 * 8 + 3),
  /** `npwg`, `npwa`, `npdg`, `npda` and `nows` are there. */
  optimal: flag(24 * 8 + 4),
  /** Formats, less 1. */
  nlbaf: u8(25),
  /** The format in use: bits 0 to 3, bits 5 and 6 above them; bit 4: metadata behind each block. */
  flbas: u8(26),
  /** Metadata capabilities. */
  mc: u8(27),
  /** Protection capabilities. */
  dpc: u8(28),
  /** Protection in use. */
  dps: u8(29),
  /** Bit 0: shared by controllers. */
  nmic: u8(30),
  /** Reservations. */
  rescap: u8(31),
  /** Progress of a format. */
  fpi: u8(32),
  /** Deallocated blocks read as: 1 zeros, 2 ones, in bits 0 to 2; bit 3: Write Zeroes can deallocate. */
  dlfeat: u8(33),
  /** Blocks written atomically, less 1. */
  nawun: u16(34),
  /** The same when the power fails. */
  nawupf: u16(36),
  /** Blocks of a Compare and Write, less 1. */
  nacwu: u16(38),
  /** Boundary of atomic writes, less 1. */
  nabsn: u16(40),
  /** First boundary. */
  nabo: u16(42),
  /** Boundary when the power fails, less 1. */
  nabspf: u16(44),
  /** Best boundary of commands, in blocks; 0 none. */
  noiob: u16(46),
  /** Capacity, in bytes. */
  nvmcap: u128(48),
  /** Best granularity of writes, in blocks less 1. */
  npwg: u16(64),
  /** Best alignment of writes. */
  npwa: u16(66),
  /** Best granularity of deallocation. */
  npdg: u16(68),
  /** Best alignment of deallocation. */
  npda: u16(70),
  /** Best size of writes. */
  nows: u16(72),
  /** ANA group; 0 none. */
  anagrpid: u32(92),
  /** Bit 0: write protected. */
  nsattr: u8(99),
  /** NVM set. */
  nvmsetid: u16(100),
  /** Endurance group. */
  endgid: u16(102),
  /** Globally unique identifier, 16 bytes in the order of its text; zeros for none. */
  nguid: bytes(104, 16),
  /** IEEE identifier, 8 bytes; zeros for none. */
  eui64: bytes(120, 8),
  /** Formats; `nlbaf` says how many count. */
  lbaf: list(128, 64, 4, (at) => part(at, LBA_FORMAT)),
});
/** Values of `IDENTIFY_NAMESPACE`. */
export type IdentifyNamespace = ValuesOf<typeof IDENTIFY_NAMESPACE>;

/** Bytes of a block of a namespace: 2^n; undefined when its format is none. */
export function blockBytesOf(namespace: IdentifyNamespace): number | undefined {
  const index = (namespace.flbas & 0x0f) | ((namespace.flbas & 0x60) >>> 1);
  const lbads = namespace.lbaf[index]?.lbads ?? 0;
  return lbads >= SMALLEST_LBADS && lbads <= LARGEST_LBADS ? 2 ** lbads : undefined;
}

/** Identify Namespace, what all command sets share (CNS 08h). */
export const IDENTIFY_NAMESPACE_INDEPENDENT = structure('Identify Namespace, independent', IDENTIFY_BYTES, {
  /** Features: bit 3 identifiers are never used again, bit 4 rotational, bit 5 no write cache. */
  nsfeat: u8(0),
  /** Bit 0: shared by controllers. */
  nmic: u8(1),
  /** Reservations. */
  rescap: u8(2),
  /** Progress of a format. */
  fpi: u8(3),
  /** ANA group; 0 none. */
  anagrpid: u32(4),
  /** Bit 0: write protected. */
  nsattr: u8(8),
  /** NVM set. */
  nvmsetid: u16(10),
  /** Endurance group. */
  endgid: u16(12),
  /** Bit 0: ready. */
  nstat: u8(14),
});
/** Values of `IDENTIFY_NAMESPACE_INDEPENDENT`. */
export type IdentifyNamespaceIndependent = ValuesOf<typeof IDENTIFY_NAMESPACE_INDEPENDENT>;

/** Entries of a list of namespaces at most. */
export const NAMESPACE_LIST_ENTRIES = 1024;

/** Reads a list of namespaces: Identify CNS 02h, or the log of changed namespaces. It ends with a 0. */
export function readNamespaceList(data: Uint8Array): number[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const found: number[] = [];
  for (let at = 0; at + 4 <= data.length && found.length < NAMESPACE_LIST_ENTRIES; at += 4) {
    const nsid = view.getUint32(at, true);
    if (nsid === 0) break;
    found.push(nsid);
  }
  return found;
}

/** The list as 4096 bytes. @throws RoceError ERR_ROCE_ARGUMENT for more than 1024 */
export function encodeNamespaceList(nsids: readonly number[]): Uint8Array {
  if (nsids.length > NAMESPACE_LIST_ENTRIES)
    throw new RoceError('ERR_ROCE_ARGUMENT', `a list has ${NAMESPACE_LIST_ENTRIES} namespaces, not ${nsids.length}`);
  const data = new Uint8Array(IDENTIFY_BYTES);
  const view = new DataView(data.buffer);
  for (const [i, nsid] of nsids.entries()) view.setUint32(i * 4, nsid, true);
  return data;
}

/** Kinds of identifiers of a namespace, and their lengths in bytes. */
export const NamespaceIdType = {
  /** IEEE identifier, 8 bytes. */
  Eui64: 1,
  /** Globally unique identifier, 16 bytes. */
  Nguid: 2,
  /** UUID, 16 bytes. */
  Uuid: 3,
  /** Command set, 1 byte: 0 NVM. */
  CommandSet: 4,
} as const;

/** An identifier of a namespace. */
export interface NamespaceDescriptor {
  /** One of `NamespaceIdType`, or a kind nobody knows. */
  readonly type: number;
  /** Its bytes, in the order of the text. */
  readonly id: Uint8Array;
}

/** Reads the identifiers of a namespace (CNS 03h): up to one of length 0, or that does not fit. */
export function readNamespaceDescriptors(data: Uint8Array): NamespaceDescriptor[] {
  const found: NamespaceDescriptor[] = [];
  for (let at = 0; at + DESCRIPTOR_HEADER_BYTES <= data.length; ) {
    const [type = 0, length = 0] = data.subarray(at, at + 2);
    const end = at + DESCRIPTOR_HEADER_BYTES + length;
    if (length === 0 || end > data.length) break;
    found.push({ type, id: data.slice(at + DESCRIPTOR_HEADER_BYTES, end) });
    at = end;
  }
  return found;
}

/** The identifiers as 4096 bytes. @throws RoceError ERR_ROCE_ARGUMENT when they do not fit */
export function encodeNamespaceDescriptors(descriptors: readonly NamespaceDescriptor[]): Uint8Array {
  const data = new Uint8Array(IDENTIFY_BYTES);
  let at = 0;
  for (const { type, id } of descriptors) {
    const end = at + DESCRIPTOR_HEADER_BYTES + id.length;
    if (id.length === 0 || id.length > 0xff || end > data.length)
      throw new RoceError('ERR_ROCE_ARGUMENT', `an identifier of ${id.length} bytes does not fit`);
    data[at] = type;
    data[at + 1] = id.length;
    data.set(id, at + DESCRIPTOR_HEADER_BYTES);
    at = end;
  }
  return data;
}

const DESCRIPTOR_HEADER_BYTES = 4;
const SMALLEST_LBADS = 9;
/** Far above what there is: 64 MiB. */
const LARGEST_LBADS = 26;
