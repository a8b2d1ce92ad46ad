/**
 * The playground's network: hosts around one switch, or a ring of them, slow enough to watch. In each step one host
 * puts one packet on its wire, or one packet ends its way.
 *
 * Owns the clock, the packets under way, the switch's queues with their ECN marks, and the faults of packets. Never
 * reads a clock and draws random numbers by seed only. `World` drives it; a host that would send more than one packet
 * in an instant sends the next one in the next step. Queues grow in front of a host that is slower than its peers
 * (ref:dcqcn#1: marks by what waits behind a frame as it leaves). Which queues there are, and when a cable has to
 * pause, is in `pauses.ts`.
 */
import { type FrameBatch, invariant } from 'rocev2/packets';
import { EventQueue, markingProbability, Prng, type WorldNetwork } from 'rocev2/sim';
import { drawFate, Flight, hostOfFrame, isFor, isGroupFrame, sendingTime } from './flight.ts';
import { type Egress, PauseBook, type PauseEvent, Ways } from './pauses.ts';
import { hostName, type Intervention, type PlaygroundScenario } from './scenario.ts';
import { StepPort } from './step-port.ts';

/** What a packet did in a step. */
export interface FlightEvent {
  readonly kind: 'sent' | 'delivered' | 'lost' | 'delayed';
  readonly flight: Flight;
}

/** Hosts around a switch, one packet at a time. */
export class StepNetwork implements WorldNetwork {
  now = 0;
  /** One at a time, so that what a packet is made of is decided when it leaves. */
  readonly batchFrames = 1;
  /** Every packet of the session, in the order of their numbers. */
  readonly flights: Flight[] = [];
  /** What packets did since `takeEvents`. */
  #happened: FlightEvent[] = [];
  readonly #scenario: PlaygroundScenario;
  readonly #interventions: Intervention[];
  readonly #ports: StepPort[] = [];
  readonly #lines: Egress[];
  readonly #ways: Ways;
  readonly #book: PauseBook;
  #pauses: PauseEvent[] = [];
  readonly #events = new EventQueue();
  readonly #random: Prng;
  readonly #chances: Prng[] = [];
  readonly #alarms: (() => void)[] = [];
  #turnTaken = false;
  #underWay = 0;

  constructor(scenario: PlaygroundScenario) {
    this.#scenario = scenario;
    this.#interventions = [...scenario.interventions];
    this.#random = new Prng(scenario.seed).fork('switch');
    this.#ways = new Ways(scenario.hosts, scenario.link.shape);
    this.#book = new PauseBook(scenario.link.pfc);
    this.#lines = Array.from({ length: this.#ways.queues }, () => ({
      ...{ waiting: [], bytes: 0, busy: false, paused: false },
    }));
  }

  /** Packets on their way. */
  get framesInFlight(): number {
    return this.#underWay;
  }

  /** Packets on their way, oldest first. */
  inFlight(): Flight[] {
    return this.flights.filter(({ state }) => state === 'flying');
  }

  /** Bytes that wait in the switch for a host; in a ring, all that wait in its switch. */
  queuedBytes(host: number): number {
    return this.#ways.queuesOf(host).reduce((sum, queue) => sum + this.#line(queue).bytes, 0);
  }

  /** Whether a switch has asked this host to pause; and, in a ring, its switch. */
  pausesOf(host: number): { readonly paused: boolean; readonly switchPaused: boolean } {
    const onward = this.#ways.queuesOf(host)[1];
    return { paused: this.#port(host).paused, switchPaused: onward !== undefined && this.#line(onward).paused };
  }

  /** Hosts in their order; how their ports are is the scenario's. */
  attach(name: string, _options: object = {}): StepPort {
    const host = this.#ports.length;
    invariant(name === hostName(host) && host < this.#scenario.hosts, 'hosts are attached in their order');
    const { rateBps, ratesBps } = this.#scenario.link;
    const port = new StepPort(this, host, name, ratesBps[host] || rateBps);
    this.#ports.push(port);
    this.#chances.push(new Prng(this.#scenario.seed).fork(`chance ${name}`));
    return port;
  }

  /** Does this to a packet, now or when it comes to be sent. */
  intervene(intervention: Intervention): void {
    this.#interventions.push(intervention);
    for (const flight of this.flights)
      if (flight.state === 'flying' && flight.copyOf === 0 && isFor(intervention, flight))
        flight.fate.push(intervention);
  }

  /**
   * Calls `ring` in an event of its own when this time has come: before packets of the same instant that were sent
   * later.
   */
  alarm(atNs: number, ring: () => void): void {
    this.#alarms.push(ring);
    this.#push(atNs, Kind.Alarm, this.#alarms.length - 1);
  }

  /** What packets did since the last call. */
  takeEvents(): FlightEvent[] {
    const happened = this.#happened;
    if (happened.length > 0) this.#happened = [];
    return happened;
  }

  /** Pauses that began and ended since the last call, in words, with the hosts they are about. */
  takePauses(): { readonly host: number; readonly paused: boolean; readonly text: string }[] {
    const ways = this.#ways;
    return this.#pauses.splice(0).map((event) => ({
      ...{ host: ways.senderOf(event.cable), paused: event.paused, text: ways.describe(event) },
    }));
  }

  nextEventTime(): number {
    return this.#events.peekTime();
  }

  /** One event, so that the world looks at its machines after each. */
  advance(limit: number): boolean {
    // A packet was sent in this step: what else is due in this instant can wait.
    if (this.#happened.length > 0) return true;
    if (this.#events.size === 0 || this.#events.peekTime() > limit) return false;
    this.now = Math.max(this.now, this.#events.peekTime());
    this.#handle(this.#events.pop());
    return true;
  }

  /** As far as the first packet that does something: the rest of the instant is left for the steps to come. */
  deliverDue(now: number): void {
    while (this.#happened.length === 0 && this.#pauses.length === 0 && this.advance(now));
    this.now = now;
  }

  /** For the ports: whether any may send in this step. */
  get turnTaken(): boolean {
    return this.#turnTaken;
  }

  /** For the ports: puts one frame on the wire, which ends the turn. */
  send(port: StepPort, { bytes, starts, lengths }: FrameBatch, index: number): void {
    const start = starts[index] ?? 0;
    const length = lengths[index] ?? 0;
    const from = port.host;
    const packet = ++port.sent;
    const flight = new Flight({
      ...{ serial: this.flights.length + 1, from, packet, sentNs: this.now },
      ...{ to: this.#firstReceiver(bytes, start, from), bytes: bytes.slice(start, start + length) },
    });
    flight.isToGroup = isGroupFrame(bytes, start);
    const chance = this.#chances[from];
    invariant(chance !== undefined, 'every port has its chance');
    flight.fate.push(...drawFate(chance, this.#scenario.link, from, packet));
    flight.fate.push(...this.#interventions.filter((one) => isFor(one, flight)));
    this.#begin(flight, 'sent');
    flight.cable = from;
    const freeNs = this.now + sendingTime(length, port.rateBps);
    port.busy = true;
    this.#turnTaken = true;
    this.#push(this.now, Kind.Turn, 0);
    this.#push(freeNs, Kind.Free, from);
    this.#push(freeNs + this.#hopNs(0), Kind.Enter, flight.serial);
  }

  #firstReceiver(bytes: Uint8Array, start: number, from: number): number {
    if (isGroupFrame(bytes, start)) return from === 0 ? 1 : 0;
    return hostOfFrame(bytes, start, this.#ports.length);
  }

  #handle(event: number): void {
    const id = Math.floor(event / KINDS);
    switch (event % KINDS) {
      case Kind.Turn:
        this.#turnTaken = false;
        for (const port of this.#ports) port.unblock();
        break;
      case Kind.Free:
        this.#freed(id);
        break;
      case Kind.Enter:
        this.#enterSwitch(this.#flight(id));
        break;
      case Kind.Again:
        this.#wait(this.#flight(id));
        break;
      case Kind.Leave:
        this.#leaveSwitch(id);
        break;
      case Kind.Pause:
      case Kind.Resume:
        this.#setPaused(id, event % KINDS === Kind.Pause);
        break;
      case Kind.Alarm:
        this.#alarms[id]?.();
        break;
      default:
        this.#arrive(this.#flight(id));
    }
  }

  #freed(host: number): void {
    const port = this.#port(host);
    port.busy = false;
    port.unblock();
  }

  #enterSwitch(flight: Flight): void {
    const { to } = flight;
    if (to < 0) {
      this.#lose(flight, 'no such host');
      return;
    }
    if (this.#queueOf(flight).bytes + flight.bytes.length > this.#scenario.link.queueBytes)
      this.#lose(flight, 'queue full');
    else this.#wait(flight);
    if (flight.isToGroup && flight.copyOf === 0) this.#flood(flight);
  }

  /** This switch knows no groups: every other host gets a copy. */
  #flood(flight: Flight): void {
    for (let to = flight.to + 1; to < this.#ports.length; to++) {
      if (to === flight.from) continue;
      const copy = new Flight({ ...flight, to, serial: this.flights.length + 1, sentNs: this.now }, flight.serial);
      copy.isToGroup = true;
      copy.cable = flight.cable;
      this.#begin(copy);
      // An event of its own: a copy that finds its queue full is lost in a step of its own.
      this.#push(this.now, Kind.Enter, copy.serial);
    }
  }

  #wait(flight: Flight): void {
    const line = this.#queueOf(flight);
    line.waiting.push(flight);
    line.bytes += flight.bytes.length;
    if (this.#book.enters(flight.cable, flight.bytes.length)) this.#ask(flight.cable, Kind.Pause);
    if (!line.busy) this.#startSending(this.#lines.indexOf(line));
  }

  #queueOf({ cable, to }: Flight): Egress {
    return this.#line(this.#ways.queueAt(this.#ways.switchOf(cable), to));
  }

  /** The request takes the way of its cable back. */
  #ask(cable: number, kind: number): void {
    this.#push(this.now + this.#hopNs(0), kind, cable);
  }

  #setPaused(cable: number, paused: boolean): void {
    this.#pauses.push({ cable, paused });
    if (!this.#ways.isBetween(cable)) {
      const port = this.#port(cable);
      port.paused = paused;
      port.unblock();
      return;
    }
    const line = this.#line(cable);
    line.paused = paused;
    if (!line.busy) this.#startSending(cable);
  }

  /** The frame at the head of the queue begins to leave; what waits behind it decides on its mark. */
  #startSending(queue: number): void {
    const line = this.#line(queue);
    const [flight] = line.waiting;
    line.busy = flight !== undefined && !line.paused;
    if (flight === undefined || line.paused) return;
    const { ecn } = this.#scenario.link;
    const behind = line.bytes - flight.bytes.length;
    if (ecn !== undefined && this.#random.chance(markingProbability(ecn, behind))) flight.mark();
    this.#push(this.now + sendingTime(flight.bytes.length, this.#rateOf(queue)), Kind.Leave, queue);
  }

  #leaveSwitch(queue: number): void {
    const line = this.#line(queue);
    const flight = line.waiting.shift();
    invariant(flight !== undefined, 'what leaves a queue was in it');
    line.bytes -= flight.bytes.length;
    if (this.#book.leaves(flight.cable, flight.bytes.length)) this.#ask(flight.cable, Kind.Resume);
    if (this.#ways.isBetween(queue)) {
      flight.cable = queue;
      this.#push(this.now + this.#hopNs(0), Kind.Enter, flight.serial);
    } else {
      flight.arrivesNs = this.now + this.#hopNs(1);
      this.#push(flight.arrivesNs, Kind.Arrive, flight.serial);
    }
    this.#startSending(queue);
  }

  /**
   * The end of the way: what is to be done to the packet is done here. The delay comes first: whatever is done by hand
   * to a packet that is held back comes later, and has to when the link is played again.
   */
  #arrive(flight: Flight): void {
    const delay = flight.meets('delay');
    if (delay !== undefined && !flight.delayed) {
      flight.delayed = true;
      this.#comeAgain(flight, delay.byNs ?? DEFAULT_DELAY_NS);
      this.#happened.push({ kind: 'delayed', flight });
      return;
    }
    if (flight.meets('drop') !== undefined) {
      this.#lose(flight, 'dropped');
      return;
    }
    if (flight.meets('mark') !== undefined) flight.mark();
    if (flight.meets('corrupt') !== undefined) flight.corrupt();
    const duplicate = flight.meets('duplicate');
    if (duplicate !== undefined) this.#copy(flight, duplicate.byNs ?? DEFAULT_COPY_NS);
    this.#end(flight, 'delivered');
    this.#port(flight.to).deliver(flight.lastBytes);
  }

  #copy(flight: Flight, byNs: number): void {
    const serial = this.flights.length + 1;
    const copy = new Flight({ ...flight, serial, sentNs: this.now }, flight.serial);
    copy.arrivedBytes = flight.arrivedBytes;
    copy.marked = flight.marked;
    copy.cable = flight.cable;
    this.#begin(copy);
    this.#comeAgain(copy, byNs);
  }

  /** So much later where the cable is free: what is late, and what comes twice, takes its time on it like all else. */
  #comeAgain(flight: Flight, byNs: number): void {
    const ownNs = sendingTime(flight.bytes.length, this.#port(flight.to).rateBps) + this.#hopNs(1);
    flight.arrivesNs = this.now + Math.max(byNs, ownNs);
    this.#push(flight.arrivesNs - ownNs, Kind.Again, flight.serial);
  }

  #lose(flight: Flight, reason: Flight['lossReason']): void {
    flight.lossReason = reason;
    this.#end(flight, 'lost');
  }

  #begin(flight: Flight, kind?: 'sent'): void {
    this.flights.push(flight);
    this.#underWay += 1;
    if (kind !== undefined) this.#happened.push({ kind, flight });
  }

  #end(flight: Flight, kind: 'delivered' | 'lost'): void {
    flight.state = kind;
    flight.arrivesNs = this.now;
    this.#underWay -= 1;
    this.#happened.push({ kind, flight });
  }

  /** Half of the way before the switch, the rest behind it. */
  #hopNs(hop: 0 | 1): number {
    const first = Math.floor(this.#scenario.link.delayNs / 2);
    return hop === 0 ? first : this.#scenario.link.delayNs - first;
  }

  #push(time: number, kind: number, id: number): void {
    this.#events.push(time, id * KINDS + kind);
  }

  #flight(serial: number): Flight {
    const flight = this.flights[serial - 1];
    invariant(flight !== undefined, 'an event names a packet that was sent');
    return flight;
  }

  #port(host: number): StepPort {
    const port = this.#ports[host];
    invariant(port !== undefined, 'an event names a host that is there');
    return port;
  }

  #rateOf(queue: number): number {
    return this.#ways.isBetween(queue) ? this.#scenario.link.rateBps : this.#port(queue).rateBps;
  }

  #line(queue: number): Egress {
    const line = this.#lines[queue];
    invariant(line !== undefined, 'a packet waits in a queue that is there');
    return line;
  }
}

/** Kinds of events; those of one instant come in the order in which they were pushed. */
const Kind = { Turn: 0, Free: 1, Enter: 2, Leave: 3, Arrive: 4, Alarm: 5, Again: 6, Pause: 7, Resume: 8 } as const;
const KINDS = 16;
const DEFAULT_DELAY_NS = 20_000;
const DEFAULT_COPY_NS = 1_000;
