/**
 * A script as data: what a ladder in text says, line by line. `parse.ts` reads it, `print.ts` writes it, `play.ts` runs
 * it.
 */

import type { Packet } from 'rocev2/packets/kit';
import type { SendOpcode } from '../host-control/host-control.ts';
import type { TesterConnectOptions } from '../tester/connect.ts';

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
  /** The key of the newest window, as rkey or as what is invalidated. */
  readonly windowKey?: boolean;
  /** Ends so many bytes behind the UDP header; IP and UDP lengths are as that has it. */
  readonly cut?: number;
  /** What the UDP header says of its length. */
  readonly udpLength?: number;
  /** Bytes of IPv4 options, all NO OPERATION, a multiple of 4. */
  readonly ipOptions?: number;
  /** An ICRC with one bit inverted. */
  readonly badIcrc?: boolean;
  /** A FLUSH with the ICRC that rdma_rxe demands. */
  readonly rxeIcrc?: boolean;
}

/** What a connection allows beyond the usual, of queue pair and region: FLUSH, and windows bound to the region. */
export type ScriptRight = 'flush' | 'windows';

export type ScriptStep =
  | { readonly kind: 'connect'; readonly options: TesterConnectOptions; readonly rights?: readonly ScriptRight[] }
  /** A window of memory, bound to a part of the region or to nothing. */
  | { readonly kind: 'window'; readonly bound?: { readonly offset: number; readonly length: number } }
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
  /** The next receive that completes. */
  | { readonly kind: 'received'; readonly wrId: number; readonly status: number }
  /**
   * What the buffers of the device begin with: what it sends is taken from there, what it receives or reads goes there.
   */
  | { readonly kind: 'buffer'; readonly payload: Uint8Array }
  | { readonly kind: 'state'; readonly state: 'RTS' | 'ERR' | 'SQD' | 'SQE' | 'RTR' };

/** A step and the line it stands in, from 1. */
export interface ScriptLine {
  readonly line: number;
  readonly step: ScriptStep;
}
