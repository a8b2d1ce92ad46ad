/**
 * One neighbour as its table keeps it, and how addresses and MAC addresses are compared. Owns the fields; every
 * decision is the table's (neighbour-table.ts).
 */
import type { IpAddress, MacAddress } from '../../../packets/address.ts';

/**
 * Why a next hop is resolved. `own`: an application or a queue pair of ours wants to send there. `answer`: only an
 * answer to a packet that may be forged; refused when the budget is used up. `caller`: an application takes the
 * request of an address that may be forged; within the same budget, but the oldest resolution gives way.
 */
export type ResolutionNeed = 'own' | 'answer' | 'caller';

export interface Entry {
  readonly address: IpAddress;
  mac: MacAddress | undefined;
  /** When the next use solicits again. */
  staleAt: number;
  /** Addresses behind this next hop that wait for its resolution. */
  readonly waiting: IpAddress[];
  /** Resolved for this host, or used by its queue pairs; strangers do not displace it. */
  own: boolean;
  /** Not resolved, and needed for answers to strangers only. */
  strange: boolean;
  /** Another MAC address was named, and this probe is to tell. */
  claimed: boolean;
  /** When the last probe began. */
  probedAt: number;
  /** When the solicitation is repeated or given up; Infinity when none is under way. */
  deadline: number;
  /** Between unicast solicitations. */
  intervalNs: number;
  /** Solicitations left: first unicast, then multicast. */
  unicast: number;
  multicast: number;
  /** Whether the next solicitation is multicast; of the present one when none is due. */
  multicastNext: boolean;
  questionDue: boolean;
}

/** Bounds of a table. */
export interface NeighbourTableOptions {
  /** Entries, solicitations under way included. */
  readonly maxEntries: number;
  /** Unresolved entries that only answers to strangers need. */
  readonly maxStrangers: number;
  /** Whether a received frame that names another MAC address begins a probe; else it counts at once (RFC 4861). */
  readonly confirmMoves: boolean;
  /** Something of this address was counted that may be an attack. */
  readonly suspect?: ((cause: NeighbourSuspicion, address: IpAddress) => void) | undefined;
}

/** Addresses as keys of a map. */
export function keyOf({ version, w0, w1, w2, w3 }: IpAddress): string {
  return version === 4 ? `${w3}` : `${w0}:${w1}:${w2}:${w3}`;
}

export function sameMac(a: MacAddress, b: MacAddress): boolean {
  return a.every((byte, index) => byte === b[index]);
}

export function newEntry(address: IpAddress): Entry {
  return {
    address,
    mac: undefined,
    staleAt: 0,
    waiting: [],
    own: false,
    strange: false,
    claimed: false,
    probedAt: -Infinity,
    deadline: Infinity,
    intervalNs: RETRY_NS,
    unicast: 0,
    multicast: 0,
    multicastNext: true,
    questionDue: false,
  };
}

/** RETRANS_TIMER of RFC 4861 section 10. */
export const RETRY_NS = 1e9;

/** Why a neighbour is suspicious (`SuspicionCause`). */
export type NeighbourSuspicion = 'neighbour-claim' | 'neighbour-claim-refuted' | 'neighbour-flood';
