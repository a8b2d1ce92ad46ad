/**
 * Frames that an interface shows twice, counted without knowing what they are to their conversation.
 *
 * Owns one table for each interface, in which a newer frame takes the place of an older one. Only packets with data or
 * requests count: ACKs and CNPs are the same bytes again by right. Allocates nothing per packet.
 */
import { OpFlag } from '../../../packets/opcode.ts';
import { type PacketFacts, Role } from '../facts.ts';

/** Of one interface. */
export class FrameEchoes {
  /** Frames that count, second sightings included, and these. */
  frames = 0;
  echoes = 0;
  /** The longest time between two sightings. */
  longestNs = 0;
  /** Packets that are second sightings, the first few. */
  readonly examples: number[] = [];
  readonly #keys = new Int32Array(SLOTS);
  readonly #times = new Float64Array(SLOTS).fill(Number.NEGATIVE_INFINITY);

  packet({ role, dissection, timeNs, packet, conversation }: PacketFacts): void {
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
    const slot = (key >>> 16) & (SLOTS - 1);
    const passed = timeNs - (this.#times[slot] as number);
    if (this.#keys[slot] === key && passed >= 0 && passed <= ECHO_NS) {
      this.echoes++;
      if (passed > this.longestNs) this.longestNs = passed;
      if (this.examples.length < MOST_EXAMPLES) this.examples.push(packet.number);
      // A third sighting is one again, of a new frame.
      this.#times[slot] = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#keys[slot] = key;
    this.#times[slot] = timeNs;
  }
}

const SLOTS = 1024;
const MOST_EXAMPLES = 5;
/** A mirror shows a frame again within this; a requester sends one again after a timeout. */
const ECHO_NS = 100_000;
