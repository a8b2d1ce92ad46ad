/**
 * One run: honest hosts do their work, an attacker does what the scenario says, and the oracle judges. Always: no
 * exception and no error of the stack's own, guards and what nobody may write unchanged, completions once and in order,
 * right ICRCs, no more to the attacker than came from it, tables within their bounds and empty at the end, TCP goes on.
 * Against an attacker whose packets cannot pass for those of a peer: all work succeeds while it goes on, and memory is
 * as the flat model has it. Against others: all work completes or its queue pair is in ERROR, and new ones work.
 */
import { type Connection, type Listener, QpState, QpType, RoceError, World } from 'rocev2';
import type { Prng } from 'rocev2/sim';
import type { LadderStep } from '../ladder/index.ts';
import { ATTACKER, addressOf } from './addresses.ts';
import { Flow, type Party } from './flow.ts';
import { bringUp, connect, ipOf, listen, meet, openParty, TIGHT } from './honest.ts';
import { beyondLimits, leftBehind } from './host-limits.ts';
import { Intruder, type Mark } from './intruder.ts';
import { isBlind, isHarmless, type Scenario } from './scenario.ts';
import { Stream } from './stream.ts';
import { Watch } from './watch.ts';

export interface Outcome {
  /** Empty: all is well. */
  readonly problems: readonly string[];
  /** Same scenario, same digest: of every frame sent and every problem. */
  readonly digest: string;
  /** Names of the counters of both honest hosts that are not 0. */
  readonly counters: readonly string[];
  readonly virtualNs: number;
  /** Frames sent, the attacker's included. */
  readonly frames: number;
  /** The last frames. */
  ladder(): LadderStep[];
}

/** Bounds in virtual time: work under attack and after it, and what timers of hosts may take at the end. */
const WORK_NS = 20e9;
const SETUP_NS = 120e9;
const CALLING_NS = 20_000;
const TURN_NS = 10_000;
const SLICE_NS = 1e9;
const REST_NS = 3600e9;

export async function runScenario(scenario: Scenario): Promise<Outcome> {
  const run = new Run(scenario);
  try {
    await run.whole();
  } catch (error) {
    run.problems.push(`exception: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
  return run.outcome();
}

class Run {
  readonly problems: string[] = [];
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #watch: Watch;
  readonly #parties: readonly [Party, Party];
  readonly #intruder: Intruder;
  readonly #flows: Flow[] = [];
  /** Nothing the attacker sends can pass for a packet of a connection. */
  readonly #blind: boolean;
  /** The one of after the attack. */
  #fresh: Flow | undefined;
  #stream: Stream | undefined;
  #listener: Listener | undefined;
  #connection: Connection | undefined;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#blind = isBlind(scenario);
    const world = new World({ seed: scenario.seed, latencyNs: 2000 });
    this.#world = world;
    this.#watch = new Watch(scenario.attack.knowledge === 'everything', scenario.mtu);
    world.network.tap = this.#watch;
    this.#parties = [openParty(world, 'a', 1, scenario), openParty(world, 'b', 2, scenario)];
    const own = addressOf(ATTACKER, scenario.ipVersion);
    this.#intruder = world.attach(
      'attacker',
      (host, _port, random) => new Intruder(host, random, scenario, own, this.#watch),
      { mtu: 9000 },
    );
  }

  async whole(): Promise<void> {
    const world = this.#world;
    const [a, b] = this.#parties;
    await world.run(Promise.all([meet(a, b), meet(b, a)]), { maxTimeNs: SETUP_NS });
    for (const service of this.#scenario.services) await this.#open(service, world.random.fork(service));
    const { stream, ipVersion, work } = this.#scenario;
    if (stream) {
      this.#stream = new Stream(world, b);
      void this.#stream.run(a, ipVersion, work);
    }
    this.#intruder.start();
    await this.#connect();
    await this.#work();
    this.#intruder.stop();
    await this.#tryNewOnes();
    await this.#end();
  }

  outcome(): Outcome {
    const watch = this.#watch;
    const problems = [...this.problems, ...this.#flows.flatMap((flow) => flow.problems), ...watch.problems];
    const counters = new Set<string>();
    for (const { device } of this.#parties)
      for (const group of [device.counters, device.portCounters, device.cm.counters(), device.tcp?.counters ?? {}])
        for (const [name, value] of Object.entries(group)) if (value !== 0) counters.add(name);
    return {
      ...{ problems, digest: watch.digest, counters: [...counters].sort(), virtualNs: this.#world.now },
      frames: watch.sent,
      ladder: () => watch.ladder(),
    };
  }

  async #open(service: Flow['service'], random: Prng): Promise<Flow> {
    const [a, b] = this.#parties;
    const [from, to] = random.chance(0.5) ? [a, b] : [b, a];
    const flow = new Flow(service, this.#scenario, from, to, random);
    this.#flows.push(flow);
    await this.#world.run(bringUp(flow, this.#scenario), { maxTimeNs: SETUP_NS });
    if (service !== 'cm') flow.postReceives();
    this.#intruder.marks.push(...marksOf(flow));
    return flow;
  }

  async #connect(): Promise<void> {
    const flow = this.#flows.find(({ service }) => service === 'cm');
    if (flow === undefined) return;
    this.#listener = listen(this.#world, flow);
    // A caller that comes when the attack has begun.
    await this.#world.run(this.#world.sleep(CALLING_NS));
    try {
      this.#connection = await this.#world.run(connect(flow), { maxTimeNs: SETUP_NS });
    } catch (error) {
      // An attacker that knows PSNs may have ended the passive queue pair; then the call fails, and no more.
      if (this.#blind || !(error instanceof RoceError)) throw error;
      return;
    }
    flow.postReceives();
  }

  async #work(): Promise<void> {
    const flows = this.#flows;
    const settled = ({ done, initiator }: Flow): boolean =>
      done || (!this.#blind && initiator.qp.state !== QpState.Rts);
    const turn = (): boolean => {
      const posted = this.#posted();
      for (const flow of flows) flow.turn(posted);
      return flows.every(settled) && this.#stream?.done !== false && this.#intruder.nextDeadline() === Infinity;
    };
    if (this.#stream === undefined) this.#runUntil(turn);
    else await this.#world.run(this.#turnUntil(turn), { maxTimeNs: 2 * WORK_NS });
    const limits = this.#scenario.tight ? TIGHT : undefined;
    for (const { device } of this.#parties) this.problems.push(...beyondLimits(device, limits));
    if (this.#stream?.done === false) this.problems.push('TCP: the stream has not come to an end');
    for (const flow of flows) {
      if (!settled(flow))
        this.problems.push(`${flow.service}: work has not come to an end (${flow.initiator.qp.stateName})`);
      else if (this.#blind && flow.succeeded < this.#scenario.work)
        this.problems.push(`${flow.service}: only ${flow.succeeded} work requests succeeded`);
    }
  }

  /** How many work requests of each flow may be posted by now: as many as last while the attack goes on. */
  #posted(): number {
    const { work } = this.#scenario;
    const left = this.#intruder.remaining;
    return left === 0 ? work : Math.ceil(work * (1 - left));
  }

  /** A completion may be the last thing that happens, when its packet is lost: looks again after each slice. */
  #runUntil(done: () => boolean): void {
    const end = this.#world.now + WORK_NS;
    while (!done() && this.#world.now < end) this.#world.runFor(SLICE_NS, { done });
  }

  /** The same, and promises go on: TCP has no other interface. */
  async #turnUntil(done: () => boolean): Promise<void> {
    const end = this.#world.now + WORK_NS;
    while (!done() && this.#world.now < end) await this.#world.sleep(TURN_NS);
  }

  /** Whatever has become of the old ones. */
  async #tryNewOnes(): Promise<void> {
    const flow = await this.#open('rc', this.#world.random.fork('new'));
    const turn = (): boolean => {
      flow.turn();
      return flow.done;
    };
    this.#runUntil(turn);
    if (flow.succeeded < this.#scenario.work) this.problems.push('a new queue pair does not work after the attack');
    // Answers under way arrive before the queue pairs end.
    this.#world.runFor(1e6);
    this.#fresh = flow;
  }

  async #end(): Promise<void> {
    const world = this.#world;
    this.#listener?.close();
    if (this.#stream !== undefined) await world.run(this.#stream.close(), { maxTimeNs: REST_NS });
    this.problems.push(...(this.#stream?.problems ?? []));
    if (this.#connection !== undefined) await world.run(this.#connection.disconnect(), { maxTimeNs: SETUP_NS });
    for (const flow of this.#flows) {
      for (const { qp } of [flow.initiator, flow.target])
        if (qp.stateName !== 'RESET') qp.modifyNow({ state: QpState.Error });
      flow.judge(this.#isStrict(flow));
      for (const { qp } of [flow.initiator, flow.target]) qp.destroy();
    }
    world.runUntilIdle({ maxTimeNs: REST_NS, maxSteps: 200_000 });
    for (const { device } of this.#parties) {
      this.problems.push(...leftBehind(device));
      const { internalErrors } = device.counters;
      if (internalErrors > 0) this.problems.push(`${device.name}: ${internalErrors} errors of its own`);
    }
    if (world.network.framesInFlight !== 0) this.problems.push('frames are left on the wire');
    this.#checkReflection();
  }

  /** One answer of the same size for each frame that names the attacker, and a few bytes of other headers. */
  #checkReflection(): void {
    const { toAttacker } = this.#watch;
    const { own } = this.#intruder;
    if (toAttacker.bytes > own.bytes + 8 * own.frames)
      this.problems.push(`${toAttacker.bytes} bytes went to the attacker, ${own.bytes} came from it`);
  }

  /** Whether no forged packet can be valid for this flow: UC takes messages of any PSN, UD those with its Q_Key. */
  #isStrict(flow: Flow): boolean {
    const { service } = flow;
    if (flow === this.#fresh) return true;
    const { knowledge, acts, violations } = this.#scenario.attack;
    if (violations.length === 0 && isHarmless(acts)) return true;
    if (service === 'uc') return knowledge === 'addresses';
    if (service === 'ud' || service === 'multicast') return knowledge !== 'everything';
    return this.#blind;
  }
}

function marksOf({ initiator, target, type, service, qkey, writable, readable, traps }: Flow): Mark[] {
  const keys = [writable, readable].map(({ rkey, iova, length }) => ({ rkey, va: iova, length }));
  const mark = (end: typeof initiator, peer: typeof initiator): Mark => ({
    ...{ victim: { mac: end.party.device.mac, address: ipOf(end.party) }, peer: ipOf(peer.party) },
    ...{ qp: end.qp, peerQp: peer.qp, peerGuid: peer.party.device.guid, uc: service === 'uc', qkey, keys },
    ...{ connected: type !== QpType.Ud, cm: service === 'cm', traps: end === target ? traps : undefined },
  });
  return [mark(target, initiator), mark(initiator, target)];
}
