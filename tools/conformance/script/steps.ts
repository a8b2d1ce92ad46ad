/** A script as data: what a ladder in text says, line by line. `parse.ts` reads it, `print.ts` writes it, `play.ts` runs it. */
import type { SendOpcode } from '../hands/hands.ts';
import type { Packet } from '../packet/packet.ts';
import type { ConnectOptions } from '../tester/connect.ts';

/** An address and a key of the region under test, by name: filled in when the script is played. */
export interface RegionRef {
  /** Bytes from the start of the region. */
  readonly offset: number;
}

/** A packet whose addresses and keys may be those of the region. */
export interface ScriptPacket extends Packet {
  /** In the place of `va` of RETH or AtomicETH. */
  readonly at?: RegionRef;
  /** The rkey of the region; absent where the packet says one. */
  readonly ownKey?: boolean;
}

export type Step =
  | { readonly kind: 'connect'; readonly options: ConnectOptions }
  | { readonly kind: 'tx'; readonly packet: ScriptPacket }
  /** The next packet has these fields; `any`: one of several lines of `rx` and `or`. */
  | { readonly kind: 'rx'; readonly wants: readonly Partial<ScriptPacket>[]; readonly withinNs?: number }
  | { readonly kind: 'acked'; readonly psn: number; readonly msn?: number }
  | { readonly kind: 'silence'; readonly durationNs?: number }
  | { readonly kind: 'sentinel'; readonly psn: number; readonly msn: number }
  | { readonly kind: 'dead'; readonly psn: number }
  | { readonly kind: 'sleep'; readonly durationNs: number }
  | {
      readonly kind: 'post';
      readonly opcode: SendOpcode;
      readonly wrId: number;
      readonly length: number;
      readonly remote: RegionRef;
    }
  | { readonly kind: 'receive'; readonly wrId: number; readonly length: number }
  | { readonly kind: 'completion'; readonly wrId: number; readonly status: number }
  | { readonly kind: 'state'; readonly state: 'RTS' | 'ERR' | 'SQD' | 'SQE' | 'RTR' };

/** A step and the line it stands in, from 1. */
export interface Line {
  readonly line: number;
  readonly step: Step;
}
