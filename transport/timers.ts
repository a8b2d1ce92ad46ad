/**
 * The two timer codes of the transport, as nanoseconds.
 * ref:wire#7: RNR timer table and local ACK timeout; both derived from their closed forms, not typed.
 */

/** Waits of the 32 RNR NAK timer codes, in nanoseconds. Code 0 is the longest, 655.36 ms. */
export const RNR_TIMER_NS: readonly number[] = Array.from({ length: 32 }, (_, code) => rnrTimerNs(code));

function rnrTimerNs(code: number): number {
  if (code === 1) return 10_000;
  const c = code === 0 ? 32 : code;
  return c % 2 === 0 ? 10_000 * 2 ** (c / 2) : 15_000 * 2 ** ((c - 1) / 2);
}

/** Local ACK timeout 4.096 us * 2^code in nanoseconds, code 0..31; code 0 switches the timer off (Infinity). */
export function ackTimeoutNs(code: number): number {
  return code === 0 ? Number.POSITIVE_INFINITY : 4096 * 2 ** code;
}
