/**
 * Frames that an interface shows twice, counted without knowing what they are to their conversation.
 *
 * Owns one table for each interface, in which a newer frame takes the place of an older one. Only packets with data or
 * requests count: ACKs and CNPs are the same bytes again by right. Allocates nothing per packet.
 */
import { OpFlag } from '../../../packets/opcode.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';

/** Of one interface. */
export class FrameEchoes {
  /** Frames that count, second sightings included, and these. */
  frames = 0;
  echoes = 0;
  /** The longest time between two sightings. */
  longestNs = 0;
  /** Packets that are second sightings, the first few. */
  readonly examples: number[] = [];
  /** Second sightings later than that, and third ones: of what is sent again and again. */
  lateEchoes = 0;
  /** Of these, known to be no retransmissions. */
  lateCopies = 0;
  thirds = 0;
  shortestLateNs = Number.POSITIVE_INFINITY;
  longestLateNs = 0;
  readonly lateExamples: number[] = [];
  readonly #keys = new Int32Array(SLOTS);
  readonly #times = new Float64Array(SLOTS).fill(Number.NEGATIVE_INFINITY);
  /** 1 where the frame has come again late. */
  readonly #again = new Uint8Array(SLOTS);

  packet({ role, dissection, timeNs, packet, conversation, marks }: PacketFacts): void {
    const { frame, cut, ipId, icrcValue } = dissection;
    if (role === Role.Cnp || role === Role.None || (frame.flags & OpFlag.Ack) !== 0) return;
    this.frames++;
    const icrc = cut ? frame.opcode : icrcValue;
    // Tenants may send the same frames, each in a network of its own.
    const id = (frame.ipVersion === 4 ? ipId : 0) ^ Math.imul(conversation?.id ?? 0, 0x27d4_eb2f);
    const key = Math.imul(
      icrc ^ Math.imul(frame.psn, 0x9e37_79b1) ^ Math.imul(frame.destQpn + id, 0x85eb_ca6b),
      0xc2b2_ae35,
    );
    const slot = (key >>> 15) & (SLOTS - 1);
    const passed = timeNs - (this.#times[slot] as number);
    if (this.#keys[slot] === key && passed >= 0 && passed <= ECHO_NS) {
      this.echoes++;
      if (passed > this.longestNs) this.longestNs = passed;
      if (this.examples.length < MOST_EXAMPLES) this.examples.push(packet.number);
      // A third sighting is one again, of a new frame.
      this.#times[slot] = Number.NEGATIVE_INFINITY;
      return;
    }
    const isLate = this.#keys[slot] === key && passed > 0 && passed <= LATE_ECHO_NS;
    if (isLate) this.#late(slot, passed, packet.number, (marks & Mark.Copy) !== 0);
    this.#again[slot] = isLate ? 1 : 0;
    this.#keys[slot] = key;
    this.#times[slot] = timeNs;
  }

  #late(slot: number, passed: number, frame: number, isCopy: boolean): void {
    if (this.#again[slot] === 1) {
      this.thirds++;
      return;
    }
    this.lateEchoes++;
    if (isCopy) this.lateCopies++;
    this.shortestLateNs = Math.min(this.shortestLateNs, passed);
    this.longestLateNs = Math.max(this.longestLateNs, passed);
    if (this.lateExamples.length < MOST_EXAMPLES) this.lateExamples.push(frame);
  }
}

const SLOTS = 4096;
const MOST_EXAMPLES = 5;
/** A mirror shows a frame again within this; a requester sends one again after a timeout. */
const ECHO_NS = 100_000;
/** A mirror with deep queues may take so long, and so does a requester with a short timeout. */
const LATE_ECHO_NS = 5_000_000;
