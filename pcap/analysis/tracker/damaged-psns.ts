/**
 * PSNs of packets that came with a wrong ICRC: what takes their place later was no loss.
 *
 * Owns a bounded set, which takes no memory before the first: the oldest makes room.
 */
export class DamagedPsns {
  #psns: Set<number> | undefined;

  add(psn: number): void {
    this.#psns ??= new Set();
    this.#psns.add(psn);
    if (this.#psns.size <= MOST_DAMAGED) return;
    for (const oldest of this.#psns) {
      this.#psns.delete(oldest);
      return;
    }
  }

  /** Forgets one; whether it was there. */
  take(psn: number): boolean {
    return this.#psns?.delete(psn) ?? false;
  }

  /** Forgets those from `from` to just before `to`, and counts them. */
  takeAll(from: number, to: number): number {
    let taken = 0;
    for (const psn of this.#psns ?? []) {
      if (psn < from || psn >= to) continue;
      this.#psns?.delete(psn);
      taken++;
    }
    return taken;
  }
}

const MOST_DAMAGED = 64;
