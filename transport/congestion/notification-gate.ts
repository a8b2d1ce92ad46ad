/**
 * Which congestion notifications for a flow can be those of an honest receiver. It sends one at most for a frame that
 * came marked, and one at most in an interval; what comes beyond that is forged, and as nothing in a CNP can be checked
 * but addresses and queue pair, so may be the rest of what comes about that time. So while more come than an honest
 * receiver sends, one in a millisecond counts: congestion still slows the flow down, and a flood does not stop it
 * (ref:hostile#SEC-13). One forged CNP for each frame looks like a path that marks all, and counts as one.
 */

/** Frames that may be on their way or just received, each of which may draw a notification. */
const MAX_NOTIFIABLE = 64;
/** Notifications that the network, or a receiver's busy host, may bring at once. */
const MAX_BUNCHED = 64;
/** Of those that come together, how many count: a busy host receives several at once. */
const MAX_AT_ONCE = 16;
/** After the last notification that no honest receiver sent. */
const SUSPICION_NS = 1_000_000;
/** Between two that count meanwhile. */
const SUSPECT_INTERVAL_NS = 1_000_000;

/** The gate of one flow. */
export class NotificationGate {
  /** Frames sent for which no notification has come; one may have left before there was a gate. */
  #notifiable = 1;
  /** Those that came take the intervals up to this time. */
  #arrivedUntil = 0;
  /** Those that were taken take the intervals up to this time. */
  #takenUntil = 0;
  #takenAt = Number.NEGATIVE_INFINITY;
  #suspiciousUntil = Number.NEGATIVE_INFINITY;

  /** A frame has left that may draw a notification. */
  sent(): void {
    if (this.#notifiable < MAX_NOTIFIABLE) this.#notifiable += 1;
  }

  /**
   * Takes a notification, of which an honest receiver sends one in `intervalNs`; false when it does not count.
   */
  takes(now: number, intervalNs: number): boolean {
    const arrivedUntil = Math.max(this.#arrivedUntil, now) + intervalNs;
    const bunched = now + MAX_BUNCHED * intervalNs;
    this.#arrivedUntil = Math.min(arrivedUntil, bunched);
    const caused = this.#notifiable > 0;
    if (caused) this.#notifiable -= 1;
    if (!caused || arrivedUntil > bunched) this.#suspiciousUntil = now + SUSPICION_NS;
    const from = Math.max(this.#takenUntil, now);
    if (!caused || from - now >= MAX_AT_ONCE * Math.max(intervalNs, 1)) return false;
    if (now < this.#suspiciousUntil && now - this.#takenAt < SUSPECT_INTERVAL_NS) return false;
    this.#takenUntil = from + intervalNs;
    this.#takenAt = now;
    return true;
  }
}
