/**
 * Real time for the driver: monotonic, in integer nanoseconds. Never the time of day.
 */

/**
 * Nanoseconds since the process began; never goes back. Resolution is that of `performance.now()`, well under a
 * microsecond.
 */
export function monotonicNs(): number {
  // A double of milliseconds: exact to the nanosecond for 104 days. `hrtime` would allocate on each call
  // (ref:platform#5).
  return Math.round(performance.now() * 1e6);
}
