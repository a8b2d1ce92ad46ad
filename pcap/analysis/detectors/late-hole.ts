/**
 * A black hole that begins midway: long packets passed before, and from some packet on none does.
 *
 * Owns the evidence for one stream of packets, requests of an end or READ responses, once a long one has arrived:
 * - captured before the hole: a full packet is sent again three times or more and never answered, the receiver has
 *   asked for it (a sequence NAK after shorter packets behind it, or an implied one for READ responses), and no other
 *   full packet ever had to be sent again. A path that loses packets now and then, or more and more, is no hole;
 * - captured behind the hole: a short packet comes again three times or more, the receiver asks for what is before it,
 *   and no full packet comes any more. Of READ responses it is the last one of its message.
 */
import { OpFlag } from '../../../packets/opcode.ts';
import { Mark, type PacketFacts } from '../facts.ts';
import type { EndReport } from '../types.ts';
import { FrameList } from './frame-list.ts';
import { grouped, times } from './words.ts';

/** A finding without what it shares with others. */
export interface BlackHole {
  readonly text: string;
  readonly frames: FrameList;
  readonly evidence: Readonly<Record<string, number | string>>;
}

export class LateHole {
  /** The first full packet that was sent again and has not arrived since, and how often it was. */
  #fullPsn = Number.NaN;
  #fullAgain = 0;
  #fullLength = 0;
  readonly #fullFrames = new FrameList();
  /** Other full packets that were sent again, and arrived. */
  #recovered = 0;
  /** The LAST packet that comes again, since a full packet came. */
  #tailPsn = Number.NaN;
  #tailAgain = 0;
  #tailLength = 0;
  /** It ends a message that began before it. */
  #isLast = false;
  readonly #tailFrames = new FrameList();
  /** PSN of the last short packet. */
  #shortPsn = Number.NEGATIVE_INFINITY;
  /** What a sequence NAK asks for, and whether a short packet behind it may have drawn that. */
  #askedPsn = Number.NaN;
  #askedAfterShort = false;

  /** A packet of the stream, which is no copy. @param isLong whether it is one that a hole swallows */
  sent({ marks, relativePsn, packet, dissection: { frame } }: PacketFacts, isLong: boolean): void {
    const isRepeated = (marks & Mark.Retransmission) !== 0;
    if (isLong) this.#tailPsn = Number.NaN;
    else this.#shortPsn = relativePsn;
    if (!isRepeated) return;
    const length = frame.ipEnd - frame.ipOffset;
    if (!isLong && !(relativePsn > this.#tailPsn)) {
      if (relativePsn !== this.#tailPsn) {
        this.#isLast = (frame.flags & OpFlag.Last) !== 0;
        this.#tailPsn = relativePsn;
        this.#tailAgain = 0;
        this.#tailLength = length;
        this.#tailFrames.clear();
      }
      this.#tailAgain++;
      this.#tailFrames.add(packet.number);
    } else if (isLong && !(relativePsn > this.#fullPsn)) {
      if (relativePsn !== this.#fullPsn) {
        this.#fullPsn = relativePsn;
        this.#fullAgain = 0;
        this.#fullLength = length;
        this.#fullFrames.clear();
      }
      this.#fullAgain++;
      this.#fullFrames.add(packet.number);
    }
  }

  /** A sequence NAK asks for this PSN. */
  asked(relativePsn: number): void {
    this.#askedPsn = relativePsn;
    this.#askedAfterShort = this.#shortPsn > relativePsn;
  }

  /** All up to this PSN has arrived. */
  arrived(relativePsn: number): void {
    if (relativePsn >= this.#fullPsn) {
      this.#recovered++;
      this.#fullPsn = Number.NaN;
    }
    if (relativePsn >= this.#tailPsn) this.#tailPsn = Number.NaN;
    if (relativePsn >= this.#askedPsn) this.#askedPsn = Number.NaN;
  }

  requestHole(sender: EndReport, receiver: EndReport): BlackHole | undefined {
    if (this.#isTail && this.#askedPsn < this.#tailPsn)
      return this.#behind(sender, receiver, 'asks for by a sequence NAK');
    return this.#isFull && this.#askedPsn === this.#fullPsn && this.#askedAfterShort
      ? this.#before(sender, receiver, `after ${receiver.address} had asked for it by a sequence NAK`)
      : undefined;
  }

  responseHole(sender: EndReport, receiver: EndReport): BlackHole | undefined {
    if (this.#isTail && this.#isLast) return this.#behind(sender, receiver, 'requests again');
    return this.#isFull && receiver.requester.impliedNaks >= ENOUGH_REPEATS
      ? this.#before(sender, receiver, `as ${receiver.address} requested the response to its READ again each time`)
      : undefined;
  }

  get #isFull(): boolean {
    return !Number.isNaN(this.#fullPsn) && this.#fullAgain >= ENOUGH_REPEATS && this.#recovered === 0;
  }

  get #isTail(): boolean {
    return !Number.isNaN(this.#tailPsn) && this.#tailAgain >= ENOUGH_REPEATS;
  }

  #before(sender: EndReport, receiver: EndReport, why: string): BlackHole {
    return {
      text:
        `Long packets from ${sender.address} to ${receiver.address} passed, and now do not: one of ${grouped(this.#fullLength)} bytes was sent again ` +
        `${times(this.#fullAgain)} in vain, ${why}: either the path lets no such packet pass any more, or nothing at all since then.`,
      frames: this.#fullFrames,
      evidence: { sign: 'black-hole-midway', packetBytes: this.#fullLength, sent: this.#fullAgain },
    };
  }

  #behind(sender: EndReport, receiver: EndReport, asks: string): BlackHole {
    return {
      text:
        `Long packets from ${sender.address} to ${receiver.address} got here, and now do not: one of ${grouped(this.#tailLength)} bytes ` +
        `came again ${times(this.#tailAgain)}, and none of the full packets before it, which ${receiver.address} ${asks}: the path before this ` +
        `capture point lets none of them pass any more.`,
      frames: this.#tailFrames,
      evidence: { sign: 'black-hole-midway', packetBytes: this.#tailLength, seen: this.#tailAgain },
    };
  }
}

const ENOUGH_REPEATS = 3;
