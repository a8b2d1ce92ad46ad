/**
 * Packet sequence numbers: 24 bits that wrap.
 *
 * Owns addition and comparison modulo 2^24. Never decides what a distance means (new, duplicate, ghost): that is
 * transport.
 * Rules: ref:wire#8 (distance is the signed 24-bit difference), ref:platform#5 rule 2 (never compare PSNs with `<`).
 */

/** Largest PSN, and the mask that wraps one. */
export const PSN_MASK = 0xff_ff_ff;

/** `psn + n` modulo 2^24; `n` is any signed 32-bit integer. */
export function psnAdd(psn: number, n: number): number {
  return (psn + n) & PSN_MASK;
}

/**
 * Signed distance from `b` to `a`, in -0x80_00_00 .. 0x7f_ff_ff: positive when `a` comes after `b`.
 *
 * Half the number space apart is ambiguous; here it counts as past (ref:wire#8: choose a sign and test it).
 */
export function psnDiff(a: number, b: number): number {
  return ((a - b) << 8) >> 8;
}
