/**
 * Connects the explorer with the analysis: packets in, facts out, one report at the end.
 *
 * Owns which conversation a number given early stands for in the end: two that were opened as halves may turn out to be
 * one.
 */
import { type Analysis, Analyzer, type CapturedPacket, type PacketFacts } from 'rocev2/pcap';

/** What a conversation's number has become. */
export interface MergedConversation {
  readonly from: number;
  readonly to: number;
  /** Its end 0 is the other's end 1. */
  readonly crosswise: boolean;
}

/** Follows a capture from its first packet to its last. */
export class CaptureAnalysis {
  readonly #analyzer = new Analyzer();
  /** The highest number of a conversation that facts had. */
  #last = 0;

  /** What is known of the packet; the same object for each, to be read before the next. */
  push(packet: CapturedPacket): PacketFacts {
    const facts = this.#analyzer.packet(packet);
    this.#last = Math.max(this.#last, facts.conversation?.id ?? 0);
    return facts;
  }

  /** The report on the whole capture. */
  finish(): Analysis {
    return this.#analyzer.finish();
  }

  /** Conversations that are part of another one by now. */
  settled(): MergedConversation[] {
    const settled: MergedConversation[] = [];
    for (let from = 1; from <= this.#last; from++) {
      const whole = this.#analyzer.wholeOf(from);
      if (whole !== undefined) settled.push({ from, to: whole.id, crosswise: whole.crosswise });
    }
    return settled;
  }
}
