/**
 * A device without a wire, in virtual time, and what it sends: every frame is looked at. Its one neighbour is the
 * fuzzer, 10.0.0.2 and fd00::2. What the device catches of its own errors (src/device/internal-errors.ts) is thrown.
 */
import {
  Frame,
  FrameStatus,
  FrameWriter,
  IpAddress,
  IpPrefix,
  icrcMatches,
  isRxeFlush,
  Medium,
  parseFrame,
  parseMac,
} from '../../../../packets/index.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_AT,
  ETHERTYPE_IPV4,
  IP_PROTOCOL_IGMP,
  IPV4_PROTOCOL_AT,
} from '../../../../packets/network.ts';
import { Device } from '../../../../src/browser.ts';
import { Prng } from '../../../../src/ground/prng.ts';
import { promise } from '../../engine/target.ts';

export const OUR_MAC = parseMac('02:00:00:00:00:01');
export const THEIR_MAC = parseMac('02:00:00:00:00:02');
export const OURS = IpAddress.parse('10.0.0.1');
export const THEIRS = IpAddress.parse('10.0.0.2');
export const OURS_6 = IpAddress.parse('fd00::1');
export const THEIRS_6 = IpAddress.parse('fd00::2');

/** Frames that a device may send for one input; a READ of all its memory is far below. */
const MOST_FRAMES = 4096;

export class LoneDevice {
  readonly device: Device;
  now = 1_000_000;
  /** Frames that were sent. */
  sent = 0;
  readonly #out = outgoing;
  readonly #onFrame: ((bytes: Uint8Array, view: DataView, frame: Frame, status: FrameStatus) => void) | undefined;

  constructor(onFrame?: (bytes: Uint8Array, view: DataView, frame: Frame, status: FrameStatus) => void) {
    this.#onFrame = onFrame;
    const host = { now: () => this.now, wake: () => {} };
    this.device = new Device({
      ...{ host, random: new Prng(7), medium: Medium.Ethernet, mac: OUR_MAC, mtu: 4200 },
      addresses: [IpPrefix.parse('10.0.0.1/24'), IpPrefix.parse('fd00::1/64')],
      neighbours: [THEIRS, THEIRS_6].map((address) => ({ address, mac: THEIR_MAC })),
      congestion: { reaction: { kind: 'dcqcn', profile: 'mlx' } },
    });
  }

  /** The frame ends where its buffer does: what is read behind it is an error. */
  receive(bytes: Uint8Array): void {
    const own = bytes.slice();
    const view = new DataView(own.buffer);
    const [starts, lengths] = [Int32Array.of(0), Int32Array.of(own.length)];
    this.device.receive({ bytes: own, view, starts, lengths, count: 1 });
    this.#hasNoError();
  }

  /** Lets time pass, at most to the next deadline, and does what is due then. */
  advance(ns: number): void {
    const deadline = this.device.nextDeadline();
    promise(!Number.isNaN(deadline), 'a deadline is a number');
    this.now = Math.max(this.now + 1, Math.min(this.now + ns, Math.ceil(deadline)));
    if (deadline <= this.now) this.device.handleTimeouts();
    this.#hasNoError();
  }

  /** Takes what the device sends. @throws Finding for a frame that is none, and for too many */
  transmit(): void {
    for (let more = true; more; ) {
      this.#out.reset();
      more = this.device.transmit(this.#out);
      promise(!more || this.#out.count > 0, 'who has more to send sends something');
      for (let i = 0; i < this.#out.count; i++) this.#check(this.#out.starts[i] ?? 0, this.#out.lengths[i] ?? 0);
    }
    this.#hasNoError();
  }

  /** @throws the first error of its own that the device has caught, as it was thrown: its place names the finding */
  #hasNoError(): void {
    if (this.device.counters.internalErrors === 0) return;
    let first: unknown;
    this.device.events.drop((event) => {
      const isError = typeof event === 'object' && event.kind === 'internal-error';
      if (isError) first = event.error;
      return isError;
    });
    throw first ?? new Error('the device has caught an error of its own, and has not reported it');
  }

  #check(start: number, length: number): void {
    promise(++this.sent <= MOST_FRAMES, `one input draws more than ${MOST_FRAMES} frames`);
    const { bytes, view } = this.#out;
    const status = parseFrame(bytes, view, start, start + length, Medium.Ethernet, frame);
    const other = status === FrameStatus.NotIp || status === FrameStatus.NotUdp || isGroupReport(view, start);
    promise(other || status === FrameStatus.Ok, `what a device sends is well-formed, not of status ${status}`);
    promise(other || icrcMatches(frame) || isRxeFlush(frame), 'what a device sends has a right ICRC');
    this.#onFrame?.(bytes, view, frame, status);
  }
}

/** Whether the frame is IGMP, whose IPv4 header has an option: RoCE has none, and the parser goes no further. */
const isGroupReport = (view: DataView, start: number): boolean =>
  view.getUint16(start + ETHERTYPE_AT) === ETHERTYPE_IPV4 &&
  view.getUint8(start + ETHERNET_BYTES + IPV4_PROTOCOL_AT) === IP_PROTOCOL_IGMP;

const frame = new Frame();
/** One for all inputs: too much to allocate for each. */
const outgoing = new FrameWriter(64, 4400);
