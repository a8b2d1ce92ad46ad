/**
 * What the abstract responder remembers and what it expects of the real one. Values only: a step makes new ones.
 * PSNs count from the connection's first and never wrap; `distance` alone knows of 24 bits.
 */
import { PSN_MASK, psnDiff } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import type { Profile } from './profiles.ts';

/** What the connection was made with. */
export interface ResponderSetup {
  readonly profile: Profile;
  /** Path MTU in bytes. */
  readonly mtu: number;
  /** The region that requests may reach, and what it lets them do. */
  readonly region: { readonly va: bigint; readonly rkey: number; readonly length: number };
  /** What the queue pair lets its peer do. */
  readonly access: { readonly read: boolean; readonly write: boolean; readonly atomic: boolean };
  /** Bytes of each receive. */
  readonly receiveBytes: number;
  readonly maxDestRdAtomic: number;
  /** The queue pair's min_rnr_timer, 0..31. */
  readonly rnrTimer: number;
  /** Whether the device has FLUSH and ATOMIC WRITE. */
  readonly flush: boolean;
  readonly atomicWrite: boolean;
}

/** A request that has been executed, packet by packet. */
export interface Past {
  readonly packet: Packet;
  readonly first: number;
  readonly last: number;
  /** Messages completed when it had been executed. */
  readonly msn: number;
  /** Atomics: what memory held before. */
  readonly original: bigint;
}

/** A receive that was consumed by a message without fault. */
export interface Delivered {
  readonly length: number;
  readonly imm: number | undefined;
  /** What was put into the receive; nothing for a WRITE. */
  readonly data: Uint8Array | undefined;
}

export interface UnfinishedMessage {
  readonly kind: 'send' | 'write';
  /** SEND: what it has brought. */
  readonly got: Uint8Array;
  /** WRITE: offsets in the region where it began and where it goes on, and what it still has to bring. */
  readonly from: number;
  readonly at: number;
  readonly left: number;
}

export interface ResponderState {
  /** The PSN that is executed next. */
  readonly expected: number;
  readonly msn: number;
  /** The message in progress. */
  readonly open: UnfinishedMessage | undefined;
  readonly memory: Uint8Array;
  /** What memory may hold instead, byte by byte: what a refused packet may have left behind. */
  readonly instead: readonly Uint8Array[];
  /** Receives that no message has taken. */
  readonly receives: number;
  readonly delivered: readonly Delivered[];
  readonly past: readonly Past[];
  /** First PSNs of READs of which a part was asked for again. */
  readonly moved: readonly number[];
  /** A NAK for `expected` is out: nothing ahead is answered until it arrives. */
  readonly silent: 'sequence' | 'not-ready' | undefined;
  /** A request was refused for good. */
  readonly dead: boolean;
}

/** A reply other than a plain ACK. */
export interface ExpectedReply {
  readonly opcodes: readonly number[];
  readonly psn: number;
  /** Messages completed; an answer may also count those that have been completed since. */
  readonly msn: number;
  /** A whole syndrome; `positive`: any ACK, credits as the device likes. */
  readonly syndrome: number | 'positive';
  /** READ: which bytes of memory. */
  readonly data?: { readonly offset: number; readonly length: number };
  /** What memory held since the request came; each byte is one of these (RD-12). */
  readonly images?: readonly Uint8Array[];
  readonly original?: bigint;
  /** False: it may come or not. */
  readonly must: boolean;
  /** Answers a duplicate. */
  readonly again: boolean;
  /** Broken when it does not come. */
  readonly ruleId: string;
}

/** One thing that may happen to a packet. */
export interface ModelOutcome {
  readonly state: ResponderState;
  readonly replies: readonly ExpectedReply[];
  /** The packet has to be acknowledged, itself or by something later. */
  readonly owed?: { readonly psn: number; readonly ruleId: string };
}

/** A responder that has seen nothing. */
export function freshState(memory: Uint8Array, receives: number): ResponderState {
  return {
    ...{ expected: 0, msn: 0, open: undefined, memory, instead: [], receives },
    ...{ delivered: [], past: [], moved: [], silent: undefined, dead: false },
  };
}

/** How far `psn` is ahead of `expected`: -0x80_00_00 .. 0x7f_ff_ff. */
export const distance = (psn: number, expected: number): number => psnDiff(psn & PSN_MASK, expected & PSN_MASK);
