/**
 * Queues that a port paused for long, and the losses in their class right after: what a PFC watchdog leaves behind.
 *
 * Owns the bookkeeping that `pfc-watchdog` and `pfc-storm` share; reports nothing.
 * - A pause is long when it lasts 100 ms without a break, the shortest time after which watchdogs act (ref:dcqcn#4). It
 *   goes on when the next pause comes before the one before has run out on a link of 10 Gb/s, and ends with a pause time
 *   of 0. A pause on a faster link may have run out before: then losses show that the queue stood still all the same.
 * - Losses count from 100 ms after its beginning until half a second after its end: sequence NAKs, implied NAKs,
 *   packets that are missing, and ACK timeouts whose wait began before the end and ran out after it. A timeout while the
 *   pause lasts is none: the packet waits in the queue. What was sent again for them is the size of the loss.
 * - They belong to the pause when they travel with its priority, and to the port, where the port is that of a host.
 *   They are more than chance when there are at least four packets, ten times as many in that time as in the rest of the
 *   capture, and twice as many as of other priorities: a link that goes down loses all of them.
 * Global pauses have no watchdog.
 */
import { formatMac } from '../../../packets/address.ts';
import { Syndrome } from '../../../packets/aeth.ts';
import { FrameStatus, Medium } from '../../../packets/frame.ts';
import { ETHERTYPE_MAC_CONTROL, isPfc, PFC_PRIORITIES, pfcEnableVector, pfcQuanta } from '../../../packets/pfc.ts';
import type { DetectorContext } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import type { ConversationReport, EndReport, TransportEvent } from '../types.ts';
import { FrameList } from './frame-list.ts';

/** A class of a port whose queue was flushed. */
export interface FlushedQueue {
  readonly mac: string;
  readonly priority: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly pauses: FrameList;
  /** Packets that show the losses, and how many were lost or sent again. */
  readonly frames: readonly number[];
  readonly lost: number;
  /** Time of the first sign of a loss. */
  readonly firstNs: number;
  readonly conversations: readonly ConversationReport[];
}

/** Signs of losses of what one end sends. */
class LossSigns {
  naks = 0;
  missing = 0;
  repeated = 0;
  timeouts = 0;
  firstNs = Number.POSITIVE_INFINITY;
  readonly frames = new FrameList();

  /** Packets: one loss shows in several ways. */
  get lost(): number {
    return Math.max(this.naks + this.timeouts, this.missing, this.repeated);
  }
}

/** By 2 * conversation + the end that sends what was lost. */
type SignsByEnd = Map<number, LossSigns>;

/** A long pause, possibly not over. */
interface LongPause {
  readonly mac: string;
  readonly priority: number;
  readonly startNs: number;
  endNs: number;
  readonly pauses: FrameList;
  readonly signs: SignsByEnd;
}

/** Pauses of one class from one port at one interface. */
interface Pausing {
  readonly mac: string;
  readonly priority: number;
  sinceNs: number;
  /** When the last pause runs out, on a slow link. */
  untilNs: number;
  pauses: FrameList;
  long: LongPause | undefined;
}

export class StuckQueues {
  readonly #pausing = new Map<number, Pausing>();
  readonly #all: LongPause[] = [];
  /** Those whose losses may yet show. */
  #live: LongPause[] = [];
  /** Outside all long pauses. */
  readonly #background: SignsByEnd = new Map();

  packet({ dissection: { frame, status }, timeNs, packet }: PacketFacts): void {
    if (status === FrameStatus.Ok || frame.etherType !== ETHERTYPE_MAC_CONTROL || frame.medium !== Medium.Ethernet)
      return;
    const { view, start, end } = frame;
    if (!isPfc(view, start, end)) return;
    const enabled = pfcEnableVector(view, start);
    for (let priority = 0; priority < PFC_PRIORITIES; priority++) {
      if (((enabled >> priority) & 1) === 0) continue;
      const pausing = this.#of(view, start, packet.interfaceIndex, priority);
      if (pausing !== undefined) this.#pause(pausing, timeNs, pfcQuanta(view, start, priority), packet.number);
    }
  }

  event(event: TransportEvent): void {
    const { kind, timeNs, requester, sender, conversation, syndrome, reason } = event;
    if (!KINDS.has(kind) || conversation === 0 || reason === 'ack-not-received') return;
    if (kind === 'nak' && syndrome !== Syndrome.NakSequence) return;
    const responses = kind === 'implied-nak' || event.cause === 'implied-nak';
    const losing = kind === 'loss' || kind === 'missing' ? sender : responses ? 1 - requester : requester;
    const key = 2 * conversation + losing;
    if (this.#live.length > 0) this.#live = this.#live.filter(({ endNs }) => timeNs <= endNs + AFTERWARDS_NS);
    if (this.#live.length === 0) note(this.#background, key, event);
    for (const { startNs, endNs, signs } of this.#live) {
      if (timeNs < startNs + LONG_NS) continue;
      const isTimeout = kind === 'timeout' || event.cause === 'timeout';
      // While it waits in the queue, or sent after the pause.
      if (isTimeout && (timeNs <= endNs + GRACE_NS || timeNs - Math.max(0, event.durationNs) > endNs)) continue;
      note(signs, key, event);
    }
  }

  /** Those whose losses are no chance. */
  flushed({ capture, conversations, conversation }: DetectorContext): FlushedQueue[] {
    const hosts = new Set(conversations.flatMap(({ ends }) => ends.map(({ mac }) => mac)));
    const elsewhereNs = capture.durationNs - this.#all.reduce((sum, each) => sum + windowOf(each), 0);
    const found = new Map<string, FlushedQueue>();
    for (const pause of this.#all) {
      const { mac, priority, startNs, endNs, pauses, signs } = pause;
      const own: LossSigns[] = [];
      const concerned = new Set<ConversationReport>();
      let others = 0;
      for (const [key, each] of signs) {
        const ends = endsOf(conversation(Math.floor(key / 2)), key % 2);
        if (ends === undefined) continue;
        if (priorityOf(ends.sender) !== priority) others += each.lost;
        else if (!hosts.has(mac) || ends.receiver.mac === mac) {
          own.push(each);
          concerned.add(ends.conversation);
        }
      }
      const lost = own.reduce((sum, each) => sum + each.lost, 0);
      const usual = this.#usual(priority, conversation) / Math.max(elsewhereNs, windowOf(pause));
      if (lost < LEAST_LOST || lost < CLEARLY * others || lost / windowOf(pause) < MORE_THAN_USUAL * usual) continue;
      const frames = own.flatMap((each) => each.frames.frames).sort((a, b) => a - b);
      const firstNs = Math.min(...own.map((each) => each.firstNs));
      const queue = { mac, priority, startNs, endNs, pauses, frames, lost, firstNs, conversations: [...concerned] };
      // Two interfaces on one link show the same.
      const known = found.get(`${mac} ${priority}`);
      if (known === undefined || known.lost < lost) found.set(`${mac} ${priority}`, queue);
    }
    return [...found.values()];
  }

  #pause(pausing: Pausing, timeNs: number, quanta: number, frame: number): void {
    if (quanta === 0) {
      if (pausing.long !== undefined) pausing.long.endNs = Math.min(timeNs, pausing.untilNs);
      pausing.long = undefined;
      pausing.untilNs = Number.NEGATIVE_INFINITY;
      return;
    }
    if (timeNs > pausing.untilNs) {
      pausing.sinceNs = timeNs;
      pausing.pauses = new FrameList();
      pausing.long = undefined;
    }
    pausing.untilNs = timeNs + quanta * SLOW_QUANTUM_NS;
    pausing.pauses.add(frame);
    if (timeNs - pausing.sinceNs < LONG_NS) return;
    if (pausing.long === undefined && this.#all.length < MOST_LONG) {
      const { mac, priority, sinceNs, pauses } = pausing;
      pausing.long = { mac, priority, startNs: sinceNs, endNs: timeNs, pauses, signs: new Map() };
      this.#all.push(pausing.long);
      this.#live.push(pausing.long);
    }
    if (pausing.long === undefined) return;
    pausing.long.endNs = timeNs + quanta * QUANTUM_NS;
    // It was not over.
    for (const signs of pausing.long.signs.values()) signs.timeouts = 0;
  }

  #of(view: DataView, start: number, interfaceIndex: number, priority: number): Pausing | undefined {
    const mac = view.getUint16(start + 6) * 2 ** 32 + view.getUint32(start + 8);
    const key = (mac % 2 ** 44) * 128 + (interfaceIndex & 7) * 16 + priority;
    const known = this.#pausing.get(key);
    if (known !== undefined || this.#pausing.size >= MOST_PORTS) return known;
    const made = {
      mac: formatMac(new Uint8Array(view.buffer, view.byteOffset + start + 6, 6)),
      priority,
      sinceNs: 0,
      untilNs: Number.NEGATIVE_INFINITY,
      pauses: new FrameList(),
      long: undefined,
    };
    this.#pausing.set(key, made);
    return made;
  }

  /** Losses with this priority outside of long pauses. */
  #usual(priority: number, conversation: DetectorContext['conversation']): number {
    let lost = 0;
    for (const [key, signs] of this.#background) {
      const ends = endsOf(conversation(Math.floor(key / 2)), key % 2);
      if (ends !== undefined && priorityOf(ends.sender) === priority) lost += signs.lost;
    }
    return lost;
  }
}

function note(all: SignsByEnd, key: number, { kind, count, frame, timeNs }: TransportEvent): void {
  let signs = all.get(key);
  if (signs === undefined) {
    if (all.size >= MOST_ENDS) return;
    signs = new LossSigns();
    all.set(key, signs);
  }
  if (kind === 'retransmission') signs.repeated += count;
  else if (kind === 'timeout') signs.timeouts++;
  else if (kind === 'nak' || kind === 'implied-nak') signs.naks++;
  else signs.missing += count;
  signs.firstNs = Math.min(signs.firstNs, timeNs);
  signs.frames.add(frame);
}

/** From when losses count until when. */
function windowOf({ startNs, endNs }: LongPause): number {
  return endNs + AFTERWARDS_NS - startNs - LONG_NS;
}

function endsOf(
  conversation: ConversationReport | undefined,
  end: number,
): { readonly conversation: ConversationReport; readonly sender: EndReport; readonly receiver: EndReport } | undefined {
  if (conversation === undefined || conversation.sameAs !== 0) return undefined;
  const [first, second] = conversation.ends;
  return end === 0
    ? { conversation, sender: first, receiver: second }
    : { conversation, sender: second, receiver: first };
}

/** Of its VLAN tag, or else of the DSCP that most of its packets have. */
function priorityOf({ vlan, vlanPriority, congestion }: EndReport): number {
  if (vlan >= 0) return vlanPriority;
  const [main] = Object.entries(congestion.dscp).sort(([, a], [, b]) => b - a);
  return Number(main?.[0] ?? 0) >> 3;
}

const KINDS: ReadonlySet<TransportEvent['kind']> = new Set([
  'loss',
  'missing',
  'nak',
  'implied-nak',
  'timeout',
  'retransmission',
]);
const LONG_NS = 100e6;
const AFTERWARDS_NS = 500e6;
/** What waited in the queue is answered long before. */
const GRACE_NS = 1e6;
/** 512 bit times at 100 Gb/s and at 10 Gb/s. */
const QUANTUM_NS = 5.12;
const SLOW_QUANTUM_NS = 51.2;
const LEAST_LOST = 4;
const CLEARLY = 2;
const MORE_THAN_USUAL = 10;
const MOST_PORTS = 4096;
const MOST_LONG = 256;
const MOST_ENDS = 4096;
