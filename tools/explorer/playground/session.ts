/**
 * A session of the playground: a scenario, and how far it has been followed. Goes forwards packet by packet and back by
 * beginning anew, which gives the same bytes. What is done by hand becomes part of the scenario, so that a link has it.
 *
 * ```ts
 * const session = new PlaygroundSession(parseScenario({ operations: [{ kind: 'write', bytes: 4096 }] }));
 * session.step(); // A posts
 * session.step(); // A's first packet is on the wire
 * session.act('drop'); // it will not arrive
 * session.run(); // ...and B asks for it again
 * ```
 */
import { defined } from 'rocev2/packets';
import type { CapturedPacket } from 'rocev2/pcap';
import { capturedPackets, pcapngOf, type Vantage } from './capture.ts';
import { decodeLink, encodeLink } from './link.ts';
import { type PacketDetails, type PacketSummary, packetDetails } from './packet-view.ts';
import { parseScenario } from './parse-scenario.ts';
import { ScenarioRun, type SessionStep } from './run.ts';
import {
  type Intervention,
  LIMITS,
  type PacketAction,
  type PlaygroundOperation,
  type PlaygroundScenario,
} from './scenario.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';

/** A scenario under way, with a way back. */
export class PlaygroundSession {
  #scenario: PlaygroundScenario;
  #run: ScenarioRun;

  /** Takes as many steps as `position` says, fewer if there are not so many. */
  constructor(scenario: PlaygroundScenario, position = 0) {
    this.#scenario = scenario;
    this.#run = new ScenarioRun(scenario);
    this.#replay(position);
  }

  /** What was begun with, and what has been done by hand since. */
  get scenario(): PlaygroundScenario {
    return this.#scenario;
  }

  /** Virtual time in nanoseconds. */
  get now(): number {
    return this.#run.now;
  }

  /** Steps taken. */
  get position(): number {
    return this.#run.steps.length;
  }

  /** What happened, oldest first. */
  get steps(): readonly SessionStep[] {
    return this.#run.steps;
  }

  /** Whether nothing more will happen without another work request. */
  get over(): boolean {
    return this.#run.end !== '';
  }

  /**
   * Until the next packet is sent, arrives or is lost, or a timer runs out; undefined when nothing happens any more.
   */
  step(): SessionStep | undefined {
    this.#look();
    return this.#run.step();
  }

  /** That many steps, as far as there are any; returns how many were taken. */
  run(steps: number = LIMITS.steps): number {
    this.#look();
    let taken = 0;
    while (taken < steps && this.#run.step() !== undefined) taken++;
    return taken;
  }

  /** Steps until `condition` holds; false when it never does, within `most` steps. */
  runUntil(condition: () => boolean, most: number = LIMITS.steps): boolean {
    this.#look();
    for (let taken = 0; !condition(); taken++) if (taken >= most || this.#run.step() === undefined) return condition();
    return true;
  }

  /** Goes back, by default one step. What was done by hand stays done. */
  back(steps = 1): void {
    this.goTo(this.position - steps);
  }

  /** Goes to where so many steps have been taken, forwards or back. */
  goTo(position: number): void {
    if (position >= this.position) this.run(position - this.position);
    else this.#restart(Math.max(0, position));
  }

  /** The packet that was put on the wire last and is still under way; undefined when none is. */
  peek(): PacketSummary | undefined {
    const flight = this.#run.network.inFlight().findLast(({ copyOf }) => copyOf === 0);
    return flight === undefined ? undefined : this.#run.packets.summary(flight);
  }

  /** Drops the packet that is under way: that of `peek`, or the one with this number. False when there is none. */
  drop(serial?: number): boolean {
    return this.act('drop', serial);
  }

  /** Flips a bit of it. */
  corrupt(serial?: number): boolean {
    return this.act('corrupt', serial);
  }

  /** Lets it arrive twice. */
  duplicate(serial?: number): boolean {
    return this.act('duplicate', serial);
  }

  /** Holds it back, so that later ones overtake it. */
  delay(serial?: number, byNs?: number): boolean {
    return this.act('delay', serial, byNs);
  }

  /** Does something to a packet that is under way. False when that cannot be, or is done already. */
  act(action: PacketAction, serial: number | undefined = this.peek()?.serial, byNs?: number): boolean {
    const flight = this.#run.network.flights[(serial ?? 0) - 1];
    if (flight === undefined || flight.state !== 'flying' || flight.copyOf > 0) return false;
    if (flight.meets(action) !== undefined || this.#scenario.interventions.length >= LIMITS.interventions) return false;
    const { from: host, packet } = flight;
    const intervention: Intervention = { host, packet, action, ...defined({ byNs }) };
    this.#scenario = { ...this.#scenario, interventions: [...this.#scenario.interventions, intervention] };
    this.#run.intervene(intervention);
    return true;
  }

  /** Takes an intervention back: everything up to here happens anew without it. */
  undo(index: number): void {
    const interventions = this.#scenario.interventions.filter((_, at) => at !== index);
    this.#scenario = { ...this.#scenario, interventions };
    this.#restart(this.position);
  }

  /**
   * Posts by hand, as the next step. Undefined when the session is at its end. @throws ScenarioError for what makes no
   * sense here
   */
  post(operation: PlaygroundOperation): SessionStep | undefined {
    const { atNs: _, ...rest } = operation;
    const posted: PlaygroundOperation = { ...rest, atStep: this.position + 1 };
    // A request that a link could not carry is refused here, too.
    parseScenario({ ...this.#scenario, operations: [...this.#scenario.operations, posted] });
    this.#look();
    const step = this.#run.post(posted);
    if (step !== undefined) this.#scenario = { ...this.#scenario, operations: [...this.#scenario.operations, posted] };
    return step;
  }

  /** Everything there is to see now. */
  snapshot(): Snapshot {
    return takeSnapshot(this.#run);
  }

  /** How many packets there are, copies that the network made included. */
  get packetCount(): number {
    return this.#run.network.flights.length;
  }

  /** Every packet so far, in the order in which they were sent; the first `skipped` are left out. */
  packets(skipped = 0): PacketSummary[] {
    return this.#run.network.flights.slice(skipped).map((flight) => this.#run.packets.summary(flight));
  }

  /** One of them; undefined when there is none of this number. */
  packet(serial: number): PacketSummary | undefined {
    const flight = this.#run.network.flights[serial - 1];
    return flight === undefined ? undefined : this.#run.packets.summary(flight);
  }

  /** A packet in full: as it arrived, or as it was sent. Undefined when there is none of this number. */
  details(serial: number, as: 'sent' | 'arrived' = 'sent'): PacketDetails | undefined {
    const flight = this.#run.network.flights[serial - 1];
    return flight === undefined ? undefined : packetDetails(as === 'sent' ? flight.bytes : flight.lastBytes);
  }

  /** The packets as a capture, for the analysis. */
  captured(vantage: Vantage = 'wire'): CapturedPacket[] {
    return capturedPackets(this.#run.network.flights, vantage);
  }

  /** The packets as a pcapng file, which says in a comment how to get here again. */
  pcapng(vantage: Vantage = 'wire'): Uint8Array {
    return pcapngOf(this.#run.network.flights, vantage, this.link());
  }

  /** The fragment of a URL that leads here. */
  link(): string {
    return encodeLink({ scenario: this.#scenario, position: this.position });
  }

  /** A session from the fragment of a URL, or why there is none. Never throws for what the fragment holds. */
  static fromLink(hash: string): { readonly session: PlaygroundSession } | { readonly error: string } {
    const decoded = decodeLink(hash);
    if (!decoded.ok) return { error: decoded.error };
    return { session: new PlaygroundSession(decoded.session.scenario, decoded.session.position) };
  }

  #restart(position: number): void {
    this.#run = new ScenarioRun(this.#scenario);
    this.#replay(position);
  }

  /** The last step is taken by itself, so that one sees what it has changed. */
  #replay(position: number): void {
    for (let taken = 1; taken <= position; taken++) {
      if (taken === position) this.#look();
      if (this.#run.step() === undefined) break;
    }
  }

  /** Changes of memory count from now on. */
  #look(): void {
    for (const { memory } of this.#run.hosts.list) memory.look();
  }
}
