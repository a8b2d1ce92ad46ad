/**
 * What senders may cost a device that have not proved that they are at their address. Owns the settings and their
 * defaults (ref:hostile#3).
 */

/** Bounds for frames of strangers, beside RoCE traffic of connected queue pairs. `DeviceOptions.strangers`. */
export interface StrangerLimits {
  /** Neighbours known or being resolved for this host, static ones aside. Ethernet only. */
  readonly maxNeighbours: number;
  /**
   * Next hops being resolved only to answer strangers: what comes beyond them stays without an answer, and counts as
   * `strangersDropped`. Each costs three solicitations in three seconds.
   */
  readonly maxUnresolved: number;
  /**
   * Whether a frame that names another MAC address for a known neighbour begins a probe of the known one, and counts
   * only if that stays silent. Off: it counts at once, as RFC 4861 section 7.2.5 and ARP have it.
   */
  readonly confirmMoves: boolean;
  /**
   * TCP handshakes of callers that are kept, over all listeners; about 1 kB each. With `synCookies` a SYN beyond them is
   * answered without keeping anything, else it is dropped.
   */
  readonly maxHalfOpen: number;
  /**
   * Whether SYNs beyond `maxHalfOpen` are answered with SYN cookies. Such a connection has its segment size rounded down,
   * and is lost to a server that speaks first when the last ACK of the handshake is lost.
   */
  readonly synCookies: boolean;
  /** Repetitions of a SYN-ACK without a sign of its receiver, after 1, 2, 4, ... seconds. */
  readonly maxSynAckRetries: number;
}

/** The settings of a device that names none. */
export const DEFAULT_STRANGER_LIMITS: StrangerLimits = {
  maxNeighbours: 1024,
  maxUnresolved: 64,
  confirmMoves: true,
  maxHalfOpen: 64,
  synCookies: true,
  maxSynAckRetries: 3,
};
