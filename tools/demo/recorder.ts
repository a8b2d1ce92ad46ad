/**
 * Watches the demo's wire: a ladder step of every frame as it was sent, and a capture of what came out at the other
 * end.
 *
 * Owns the capture file's bytes and the list of steps. Never changes a frame.
 * In the capture a frame stands as and when it arrived, damage included, twice when the wire duplicated it; a frame
 * that the wire dropped stands where it would have, and its comment says so.
 */
import { Frame, Medium, parseFrame } from 'rocev2/packets';
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import { Fate, type NetworkTap, type SimulatedPort } from 'rocev2/sim';
import { LadderReader, type LadderStep, StepMark } from '../ladder/index.ts';

/** What tshark must find in a frame of the capture. */
export interface ExpectedFrame {
  /** Position in the capture file, from 1. */
  readonly number: number;
  readonly opcode: number;
  readonly destQpn: number;
  readonly psn: number;
}

export class Recorder implements NetworkTap {
  /** One for every frame sent, in order. */
  readonly steps: LadderStep[] = [];
  /** The RoCE frames of the capture that are undamaged. */
  readonly expected: ExpectedFrame[] = [];
  /** Frames in the capture. */
  frames = 0;
  /** Positions of those with a flipped bit: whatever they look like now is right. */
  readonly damaged = new Set<number>();
  readonly #leftName: string;
  readonly #medium: Medium;
  readonly #reader: LadderReader;
  readonly #writer = new PcapngWriter({ application: 'roce demo' });
  readonly #interface: number;
  readonly #frame = new Frame();
  /** Serials of frames that have arrived and may come again. */
  readonly #doubled = new Set<number>();

  /** @param leftName the port whose frames count as outbound and are drawn from the left */
  constructor(leftName: string, medium: Medium) {
    this.#leftName = leftName;
    this.#medium = medium;
    this.#reader = new LadderReader({ medium });
    this.#interface = this.#writer.addInterface({
      name: 'wire',
      description: `simulated wire, outbound is from ${leftName}; comments describe what the wire did to a frame`,
      linkType: medium === Medium.Ethernet ? LinkType.Ethernet : LinkType.Raw,
    });
  }

  frame(
    now: number,
    port: SimulatedPort,
    direction: 'out' | 'in',
    bytes: Uint8Array,
    start: number,
    end: number,
    fate: number,
    serial: number,
  ): void {
    const fromLeft = (port.name === this.#leftName) === (direction === 'out');
    if (direction === 'out') this.#sent(now, fromLeft, bytes, start, end, fate);
    else this.#capture(now, fromLeft, bytes, start, end, fate, serial);
  }

  /** The capture file so far; call once, at the end. */
  takeCapture(): Uint8Array {
    return this.#writer.take();
  }

  #sent(now: number, fromLeft: boolean, bytes: Uint8Array, start: number, end: number, fate: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const step = this.#reader.read({ timeNs: now, fromLeft, bytes, view, start, end, marks: marksOf(fate) });
    this.steps.push(step);
  }

  #capture(
    now: number,
    fromLeft: boolean,
    bytes: Uint8Array,
    start: number,
    end: number,
    fate: number,
    serial: number,
  ): void {
    this.frames += 1;
    this.#writer.packet(this.#interface, bytes, start, end, Math.floor(now / 1e9), now % 1e9, {
      direction: fromLeft ? Direction.Outbound : Direction.Inbound,
      comments: this.#comments(fate, serial),
    });
    if ((fate & Fate.Corrupted) !== 0 && (fate & Fate.Dropped) === 0) {
      this.damaged.add(this.frames);
      return;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frame = this.#frame;
    parseFrame(bytes, view, start, end, this.#medium, frame);
    if (frame.bthOffset < 0) return;
    const { opcode, destQpn, psn } = frame;
    this.expected.push({ number: this.frames, opcode, destQpn, psn });
  }

  #comments(fate: number, serial: number): string[] {
    if ((fate & Fate.Dropped) !== 0) return ['LOST: the wire dropped this frame'];
    const comments: string[] = [];
    if ((fate & Fate.Corrupted) !== 0) comments.push('CORRUPT: the wire flipped one bit, the ICRC no longer matches');
    if ((fate & Fate.Delayed) !== 0) comments.push('LATE: the wire held this frame back, later ones overtook it');
    if ((fate & Fate.Duplicated) !== 0) {
      const second = this.#doubled.delete(serial);
      if (!second) this.#doubled.add(serial);
      comments.push(`DUPLICATED: copy ${second ? 2 : 1} of 2 that the wire made of one frame`);
    }
    return comments;
  }
}

function marksOf(fate: number): number {
  if ((fate & Fate.Dropped) !== 0) return StepMark.Lost;
  let marks: number = StepMark.None;
  if ((fate & Fate.Corrupted) !== 0) marks |= StepMark.Corrupt;
  if ((fate & Fate.Duplicated) !== 0) marks |= StepMark.Duplicated;
  if ((fate & Fate.Delayed) !== 0) marks |= StepMark.Late;
  return marks;
}
