/**
 * How much of the traffic an interface has: everything, a sample, or all but what the capture lost.
 *
 * Owns the estimate. PSNs that were acknowledged, or passed over without anybody asking for them, were on the wire.
 * Each PSN is one packet with data (ref:wire#8), so the PSNs of a space against its packets say how much of it is
 * there. A sample lacks much, in short runs all over; what a capture loses for want of room it loses now and then, or
 * in long runs.
 */
import { PSN_MASK } from '../../../packets/psn.ts';
import { type ConversationReport, type EndReport, MOST_FRAMES, type TransportEvent } from '../types.ts';

/** What an interface lacks. */
export class Coverage {
  /** Packets that it lacks, in how many runs, the longest of these, and packets that show it. */
  unseen = 0;
  runs = 0;
  longestRun = 0;
  readonly frames: number[] = [];
  /** PSNs that passed, and those that are there. */
  #passed = 0;
  #seen = 0;

  /** An `unseen` event, or the loss of a service without ACKs. */
  event({ kind, count, frame, requester, sender }: TransportEvent, conversation: ConversationReport): void {
    const { responses, messages } = conversation.ends[requester].requester;
    // A READ that is missing is one packet, whatever the number of its PSNs.
    const isRead = sender === requester && (responses.packets > 0 || (messages['READ'] ?? 0) > 0);
    const packets = isRead ? 1 : count;
    if (packets >= ANOTHER_START) return;
    this.runs++;
    this.longestRun = Math.max(this.longestRun, packets);
    if (kind !== 'unseen') return;
    this.unseen += packets;
    if (this.frames.length < MOST_FRAMES) this.frames.push(frame);
  }

  /** The figures at the end. */
  conversation({ service, ends }: ConversationReport): void {
    if (service === 'UD') return;
    for (const end of ends) this.#end(end, service !== 'UC');
  }

  /** PSNs that passed for each that is there; Infinity where nothing is. */
  get oneIn(): number {
    return this.#seen === 0 ? Number.POSITIVE_INFINITY : this.#passed / this.#seen;
  }

  /** Share of the packets that are not there, 0..1, at least. */
  get missingShare(): number {
    return this.#passed === 0 ? 0 : 1 - this.#seen / this.#passed;
  }

  /** Share of the packets that were lost by the capture, by what is known of single ones. */
  get unseenShare(): number {
    return this.unseen === 0 ? 0 : this.unseen / (this.unseen + this.#seen);
  }

  /** Of these PSNs so many are there: much is missing, and in short runs. */
  get isSample(): boolean {
    const { oneIn } = this;
    if (this.#passed < FEWEST_PSNS || this.#seen < FEWEST_SEEN || this.runs < FEWEST_RUNS) return false;
    if (oneIn < 1 / MOST_OF_SAMPLE) return false;
    const meanRun = (this.#passed - this.#seen) / this.runs;
    return meanRun <= LONG_RUNS * Math.max(oneIn, 2);
  }

  /** Something is missing, and it was the capture that lost it, or never took it. */
  get isIncomplete(): boolean {
    return this.unseen > 0 || this.isSample;
  }

  #end({ requester }: EndReport, reliable: boolean): void {
    const { firstPsn, nextPsn, packets, retransmittedPackets, lostPackets, undecidedPackets, copies } = requester;
    const { responses, messages, unseenPackets } = requester;
    if (firstPsn < 0) return;
    if (packets === 0) {
      // Only responses are here: nothing is known of PSNs between them that were no READs.
      this.#seen += responses.packets;
      this.#passed += responses.packets + responses.unseenPackets + responses.lostPackets;
      return;
    }
    const requests = packets - (messages['READ'] ?? 0);
    const again = retransmittedPackets + responses.retransmittedPackets + copies;
    const filled = reliable ? lostPackets + undecidedPackets + responses.lostPackets : 0;
    const seen = Math.max(0, requests + responses.packets - again + filled);
    const span = (nextPsn - firstPsn) & PSN_MASK;
    // PSNs begin again after 2^24.
    const wraps = Math.max(0, Math.round((seen + unseenPackets + responses.unseenPackets - span) / (PSN_MASK + 1)));
    const passed = span + wraps * (PSN_MASK + 1);
    this.#passed += passed;
    this.#seen += Math.min(passed, seen);
  }
}

/** PSNs that jump so far are no packets that passed: the requester began elsewhere than was announced. */
const ANOTHER_START = 2 ** 20;
/** What a sample is told from is a capture that lost a third. */
const MOST_OF_SAMPLE = 0.6;
const FEWEST_PSNS = 48;
const FEWEST_SEEN = 3;
const FEWEST_RUNS = 2;
/** Runs by chance are as long as one in so many is on average; of READs only those within one READ are known. */
const LONG_RUNS = 6;
