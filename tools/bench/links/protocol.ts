/**
 * The messages between the bench and its peer processes: one JSON object a line, a command and its reply. Owns their
 * names, the sizes that every contestant has in common and the interface a peer implements; no I/O.
 */

import type { PollMode } from 'rocev2';

/** Bytes of one RC WRITE of the goodput task. */
export const MESSAGE_BYTES = 0x10_00_00;
/** Messages there is memory for: more than caches hold, so that data comes from memory and goes there. */
export const MESSAGE_SLOTS = 16;
/** Payload of a full packet: the largest path MTU. */
export const PATH_MTU = 4096;
/** Payload of the smallest messages: the round trip's SENDs and the message rate's WRITEs. */
export const SMALL_BYTES = 64;
/**
 * What we put between UDP and payload, so that bare datagrams can be as long as ours: BTH and ICRC, for WRITE ONLY a
 * RETH too.
 */
export const MIDDLE_HEADER_BYTES = 12 + 4;
export const WRITE_ONLY_HEADER_BYTES = 12 + 16 + 4;
export const SEND_ONLY_HEADER_BYTES = 12 + 4;

/** One kind of measurement. `flood` is of bare datagrams only: one way, sent as fast as the sender can. */
export type MeasuredTask = 'goodput' | 'rate' | 'roundTrip' | 'flood';

/**
 * One kind of measurement of a disk over NVMe on the same link: reads of `DISK_READ_BYTES` as bytes a second, reads of
 * `DISK_BLOCK_BYTES` a second, and how long one of them takes.
 */
export type DiskTask = 'diskGoodput' | 'diskRate' | 'diskRoundTrip';
/**
 * The messages of such reads by bare verbs, without NVMe: a SEND of `COMMAND_BYTES`, a WRITE of the data, a SEND of
 * `RESPONSE_BYTES`.
 */
export type ExchangeTask = 'exchangeGoodput' | 'exchangeRate' | 'exchangeRoundTrip';
export const COMMAND_BYTES = 64;
export const RESPONSE_BYTES = 16;
/** Exchanges under way, as many as there are reads. */
export const LARGE_OUTSTANDING = 32;
export const SMALL_OUTSTANDING = 64;
/** A large read. */
export const DISK_READ_BYTES = 0x2_00_00;
/** A small read. */
export const DISK_BLOCK_BYTES = 4096;

/** How long to measure and how much to do at least. */
export interface Amount {
  readonly seconds: number;
  /** Messages, or round trips. */
  readonly least: number;
}

/**
 * What a task has measured. goodput and flood: `goodput` in bytes/s that arrived; flood: `sent` and `received`
 * datagrams; rate: `rate` in messages/s; roundTrip: `p50` and `p99` in microseconds.
 */
export type Figures = Readonly<Record<string, number>>;

export type PeerRole = 'server' | 'client';

/** An end on a link of ours. */
export interface RoceConfig {
  readonly kind: 'roce';
  readonly role: PeerRole;
  /** As on a command line. */
  readonly link: string;
  /** Of this end, with prefix length; absent: the link's. */
  readonly address?: string;
  /** Of the other end. */
  readonly peer: string;
  readonly mtu?: number;
  /** How the device waits for frames; absent: the default. */
  readonly poll?: PollMode;
  /** The server has a disk, and the client connects to it as well: I/O queues, and entries of each. */
  readonly disk?: DiskConfig;
}

/** Queues of a host of NVMe. */
export interface DiskConfig {
  readonly queues: number;
  readonly entries: number;
}

/** An end on a socket of Node's. */
interface BareConfig {
  readonly role: PeerRole;
  readonly address: string;
  readonly peer: string;
}

export interface TcpConfig extends BareConfig {
  readonly kind: 'tcp';
}

export interface DgramConfig extends BareConfig {
  readonly kind: 'dgram';
  /** To its one peer. */
  readonly connected: boolean;
}

/** What a peer process becomes; `world` is both ends in one. */
export type PeerConfig = RoceConfig | DgramConfig | TcpConfig | { readonly kind: 'world' };

export type PeerCommand =
  | { readonly do: 'open'; readonly config: PeerConfig }
  | { readonly do: 'connect' }
  | { readonly do: 'measure'; readonly task: MeasuredTask; readonly amount: Amount }
  | { readonly do: 'disk'; readonly task: DiskTask | ExchangeTask; readonly amount: Amount }
  | { readonly do: 'soak'; readonly seconds: number }
  | { readonly do: 'counters' }
  | { readonly do: 'memory' }
  | { readonly do: 'close' };

export type PeerRequest = PeerCommand & { readonly id: number };

export type PeerReply =
  | { readonly id: number; readonly result: unknown }
  /** `code` is that of a `RoceError`, empty for any other error, whose stack is in `message`. */
  | { readonly id: number; readonly error: { readonly code: string; readonly message: string } };

/** In bytes, after a collection of garbage. */
export interface PeerMemory {
  readonly rss: number;
  /** What the program holds: heap, external memory and array buffers. */
  readonly held: number;
}

/** Numbers of everything that is counted; `cpuMs` and `wallMs` among them. */
export type PeerCounters = Readonly<Record<string, number>>;

/** What lives in a peer process. A server answers whatever a client does and measures nothing. */
export interface BenchPeer {
  /** Client: connects to the server. */
  connect(): Promise<void>;
  measure(task: MeasuredTask, amount: Amount): Promise<Figures>;
  /** Client: of the server's disk, where it has one, or of its messages without the disk. */
  measureDisk?(task: DiskTask | ExchangeTask, amount: Amount): Promise<Figures>;
  /** Client: full load with verified data. @throws Error when data differs */
  soak(seconds: number): Promise<void>;
  counters(): PeerCounters;
  close(): Promise<void>;
}
