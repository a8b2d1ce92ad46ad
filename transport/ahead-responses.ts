/**
 * READ responses that came while an earlier one was missing, and whose data is in place. When the missing one comes,
 * they count at once, and nothing behind a gap has to come twice. Owns which ones they are. Made with the first gap:
 * connections without loss need none.
 */

/** How far ahead of the expected one a response may be. */
const REACH = 1024;

export class AheadResponses {
  /** By the low bits of the extended PSN. */
  readonly #placed = new Uint8Array(REACH);

  /** Whether there is room to remember a response, and it has not come before. */
  lacks(psn: number, expected: number): boolean {
    return psn - expected < REACH && this.#placed[psn % REACH] === 0;
  }

  /** Its data is in place. */
  add(psn: number): void {
    this.#placed[psn % REACH] = 1;
  }

  /** Whether the response that is expected now has come, and forgets it. */
  take(psn: number): boolean {
    const at = psn % REACH;
    if (this.#placed[at] === 0) return false;
    this.#placed[at] = 0;
    return true;
  }
}
