/**
 * The discovery log page (70h): a header, and an entry for each way to a subsystem, 1024 bytes each.
 *
 * Owns the layout and the codes of addresses. Rules: ref:nvmeof.
 */
import { NQN_FIELD_BYTES } from './fabrics.ts';
import { ascii, structure, u8, u16, u64, utf8, type ValuesOf } from './structure.ts';

/** The header has as many bytes, and each entry too. */
export const DISCOVERY_ENTRY_BYTES = 1024;

/** Header of the page. */
export const DISCOVERY_HEADER = structure('Discovery log page header', DISCOVERY_ENTRY_BYTES, {
  /** Goes up with each change. */
  genctr: u64(0),
  /** Entries. */
  numrec: u64(8),
  /** Format of the entries: 0. */
  recfmt: u16(16),
});
/** Values of `DISCOVERY_HEADER`. */
export type DiscoveryHeader = ValuesOf<typeof DISCOVERY_HEADER>;

/** One way to a subsystem. */
export const DISCOVERY_ENTRY = structure('Discovery log page entry', DISCOVERY_ENTRY_BYTES, {
  /** Transport: one of `TransportType`. */
  trtype: u8(0),
  /** Family of the address: one of `AddressFamily`. */
  adrfam: u8(1),
  /** What is there: one of `SubsystemType`. */
  subtype: u8(2),
  /** Requirements: bits 0 and 1 secure channel (0 not specified, 1 required, 2 not), bit 2 no flow control possible. */
  treq: u8(3),
  /** Port of the subsystem. */
  portid: u16(4),
  /** Controller; 0xffff where the target chooses. */
  cntlid: u16(6),
  /** Entries of the admin queue at most. */
  asqsz: u16(8),
  /** Bit 0: two ways return the same; bit 1: explicit persistent connections. */
  eflags: u16(10),
  /** Port, as text: "4420". */
  trsvcid: ascii(32, 32),
  /** Name of the subsystem. */
  subnqn: utf8(256, NQN_FIELD_BYTES),
  /** Address, as text. */
  traddr: ascii(512, 256),
  /** RDMA: kind of queue pairs, 1 reliable connected. */
  rdmaQptype: u8(768),
  /** RDMA: provider, one of `RdmaProvider`. */
  rdmaPrtype: u8(769),
  /** RDMA: connection management, 1 the RDMA CM. */
  rdmaCms: u8(770),
  /** RDMA: partition of InfiniBand. */
  rdmaPkey: u16(776),
});
/** Values of `DISCOVERY_ENTRY`. */
export type DiscoveryEntry = ValuesOf<typeof DISCOVERY_ENTRY>;

/** Transports. */
export const TransportType = {
  /** RDMA. */
  Rdma: 1,
  /** Fibre Channel. */
  Fc: 2,
  /** TCP. */
  Tcp: 3,
  /** Within one host. */
  Loop: 254,
} as const;

/** Families of addresses. */
export const AddressFamily = {
  /** IPv4. */
  Ipv4: 1,
  /** IPv6. */
  Ipv6: 2,
  /** InfiniBand. */
  Ib: 3,
  /** Fibre Channel. */
  Fc: 4,
} as const;

/** What an entry leads to. */
export const SubsystemType = {
  /** Another discovery service. */
  Referral: 1,
  /** A subsystem with namespaces. */
  Nvme: 2,
  /** This discovery service itself. */
  Current: 3,
} as const;

/** Providers of RDMA. */
export const RdmaProvider = {
  /** Not said. */
  NotSpecified: 1,
  /** InfiniBand. */
  InfiniBand: 2,
  /** RoCE version 1. */
  Roce: 3,
  /** RoCE version 2. */
  RoceV2: 4,
  /** iWARP. */
  Iwarp: 5,
} as const;

/** Kind of queue pairs: reliable connected. */
export const RDMA_QPTYPE_CONNECTED = 1;
/** Connection management: the RDMA CM. */
export const RDMA_CMS_RDMA_CM = 1;

/** The page of discovery. */
export interface DiscoveryLog {
  /** What stands first. */
  readonly header: DiscoveryHeader;
  /** Its entries. */
  readonly entries: DiscoveryEntry[];
}

/**
 * Entries of a page, as many as the header says and the bytes hold; undefined when there is no header or its format is
 * not known.
 */
export function readDiscoveryLog(data: Uint8Array): DiscoveryLog | undefined {
  const header = DISCOVERY_HEADER.read(data);
  if (header === undefined || header.recfmt !== 0) return undefined;
  const entries: DiscoveryEntry[] = [];
  for (let at = DISCOVERY_ENTRY_BYTES; BigInt(entries.length) < header.numrec; at += DISCOVERY_ENTRY_BYTES) {
    const entry = DISCOVERY_ENTRY.read(data, at);
    if (entry === undefined) break;
    entries.push(entry);
  }
  return { header, entries };
}

/** The page. @throws RoceError ERR_ROCE_ARGUMENT when a value does not fit */
export function encodeDiscoveryLog(genctr: bigint, entries: readonly Partial<DiscoveryEntry>[]): Uint8Array {
  const data = new Uint8Array(DISCOVERY_ENTRY_BYTES * (1 + entries.length));
  DISCOVERY_HEADER.write({ genctr, numrec: BigInt(entries.length), recfmt: 0 }, data);
  for (const [i, entry] of entries.entries()) DISCOVERY_ENTRY.write(entry, data, DISCOVERY_ENTRY_BYTES * (1 + i));
  return data;
}
