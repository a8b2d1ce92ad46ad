/**
 * One switch: takes frames in, chooses the port they leave by, and marks and accounts for them as they leave. Owns the
 * forwarding decision, the packet memory and the pauses of senders. Never moves a frame: `transmitter.ts` does.
 *
 * Rules: RED on the bytes that stay behind in the queue of the priority when a frame leaves it (ref:dcqcn#1; the
 * simulator of HPCC looks at the same moment); memory is free again when the first bit of a frame leaves; PFC
 * ref:dcqcn#4.
 */
import { Medium } from '../../../packets/frame.ts';
import { type EcnProfile, Fate } from '../../faults/fault-spec.ts';
import { markCongestion, markingProbability } from '../../ground/ecn.ts';
import type { Prng } from '../../ground/prng.ts';
import type { SharedBuffer } from '../buffer/index.ts';
import { ecmpChoice, ecmpHash, type Routes } from '../topology/index.ts';
import type { CreditReturns } from './credits.ts';
import type { EgressListener, EgressPort, IngressListener } from './egress-port.ts';
import { CONTROL, type NetworkSettings } from './options.ts';
import type { Pauses } from './pauses.ts';
import { EventKind, type Transmitter } from './transmitter.ts';

/** What a switch is made from. */
export interface SwitchNodeSpec {
  readonly node: number;
  readonly name: string;
  readonly settings: NetworkSettings;
  readonly routes: Routes;
  readonly transmitter: Transmitter;
  readonly pauses: Pauses;
  /** By index, of the whole network. */
  readonly allPorts: readonly EgressPort[];
  /** Absent with credits: a credit guarantees memory. */
  readonly buffer: SharedBuffer | undefined;
  readonly credits: CreditReturns;
  readonly random: Prng;
}

/** Frames that a switch dropped. */
export interface SwitchCounters {
  /** No memory for them. */
  dropped: number;
  /** No route to their host. */
  noRoute: number;
}

/** A switch of the network. */
export class SwitchNode implements IngressListener, EgressListener {
  /** Number in the topology. */
  readonly node: number;
  /** Its name there. */
  readonly name: string;
  /** Packet memory; absent with credits. */
  readonly buffer: SharedBuffer | undefined;
  /** What it did not pass on. */
  readonly counters: SwitchCounters = { dropped: 0, noRoute: 0 };
  /** By port number, set by the network; a number without a link has none. @internal */
  readonly ports: (EgressPort | undefined)[] = [];
  readonly #transmitter: Transmitter;
  readonly #pauses: Pauses;
  readonly #allPorts: readonly EgressPort[];
  readonly #credits: CreditReturns;
  readonly #routes: Routes;
  readonly #ecn: EcnProfile | undefined;
  readonly #ecnPriorities: number;
  readonly #cutThrough: boolean;
  readonly #random: Prng;
  readonly #hashSeed: number;

  /** @internal */
  constructor(spec: SwitchNodeSpec) {
    const { node, name, buffer, settings, random } = spec;
    this.node = node;
    this.name = name;
    this.buffer = buffer;
    this.#transmitter = spec.transmitter;
    this.#pauses = spec.pauses;
    this.#allPorts = spec.allPorts;
    this.#credits = spec.credits;
    this.#routes = spec.routes;
    this.#ecn = settings.ecn;
    this.#ecnPriorities = settings.ecnPriorities;
    this.#cutThrough = settings.cutThrough;
    this.#random = random.fork('ecn');
    this.#hashSeed = random.fork('ecmp').u32();
  }

  /** Bytes in the switch, waiting to leave. */
  get usedBytes(): number {
    return this.ports.reduce((sum, port) => sum + (port?.queueBytes ?? 0), 0);
  }

  /** @internal */
  arrive(from: EgressPort, slot: number): void {
    const { store, now } = this.#transmitter;
    if (store.priority(slot) === CONTROL) {
      this.#pauses.received(from.reverse, slot);
      store.drop(slot);
      return;
    }
    store.setIngress(slot, from.index);
    const port = this.#portFor(slot);
    if (port === undefined) {
      this.counters.noRoute++;
      this.#discard(from, slot);
      return;
    }
    store.setEgress(slot, port.index);
    if (!this.#cutThrough) {
      this.#take(from, port, slot);
      return;
    }
    const tail = store.tail(slot);
    // On very fast links the end of a frame and what follows it come in the same nanosecond: a frame must not overtake
    // one that waits for its end.
    if (from.storing === 0 && (tail <= now || this.#passable(from, port, store.priority(slot)))) {
      this.#take(from, port, slot);
      return;
    }
    from.storing++;
    this.#transmitter.schedule(tail, EventKind.Tail, slot);
  }

  /** For the event: all of a frame has come in. @internal */
  stored(slot: number): void {
    const { store } = this.#transmitter;
    const from = this.#allPorts[store.ingress(slot)] as EgressPort;
    from.storing--;
    this.#take(from, this.#allPorts[store.egress(slot)] as EgressPort, slot);
  }

  /** @internal */
  leaving(port: EgressPort, slot: number): void {
    const { store } = this.#transmitter;
    const priority = store.priority(slot);
    if (priority === CONTROL) {
      this.#pauses.left(port, slot);
      return;
    }
    if (this.#ecn !== undefined) this.#mark(this.#ecn, port, priority, slot);
    const from = this.#allPorts[store.ingress(slot)] as EgressPort;
    const { buffer } = this;
    if (buffer === undefined) {
      this.#credits.freed(from, slot);
      return;
    }
    const ingress = from.reverse.port;
    buffer.release(ingress, port.port, priority, store.length(slot));
    if (buffer.takeResume(ingress, priority)) this.#pauses.resume(from.reverse, priority);
  }

  /** @internal */
  changed(): void {
    // A port of a switch has no sink.
  }

  /** Lets a frame into the queue of its port, or drops it. */
  #take(from: EgressPort, port: EgressPort, slot: number): void {
    const { store } = this.#transmitter;
    const { buffer } = this;
    if (buffer !== undefined) {
      const priority = store.priority(slot);
      const ingress = from.reverse.port;
      if (!buffer.admit(ingress, port.port, priority, store.length(slot))) {
        port.tally.dropped++;
        this.counters.dropped++;
        store.drop(slot);
        return;
      }
      if (buffer.takePause(ingress, priority)) this.#pauses.pause(from.reverse, priority);
    }
    this.#transmitter.enqueue(port, slot);
  }

  #discard(from: EgressPort, slot: number): void {
    this.#credits.freed(from, slot);
    this.#transmitter.store.drop(slot);
  }

  #portFor(slot: number): EgressPort | undefined {
    const { store } = this.#transmitter;
    const ways = this.#routes.ports(this.node, store.host(slot));
    const count = ways.length;
    if (count === 1) return this.ports[ways[0] as number];
    if (count === 0) return undefined;
    const ipOffset = store.start(slot) + store.ipOffset(slot);
    return this.ports[ways[ecmpChoice(ecmpHash(store.view, ipOffset, this.#hashSeed), count)] as number];
  }

  /** Whether a frame of which only the beginning is here may already leave. */
  #passable(from: EgressPort, port: EgressPort, priority: number): boolean {
    // Where nothing is being sent and nothing is about to be, nothing waits that might leave before it.
    if (port.serving || port.freeAt > this.#transmitter.now || port.byteNs < from.byteNs) return false;
    return (port.blocked & (1 << priority)) === 0;
  }

  #mark(ecn: EcnProfile, port: EgressPort, priority: number, slot: number): void {
    if ((this.#ecnPriorities & (1 << priority)) === 0) return;
    const queueBytes = port.queueBytesOf(priority);
    if (queueBytes <= ecn.kminBytes || !this.#random.chance(markingProbability(ecn, queueBytes))) return;
    const { store } = this.#transmitter;
    const start = store.start(slot);
    if (!markCongestion(store.view, start, start + store.length(slot), Medium.Ethernet)) return;
    port.tally.marked++;
    store.setFate(slot, store.fate(slot) | Fate.Marked);
  }
}
