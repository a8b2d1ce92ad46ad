/**
 * Steps of the clock of an interface, backwards and forwards.
 *
 * Owns what counts as one. Backwards: the next packet is earlier by more than any capture reorders. Forwards: a pause
 * that is longer than requesters wait, and then the answer to a request from before it, which was not sent again: had
 * the time really passed, it would have been. A shorter jump forwards cannot be told from a network that stood still.
 * Allocates nothing per packet.
 */
import { Mark, type PacketFacts, Role } from '../facts.ts';

/** Steps of one interface. */
export interface ClockSteps {
  readonly interfaceIndex: number;
  steps: number;
  /** The largest, negative: backwards. */
  largestNs: number;
  /** Packets after a step, the first few. */
  readonly frames: number[];
}

export class ClockWatch {
  readonly #lastNs = new Float64Array(MOST_INTERFACES).fill(Number.NEGATIVE_INFINITY);
  readonly #steps = new Map<number, ClockSteps>();
  readonly #askedNs: (facts: PacketFacts) => number;

  /** @param askedNs when the request that this response answers was captured; NaN: unknown */
  constructor(askedNs: (facts: PacketFacts) => number) {
    this.#askedNs = askedNs;
  }

  packet(facts: PacketFacts): void {
    const { timeNs, packet } = facts;
    const index = packet.interfaceIndex;
    if (index >= MOST_INTERFACES) return;
    const passed = timeNs - (this.#lastNs[index] as number);
    // Packets of several queues may be out of order by a little: the latest time counts.
    if (passed >= 0 || passed < -BACKWARDS_NS) this.#lastNs[index] = timeNs;
    if (passed < -BACKWARDS_NS) this.#add(index, passed, packet.number);
    else if (passed >= FORWARDS_NS && passed < Number.POSITIVE_INFINITY && this.#answersOldRequest(facts, passed))
      this.#add(index, passed, packet.number);
  }

  /** By index of the interface. */
  finish(): ClockSteps[] {
    return [...this.#steps.values()].sort((a, b) => a.interfaceIndex - b.interfaceIndex);
  }

  #answersOldRequest(facts: PacketFacts, passed: number): boolean {
    if (facts.role !== Role.Response || (facts.marks & NO_FIRST_ANSWER) !== 0) return false;
    const waited = facts.timeNs - this.#askedNs(facts);
    return waited >= passed && waited < passed + FORWARDS_NS;
  }

  #add(interfaceIndex: number, stepNs: number, frame: number): void {
    let steps = this.#steps.get(interfaceIndex);
    if (steps === undefined) {
      steps = { interfaceIndex, steps: 0, largestNs: 0, frames: [] };
      this.#steps.set(interfaceIndex, steps);
    }
    steps.steps++;
    if (Math.abs(stepNs) > Math.abs(steps.largestNs)) steps.largestNs = stepNs;
    if (steps.frames.length < MOST_EXAMPLES) steps.frames.push(frame);
  }
}

const NO_FIRST_ANSWER = Mark.Copy | Mark.Retransmission | Mark.GhostAck | Mark.Nak | Mark.RnrNak | Mark.BadIcrc;
const MOST_INTERFACES = 256;
const MOST_EXAMPLES = 5;
/** Queues of one NIC differ by microseconds, and a merge of badly sorted files by its clocks. */
const BACKWARDS_NS = 100_000_000;
/** ACK timeouts in use end at 17 s (4.096 us * 2^22), ref:wire#7. */
const FORWARDS_NS = 20_000_000_000;
