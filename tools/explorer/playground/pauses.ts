/**
 * Priority flow control (PFC) of the playground's switches, and the ways through them. Owns the count of bytes by the
 * cable they came in on, and which cables have been asked to pause. Sends nothing: the network carries each request to
 * the other end of its cable.
 *
 * A cable is named by who sends on it: host `h` is `h`; in a ring of `n` hosts, the switch of host `s` sends to the
 * next switch on cable `n + s`, and to its own host from queue `s`.
 */
import type { Flight } from './flight.ts';
import { hostName, type LinkShape, type PfcSpec } from './scenario.ts';

/** A queue of a switch, towards one host or the next switch. */
export interface Egress {
  readonly waiting: Flight[];
  bytes: number;
  busy: boolean;
  /** The switch at the other end has asked for a pause. */
  paused: boolean;
}

/** A request that has come to the sender of a cable. */
export interface PauseEvent {
  readonly cable: number;
  /** False: it may send again. */
  readonly paused: boolean;
}

/** Who goes where: one switch in the middle of a star, or one for each host in a ring, all traffic one way round. */
export class Ways {
  readonly #hosts: number;
  readonly #ring: boolean;

  constructor(hosts: number, shape: LinkShape) {
    this.#hosts = hosts;
    this.#ring = shape === 'ring';
  }

  /** Queues in all: one to each host, in a ring one more to each next switch. */
  get queues(): number {
    return this.#ring ? 2 * this.#hosts : this.#hosts;
  }

  /** The switch at which a cable ends, by the number of its host; a star has only 0. */
  switchOf(cable: number): number {
    if (!this.#ring) return 0;
    return cable < this.#hosts ? cable : (cable + 1 - this.#hosts) % this.#hosts;
  }

  /** The queue in which a packet for this host waits at this switch. */
  queueAt(place: number, host: number): number {
    return !this.#ring || place === host ? host : this.#hosts + place;
  }

  /** Queues at the switch of this host that one sees as its own. */
  queuesOf(host: number): readonly number[] {
    return this.#ring ? [host, this.#hosts + host] : [host];
  }

  /** Whether it leads to another switch. */
  isBetween(queue: number): boolean {
    return queue >= this.#hosts;
  }

  /** The host that sends on a cable, or whose switch does. */
  senderOf(cable: number): number {
    return cable % this.#hosts;
  }

  /** What a request means for the sender of the cable, in words that follow its name. */
  describe({ cable, paused }: PauseEvent): string {
    const next = hostName((cable + 1) % this.#hosts);
    if (!this.isBetween(cable))
      return paused ? 'is asked by its switch to pause (PFC): it sends nothing' : 'may send again: the pause is over';
    return paused
      ? `has a switch that is asked by the switch of ${next} to pause (PFC)`
      : `has a switch that may send to the switch of ${next} again`;
  }
}

/** Bytes in the switches, by the cable on which they came. */
export class PauseBook {
  readonly #pfc: PfcSpec | undefined;
  readonly #bytes = new Map<number, number>();
  readonly #asked = new Set<number>();

  constructor(pfc: PfcSpec | undefined) {
    this.#pfc = pfc;
  }

  /** Whether its sender has to be asked to pause, now that these bytes wait. */
  enters(cable: number, bytes: number): boolean {
    const held = (this.#bytes.get(cable) ?? 0) + bytes;
    this.#bytes.set(cable, held);
    if (this.#pfc === undefined || held <= this.#pfc.xoffBytes || this.#asked.has(cable)) return false;
    this.#asked.add(cable);
    return true;
  }

  /** Whether its sender may be told to go on, now that they have left. */
  leaves(cable: number, bytes: number): boolean {
    const held = (this.#bytes.get(cable) ?? 0) - bytes;
    this.#bytes.set(cable, held);
    if (this.#pfc === undefined || held > this.#pfc.xonBytes || !this.#asked.has(cable)) return false;
    this.#asked.delete(cable);
    return true;
  }
}
