/**
 * The two fields of an IPv4 TOS or an IPv6 traffic class: six bits of DSCP, two of ECN. Owns where they are and what
 * ECN's values mean (RFC 2474, RFC 3168 section 5). No ICRC covers them (ref:wire#3).
 */

/** The bits of a traffic class that are ECN. */
export const ECN_MASK = 0b11;

/** What the ECN bits say. */
export const Ecn = {
  /** The transport does not understand marks. */
  NotEct: 0,
  /** It does: ECT(1). */
  Ect1: 1,
  /** It does: ECT(0), which is what senders use. */
  Ect0: 2,
  /** Congestion experienced: a switch has marked the packet. */
  Ce: 3,
} as const;

/** DSCP, 0..63, and ECN, 0..3, in one byte. */
export function trafficClassOf(dscp: number, ecn: number = Ecn.NotEct): number {
  return (dscp << DSCP_SHIFT) | ecn;
}

/** The DSCP of a traffic class, 0..63. */
export function dscpOf(trafficClass: number): number {
  return trafficClass >>> DSCP_SHIFT;
}

/** Whether a switch has marked the packet. */
export function isMarked(trafficClass: number): boolean {
  return (trafficClass & ECN_MASK) === Ecn.Ce;
}

const DSCP_SHIFT = 2;
