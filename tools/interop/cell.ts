/**
 * What a cell of the interop matrix is: one conversation between two programs, told for either end, stock or ours. Data
 * and small helpers; `experiments.ts` makes experiments of cells, `cells/` has them all.
 */
import type { Count, Excuse, ExitWanted, Ready } from '../experiment/types.ts';

export type PathMtu = 256 | 512 | 1024 | 2048 | 4096;
export type IpFamily = 'IPv4' | 'IPv6';

/** Which end of a conversation the guest's program is. */
export type GuestRole = 'server' | 'client';
export const ROLES: readonly GuestRole[] = ['server', 'client'];

export interface InteropCell {
  /** Unique; names folders: `rping-ipv4-mtu1024`. */
  readonly name: string;
  /** The stock program, or the pair of them: `rdma_server, rdma_client`. */
  readonly tool: string;
  /** The options that matter, as they are typed. */
  readonly options: string;
  readonly ip: IpFamily;
  /** The largest that the interface carries. */
  readonly interfaceMtu: PathMtu;
  /** That of the connection. */
  readonly pathMtu: PathMtu;
  readonly server: (side: CellSide) => CellCommand;
  readonly client: (side: CellSide) => CellCommand;
  /** What must be seen on the wire, besides that all of it is sound. */
  readonly wire?: readonly WireCheck[];
  /** Looked at on the server's host when all is over, where that is a guest. */
  readonly arrived?: { readonly command: string; readonly prints: () => string };
  /** Whether `npm test` runs it. */
  readonly inCi: boolean;
  /** Why two unmodified programs fail by chance now and then: what shows a limit of theirs is then run twice. */
  readonly racy?: string;
  /**
   * What the stock program or its kernel cannot do; the cell is run nevertheless, and so is the same between two
   * guests.
   */
  readonly limit?: string;
  /** Why there is nothing of ours to speak to: then it is run between two guests alone. */
  readonly partnerless?: string;
  /** Roles in which there is nothing to run, and why. */
  readonly without?: Readonly<Partial<Record<GuestRole, string>>>;
}

/** The end of a conversation that a command is for. */
export interface CellSide {
  readonly kind: 'stock' | 'ours';
  /** Addresses of the server and the client in the cell's family. */
  readonly server: string;
  readonly client: string;
  /** The server's IPv4 address, for what is exchanged before RDMA begins. */
  readonly meeting: string;
  /** Index of the GID that is the host's address. */
  readonly gid: number;
}

export interface CellCommand {
  readonly command: string;
  /** A pattern it must print, and how often; at least once by default. */
  readonly prints?: readonly ExpectedOutput[];
  /** Of a server: the client starts when this is so. */
  readonly ready?: Ready;
  /** Of a server: a command of its host whose end says that the client may start. */
  readonly readyWhen?: string;
  readonly exit?: ExitWanted;
  readonly excuse?: Excuse;
}

export type ExpectedOutput = string | { readonly pattern: string; readonly count: Count };

/** Frames at the guest's end of the wire. */
export interface WireCheck {
  readonly filter: string;
  readonly count: Count;
  readonly why: string;
}

/** MTU of the interface for a path MTU: with the headers that rdma_cm allows for, 96 bytes (Linux rdma/ib_addr.h). */
export const INTERFACE_MTUS: Readonly<Record<PathMtu, number>> = {
  256: 352,
  512: 608,
  1024: 1500,
  2048: 2200,
  4096: 4200,
};

export const PATH_MTUS: readonly PathMtu[] = [256, 512, 1024, 2048, 4096];

/** Packets with one of these opcodes, MADs aside. */
export function packets(why: string, opcodes: readonly number[], count: Count): WireCheck {
  return { why, filter: `infiniband.bth.opcode in {${opcodes.join(', ')}} && infiniband.bth.destqp > 1`, count };
}

/** Packets that carry as much as the path takes: 24 bytes of UDP, BTH and ICRC beside other headers and the payload. */
export function fullPackets(opcode: number, mtu: PathMtu, otherHeaders = 0): WireCheck {
  const filter = `infiniband.bth.opcode == ${opcode} && udp.length == ${24 + otherHeaders + mtu}`;
  return { why: `Packets with ${mtu} bytes of payload: the path MTU.`, filter, count: { min: 1 } };
}

/** Opcodes of packets, by what the wire checks ask for. */
export const OPCODES = {
  rcSend: [0, 1, 2, 3, 4, 5],
  rcSendFirst: 0,
  rcWriteFirst: 6,
  rcRead: [12],
  rcReadFirst: 13,
  rcAtomics: [19, 20],
  rcWriteImmediate: [9, 11],
  ucSend: [32, 33, 34, 35, 36, 37],
  ucWrite: [38, 39, 40, 41, 42, 43],
  ucSendFirst: 32,
  udSend: [100, 101],
} as const;
