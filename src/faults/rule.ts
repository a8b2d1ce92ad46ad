/**
 * Rules for a wire as plain data that JSON can carry: which frames, and what happens to them.
 *
 * Owns the names, shared by the decorator of a link, `roce bump` and the experiments. Never looks at a frame:
 * `compile.ts` checks rules and makes matchers of them. Lumina's keys are all here: relative QPN (`connection`),
 * relative PSN and iteration (ref:analyzer#7).
 */
import type { FaultSpec } from './fault-spec.ts';

/**
 * Across a wire between two ends called a and b; for a link of ours a is our end, so that what we send goes 'a-to-b'.
 */
export type FaultDirection = 'a-to-b' | 'b-to-a';

/** Both directions; elsewhere a direction is an index in this list. */
export const FAULT_DIRECTIONS: readonly FaultDirection[] = ['a-to-b', 'b-to-a'];

/** Several opcodes by one name. */
export const OPCODE_GROUPS = [
  /** Every frame, RoCE or not. */
  'any',
  /** Every frame to UDP port 4791 that has a BTH. What counts when a rule names no opcode. */
  'roce',
  /** SENDs of every service, but not management datagrams. */
  'send',
  'write',
  'read-request',
  'read-response',
  /** COMPARE SWAP and FETCH ADD. */
  'atomic',
  /** ACKs. */
  'ack',
  /** NAKs, RNR NAKs included. */
  'nak',
  'rnr-nak',
  'cnp',
  /** Datagrams to queue pair 1: connection management. */
  'mad',
] as const;
export type OpcodeGroup = (typeof OPCODE_GROUPS)[number];

/** Everything that a rule can do to a frame. */
export const FAULT_ACTIONS = ['drop', 'duplicate', 'delay', 'reorder', 'corrupt', 'mark-ce', 'rewrite'] as const;
/** One of the actions. */
export type FaultAction = (typeof FAULT_ACTIONS)[number];

/** Which frames; all given conditions must hold; a rule without conditions matches every RoCE frame. */
export interface WireCondition {
  /** Which way it goes; default both. */
  readonly direction?: FaultDirection;
  /**
   * A group, or a name as the opcode table and Wireshark have it ('RC RDMA WRITE Middle', in any case), or several.
   * Default 'roce'.
   */
  readonly opcode?: string | readonly string[];
  /** Destination queue pair of the packet, 24 bits. */
  readonly qpn?: number;
  /**
   * Queue pair that sent the packet, as connection management or the traffic has shown it; a packet of an unknown
   * sender does not match.
   */
  readonly sourceQpn?: number;
  /**
   * PSN counted from the first PSN of the connection in that PSN space, 0 being the first; or the first and the last of
   * a range. ACKs and READ responses are in the space of the requester. Continues counting where the 24 bits wrap.
   */
  readonly psn?: number | readonly [number, number];
  /**
   * How often this PSN has passed in this direction, this time included: 1 the first time, 2 its first retransmission.
   */
  readonly iteration?: number;
  /** Connection on this wire in the order in which they were seen, from 1. */
  readonly connection?: number;
  /** Of the frames for which all of the above holds, the nth, from 1; or the first and the last of a range. */
  readonly nth?: number | readonly [number, number];
  /** Of the frames for which all of the above holds, each nth. */
  readonly every?: number;
  /** Of the frames for which all of the above holds, this share, 0..1, by seed. */
  readonly probability?: number;
}

/** Which frames, and what happens to them. A rule sees each frame as it came in, whatever other rules do to it. */
export interface WireRule {
  /** Shown in comments and accounts; default its place in the list, 'rule 1'. */
  readonly name?: string;
  /** Which frames. */
  readonly on: WireCondition;
  /** What happens to them. */
  readonly do: FaultAction;
  /** At most so many applications; default no limit. */
  readonly times?: number;
  /**
   * Nanoseconds. For 'delay', which needs it, how much later; later frames overtake. For 'duplicate', between one copy
   * and the next, default 0. For 'reorder', the longest that a frame is held when no others pass, default 100 ms.
   */
  readonly delayNs?: number;
  /** For 'duplicate': how many more, 1 .. 64; default 1. */
  readonly copies?: number;
  /** For 'reorder': so many later frames of that direction pass first, 1 .. 1024; default 1. */
  readonly behind?: number;
  /**
   * For 'corrupt': which bit is flipped. Bit 0 is the most significant bit of the first byte of the BTH, or of what
   * follows the Ethernet header in a frame that is not RoCE. Default by seed: any bit up to the end of the ICRC that
   * the ICRC covers, opcode and pad count excepted.
   */
  readonly bit?: number;
  /**
   * For 'rewrite': fields by name, see `FIELD_NAMES`, and their values. Fields that a frame does not have are ignored.
   */
  readonly set?: Readonly<Record<string, number>>;
  /** Whether ICRC and UDP checksum are updated; default true for 'rewrite', false for 'corrupt'. */
  readonly fixIcrc?: boolean;
}

/** Faults by chance, per direction; a rate and marking by queue length are here too. */
export interface WireFaults {
  /** From end a to end b; for a link of ours, what we send. */
  readonly aToB?: FaultSpec;
  /** From end b to end a; for a link of ours, what arrives. */
  readonly bToA?: FaultSpec;
}
