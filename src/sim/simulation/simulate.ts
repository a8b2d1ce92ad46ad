/**
 * A whole simulation: builds world, network and hosts from plain data, starts every flow at its time, records the
 * probes, and sums up. Deterministic: the same options give the same result, byte for byte. Nothing here happens per
 * packet.
 */
import { defined } from '../../../packets/defined.ts';
import { invariant } from '../../../packets/errors.ts';
import { Prng } from '../../ground/prng.ts';
import { BlankMemory } from '../blank-memory.ts';
import { SwitchedNetwork } from '../switching/index.ts';
import { clockwiseRoutes, PathFinder, shortestPaths } from '../topology/index.ts';
import { World } from '../world.ts';
import { FlowRun, MEMORY_BYTES } from './flow-run.ts';
import { SimulatedHost } from './host.ts';
import {
  checkOptions,
  DEFAULT_MTU,
  type HostSettings,
  hostOptions,
  type SimulationOptions,
  type SimulationResult,
} from './options.ts';
import { Probes } from './probes.ts';
import { flowResult, hostTotals, networkTotals, packetsDelivered, portResults } from './results.ts';

/**
 * Runs it to its end.
 *
 * @throws RoceError ERR_ROCE_ARGUMENT naming the invalid option; InvariantError, with the seed, for a bug of ours
 */
export function simulate(options: SimulationOptions): SimulationResult {
  checkOptions(options);
  return new Simulation(options).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #host: HostSettings;
  readonly #mtu: number;
  readonly #network: SwitchedNetwork;
  readonly #world: World<SwitchedNetwork>;
  readonly #paths: PathFinder;
  readonly #hosts = new Map<number, SimulatedHost>();
  readonly #flows: readonly FlowRun[];
  /** Flows that have not begun, the next one last. */
  readonly #coming: FlowRun[];
  /** Flows with a time to end at, the next one last. */
  readonly #ending: FlowRun[];
  readonly #probes: Probes;
  readonly #window: { readonly fromNs: number; readonly toNs: number };
  /** By flow: bytes delivered when the window began, and when it ended. */
  readonly #atWindow: { from: number[] | undefined; to: number[] | undefined } = { from: undefined, to: undefined };
  #left: number;
  #endNs = 0;
  /** The next fraction to report, and when to check for it: a check goes through all flows. */
  #nextReport = 0;
  #nextReportNs = 0;

  constructor(options: SimulationOptions) {
    const { topology, seed, switches, loss, clockwise = false, window, probe } = options;
    this.#options = options;
    this.#host = hostOptions(options.host);
    this.#mtu = options.mtu ?? DEFAULT_MTU;
    const routes = clockwise ? clockwiseRoutes(topology) : shortestPaths(topology);
    this.#paths = new PathFinder(topology, routes);
    this.#network = new SwitchedNetwork({
      ...{ topology, routes, seed, mtu: Math.max(LINK_MTU, this.#mtu + MAX_HEADER_BYTES) },
      nicQueueFrames: this.#host.nicQueueFrames,
      payload: 'blank',
      ...defined({ switches, loss }),
    });
    this.#network.tap = options.tap;
    this.#world = new World({ seed, network: this.#network });
    this.#flows = this.#makeFlows();
    this.#left = this.#flows.length;
    this.#coming = [...this.#flows].sort((a, b) => b.flow.startNs - a.flow.startNs || b.index - a.index);
    this.#ending = this.#flows
      .filter(({ flow }) => flow.stopNs !== undefined)
      .sort((a, b) => (b.flow.stopNs ?? 0) - (a.flow.stopNs ?? 0));
    this.#makeHosts();
    this.#window = { fromNs: window?.fromNs ?? 0, toNs: window?.toNs ?? Infinity };
    this.#probes = new Probes(probe, this.#window, {
      ports: this.#network.egressPorts,
      flows: this.#flows,
      hosts: [...this.#hosts.values()].map(({ device }) => device.portCounters),
    });
  }

  run(): SimulationResult {
    const stopNs = this.#options.stopNs ?? MAX_NS;
    // To the instant: otherwise counters would depend on the times of the probes.
    const limits = { maxSteps: Number.MAX_SAFE_INTEGER, done: () => this.#left === 0 };
    while (this.#left > 0) {
      this.#act();
      const now = this.#world.now;
      if (now >= stopNs) break;
      const next = Math.min(stopNs, this.#nextTime(), now + CHUNK_NS);
      // A flow may have ended by what was just done, and nothing else be left.
      if (this.#left > 0 && next > now) this.#world.runFor(next - now, limits);
    }
    this.#endNs = this.#left > 0 ? this.#world.now : this.#endNs;
    this.#options.onProgress?.(1);
    return this.#result();
  }

  /** Does what is due by now: starts, ends, probes. */
  #act(): void {
    const { now } = this.#world;
    this.#markWindow(now);
    for (
      let flow = this.#ending.at(-1);
      flow !== undefined && (flow.flow.stopNs ?? 0) <= now;
      flow = this.#ending.at(-1)
    ) {
      this.#ending.pop();
      if (flow.endNs === undefined && flow.running) flow.end(now, 'stopped');
    }
    for (let flow = this.#coming.at(-1); flow !== undefined && flow.flow.startNs <= now; flow = this.#coming.at(-1)) {
      this.#coming.pop();
      flow.start(this.#hostOf(flow.flow.src), this.#hostOf(flow.flow.dst));
    }
    while (this.#probes.nextTime <= now) this.#probes.look(now);
    if (this.#options.onProgress !== undefined && now >= this.#nextReportNs) this.#report(now);
  }

  #nextTime(): number {
    const { fromNs, toNs } = this.#window;
    return Math.min(
      this.#coming.at(-1)?.flow.startNs ?? Infinity,
      this.#ending.at(-1)?.flow.stopNs ?? Infinity,
      this.#probes.nextTime,
      this.#atWindow.from === undefined ? fromNs : this.#atWindow.to === undefined ? toNs : Infinity,
    );
  }

  #markWindow(now: number): void {
    const { fromNs, toNs } = this.#window;
    const delivered = (): number[] => this.#flows.map(({ deliveredBytes }) => deliveredBytes);
    if (this.#atWindow.from === undefined && now >= fromNs) this.#atWindow.from = delivered();
    if (this.#atWindow.to === undefined && now >= toNs) this.#atWindow.to = delivered();
  }

  #report(now: number): void {
    this.#nextReportNs = now + REPORT_EVERY_NS;
    const { stopNs = Infinity, flows } = this.#options;
    const bytes = flows.reduce((sum, flow) => sum + flow.bytes, 0);
    const delivered = this.#flows.reduce((sum, { deliveredBytes }) => sum + deliveredBytes, 0);
    const fraction = Math.min(1, Math.max(now / stopNs, delivered / bytes));
    if (fraction < this.#nextReport) return;
    this.#nextReport = fraction + REPORT_EVERY;
    this.#options.onProgress?.(fraction);
  }

  #makeFlows(): FlowRun[] {
    const setup = {
      host: this.#host,
      mtu: this.#mtu,
      ecnCapable: this.#options.congestion !== undefined,
      random: new Prng(this.#options.seed).fork('starting PSNs'),
      ended: (flow: FlowRun): void => {
        this.#left--;
        this.#endNs = Math.max(this.#endNs, flow.endNs ?? 0);
      },
    };
    const flows = this.#options.flows.map((flow, index) => new FlowRun(flow, index, setup));
    joinRelays(flows);
    return flows;
  }

  #makeHosts(): void {
    const { topology, congestion } = this.#options;
    const peers = new Map<number, Set<number>>();
    const meet = (host: number, peer: number): void => {
      const known = peers.get(host);
      if (known === undefined) peers.set(host, new Set([peer]));
      else known.add(peer);
    };
    for (const { flow } of this.#flows) {
      meet(flow.src, flow.dst);
      meet(flow.dst, flow.src);
    }
    const longest = this.#flows.reduce((most, flow) => Math.max(most, flow.messageBytes), 0);
    const memoryBytes = Math.max(MEMORY_BYTES, longest);
    const memory = new BlankMemory(memoryBytes);
    const rates = this.#hostRates();
    const completed = (wrId: number, opcode: number, status: number): void =>
      this.#flows[wrId]?.completed(this.#world.now, opcode, status);
    for (const number of [...peers.keys()].sort((a, b) => a - b)) {
      const lineRateBps = rates[number] ?? 0;
      const setup = {
        congestion: congestion === undefined ? undefined : { maxBurstBytes: 0, ...congestion, lineRateBps },
        maxUnacked: this.#host.maxUnacked,
        ...{ source: memory, sink: memory, completed, peers: peers.get(number) ?? [] },
      };
      this.#hosts.set(number, new SimulatedHost(this.#world, topology.nodeNames[number] ?? '', number, setup));
    }
  }

  /** By host: rate of its link. */
  #hostRates(): number[] {
    const rates: number[] = [];
    for (const { a, b, rateBps } of this.#options.topology.edges) {
      rates[a] = rateBps;
      rates[b] = rateBps;
    }
    return rates;
  }

  #hostOf(number: number): SimulatedHost {
    const host = this.#hosts.get(number);
    invariant(host !== undefined, 'every host of a flow is set up');
    return host;
  }

  #result(): SimulationResult {
    const { switches = {} } = this.#options;
    const { fromNs } = this.#window;
    const [from, to] = [this.#atWindow.from ?? [], this.#atWindow.to ?? []];
    const windowNs = Math.min(this.#window.toNs, this.#endNs) - fromNs;
    const context = { endNs: this.#endNs, mtu: this.#mtu, paths: this.#paths, switches, windowNs };
    return {
      endNs: this.#endNs,
      flows: this.#flows.map((flow, index) =>
        flowResult(flow, (to[index] ?? flow.deliveredBytes) - (from[index] ?? flow.deliveredBytes), context),
      ),
      series: this.#probes.series(),
      queueStats: this.#probes.queueStats(),
      hosts: hostTotals([...this.#hosts.values()].map(({ device }) => device.portCounters)),
      network: networkTotals(this.#network.egressPorts),
      ports: portResults(this.#network.egressPorts),
      deadlocks: this.#network.deadlocks,
      dataPackets: this.#flows.reduce((sum, flow) => sum + packetsDelivered(flow, this.#mtu), 0),
      events: this.#network.events,
      steps: this.#world.steps,
    };
  }
}

/** Each flow that relays gets the flow of its relay that ends where it begins, if there is one. */
function joinRelays(flows: readonly FlowRun[]): void {
  const relaying = flows.filter(({ flow }) => flow.relay !== undefined);
  const ending = new Map(relaying.map((run) => [`${run.flow.dst} ${run.flow.relay}`, run]));
  for (const run of relaying) {
    const before = ending.get(`${run.flow.src} ${run.flow.relay}`);
    if (before !== undefined) run.relays(before);
  }
}

const LINK_MTU = 1_500;
/** What a device keeps for headers in front of a path MTU (ref:wire#1). */
const MAX_HEADER_BYTES = 80;
/** Longest time without a look at what has ended. */
const CHUNK_NS = 1e6;
/** The longest simulation: an hour. */
const MAX_NS = 3_600e9;
const REPORT_EVERY = 0.01;
const REPORT_EVERY_NS = 50_000;
