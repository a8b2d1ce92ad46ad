/**
 * Finds deadlocks: queues that wait for each other in a circle, so that none of them will ever move.
 * Owns when to look and what was found. Looks only at queues that were blocked for long without a break, so it costs nothing otherwise, and
 * keeps nobody waiting: its times count only while something is blocked.
 *
 * A queue that is blocked waits for those queues of the next switch that hold frames it has sent there, and that are blocked themselves: only when
 * these leave is the memory (or are the credits) free that it waits for.
 */
import { findPauseCycle, type PauseWait } from '../buffer/index.ts';
import { EventQueue } from '../event-queue.ts';
import type { EgressPort } from './egress-port.ts';
import { PRIORITIES } from './options.ts';
import type { Transmitter } from './transmitter.ts';

/** Queues that wait for each other. */
export interface Deadlock {
  /** When it was found. */
  readonly atNs: number;
  /** Names of the ports, each waiting for the next and the last for the first. */
  readonly ports: readonly string[];
}

/** Watches the ports of a network. */
export class DeadlockWatch {
  /** One entry for each circle, when it was found first. */
  readonly found: Deadlock[] = [];
  readonly #transmitter: Transmitter;
  readonly #ports: readonly EgressPort[];
  readonly #afterNs: number;
  /** By node: its ports. */
  readonly #portsOf: (EgressPort[] | undefined)[] = [];
  readonly #known = new Set<string>();
  /** When to look at which port. */
  readonly #checks = new EventQueue();

  constructor(transmitter: Transmitter, ports: readonly EgressPort[], afterNs: number) {
    this.#transmitter = transmitter;
    this.#ports = ports;
    this.#afterNs = afterNs;
    for (const port of ports) {
      const beside = this.#portsOf[port.node];
      if (beside === undefined) this.#portsOf[port.node] = [port];
      else beside.push(port);
    }
  }

  /** A priority of `port` has just been blocked. */
  blocked(port: EgressPort): void {
    if (!port.watched) this.#schedule(port, this.#transmitter.now);
  }

  /** When there is something to look at, or may be. */
  get dueAt(): number {
    return this.#checks.peekTime();
  }

  /** When there is something to look at: for who has nothing else to wait for. */
  nextTime(): number {
    const checks = this.#checks;
    while (checks.size > 0) {
      const port = this.#ports[checks.peek()];
      if (port === undefined || port.blocked !== 0) return checks.peekTime();
      port.watched = false;
      checks.pop();
    }
    return Infinity;
  }

  /** Looks at what is due now. */
  run(): void {
    const { now } = this.#transmitter;
    while (this.#checks.peekTime() <= now) {
      const port = this.#ports[this.#checks.pop()];
      if (port !== undefined) this.#check(port, now);
    }
  }

  #check(port: EgressPort, now: number): void {
    port.watched = false;
    let oldest = Infinity;
    for (let priority = 0; priority < PRIORITIES; priority++)
      if (port.isBlocked(priority)) oldest = Math.min(oldest, port.blockedSince[priority] as number);
    if (oldest === Infinity) return;
    if (oldest + this.#afterNs <= now) {
      this.#search();
      // Nothing will ever happen again: one look is enough.
      if (this.#transmitter.events.size === 0) return;
      oldest = now;
    }
    this.#schedule(port, oldest);
  }

  #schedule(port: EgressPort, since: number): void {
    port.watched = true;
    this.#checks.push(Math.ceil(since + this.#afterNs), port.index);
  }

  #search(): void {
    const waits: PauseWait[] = [];
    for (const port of this.#ports) {
      if (port.blocked === 0) continue;
      for (let priority = 0; priority < PRIORITIES; priority++)
        if (port.isBlocked(priority) && port.queueFramesOf(priority) > 0) this.#collect(port, priority, waits);
    }
    const cycle = findPauseCycle(waits);
    if (cycle === undefined) return;
    const key = cycle.join();
    if (this.#known.has(key)) return;
    this.#known.add(key);
    const ports = cycle.map((queue) => this.#ports[Math.floor(queue / PRIORITIES)]?.name ?? '');
    this.found.push({ atNs: this.#transmitter.now, ports });
  }

  /** What the queue of `priority` at `port` waits for. */
  #collect(port: EgressPort, priority: number, waits: PauseWait[]): void {
    for (const next of this.#portsOf[port.reverse.node] ?? []) {
      if (!next.isBlocked(priority) || !this.#holdsFramesOf(next, priority, port)) continue;
      waits.push({ from: port.index * PRIORITIES + priority, to: next.index * PRIORITIES + priority });
    }
  }

  #holdsFramesOf(port: EgressPort, priority: number, sender: EgressPort): boolean {
    const { store } = this.#transmitter;
    for (let slot = port.head(priority); slot >= 0; slot = store.next(slot))
      if (store.ingress(slot) === sender.index) return true;
    return false;
  }
}
