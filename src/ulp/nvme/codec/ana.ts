/**
 * The log page of asymmetric namespace access (0Ch): which groups of namespaces this controller reaches how well.
 *
 * Owns the layout: a header, and for each group a descriptor with its namespaces behind it. Rules: ref:nvmeof; NVM
 * Express Base Specification 2.0, asymmetric namespace access.
 */
import { bits, structure, u16, u32, u64, type ValuesOf } from './structure.ts';

/** How a group is reached. */
export const AnaState = {
  /** Well. */
  Optimized: 0x1,
  /** With a detour. */
  NonOptimized: 0x2,
  /** Not by this controller. */
  Inaccessible: 0x3,
  /** Never again by this controller. */
  PersistentLoss: 0x4,
  /** About to change. */
  Change: 0xf,
} as const;

/** Header of the page. */
export const ANA_HEADER = structure('ANA log page header', 16, {
  /** Goes up with each change. */
  chgcnt: u64(0),
  /** Groups. */
  ngrps: u16(8),
});
/** Values of `ANA_HEADER`. */
export type AnaHeader = ValuesOf<typeof ANA_HEADER>;

/** A group, without its namespaces. */
export const ANA_DESCRIPTOR = structure('ANA group descriptor', 32, {
  /** The group, from 1 on. */
  grpid: u32(0),
  /** Namespaces behind the descriptor. */
  nnsids: u32(4),
  /** Goes up with each change of this group. */
  chgcnt: u64(8),
  /** One of `AnaState`. */
  state: bits(16 * 8, 4),
});
/** Values of `ANA_DESCRIPTOR`. */
export type AnaDescriptor = ValuesOf<typeof ANA_DESCRIPTOR>;

/** A group and its namespaces. */
export interface AnaGroup {
  /** The group, from 1 on. */
  readonly grpid: number;
  /** Goes up with each change of this group. */
  readonly chgcnt: bigint;
  /** One of `AnaState`. */
  readonly state: number;
  /** Its namespaces; none where the page was asked for without them. */
  readonly nsids: readonly number[];
}

/** The page of ANA. */
export interface AnaLog {
  /** What stands first. */
  readonly header: AnaHeader;
  /** Its groups. */
  readonly groups: AnaGroup[];
}

/** Groups of a page as far as the bytes hold them; undefined when there is no header. */
export function readAnaLog(data: Uint8Array): AnaLog | undefined {
  const header = ANA_HEADER.read(data);
  if (header === undefined) return undefined;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const groups: AnaGroup[] = [];
  for (let at = ANA_HEADER.byteLength; groups.length < header.ngrps; ) {
    const descriptor = ANA_DESCRIPTOR.read(data, at);
    if (descriptor === undefined) break;
    const { grpid, chgcnt, state, nnsids } = descriptor;
    const first = at + ANA_DESCRIPTOR.byteLength;
    if (nnsids * 4 > data.length - first) break;
    const nsids = Array.from({ length: nnsids }, (_, i) => view.getUint32(first + i * 4, true));
    groups.push({ grpid, chgcnt, state, nsids });
    at = first + nnsids * 4;
  }
  return { header, groups };
}

/** The page. @throws RoceError ERR_ROCE_ARGUMENT when a value does not fit */
export function encodeAnaLog(chgcnt: bigint, groups: readonly AnaGroup[]): Uint8Array {
  const namespaces = groups.reduce((sum, { nsids }) => sum + nsids.length, 0);
  const data = new Uint8Array(ANA_HEADER.byteLength + groups.length * ANA_DESCRIPTOR.byteLength + namespaces * 4);
  const view = new DataView(data.buffer);
  ANA_HEADER.write({ chgcnt, ngrps: groups.length }, data);
  let at = ANA_HEADER.byteLength;
  for (const { nsids, ...group } of groups) {
    ANA_DESCRIPTOR.write({ ...group, nnsids: nsids.length }, data, at);
    at += ANA_DESCRIPTOR.byteLength;
    for (const nsid of nsids) {
      view.setUint32(at, nsid, true);
      at += 4;
    }
  }
  return data;
}
