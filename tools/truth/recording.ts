/**
 * What the wire of a run did to every request, and the captures of both hosts.
 *
 * Owns the truth that verdicts of the analyzer are held against. It follows from what the network did to each frame,
 * and from the receiver's rule (ref:wire#8): it takes the packet that it expects and drops what comes early. Knows one
 * direction: requests of one host.
 */
import {
  AETH_AT,
  aethSyndrome,
  Frame,
  FrameStatus,
  Medium,
  OPCODE_FLAGS,
  OpFlag,
  parseFrame,
  psnAdd,
  psnDiff,
  RETH_AT,
  rethDmaLength,
  Syndrome,
} from 'rocev2/packets';
import { type CapturedPacket, Direction, LinkType } from 'rocev2/pcap';

/**
 * What had become of a request that its receiver lacked: the wire lost it, packets sent later overtook it, or it came
 * while the receiver waited for one before it and dropped everything else.
 */
export type Missing = 'lost' | 'overtaken' | 'discarded';

/** A request that a receiver lacked. */
export interface MissingRequest {
  readonly psn: number;
  readonly missing: Missing;
  /** It was overtaken, and then lost as well. */
  readonly both: boolean;
  /** When the receiver noticed, nanoseconds; and when it got it at last, Infinity: never. */
  readonly timeNs: number;
  readonly arrivedNs: number;
  /** Serial of the packet that showed it: of the NAK, or of the first packet behind the gap. */
  readonly shownBy: number;
  /** Serial of the request itself: of the sending that was missing. */
  readonly serial: number;
}

/** The same, as far as it is known. */
interface Lack extends MissingRequest {
  readonly sending: Sending;
  both: boolean;
  arrivedNs: number;
}

/** Serials of the packets of each capture, by their numbers less one. */
export type Serials = Readonly<Record<'requester' | 'middle' | 'responder', readonly number[]>>;

/** What the network did, and what two captures saw of it. */
export interface KnownRun {
  /** All that host A, the requester, sent and received; and the same of host B. */
  readonly requester: readonly CapturedPacket[];
  readonly responder: readonly CapturedPacket[];
  /** For each sequence NAK that was not lost, in order: what had become of the packet that it names. */
  readonly naks: readonly MissingRequest[];
  /** Requests that the responder's wire missed, and what had become of them. */
  readonly gaps: readonly MissingRequest[];
  /**
   * What the middle sees: behind the faults of either host's wire, before those of the responder's port. The truth
   * about it is `naks`.
   */
  readonly middle: readonly CapturedPacket[];
  readonly serials: Serials;
  /** When the responder got a request that it had, and when it sent READ responses; nanoseconds. */
  readonly duplicates: readonly Duplicate[];
  readonly readsAnswered: readonly number[];
  /** ACK timeouts of the requester's queue pair. */
  readonly timeouts: number;
}

/** A request that came to a responder that had it already. */
export interface Duplicate {
  readonly psn: number;
  readonly timeNs: number;
  /** Not the last sending: it came late, or the network doubled it. */
  readonly early: boolean;
  /** The second copy of a frame that the network doubled. */
  readonly copy: boolean;
}

/** One frame at one host. */
export interface SeenFrame {
  readonly timeNs: number;
  readonly bytes: Uint8Array;
  readonly host: 'requester' | 'responder';
  readonly direction: 'out' | 'in';
  /** Sent, and lost on the way; or lost as it came in. */
  readonly dropped: boolean;
  /** It arrives with a wrong ICRC, which its receiver treats as lost. */
  readonly damaged?: boolean;
  /** The same when it is sent and when it arrives. */
  readonly serial: number;
}

/** One sending of a request. */
interface Sending {
  readonly psn: number;
  readonly serial: number;
  dropped: boolean;
  readonly damaged: boolean;
  arrived: boolean;
  /** It is among the gaps. */
  noted: boolean;
}

type Sent = Pick<Required<SeenFrame>, 'dropped' | 'damaged' | 'serial'>;

export class Recording {
  readonly #requester: CapturedPacket[] = [];
  readonly #responder: CapturedPacket[] = [];
  readonly #naks: Lack[] = [];
  readonly #gaps: Lack[] = [];
  readonly #sendings = new Map<number, Sending>();
  /** The first and the last sending by relative PSN. */
  readonly #first = new Map<number, Sending>();
  readonly #last = new Map<number, Sending>();
  /** Relative PSNs of which any sending has arrived. */
  readonly #arrivedOnce = new Set<number>();
  readonly #middle: CapturedPacket[] = [];
  readonly #serials = { requester: [] as number[], middle: [] as number[], responder: [] as number[] };
  readonly #duplicates: Duplicate[] = [];
  readonly #readsAnswered: number[] = [];
  #firstPsn: number;
  #now = 0;
  readonly #frame = new Frame();
  /** What had become of a request when the receiver missed it. */
  readonly #missed = new Map<number, { readonly missing: Missing; readonly sending: Sending }>();
  /** Those that have not arrived yet. */
  #lacking: Lack[] = [];
  /** The PSN behind the last that arrived, and the one that the receiver waits for. */
  #seen = 0;
  #expected = 0;

  /** @param firstPsn of the requester; default that of the first request */
  constructor(firstPsn = -1) {
    this.#firstPsn = firstPsn;
  }

  /** Takes the next frame. */
  frame(seen: SeenFrame): void {
    const { timeNs, bytes, host, direction, dropped, serial } = seen;
    // Nothing saw it behind the place where it was lost.
    if (direction === 'in' && dropped && this.#sendings.get(serial)?.dropped === true) return;
    if (host === 'responder') {
      capture(this.#middle, timeNs, bytes, Direction.Unknown);
      this.#serials.middle.push(serial);
    }
    if (direction === 'out' || !dropped) {
      const into = host === 'requester' ? this.#requester : this.#responder;
      capture(into, timeNs, bytes, direction === 'out' ? Direction.Outbound : Direction.Inbound);
      this.#serials[host].push(serial);
    }
    this.#note(seen, (host === 'requester') === (direction === 'out'));
  }

  /** @param timeouts of the requester's queue pair */
  result(timeouts: number): KnownRun {
    return {
      timeouts,
      requester: this.#requester,
      responder: this.#responder,
      middle: this.#middle,
      serials: this.#serials,
      naks: this.#naks,
      gaps: this.#gaps,
      duplicates: this.#duplicates,
      readsAnswered: this.#readsAnswered,
    };
  }

  #note({ timeNs, bytes, direction, damaged = false, serial, ...seen }: SeenFrame, forward: boolean): void {
    const dropped = seen.dropped || damaged;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (damaged && direction === 'in') return;
    if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, this.#frame) !== FrameStatus.Ok) return;
    const { opcode, psn, bthOffset } = this.#frame;
    if (opcode >= RC_OPCODES) return;
    this.#now = timeNs;
    const flags = OPCODE_FLAGS[opcode] ?? 0;
    if (this.#firstPsn < 0 && forward && (flags & OpFlag.Request) !== 0) this.#firstPsn = psn;
    const relative = this.#relative(psn);
    if (forward && (flags & OpFlag.Request) !== 0) {
      const reads = (flags & OpFlag.Read) !== 0;
      const length = reads ? rethDmaLength(view, bthOffset + (RETH_AT[opcode] ?? 0)) : 0;
      const count = Math.max(1, Math.ceil(length / MTU));
      if (direction === 'out') this.#sent(relative, count, { dropped, damaged, serial });
      else this.#arrived(relative, count, dropped, serial);
    } else if (!forward && direction === 'out' && !dropped) this.#answered(view, relative, opcode, bthOffset, serial);
  }

  #answered(view: DataView, psn: number, opcode: number, bthOffset: number, serial: number): void {
    const flags = OPCODE_FLAGS[opcode] ?? 0;
    if ((flags & OpFlag.ReadResponse) !== 0) this.#readsAnswered.push(this.#now);
    if ((flags & OpFlag.Ack) === 0) return;
    if (aethSyndrome(view, bthOffset + (AETH_AT[opcode] ?? 0)) === Syndrome.NakSequence) this.#nak(psn, serial);
  }

  #sent(psn: number, count: number, { dropped, damaged, serial }: Sent): void {
    const sending = { psn, serial, dropped, damaged, arrived: false, noted: false };
    this.#sendings.set(serial, sending);
    for (let at = psn; at < psn + count; at++) {
      if (!this.#first.has(at)) this.#first.set(at, sending);
      this.#last.set(at, sending);
    }
  }

  #arrived(psn: number, count: number, dropped: boolean, serial: number): void {
    const sending = this.#sendings.get(serial);
    if (sending === undefined) return;
    if (dropped) {
      sending.dropped = true;
      for (const lack of this.#lacking) if (lack.sending === sending) lack.both = lack.missing === 'overtaken';
      return;
    }
    const copy = sending.arrived;
    const early = sending !== this.#last.get(psn);
    if (psn < this.#expected) this.#duplicates.push({ psn: this.#absolute(psn), timeNs: this.#now, early, copy });
    if (copy) return;
    sending.arrived = true;
    for (let at = psn; at < psn + count; at++) this.#arrivedOnce.add(at);
    for (let at = this.#seen; at < psn; at++) {
      const first = this.#first.get(at);
      if (first?.psn === at) this.#gaps.push(this.#lack(at, first.dropped ? 'lost' : 'overtaken', first, serial));
    }
    this.#seen = Math.max(this.#seen, psn + count);
    if (psn === this.#expected) this.#inOrder(psn, count);
    else if (psn > this.#expected) this.#miss(this.#expected, serial);
  }

  /** The receiver asks once; when it is asked again, that is about another sending. */
  #miss(psn: number, serial: number): void {
    const sending = this.#last.get(psn);
    if (sending === undefined || this.#missed.has(psn)) return;
    const there: Missing = sending.arrived ? 'discarded' : 'overtaken';
    const missing = sending.dropped ? 'lost' : there;
    this.#missed.set(psn, { missing, sending });
    // An earlier sending has come, and was dropped; what is missing is its retransmission.
    if (missing === 'discarded' || sending.noted || !this.#arrivedOnce.has(psn)) return;
    sending.noted = true;
    this.#gaps.push(this.#lack(psn, missing, sending, serial));
  }

  #nak(psn: number, serial: number): void {
    const missed = this.#missed.get(psn);
    if (missed === undefined) return;
    this.#missed.delete(psn);
    this.#naks.push(this.#lack(psn, missed.missing, missed.sending, serial));
  }

  #lack(psn: number, missing: Missing, sending: Sending, shownBy: number): Lack {
    const both = missing === 'overtaken' && sending.dropped;
    const times = { timeNs: this.#now, arrivedNs: Infinity };
    const { serial } = sending;
    const lack = { psn: this.#absolute(psn), missing, sending, both, shownBy, serial, ...times };
    this.#lacking.push(lack);
    return lack;
  }

  /** What the receiver waits for has come. */
  #inOrder(psn: number, count: number): void {
    this.#expected = psn + count;
    const expected = this.#absolute(this.#expected);
    for (const lack of this.#lacking)
      if (psnDiff(lack.psn, expected) < 0) lack.arrivedNs = Math.min(lack.arrivedNs, this.#now);
    // A sending that is late may still get lost.
    this.#lacking = this.#lacking.filter(({ arrivedNs }) => arrivedNs > this.#now - LONGEST_DELAY_NS);
  }

  /** PSNs counted from the first; runs are short against half of the number space. */
  #relative(psn: number): number {
    return psnDiff(psn, this.#firstPsn);
  }

  #absolute(relative: number): number {
    return psnAdd(this.#firstPsn, relative);
  }
}

function capture(into: CapturedPacket[], timeNs: number, bytes: Uint8Array, direction: Direction): void {
  into.push(packetOf(timeNs, bytes, direction, into.length + 1));
}

/** A frame as a capture has it. */
export function packetOf(timeNs: number, bytes: Uint8Array, direction: Direction, number: number): CapturedPacket {
  return {
    number,
    seconds: Math.floor(timeNs / 1e9),
    nanoseconds: timeNs % 1e9,
    bytes,
    originalLength: bytes.length,
    linkType: LinkType.Ethernet,
    interfaceIndex: 0,
    direction,
    comments: [],
  };
}

const LONGEST_DELAY_NS = 10_000_000;
/** Payload of a full packet on a stage. */
const MTU = 1024;
/** Opcodes of reliable connections are below. */
export const RC_OPCODES = 0x20;
