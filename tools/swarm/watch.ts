/**
 * What is seen on the wire of a run: a digest of every frame, the ICRC of each that an honest host sends, what goes to
 * the attacker, the newest frames for a ladder, and what an attacker on the path would know. Owns no verdict but
 * `problems`.
 */
import {
  CRC32_INITIAL,
  crc32Update,
  Frame,
  FrameStatus,
  icrcMatches,
  Medium,
  OpFlag,
  parseFrame,
} from 'rocev2/packets';
import { Fate, type NetworkTap, type SimulatedPort } from 'rocev2/sim';
import { LadderReader, type LadderStep, StepMark } from '../ladder/index.ts';
import { ATTACKER_MAC, type Sight } from './intruder.ts';

interface Passed {
  readonly timeNs: number;
  readonly from: string;
  readonly fate: number;
  readonly bytes: Uint8Array;
}

export class Watch implements NetworkTap, Sight {
  readonly problems: string[] = [];
  /** Bytes and frames that honest hosts have sent to the attacker's MAC address. */
  readonly toAttacker = { frames: 0, bytes: 0 };
  /** Frames of honest hosts for replays; empty unless `keep`. */
  readonly frames: Uint8Array[] = [];
  readonly #keep: boolean;
  readonly #requests = new Map<number, number>();
  readonly #answers = new Map<number, number>();
  readonly #newest: Passed[] = [];
  readonly #frame = new Frame();
  #digest = CRC32_INITIAL;
  #kept = 0;

  /** `keep`: the attacker may replay what it has seen. */
  constructor(keep: boolean) {
    this.#keep = keep;
  }

  /** Follows from every byte sent, in order. */
  get digest(): string {
    return (~this.#digest >>> 0).toString(16).padStart(8, '0');
  }

  request(qpn: number): number | undefined {
    return this.#requests.get(qpn);
  }

  answer(qpn: number): number | undefined {
    return this.#answers.get(qpn);
  }

  frame(
    now: number,
    port: SimulatedPort,
    direction: 'out' | 'in',
    bytes: Uint8Array,
    start: number,
    end: number,
    fate: number,
  ): void {
    if (direction !== 'out') return;
    this.#digest = crc32Update(this.#digest, bytes, start, end);
    this.#newest[this.#kept++ % LADDER_FRAMES] = { timeNs: now, from: port.name, fate, bytes: bytes.slice(start, end) };
    if (port.name === 'attacker') return;
    if (this.#isForAttacker(bytes, start)) {
      this.toAttacker.frames += 1;
      this.toAttacker.bytes += end - start;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frame = this.#frame;
    const status = parseFrame(bytes, view, start, end, Medium.Ethernet, frame);
    if (frame.bthOffset < 0) return;
    if (status !== FrameStatus.Ok || !icrcMatches(frame)) {
      this.problems.push(`${port.name} sent a packet with a wrong ICRC`);
      return;
    }
    const newest = (frame.flags & OpFlag.Response) === 0 ? this.#requests : this.#answers;
    newest.set(frame.destQpn, frame.psn);
    if (this.#keep) this.frames[this.frames.length % REPLAY_FRAMES] = bytes.slice(start, end);
  }

  /** The newest frames, as steps of a ladder: the first host on the left, the second and the attacker on the right. */
  ladder(): LadderStep[] {
    const reader = new LadderReader();
    const first = this.#kept <= LADDER_FRAMES ? 0 : this.#kept % LADDER_FRAMES;
    return [...this.#newest.slice(first), ...this.#newest.slice(0, first)].map(({ timeNs, from, fate, bytes }) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const marks = (fate & Fate.Dropped) === 0 ? 0 : StepMark.Lost;
      return reader.read({ timeNs, fromLeft: from === 'a', marks, bytes, view, start: 0, end: bytes.length });
    });
  }

  #isForAttacker(bytes: Uint8Array, start: number): boolean {
    for (let i = 0; i < 6; i++) if (bytes[start + i] !== ATTACKER_MAC[i]) return false;
    return true;
  }
}

const LADDER_FRAMES = 80;
const REPLAY_FRAMES = 64;
