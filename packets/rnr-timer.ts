/**
 * The 32 RNR NAK timer codes of an AETH, as nanoseconds: derived from their closed form, not typed.
 * Rules: ref:wire#7 (RNR timer codes; code 0 continues the even codes behind 30 and is the longest, 655.36 ms).
 */

/** Wait of each code, in nanoseconds. */
export const RNR_TIMER_NS: readonly number[] = Array.from({ length: 32 }, (_, code) => rnrTimerNs(code));

function rnrTimerNs(code: number): number {
  if (code === 1) return 10_000;
  const step = code === 0 ? 32 : code;
  return step % 2 === 0 ? 10_000 * 2 ** (step / 2) : 15_000 * 2 ** ((step - 1) / 2);
}
