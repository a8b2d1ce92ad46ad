/**
 * What happened between two interfaces of one capture: finds each frame that came in on one of them again where it left
 * on the other.
 *
 * It needs captures that record the direction of frames: those of a bump in the wire (in on one side, out on the
 * other), and merged captures of both ends of a wire (out here, in there). The first frame that is found twice shows
 * which of the two it is: it came before it left. A frame is identified by everything that routers and switches leave
 * unchanged (not MAC addresses, TTL, traffic class, checksums). `path-matcher.ts` matches frames that were changed.
 * Comments in the capture are not used.
 *
 * Owns the choice which interface is which end. Never looks at PSNs.
 */
import { ECN_MASK } from '../../../packets/traffic-class.ts';
import { Direction } from '../../types.ts';
import type { PacketFacts } from '../facts.ts';
import type { PathReport } from '../types.ts';
import { frameKey } from './frame-key.ts';
import { type CapturedFrame, PathMatcher } from './path-matcher.ts';

export interface PathComparerOptions {
  /** Events kept for each path; default 100,000. */
  readonly maxEvents?: number;
}

/** What it needs to know of a packet. */
type PathFacts = Pick<PacketFacts, 'packet' | 'timeNs' | 'dissection' | 'icrc'>;

/** Compares interfaces of one capture. */
export class PathComparer {
  readonly #maxEvents: number;
  readonly #paths = new Map<number, PathMatcher>();
  /** Frames without a match so far, by interface and direction, until it is known which direction comes first. */
  readonly #early: CapturedFrame[] = [];
  /** The direction in which frames come, to the interface where they come. */
  #coming: Direction = Direction.Unknown;
  /** Nothing was found again for so long that this is no capture of two ends. */
  #gaveUp = false;
  /** Interfaces that have shown a direction. */
  readonly #interfaces = new Set<number>();

  constructor(options: PathComparerOptions = {}) {
    this.#maxEvents = options.maxEvents ?? 100_000;
  }

  /** Takes the next packet; those that say no direction are passed over. */
  packet(facts: PathFacts): void {
    if (this.#gaveUp || facts.dissection.direction === Direction.Unknown) return;
    this.#interfaces.add(facts.packet.interfaceIndex);
    const known = this.#coming !== Direction.Unknown;
    // With more than two interfaces it is unknown which ends belong together.
    if (known && this.#interfaces.size !== 2) return;
    const captured = capturedFrame(facts);
    if (known) this.#take(captured);
    else this.#learn(captured);
  }

  /** One report for each way that frames were seen to go. */
  finish(): PathReport[] {
    return [...this.#paths.values()].map((path) => path.report());
  }

  /** Waits for the first frame that is found again. */
  #learn(captured: CapturedFrame): void {
    const twice = this.#interfaces.size > 1;
    const earlier = twice ? this.#early.find((other) => isAgain(other, captured)) : undefined;
    this.#early.push(captured);
    if (earlier !== undefined) {
      this.#coming = earlier.direction;
      for (const waiting of this.#early.splice(0)) this.#take(waiting);
    } else if (this.#early.length > MOST_EARLY) {
      this.#gaveUp = true;
      this.#early.length = 0;
    }
  }

  #take(captured: CapturedFrame): void {
    if (this.#interfaces.size < 2) return;
    if (captured.direction === this.#coming) {
      for (const to of this.#interfaces) {
        if (to !== captured.interfaceIndex && this.#interfaces.size === 2)
          this.#path(captured.interfaceIndex, to).addIngress(captured);
      }
      return;
    }
    for (const from of this.#interfaces) {
      if (from !== captured.interfaceIndex && this.#interfaces.size === 2)
        this.#path(from, captured.interfaceIndex).addEgress(captured);
    }
  }

  #path(from: number, to: number): PathMatcher {
    const key = from * 0x1_00_00 + to;
    let path = this.#paths.get(key);
    if (path === undefined) {
      path = new PathMatcher(from, to, this.#maxEvents);
      this.#paths.set(key, path);
    }
    return path;
  }
}

function isAgain(one: CapturedFrame, other: CapturedFrame): boolean {
  return one.key === other.key && one.direction !== other.direction && one.interfaceIndex !== other.interfaceIndex;
}

function capturedFrame({ packet, timeNs, dissection, icrc }: PathFacts): CapturedFrame {
  const { frame } = dissection;
  const ipOffset = frame.ipOffset < 0 ? -1 : frame.ipOffset - frame.start;
  return {
    number: packet.number,
    timeNs,
    interfaceIndex: packet.interfaceIndex,
    direction: dissection.direction,
    key: frameKey(packet.bytes, ipOffset, frame.ipVersion),
    // The reader may use its memory again.
    bytes: packet.bytes.slice(),
    ipOffset,
    ipVersion: frame.ipVersion,
    ecn: frame.ipVersion === 0 ? -1 : frame.trafficClass & ECN_MASK,
    icrc,
  };
}

/** Frames kept until the first is found again; then none is waited for any more. */
const MOST_EARLY = 4096;
