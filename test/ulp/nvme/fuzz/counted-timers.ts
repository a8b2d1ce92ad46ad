/** Timers that are counted: one that outlives what it was for keeps its memory. Owns nothing but the count. */
import type { TargetTimers } from '../../../../src/ulp/nvme/index.ts';

/** Those of the world, and how many run. */
export class CountedTimers implements TargetTimers {
  pending = 0;
  readonly #timers: TargetTimers;

  constructor(timers: TargetTimers) {
    this.#timers = timers;
  }

  after(durationNs: number, then: () => void): () => void {
    let runs = true;
    const end = (): void => {
      if (runs) this.pending--;
      runs = false;
    };
    this.pending++;
    const cancel = this.#timers.after(durationNs, () => {
      end();
      then();
    });
    return () => {
      end();
      cancel();
    };
  }
}
