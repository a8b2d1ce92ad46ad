/**
 * What the data of one end met on its way to congestion control: CE marks, CNPs, and the send rate before and during
 * CNPs. Owns the record and its bounds; `ecn-misconfigured` draws the conclusions. It allocates nothing per packet.
 */
import type { Frame } from '../../../packets/frame.ts';
import { ECN_MASK, Ecn } from '../../../packets/traffic-class.ts';
import { type PacketFacts, Role } from '../facts.ts';
import { FrameList } from './frame-list.ts';

/** Data of one end. */
export class EcnFlow {
  readonly conversation: number;
  readonly end: 0 | 1;
  /** Packets with payload, by whether the network may mark them. */
  ectPackets = 0;
  notEctPackets = 0;
  readonly marked = new FrameList();
  readonly notifications = new FrameList();
  /** First packets that may not be marked. */
  readonly notEct = new FrameList();
  /** Packets of the other end since the first mark: it was active and could have sent CNPs. */
  heardSinceMark = 0;
  /** ACKs with BECN, another form of notification (ref:dcqcn#3, the simulator of HPCC). */
  becnAcks = 0;
  /** Packets of this end whose MigReq bit is set; rdma_rxe never sets it (ref:rxe#6). */
  migReqPackets = 0;
  /** ECN-capable data packets; without them there are no CNPs. */
  pace: SendRates | undefined;

  constructor(conversation: number, end: 0 | 1) {
    this.conversation = conversation;
    this.end = end;
  }

  /** A packet with payload, sent by this end. */
  data(frame: Frame, timeNs: number, number: number): void {
    const ecn = frame.trafficClass & ECN_MASK;
    if (ecn === Ecn.NotEct) {
      this.notEctPackets++;
      this.notEct.add(number);
      return;
    }
    this.ectPackets++;
    if (ecn === Ecn.Ce) this.marked.add(number);
    this.pace ??= new SendRates();
    this.pace.sent(timeNs, frame.payloadLength);
  }

  notified(timeNs: number, number: number): void {
    this.notifications.add(number);
    this.pace?.notified(timeNs);
  }
}

/**
 * The send rate before the first CNP, and during a dense run of CNPs. It is measured in blocks of 64 packets, and the
 * fastest block counts: a sender that reacts is slower even in its fastest block, while an application with little to
 * send may reach its old rate in short bursts only.
 */
export class SendRates {
  /** Fastest block before any notification; 0 when there was none. */
  baselineBps = 0;
  /** Fastest block in the longest run, after its first notifications; 0 when there was none. */
  runBps = 0;
  /** Notifications in that run. */
  runLength = 0;
  runBlocks = 0;
  #notifications = 0;
  #lastNotifiedNs = Number.NEGATIVE_INFINITY;
  #length = 0;
  #blocks = 0;
  #fastestBps = 0;
  #blockPackets = 0;
  #blockBytes = 0;
  #blockStartNs = 0;
  /** Whether the block began when the run had its first notifications behind it. */
  #blockInRun = false;

  sent(timeNs: number, bytes: number): void {
    if (this.#blockPackets === 0) {
      this.#blockStartNs = timeNs;
      this.#blockBytes = 0;
      this.#blockInRun = this.#length >= SETTLED;
    } else this.#blockBytes += bytes;
    if (++this.#blockPackets > BLOCK_PACKETS) this.#blockEnds(timeNs);
  }

  notified(timeNs: number): void {
    // A block with the first notification in it belongs to neither side.
    if (this.#notifications++ === 0) this.#blockPackets = 0;
    if (timeNs - this.#lastNotifiedNs <= DENSE_NS) this.#length++;
    else {
      this.#length = 1;
      this.#blocks = 0;
      this.#fastestBps = 0;
      this.#blockPackets = 0;
    }
    this.#lastNotifiedNs = timeNs;
    if (this.#length <= this.runLength) return;
    this.runLength = this.#length;
    this.runBlocks = this.#blocks;
    this.runBps = this.#fastestBps;
  }

  #blockEnds(timeNs: number): void {
    const bps = (this.#blockBytes * 8e9) / Math.max(1, timeNs - this.#blockStartNs);
    if (this.#notifications === 0) this.baselineBps = Math.max(this.baselineBps, bps);
    else if (this.#blockInRun) {
      this.#blocks++;
      this.#fastestBps = Math.max(this.#fastestBps, bps);
    }
    this.#blockPackets = 0;
  }
}

/** All flows of a capture. */
export class EcnFlows {
  /** By 2 * conversation + end. */
  readonly #flows: (EcnFlow | undefined)[] = [];

  get all(): EcnFlow[] {
    return this.#flows.filter((flow) => flow !== undefined);
  }

  of(conversation: number, end: 0 | 1): EcnFlow {
    const index = 2 * conversation + end;
    const known = this.#flows[index];
    if (known !== undefined) return known;
    const made = new EcnFlow(conversation, end);
    this.#flows[index] = made;
    return made;
  }

  packet({ conversation, role, sender, dissection, timeNs, packet }: PacketFacts): void {
    if (conversation === undefined || role === Role.None || role === Role.Management) return;
    const { frame } = dissection;
    const other = this.of(conversation.id, sender === 0 ? 1 : 0);
    if (role === Role.Cnp) {
      other.notified(timeNs, packet.number);
      return;
    }
    const own = this.of(conversation.id, sender);
    if (frame.migReq === 1) own.migReqPackets++;
    if (frame.payloadLength > 0) own.data(frame, timeNs, packet.number);
    if (other.marked.count > 0) other.heardSinceMark++;
    if (frame.becn === 1) other.becnAcks++;
  }
}

const BLOCK_PACKETS = 64;
/**
 * CNPs of one run are no further apart: twice the interval of the paper, and less than the time of two rate increases
 * in any profile.
 */
const DENSE_NS = 100_000;
/** CNPs after which a reacting sender is clearly slower, whatever its alpha was (ref:dcqcn#1, ref:dcqcn#2). */
const SETTLED = 32;
