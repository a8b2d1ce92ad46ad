/**
 * What a receiver does with requests in the order in which they were captured.
 *
 * Owns which one it waits for, and which NAKs are due: it takes the request that it expects, drops what comes early,
 * and asks once (ref:wire#8, ref:rxe#7). A NAK that is due is explained by what this place saw: nothing happened behind
 * it. Of a request that came before, and was dropped then, it follows when its retransmission was missing as well.
 */
import type { MutableFacts } from './mutable-facts.ts';

/** A request that a receiver waits for, and asks for. */
export interface Wait {
  readonly psn: number;
  /** The packet that came instead: its frame, its time, and its IPv4 identification. */
  readonly frame: number;
  readonly timeNs: number;
  readonly ipId: number;
  /** The request was captured before: its retransmission is missing. */
  readonly again: boolean;
  /** Frame and time of the NAK; -1: it has not come. */
  nakFrame: number;
  nakNs: number;
  /** It was sent once more: the retransmission that was missing is lost. */
  lost: boolean;
}

export class ReceiverModel {
  #expected: number;
  /** It has asked for that, for a reason that the model knows or not. */
  #asked: boolean;
  #wait: Wait | undefined;
  /** Those whose NAK has not come. */
  readonly #due: Wait[] = [];

  /** @param asked it has asked for it already */
  constructor(expected: number, asked: boolean) {
    this.#expected = expected;
    this.#asked = asked;
  }

  /** A request that takes `count` PSNs comes. Returns the wait that it ends. @param again that one came before */
  arrives({ packet, timeNs, ipId }: MutableFacts, psn: number, count: number, again: boolean): Wait | undefined {
    if (psn <= this.#expected && psn + count > this.#expected) {
      const wait = this.#wait;
      this.#restart(psn + count, false);
      return wait;
    }
    if (psn < this.#expected || this.#asked) return undefined;
    this.#asked = true;
    const frame = packet.number;
    this.#wait = { psn: this.#expected, frame, timeNs, ipId, again, nakFrame: -1, nakNs: -1, lost: false };
    this.#due.push(this.#wait);
    if (this.#due.length > MOST_DUE) this.#due.shift();
    return undefined;
  }

  /** What it waits for. */
  get expected(): number {
    return this.#expected;
  }

  /** A NAK asks for `psn`. Returns what explains it; undefined: something happened behind this place. */
  asks({ packet, timeNs }: MutableFacts, psn: number): Wait | undefined {
    const at = this.#due.findIndex((each) => each.psn === psn);
    const wait = this.#due[at];
    if (wait === undefined) {
      this.refuses(psn);
      return undefined;
    }
    this.#due.splice(0, at + 1);
    wait.nakFrame = packet.number;
    wait.nakNs = timeNs;
    return wait;
  }

  /** Everything before `to` has arrived. */
  has(to: number): void {
    while ((this.#due[0]?.psn ?? Number.POSITIVE_INFINITY) < to) this.#due.shift();
    if (this.#expected < to) this.#restart(to, false);
  }

  /** It does not take `psn`, though it came. */
  refuses(psn: number): void {
    this.#restart(psn, true);
    this.#due.length = 0;
  }

  #restart(expected: number, asked: boolean): void {
    this.#expected = expected;
    this.#asked = asked;
    this.#wait = undefined;
  }
}

/** NAKs on their way at a time. */
const MOST_DUE = 16;
