/**
 * One pass through a scenario, forwards only: the real stack in a world whose network shows every packet. `session.ts`
 * goes back by beginning anew.
 *
 * Owns the order: what is posted by hand is a step of its own, what is posted by time is one when that time has come;
 * then one packet is sent, arrives or is lost, or a timer runs out. What happens between two such moments belongs to
 * the later one.
 */

import { World } from 'rocev2/browser';
import { invariant } from 'rocev2/packets';
import { RcQueuePair } from 'rocev2/transport';
import type { ConnectedEnd } from './ends.ts';
import type { Flight } from './flight.ts';
import { Hosts } from './hosts.ts';
import type { SessionNote } from './notes.ts';
import { PacketReader } from './packet-view.ts';
import { type Intervention, LIMITS, type PlaygroundOperation, type PlaygroundScenario } from './scenario.ts';
import { StepNetwork } from './step-network.ts';

/** What a step was about. */
export type SessionStepKind = 'posted' | 'sent' | 'delivered' | 'lost' | 'delayed' | 'timer';

/** One step. */
export interface SessionStep {
  /** From 1. */
  readonly number: number;
  readonly timeNs: number;
  readonly kind: SessionStepKind;
  /** The host of the step: the sender of what was sent, the receiver of what arrived. */
  readonly host: number;
  /** Serial number of the packet; 0: none. */
  readonly serial: number;
  /** What the queue pairs decided. */
  readonly notes: readonly SessionNote[];
}

/** Why nothing more happens; empty: something will. */
export type RunEnd = '' | 'silent' | 'too many steps' | 'too much time';

/** A scenario under way. */
export class ScenarioRun {
  readonly network: StepNetwork;
  readonly hosts: Hosts;
  readonly packets = new PacketReader();
  readonly steps: SessionStep[] = [];
  end: RunEnd = '';
  readonly #world: World<StepNetwork>;
  readonly #notes: SessionNote[] = [];
  /** Operations that wait for their step, in its order. */
  readonly #byStep: PlaygroundOperation[];
  /** The host that has just posted an operation whose time had come; -1: none. */
  #posted = -1;

  /** Makes hosts and connections. Nothing has happened yet. */
  constructor(scenario: PlaygroundScenario) {
    this.network = new StepNetwork(scenario);
    this.#world = new World({ seed: scenario.seed, network: this.network });
    this.hosts = new Hosts(this.#world, scenario, this.#notes);
    this.#byStep = scenario.operations.filter(({ atStep }) => atStep !== undefined);
    this.#byStep.sort((a, b) => (a.atStep ?? 0) - (b.atStep ?? 0));
    for (const operation of scenario.operations)
      if (operation.atStep === undefined) this.network.alarm(operation.atNs ?? 0, () => this.#post(operation));
  }

  /** Virtual time. */
  get now(): number {
    return this.network.now;
  }

  /** The next thing that happens; undefined when nothing does any more, and `end` says why. */
  step(): SessionStep | undefined {
    if (this.end !== '') return undefined;
    if (this.steps.length >= LIMITS.steps) this.end = 'too many steps';
    const [next] = this.#byStep;
    if (next !== undefined && (next.atStep ?? 0) <= this.steps.length + 1) return this.#postNext();
    while (this.end === '') {
      const step = this.#advance();
      if (step !== undefined) return step;
    }
    return undefined;
  }

  /** Posts by hand, as the next step. */
  post(operation: PlaygroundOperation): SessionStep | undefined {
    if (this.end === 'silent') this.end = '';
    if (this.end !== '') return undefined;
    this.#byStep.unshift(operation);
    return this.#postNext();
  }

  /** Does this to a packet, under way or to be sent. */
  intervene(intervention: Intervention): void {
    this.network.intervene(intervention);
  }

  #postNext(): SessionStep | undefined {
    const operation = this.#byStep.shift();
    if (operation === undefined) return undefined;
    this.#post(operation);
    return this.#record();
  }

  #post(operation: PlaygroundOperation): void {
    this.#posted = this.hosts.post(operation);
  }

  /** The smallest move of the world; undefined when it shows nothing. */
  #advance(): SessionStep | undefined {
    const goesOn = this.#world.step();
    const { now } = this.network;
    for (const { host, paused, text } of this.network.takePauses()) this.hosts.host(host).notes.pause(paused, text);
    this.#lookAtPauses();
    for (const { device, notes } of this.hosts.list) notes.count(device.counters, device.portCounters);
    this.hosts.poll(now);
    const step = this.#record();
    if (step !== undefined) return step;
    if (this.#world.steps > MAX_MOVES) this.end = 'too many steps';
    else if (now > LIMITS.timeNs) this.end = 'too much time';
    else if (!goesOn) return this.#fallSilent();
    return undefined;
  }

  /** What was to be posted in a later step is posted now: that step would never come. */
  #fallSilent(): SessionStep | undefined {
    if (this.#byStep.length > 0) return this.#postNext();
    this.end = 'silent';
    return undefined;
  }

  /** No event reports that a pause after an RNR NAK is over. */
  #lookAtPauses(): void {
    for (const { host, qp } of this.hosts.endpoints) {
      const { notes } = this.hosts.host(host);
      if (notes.waiting.has(qp.qpn) && !isPausing(qp)) notes.rnrOver(qp.qpn);
    }
  }

  /** Makes a step of what has happened since the last, if anything has. */
  #record(): SessionStep | undefined {
    const events = this.network.takeEvents();
    invariant(events.length <= 1, 'the network shows one packet at a time');
    const [event] = events;
    const notes = this.#notes.splice(0);
    const posted = this.#posted;
    this.#posted = -1;
    if (event === undefined && posted < 0 && notes.length === 0) return undefined;
    if (event?.kind === 'sent') this.packets.sent(event.flight);
    const step: SessionStep = {
      number: this.steps.length + 1,
      timeNs: this.now,
      kind: event?.kind ?? (posted < 0 ? 'timer' : 'posted'),
      host: event === undefined ? hostOfNotes(posted, notes) : hostOf(event.kind, event.flight),
      serial: event?.flight.serial ?? 0,
      notes,
    };
    this.steps.push(step);
    return step;
  }
}

function hostOfNotes(posted: number, notes: readonly SessionNote[]): number {
  return posted < 0 ? (notes[0]?.host ?? 0) : posted;
}

function hostOf(kind: SessionStepKind, { from, to }: Flight): number {
  return kind === 'sent' || to < 0 ? from : to;
}

function isPausing({ core }: ConnectedEnd['qp']): boolean {
  return core instanceof RcQueuePair && core.inspect().requester?.rnrWaiting === true;
}

/** Moves of the world, in all: a lesson is shorter. */
const MAX_MOVES = 1_000_000;
