/**
 * One run: honest hosts do their work, an attacker does what the scenario says, and the oracle judges. Always: no
 * exception, guards and what nobody may write unchanged, completions once and in order, right ICRCs, no more to the
 * attacker than came from it, nothing left at the end. Against an attacker without PSNs: all work succeeds while it
 * goes on, and memory is as the flat model has it. Against others: all work completes or its queue pair is in ERROR,
 * and new queue pairs work.
 */
import { type Connection, type Listener, QpState, RoceError, World } from 'rocev2';
import type { Prng } from 'rocev2/sim';
import type { LadderStep } from '../ladder/index.ts';
import { Flow, type Party } from './flow.ts';
import { addressOf, bringUp, connect, ipOf, listen, meet, openParty } from './honest.ts';
import { Intruder, type Mark } from './intruder.ts';
import type { Scenario } from './scenario.ts';
import { Watch } from './watch.ts';

export interface Outcome {
  /** Empty: all is well. */
  readonly problems: readonly string[];
  /** Same scenario, same digest: of every frame sent and every problem. */
  readonly digest: string;
  /** Names of the counters of both honest hosts that are not 0. */
  readonly counters: readonly string[];
  readonly virtualNs: number;
  /** The last frames. */
  ladder(): LadderStep[];
}

/** Bounds in virtual time: work under attack and after it, and what timers of hosts may take at the end. */
const WORK_NS = 20e9;
const SETUP_NS = 120e9;
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
  #listener: Listener | undefined;
  #connection: Connection | undefined;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    const { knowledge } = scenario.attack;
    this.#blind = knowledge === 'addresses' || knowledge === 'qpns';
    const world = new World({ seed: scenario.seed, latencyNs: 2000 });
    this.#world = world;
    this.#watch = new Watch(knowledge === 'everything');
    world.network.tap = this.#watch;
    this.#parties = [openParty(world, 'a', 1, scenario), openParty(world, 'b', 2, scenario)];
    const own = addressOf(66, scenario.ipVersion);
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
    this.#intruder.start();
    await this.#connect();
    this.#work();
    this.#intruder.stop();
    await this.#tryNewOnes();
    await this.#end();
  }

  outcome(): Outcome {
    const watch = this.#watch;
    const problems = [...this.problems, ...this.#flows.flatMap((flow) => flow.problems), ...watch.problems];
    const counters = new Set<string>();
    for (const { device } of this.#parties)
      for (const group of [device.counters, device.portCounters, device.cm.counters()])
        for (const [name, value] of Object.entries(group)) if (value !== 0) counters.add(name);
    return {
      ...{ problems, digest: watch.digest, counters: [...counters].sort(), virtualNs: this.#world.now },
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
    this.#listener = listen(flow);
    try {
      this.#connection = await this.#world.run(connect(flow), { maxTimeNs: SETUP_NS });
    } catch (error) {
      // An attacker that knows PSNs may have ended the passive queue pair; then the call fails, and no more.
      if (this.#blind || !(error instanceof RoceError)) throw error;
      return;
    }
    flow.postReceives();
  }

  #work(): void {
    const flows = this.#flows;
    const settled = ({ done, initiator }: Flow): boolean =>
      done || (!this.#blind && initiator.qp.state !== QpState.Rts);
    const turn = (): boolean => {
      for (const flow of flows) flow.turn();
      return flows.every(settled) && this.#intruder.nextDeadline() === Infinity;
    };
    turn();
    this.#world.runFor(WORK_NS, { done: turn });
    for (const flow of flows) {
      if (!settled(flow))
        this.problems.push(`${flow.service}: work has not come to an end (${flow.initiator.qp.stateName})`);
      else if (this.#blind && flow.succeeded < this.#scenario.work)
        this.problems.push(`${flow.service}: only ${flow.succeeded} work requests succeeded`);
    }
  }

  /** Whatever has become of the old ones. */
  async #tryNewOnes(): Promise<void> {
    const flow = await this.#open('rc', this.#world.random.fork('new'));
    const turn = (): boolean => {
      flow.turn();
      return flow.done;
    };
    turn();
    this.#world.runFor(WORK_NS, { done: turn });
    if (flow.succeeded < this.#scenario.work) this.problems.push('a new queue pair does not work after the attack');
    // Answers under way arrive before the queue pairs end.
    this.#world.runFor(1e6);
    this.#fresh = flow;
  }

  async #end(): Promise<void> {
    const world = this.#world;
    this.#listener?.close();
    if (this.#connection !== undefined) await world.run(this.#connection.disconnect(), { maxTimeNs: SETUP_NS });
    for (const flow of this.#flows) {
      for (const { qp } of [flow.initiator, flow.target])
        if (qp.stateName !== 'RESET') qp.modifyNow({ state: QpState.Error });
      flow.judge(this.#isStrict(flow));
      for (const { qp } of [flow.initiator, flow.target]) qp.destroy();
    }
    world.runUntilIdle({ maxTimeNs: REST_NS, maxSteps: 200_000 });
    for (const { device } of this.#parties)
      if (device.cm.size !== 0) this.problems.push(`${device.name}: ${device.cm.size} connections are left`);
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
    const { knowledge } = this.#scenario.attack;
    if (service === 'uc') return knowledge === 'addresses';
    if (service === 'ud' || service === 'multicast') return knowledge !== 'everything';
    return this.#blind;
  }
}

function marksOf({ initiator, target, service, qkey, writable, readable }: Flow): Mark[] {
  const keys = [writable, readable].map(({ rkey, iova, length }) => ({ rkey, va: iova, length }));
  const mark = (end: typeof initiator, peer: typeof initiator): Mark => ({
    ...{ victim: { mac: end.party.device.mac, address: ipOf(end.party) }, peer: ipOf(peer.party) },
    ...{ qp: end.qp, uc: service === 'uc', qkey, keys },
  });
  return [mark(target, initiator), mark(initiator, target)];
}
