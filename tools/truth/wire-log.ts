/**
 * Every frame of a run, and what the network did to it.
 *
 * Owns the identity of a frame, by which another run can give the same fate to the same frame: who sends it, and its
 * place among all that this host sends.
 */
import { ETHERNET_BYTES, IPV4_BYTES, IPV6_BYTES, UDP_BYTES } from 'rocev2/packets/network';
import { Fate } from 'rocev2/sim';

/** A frame somewhere on its way. */
export interface PassingFrame {
  readonly timeNs: number;
  readonly bytes: Uint8Array;
}

/** What the network does to a frame. */
export interface FrameFate {
  /** Where it is lost: before the middle or behind. */
  readonly lost?: 'before' | 'behind';
  /** By how much it comes late, before the middle and behind, nanoseconds. */
  readonly lateNs?: number;
  readonly lateBehindNs?: number;
  /** A second copy follows. */
  readonly doubled?: boolean;
}

/** A frame as it was sent. */
export interface SentFrame extends PassingFrame {
  readonly fate: FrameFate;
  /** When it came, or would have come; NaN: not by the end of the run. */
  readonly arrivedNs: number;
}

/** Fates by the place of the frame among all that its host sends, from 0; of others nothing is known. */
export type Fates = ReadonlyMap<number, FrameFate>;

/** The frames of two hosts, in the order in which they were sent. */
export class WireLog {
  readonly requests: SentFrame[] = [];
  readonly answers: SentFrame[] = [];
  /** What passed the middle on the way to the responder. */
  readonly passed: PassingFrame[] = [];
  /** Place of a request by its serial. */
  readonly places = new Map<number, number>();
  readonly #bySerial = new Map<number, SentFrame & { fate: FrameFate; arrivedNs: number }>();

  readonly #lateNs: number;

  /** @param lateNs by how much this network delays what is late */
  constructor(lateNs: number) {
    this.#lateNs = lateNs;
  }

  /** Takes a frame from the tap of a network. */
  frame(timeNs: number, isRequest: boolean, direction: 'out' | 'in', bytes: Uint8Array, fate: number, serial: number) {
    if (direction === 'out') {
      const sent = { timeNs, bytes, fate: this.#fateOf(fate), arrivedNs: Number.NaN };
      this.#bySerial.set(serial, sent);
      if (isRequest) this.places.set(serial, this.requests.length);
      (isRequest ? this.requests : this.answers).push(sent);
      return;
    }
    const sent = this.#bySerial.get(serial);
    if (sent === undefined) return;
    if (Number.isNaN(sent.arrivedNs)) sent.arrivedNs = timeNs;
    if (sent.fate.lost === 'before') return;
    if (isRequest) this.passed.push({ timeNs, bytes });
    if ((fate & Fate.Dropped) !== 0) sent.fate = { ...sent.fate, lost: 'behind' };
  }

  /** What was done to requests. */
  get fates(): Fates {
    const all = this.requests.map(({ fate }, place) => [place, fate] as const);
    return new Map(all.filter(([, fate]) => Object.keys(fate).length > 0));
  }

  #fateOf(fate: number): FrameFate {
    return {
      ...((fate & Fate.Dropped) !== 0 && { lost: 'before' }),
      ...((fate & Fate.Delayed) !== 0 && { lateNs: this.#lateNs }),
      ...((fate & Fate.Duplicated) !== 0 && { doubled: true }),
    };
  }
}

/** The BTH opcode of a frame of a run. */
export function opcodeOf(frame: Uint8Array): number {
  return frame[ETHERNET_BYTES + (isIpv4(frame) ? IPV4_BYTES : IPV6_BYTES) + UDP_BYTES] ?? -1;
}

/** Whether a frame of a run is of IPv4. */
export function isIpv4(frame: Uint8Array): boolean {
  return frame[ETHERNET_BYTES] === IPV4_VERSION;
}

const IPV4_VERSION = 0x45;
