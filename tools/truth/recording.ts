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
import { Fate, type SimulatedNetwork } from 'rocev2/sim';

/**
 * What had become of a request that its receiver lacked: the wire lost it, packets sent later overtook it, or it came
 * while the receiver waited for one before it and dropped everything else.
 */
export type Missing = 'lost' | 'overtaken' | 'discarded';

/** A request that a receiver lacked. */
export interface MissingRequest {
  readonly psn: number;
  readonly missing: Missing;
}

/** What the network did, and what two captures saw of it. */
export interface KnownRun {
  /** All that host A, the requester, sent and received; and the same of host B. */
  readonly requester: readonly CapturedPacket[];
  readonly responder: readonly CapturedPacket[];
  /** For each sequence NAK that was not lost, in order: what had become of the packet that it names. */
  readonly naks: readonly MissingRequest[];
  /** Requests that the responder's wire missed, and what had become of them. */
  readonly gaps: readonly MissingRequest[];
}

/** One sending of a request. */
interface Sending {
  readonly psn: number;
  readonly dropped: boolean;
  arrived: boolean;
  /** It is among the gaps. */
  noted: boolean;
}

export class Recording {
  readonly #requester: CapturedPacket[] = [];
  readonly #responder: CapturedPacket[] = [];
  readonly #naks: MissingRequest[] = [];
  readonly #gaps: MissingRequest[] = [];
  readonly #sendings = new Map<number, Sending>();
  /** The first and the last sending by relative PSN. */
  readonly #first = new Map<number, Sending>();
  readonly #last = new Map<number, Sending>();
  readonly #firstPsn: number;
  readonly #frame = new Frame();
  /** What had become of a request when the receiver missed it. */
  readonly #missed = new Map<number, Missing>();
  /** The PSN behind the last that arrived, and the one that the receiver waits for. */
  #seen = 0;
  #expected = 0;

  constructor(network: SimulatedNetwork, firstPsn: number, requester: string, responder: string) {
    this.#firstPsn = firstPsn;
    network.tap = {
      frame: (now, { name }, direction, bytes, start, end, fate, serial) => {
        const dropped = (fate & Fate.Dropped) !== 0;
        if (direction === 'in' && dropped) return;
        const copy = bytes.slice(start, end);
        capture(name === requester ? this.#requester : this.#responder, now, copy, direction);
        this.#note(copy, name === (direction === 'out' ? requester : responder), direction, dropped, serial);
      },
    };
  }

  result(): KnownRun {
    return { requester: this.#requester, responder: this.#responder, naks: this.#naks, gaps: this.#gaps };
  }

  #note(bytes: Uint8Array, forward: boolean, direction: 'out' | 'in', dropped: boolean, serial: number): void {
    const view = new DataView(bytes.buffer);
    if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, this.#frame) !== FrameStatus.Ok) return;
    const { opcode, psn, bthOffset } = this.#frame;
    const flags = OPCODE_FLAGS[opcode] ?? 0;
    const relative = this.#relative(psn);
    if (forward && (flags & OpFlag.Request) !== 0) {
      const reads = (flags & OpFlag.Read) !== 0;
      const length = reads ? rethDmaLength(view, bthOffset + (RETH_AT[opcode] ?? 0)) : 0;
      const count = Math.max(1, Math.ceil(length / MTU));
      if (direction === 'out') this.#sent(relative, count, dropped, serial);
      else this.#arrived(relative, count, serial);
    } else if (!forward && direction === 'out' && !dropped && (flags & OpFlag.Ack) !== 0) {
      if (aethSyndrome(view, bthOffset + (AETH_AT[opcode] ?? 0)) === Syndrome.NakSequence) this.#nak(relative);
    }
  }

  #sent(psn: number, count: number, dropped: boolean, serial: number): void {
    const sending = { psn, dropped, arrived: false, noted: false };
    this.#sendings.set(serial, sending);
    for (let at = psn; at < psn + count; at++) {
      if (!this.#first.has(at)) this.#first.set(at, sending);
      this.#last.set(at, sending);
    }
  }

  #arrived(psn: number, count: number, serial: number): void {
    const sending = this.#sendings.get(serial);
    if (sending === undefined || sending.arrived) return;
    sending.arrived = true;
    for (let at = this.#seen; at < psn; at++) {
      const first = this.#first.get(at);
      if (first?.psn === at)
        this.#gaps.push({ psn: this.#absolute(at), missing: first.dropped ? 'lost' : 'overtaken' });
    }
    this.#seen = Math.max(this.#seen, psn + count);
    if (psn === this.#expected) this.#expected = psn + count;
    else if (psn > this.#expected) this.#miss(this.#expected);
  }

  /** The receiver asks once; when it is asked again, that is about another sending. */
  #miss(psn: number): void {
    const sending = this.#last.get(psn);
    if (sending === undefined || this.#missed.has(psn)) return;
    const there: Missing = sending.arrived ? 'discarded' : 'overtaken';
    const missing = sending.dropped ? 'lost' : there;
    this.#missed.set(psn, missing);
    // Its first sending has come, and was dropped; what is missing is its retransmission.
    if (missing === 'discarded' || sending.noted || this.#first.get(psn)?.arrived !== true) return;
    sending.noted = true;
    this.#gaps.push({ psn: this.#absolute(psn), missing });
  }

  #nak(psn: number): void {
    const missing = this.#missed.get(psn);
    if (missing === undefined) return;
    this.#missed.delete(psn);
    this.#naks.push({ psn: this.#absolute(psn), missing });
  }

  /** PSNs counted from the first; runs are short against half of the number space. */
  #relative(psn: number): number {
    return psnDiff(psn, this.#firstPsn);
  }

  #absolute(relative: number): number {
    return psnAdd(this.#firstPsn, relative);
  }
}

function capture(into: CapturedPacket[], timeNs: number, bytes: Uint8Array, direction: 'out' | 'in'): void {
  into.push({
    number: into.length + 1,
    seconds: Math.floor(timeNs / 1e9),
    nanoseconds: timeNs % 1e9,
    bytes,
    originalLength: bytes.length,
    linkType: LinkType.Ethernet,
    interfaceIndex: 0,
    direction: direction === 'out' ? Direction.Outbound : Direction.Inbound,
    comments: [],
  });
}

/** Payload of a full packet on a stage. */
const MTU = 1024;
