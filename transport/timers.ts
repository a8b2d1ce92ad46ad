/**
 * The local ACK timeout code of a queue pair as nanoseconds (ref:wire#7). The RNR timer table is in
 * packets/rnr-timer.ts.
 */

/** Local ACK timeout 4.096 us * 2^code in nanoseconds, code 0..31; code 0 switches the timer off (Infinity). */
export function ackTimeoutNs(code: number): number {
  return code === 0 ? Number.POSITIVE_INFINITY : 4096 * 2 ** code;
}
