/**
 * Finds deadlocks: queues that wait for each other in a cycle, so that none of them will ever move.
 * Owns the times of checks and their results. Checks only queues that were blocked for long without a break, so it
 * costs nothing otherwise, and does not prolong a run: its times count only while something is blocked.
 *
 * A queue that is blocked waits for the queues of the next switch that hold frames which it has sent there: when one of
 * these leaves, memory (or credits) may be free that it waits for. It is stuck when all of them are stuck, and when it
 * has been blocked long enough for everything it sent to have arrived. Queues that are stuck stay so infinitely: the
 * search for cycles is among them only, so that a temporary one is never reported.
 */

import { EventQueue } from '../../ground/event-queue.ts';
import { findPauseCycle, type PauseWait } from '../buffer/index.ts';
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
  /** One entry for each cycle, from when it was found first. */
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

  /** When a check may be due. */
  get dueAt(): number {
    return this.#checks.peekTime();
  }

  /** When a check is due: for a network without other events. */
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

  /** Runs the checks that are due now. */
  run(): void {
    const { now } = this.#transmitter;
    let due = false;
    while (this.#checks.peekTime() <= now) {
      const port = this.#ports[this.#checks.pop()];
      if (port !== undefined && this.#check(port, now)) due = true;
    }
    if (due) this.#search(now);
  }

  /** Whether a priority of `port` has been blocked for long; schedules the next check. */
  #check(port: EgressPort, now: number): boolean {
    port.watched = false;
    let due = false;
    let oldest = Infinity;
    for (let priority = 0; priority < PRIORITIES; priority++) {
      if (!port.isBlocked(priority)) continue;
      if (this.#isOld(port, priority, now)) due = true;
      else oldest = Math.min(oldest, port.blockedSince[priority] as number);
    }
    if (oldest < Infinity) this.#schedule(port, oldest);
    // Without further events one check is enough.
    else if (due && this.#transmitter.events.size > 0) this.#schedule(port, now);
    return due;
  }

  #isOld(port: EgressPort, priority: number, now: number): boolean {
    return Math.ceil((port.blockedSince[priority] as number) + this.#afterNs) <= now;
  }

  #schedule(port: EgressPort, since: number): void {
    port.watched = true;
    this.#checks.push(Math.ceil(since + this.#afterNs), port.index);
  }

  #search(now: number): void {
    const stuck = this.#stuck(now);
    let waits: PauseWait[] = [];
    for (const [from, holders] of stuck) for (const to of holders) waits.push({ from, to });
    // Cycles that share a queue are one deadlock.
    for (let cycle = findPauseCycle(waits); cycle !== undefined; cycle = findPauseCycle(waits)) {
      const members = new Set(cycle);
      waits = waits.filter(({ from, to }) => !members.has(from) && !members.has(to));
      this.#report(cycle, now);
    }
  }

  #report(cycle: readonly number[], now: number): void {
    const key = cycle.join();
    if (this.#known.has(key)) return;
    this.#known.add(key);
    const ports = cycle.map((queue) => this.#ports[Math.floor(queue / PRIORITIES)]?.name ?? '');
    this.found.push({ atNs: now, ports });
  }

  /**
   * Queues that are stuck, by number, each with those that it waits for: the largest set whose members all wait for
   * members only.
   */
  #stuck(now: number): ReadonlyMap<number, readonly number[]> {
    const stuck = new Map<number, readonly number[]>();
    for (const port of this.#ports) {
      if (port.blocked === 0) continue;
      for (let priority = 0; priority < PRIORITIES; priority++)
        if (port.isBlocked(priority) && this.#isOld(port, priority, now) && !isLetGo(port, priority))
          stuck.set(numberOf(port, priority), this.#holders(port, priority));
    }
    for (let before = -1; before !== stuck.size; ) {
      before = stuck.size;
      for (const [queue, holders] of stuck)
        if (holders.length === 0 || !holders.every((holder) => stuck.has(holder))) stuck.delete(queue);
    }
    return stuck;
  }

  /** Queues behind the link of `port` in which frames wait that came over it. */
  #holders(port: EgressPort, priority: number): number[] {
    const beside = this.#portsOf[port.reverse.node] ?? [];
    return beside.filter((next) => this.#holdsFramesOf(next, priority, port)).map((next) => numberOf(next, priority));
  }

  #holdsFramesOf(port: EgressPort, priority: number, sender: EgressPort): boolean {
    const { store } = this.#transmitter;
    for (let slot = port.head(priority); slot >= 0; slot = store.next(slot))
      if (store.ingress(slot) === sender.index) return true;
    return false;
  }
}

function numberOf(port: EgressPort, priority: number): number {
  return port.index * PRIORITIES + priority;
}

/** Whether the end of its pause is on its way. */
function isLetGo(port: EgressPort, priority: number): boolean {
  return port.pauses !== undefined && (port.reverse.pausing & (1 << priority)) === 0;
}
