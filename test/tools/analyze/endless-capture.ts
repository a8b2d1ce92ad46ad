/**
 * A capture without an end, made as it is read: queue pairs that WRITE, responders that ACK, now and then a packet that
 * is lost and sent again. Every packet has a right ICRC.
 *
 * Owns the frames and their times. As fast as an analysis, so that captures of any length can be had without a disk.
 */
import {
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  Medium,
  Op,
  parseMac,
  writeAeth,
  writeBth,
  writeReth,
} from '../../../packets/index.ts';
import { LinkType, PcapWriter } from '../../../pcap/index.ts';

/** Chunks of a pcap file of at least `packets` packets; `queuePairs` take turns. */
export async function* endlessCapture(packets: number, queuePairs = 16): AsyncGenerator<Uint8Array> {
  const file = new PcapWriter(LinkType.Ethernet);
  const frames = new FrameWriter(1, HEADER_BYTES + PAYLOAD_BYTES);
  const pairs = Array.from({ length: queuePairs }, (_, index) => new Pair(index));
  let written = 0;
  const write = (): void => {
    const [start = 0] = frames.starts;
    const [length = 0] = frames.lengths;
    const timeNs = written * STEP_NS;
    file.packet(frames.bytes, start, start + length, 1_000 + Math.floor(timeNs / 1e9), timeNs % 1e9);
    frames.reset();
    written++;
  };
  for (let turn = 0; written < packets; turn++) {
    (pairs[turn % queuePairs] as Pair).message(frames, turn % LOSS_EVERY === LOSS_EVERY - 1, write);
    if (file.pendingBytes >= CHUNK_BYTES) yield file.take();
  }
  yield file.take();
}

/** One queue pair of host A, and its peer at host B. */
class Pair {
  readonly #there: HeaderTemplate;
  readonly #back: HeaderTemplate;
  readonly #index: number;
  #psn = 0;
  #msn = 0;

  constructor(index: number) {
    this.#index = index;
    const [a, b] = [IpAddress.parse('10.0.0.1'), IpAddress.parse('10.0.0.2')];
    const [macA, macB] = [parseMac('02:00:00:00:00:01'), parseMac('02:00:00:00:00:02')];
    const common = {
      medium: Medium.Ethernet,
      trafficClass: 0,
      hopLimit: 64,
      flowLabel: 0,
      sourcePort: 0xc0_00 + index,
    };
    this.#there = new HeaderTemplate({ ...common, sourceMac: macA, destMac: macB, source: a, destination: b });
    this.#back = new HeaderTemplate({ ...common, sourceMac: macB, destMac: macA, source: b, destination: a });
  }

  /** A WRITE of four packets and its ACK; with `loses` the second packet is asked for and sent again. */
  message(frames: FrameWriter, loses: boolean, write: () => void): void {
    const first = this.#psn;
    for (let at = 0; at < OPS.length; at++) if (!loses || at !== 1) this.#request(frames, first, at, write);
    if (loses) {
      this.#answer(frames, first + 1, NAK_SEQUENCE, write);
      for (let at = 1; at < OPS.length; at++) this.#request(frames, first, at, write);
    }
    this.#msn++;
    this.#answer(frames, first + OPS.length - 1, ACK, write);
    this.#psn = first + OPS.length;
  }

  #request(frames: FrameWriter, first: number, at: number, write: () => void): void {
    const { view } = frames;
    const bth = frames.begin(this.#there);
    const isLast = at === OPS.length - 1;
    writeBth(view, bth, OPS[at] ?? 0, 0, 1, 0, 0xff_ff, 0x200 + this.#index, isLast ? 1 : 0, (first + at) & PSN_MASK);
    if (at === 0) writeReth(view, bth + BTH_BYTES, 0x7f00, first, 0x1234, OPS.length * PAYLOAD_BYTES);
    frames.end(this.#there, bth + BTH_BYTES + (at === 0 ? RETH_BYTES : 0) + PAYLOAD_BYTES);
    write();
  }

  #answer(frames: FrameWriter, psn: number, syndrome: number, write: () => void): void {
    const { view } = frames;
    const bth = frames.begin(this.#back);
    writeBth(view, bth, Op.Acknowledge, 0, 1, 0, 0xff_ff, 0x100 + this.#index, 0, psn & PSN_MASK);
    writeAeth(view, bth + BTH_BYTES, syndrome, this.#msn & PSN_MASK);
    frames.end(this.#back, bth + BTH_BYTES + AETH_BYTES);
    write();
  }
}

const OPS: readonly number[] = [Op.WriteFirst, Op.WriteMiddle, Op.WriteMiddle, Op.WriteLast];
const PAYLOAD_BYTES = 1024;
const BTH_BYTES = 12;
const RETH_BYTES = 16;
const AETH_BYTES = 4;
const HEADER_BYTES = 14 + 20 + 8 + BTH_BYTES + RETH_BYTES + 4;
const PSN_MASK = 0xff_ff_ff;
/** Credits are not in use. */
const ACK = 0x1f;
const NAK_SEQUENCE = 0x60;
const LOSS_EVERY = 1_009;
const STEP_NS = 900;
const CHUNK_BYTES = 1024 * 1024;
