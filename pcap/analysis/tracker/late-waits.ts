/**
 * When a receiver waited for packets that came late, by the times of this capture: what came then it dropped.
 *
 * Owns the last few of these times.
 */
export class LateWaits {
  readonly #spans: { fromNs: number; toNs: number }[] = [];

  /** A packet came at `toNs` that was missing since `fromNs`. */
  add(fromNs: number, toNs: number): void {
    const last = this.#spans.at(-1);
    if (last !== undefined && fromNs <= last.toNs) {
      // Both were late at a time.
      last.fromNs = Math.min(last.fromNs, fromNs);
      last.toNs = Math.max(last.toNs, toNs);
      return;
    }
    this.#spans.push({ fromNs, toNs });
    if (this.#spans.length > MOST_SPANS) this.#spans.shift();
  }

  include(timeNs: number): boolean {
    return this.#spans.some(({ fromNs, toNs }) => timeNs >= fromNs && timeNs <= toNs);
  }
}

/** As many may be late before the NAKs about the first of them come. */
const MOST_SPANS = 8;
