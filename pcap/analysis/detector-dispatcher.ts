/**
 * Hands each packet to the detectors that need packets of its kind.
 *
 * Owns the list of detectors by kind of packet, and when the lists are rebuilt: the interest of a detector may change.
 */
import type { Detector } from './detector.ts';
import type { PacketFacts } from './facts.ts';
import { ALL_KINDS, PacketKind, packetKind } from './packet-kind.ts';

type PacketDetector = Detector & Required<Pick<Detector, 'packet'>>;

/** A detector and its method: to find the method of one object among many classes takes longer than to call it. */
interface Listener {
  readonly detector: PacketDetector;
  readonly packet: PacketDetector['packet'];
}

export class DetectorDispatcher {
  readonly #all: readonly PacketDetector[];
  /** By kind; the order is always that of `#all`. */
  readonly #byKind: Listener[][];
  /** The interest of each of `#all` when the lists were built. */
  readonly #interests: number[];
  /** Packets until the interests are read again, as some may be smaller. */
  #untilUpdate = 1;

  constructor(detectors: readonly Detector[]) {
    this.#all = detectors.filter(looksAtPackets);
    this.#interests = this.#all.map(() => 0);
    this.#byKind = Array.from({ length: ALL_KINDS + 1 }, () => []);
    this.updateInterests();
  }

  /** Hands a packet to the detectors whose interest includes its kind. */
  packet(facts: PacketFacts): void {
    const kind = packetKind(facts);
    const listeners = this.#byKind[kind] as Listener[];
    // By index: an iterator for each packet is not free.
    for (let i = 0; i < listeners.length; i++) {
      const { detector, packet } = listeners[i] as Listener;
      packet.call(detector, facts);
    }
    if ((kind & RARE) !== 0 || --this.#untilUpdate === 0) this.updateInterests();
  }

  /** Reads the interest of every detector again; needed after events. */
  updateInterests(): void {
    this.#untilUpdate = PACKETS_BETWEEN;
    let changed = false;
    for (let i = 0; i < this.#all.length; i++) {
      const interest = this.#all[i]?.interest ?? ALL_KINDS;
      if (this.#interests[i] === interest) continue;
      this.#interests[i] = interest;
      changed = true;
    }
    if (!changed) return;
    for (let kind = 1; kind <= ALL_KINDS; kind <<= 1) {
      const interested = this.#all.filter((_, i) => ((this.#interests[i] ?? 0) & kind) !== 0);
      this.#byKind[kind] = interested.map((detector) => ({ detector, packet: detector.packet }));
    }
  }
}

function looksAtPackets(detector: Detector): detector is PacketDetector {
  return detector.packet !== undefined;
}

/** Kinds after which interests are read at once. */
const RARE = PacketKind.Other | PacketKind.Management;
const PACKETS_BETWEEN = 1024;
