/**
 * Datagrams of one direction between two queue pairs. They have no order and no retransmissions, so only copies are
 * remarkable.
 *
 * Owns the memory of the last ones. The PSNs of a datagram queue pair count over all its destinations: gaps mean
 * nothing.
 */
import { PSN_MASK, psnDiff } from '../../../packets/psn.ts';
import { Mark } from '../facts.ts';
import type { Conversation } from './conversation.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { PacketMemory } from './packet-memory.ts';
import type { EventSink } from './psn-space-state.ts';

export class DatagramFlow {
  readonly #sink: EventSink;
  readonly #memory = new PacketMemory({ entries: REMEMBERED });
  readonly #origin: number;
  #next = 0;

  constructor(sink: EventSink, origin: number) {
    this.#sink = sink;
    this.#origin = origin;
  }

  datagram(facts: MutableFacts, conversation: Conversation): void {
    const { frame } = facts.dissection;
    const report = conversation.end(facts.sender).requester;
    const psn = this.#next + psnDiff(frame.psn, (this.#origin + this.#next) & PSN_MASK);
    facts.relativePsn = psn;
    report.packets++;
    if (report.startNs < 0) {
      report.startNs = facts.timeNs;
      report.firstPsn = frame.psn;
    }
    report.endNs = facts.timeNs;
    if (this.#memory.isSameFrame(psn, facts) && facts.timeNs - this.#memory.timeOf(psn) < COPY_NS) {
      this.#tellCopy(facts, conversation, psn);
      return;
    }
    this.#memory.put(psn, facts, 0, Number.POSITIVE_INFINITY);
    if (psn >= this.#next) this.#next = psn + 1;
    report.nextPsn = (this.#origin + this.#next) & PSN_MASK;
    report.goodputBytes += frame.payloadLength;
    report.countMessage(frame.flags, frame.opcode);
  }

  #tellCopy(facts: MutableFacts, conversation: Conversation, psn: number): void {
    const { sender, timeNs, packet, dissection } = facts;
    facts.marks |= Mark.Copy;
    facts.refersTo = this.#memory.frameOf(psn);
    conversation.end(sender).requester.copies++;
    this.#sink.emit({
      kind: 'copy',
      timeNs,
      frame: packet.number,
      refersTo: facts.refersTo,
      conversation: conversation.id,
      requester: sender,
      sender,
      psn: dissection.frame.psn,
      count: 1,
      durationNs: -1,
    });
  }
}

/** The same bytes much later are the same content sent again with a PSN that has wrapped. */
const COPY_NS = 1_000_000_000;
/** Packets beyond the first few. */
const REMEMBERED = 12;
