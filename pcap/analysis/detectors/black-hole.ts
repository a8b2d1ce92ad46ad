/**
 * Packets too long for the path, which drops them silently: a message then never gets beyond its first full packet,
 * while what is short arrives.
 *
 * Owns the evidence for each direction and end, requests and READ responses apart:
 * - captured before the hole: the first full packet was sent three times or more and never answered. Either a sequence
 *   NAK asks for that very packet after shorter ones behind it were sent, so that something shorter got through. Or at
 *   least four shorter ones were answered before, and the packet has more than 1,500 bytes of IP. For READ responses an
 *   implied NAK is such a NAK;
 * - captured behind the hole: of long messages only LAST packets come, the first of them three times or more, and never
 *   a FIRST or MIDDLE packet, which are the full ones (ref:wire#8). Of requests, a sequence NAK asks for what is before.
 * One lost packet is no such case: its retransmission arrives. Once a long packet has arrived, `late-hole.ts` judges.
 */
import { Syndrome } from '../../../packets/aeth.ts';
import { AETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { Mark, type PacketFacts } from '../facts.ts';
import type { EndReport } from '../types.ts';
import { FrameList } from './frame-list.ts';
import { type BlackHole, LateHole } from './late-hole.ts';
import { counted, grouped, qpName, times } from './words.ts';

/** Long and short packets of one stream: the requests of an end, or the READ responses. */
export class LongPackets {
  /** Those of FIRST and MIDDLE opcodes, and others of more than 1,500 bytes. */
  #seen = 0;
  /** PSN of the first long packet, how often it was sent, its IP length. Infinite once it was answered. */
  #longPsn = Number.NaN;
  #sent = 0;
  #length = 0;
  readonly #frames = new FrameList();
  /** A short packet was sent behind it, and a sequence NAK asks for it. */
  #shortBehind = false;
  #asked = false;
  /** Answers to short packets, the IP length of the longest of these, and what waits for an answer. */
  #answers = 0;
  #answered = 0;
  #waiting = 0;
  /** PSN of the first LAST packet, how often it came, its IP length. Infinite once it was answered. */
  #lastPsn = Number.NaN;
  #lastSeen = 0;
  #lastLength = 0;
  readonly #lastFrames = new FrameList();
  /** A sequence NAK asks for what is before it. */
  #lastAsked = false;
  readonly #late = new LateHole();

  /** A packet of the stream, which is no copy of another one. */
  sent(facts: PacketFacts): void {
    const {
      dissection: { frame },
      relativePsn,
      packet,
    } = facts;
    const length = frame.ipEnd - frame.ipOffset;
    const isLong = (frame.flags & FULL) !== 0 || length > COMMON_MTU;
    if (this.#longPsn === OVER) {
      this.#late.sent(facts, isLong);
      return;
    }
    if (!isLong) {
      this.#waiting = Math.max(this.#waiting, length);
      if (relativePsn > this.#longPsn) this.#shortBehind = true;
    } else {
      this.#seen++;
      if (Number.isNaN(this.#longPsn)) this.#longPsn = relativePsn;
      if (relativePsn === this.#longPsn) {
        this.#sent++;
        this.#length = length;
        this.#frames.add(packet.number);
      }
    }
    if ((frame.flags & OpFlag.Last) === 0) return;
    if (Number.isNaN(this.#lastPsn)) this.#lastPsn = relativePsn;
    if (relativePsn !== this.#lastPsn) return;
    this.#lastSeen++;
    this.#lastLength = length;
    this.#lastFrames.add(packet.number);
  }

  /** A response to a request of the stream. */
  answer({ dissection: { frame }, relativePsn }: PacketFacts): void {
    const at = AETH_AT[frame.opcode] ?? -1;
    const isSequenceNak = at >= 0 && frame.view.getUint8(frame.bthOffset + at) === Syndrome.NakSequence;
    if (this.#longPsn === OVER) {
      if (isSequenceNak) this.#late.asked(relativePsn);
      this.#late.arrived(isSequenceNak ? relativePsn - 1 : relativePsn);
      return;
    }
    if (isSequenceNak) {
      if (relativePsn === this.#longPsn && this.#shortBehind) this.#asked = true;
      if (relativePsn < this.#lastPsn) this.#lastAsked = true;
    }
    // A sequence NAK has the PSN that is missing: all before it has arrived.
    const arrived = isSequenceNak ? relativePsn - 1 : relativePsn;
    if (arrived >= this.#lastPsn) this.#lastPsn = OVER;
    if (arrived >= this.#longPsn) {
      this.#longPsn = OVER;
    } else if (!isSequenceNak) {
      this.#answers++;
      this.#answered = Math.max(this.#answered, this.#waiting);
    }
  }

  /** A READ response: where another message begins, or the same one further on, the one before has arrived. */
  responded(facts: PacketFacts): void {
    const isFirst = (facts.dissection.frame.flags & OpFlag.First) !== 0;
    if (isFirst && this.#seen > 0 && facts.relativePsn !== this.#longPsn) {
      this.#longPsn = OVER;
      if ((facts.marks & Mark.Retransmission) === 0) this.#late.arrived(facts.relativePsn - 1);
    }
    this.sent(facts);
  }

  requestHole(sender: EndReport, receiver: EndReport): BlackHole | undefined {
    if (this.#longPsn === OVER) return this.#late.requestHole(sender, receiver);
    const names = `${sender.address} (${qpName(sender.qpn)}) sent to ${receiver.address}`;
    if (this.#isUnanswered) {
      if (this.#asked)
        return this.#before(
          names,
          `and only a sequence NAK that asks for it came back, so shorter packets behind it arrive`,
        );
      if (this.#answers >= ENOUGH_ANSWERS && this.#length > COMMON_MTU)
        return this.#before(
          names,
          `without any answer, while ${counted(this.#answers, 'answer')} came to packets of up to ${grouped(this.#answered)} bytes`,
          `, or ${receiver.address} died just then`,
        );
    }
    return this.#isTail && this.#lastAsked ? this.#behind(sender, receiver, 'asks for by a sequence NAK') : undefined;
  }

  /** @param sender of the READ responses */
  responseHole(sender: EndReport, receiver: EndReport): BlackHole | undefined {
    if (this.#longPsn === OVER) return this.#late.responseHole(sender, receiver);
    const names = `${sender.address} sent to ${receiver.address} (${qpName(receiver.qpn)}) as the response to a READ`;
    if (this.#isUnanswered && receiver.requester.impliedNaks > 0)
      return this.#before(names, 'and requested again each time, at once when what is shorter had arrived');
    return this.#isTail ? this.#behind(sender, receiver, 'requests again') : undefined;
  }

  get #isUnanswered(): boolean {
    return this.#longPsn < OVER && this.#sent >= ENOUGH_REPEATS;
  }

  get #isTail(): boolean {
    return this.#seen === 0 && this.#lastPsn < OVER && this.#lastSeen >= ENOUGH_REPEATS;
  }

  #before(names: string, why: string, or = ''): BlackHole {
    const either = or === '' ? '' : 'either ';
    return {
      text:
        `The first packet of ${grouped(this.#length)} bytes that ${names} was sent ${times(this.#sent)} ${why}: ` +
        `${either}the path lets no such packet pass${or}.`,
      frames: this.#frames,
      evidence: {
        sign: 'black-hole',
        packetBytes: this.#length,
        sent: this.#sent,
        answeredBytes: this.#answered,
        answers: this.#answers,
        nak: this.#asked ? 'yes' : 'no',
      },
    };
  }

  #behind(sender: EndReport, receiver: EndReport, asks: string): BlackHole {
    return {
      text:
        `Of long messages from ${sender.address} to ${receiver.address} only the last packets get here: one of ` +
        `${grouped(this.#lastLength)} bytes came ${times(this.#lastSeen)}, and never one of the full packets before it, which ` +
        `${receiver.address} ${asks}: the path before this capture point lets none of them pass.`,
      frames: this.#lastFrames,
      evidence: { sign: 'black-hole-behind', packetBytes: this.#lastLength, seen: this.#lastSeen },
    };
  }
}

/** Above every PSN. Once a long packet was answered, nothing can be a hole any more. */
const OVER = Number.POSITIVE_INFINITY;
const FULL = OpFlag.First | OpFlag.Middle;
/** IP packets of this many bytes pass nearly everywhere. */
const COMMON_MTU = 1500;
const ENOUGH_REPEATS = 3;
const ENOUGH_ANSWERS = 4;
