/**
 * `npm run soak -- days`: weeks of mixed traffic in the simulated world. Every few virtual minutes all activities run
 * at the same time on a wire that loses, repeats, reorders and damages frames; between them the hosts are idle, which
 * costs nothing. One connection lives from the first minute to the last. After each round the tables of every device
 * have to be as they were after the first one, and at the end empty. Owns the rounds and the figures.
 *
 * What wraps: the devices draw their numbers from `EdgeRandom`, so queue pair numbers, key indices, communication ids
 * and ports come again within hours, and starting PSNs and TCP sequence numbers lie a little before their end. The
 * 8-bit variants of keys wrap by counting, and in a run of 30 days so do the PSNs of the connection that lives: it
 * sends more than 2^24 packets.
 */
import { Device, IpPrefix, parseMac, World, type WorldOptions, WrOpcode } from 'rocev2';
import type { FaultSpec } from 'rocev2/faults';
import { ACTIVITIES, type Turn } from './activities.ts';
import { EdgeRandom } from './edge-random.ts';
import { differences, leftOver } from './left-over.ts';
import { type Growth, growth, type MemoryPoint, memoryPoint } from './memory.ts';
import { Odometer } from './odometer.ts';
import { demand, type Fabric, join, part, Side, SoakFault, type Station, sameBytes } from './station.ts';

export interface DaysOptions {
  /** Virtual days, more than 0. */
  readonly days: number;
  /** Virtual minutes from round to round, 5 or more: TIMEWAIT and failed attempts take some. */
  readonly roundMinutes: number;
  /** Bytes that the connection that lives carries in each round. */
  readonly bulkBytes: number;
  readonly seed: number;
  /** Points at which memory is measured. */
  readonly points: number;
  /** Called at each of them. */
  readonly say?: (line: string) => void;
}

export interface DaysFigures {
  /** Virtual days that have passed. */
  readonly days: number;
  readonly rounds: number;
  /** Messages of all kinds whose completion was awaited. */
  readonly messages: number;
  readonly frames: number;
  readonly connections: number;
  /** Packets of the connection that lives. */
  readonly bulkPackets: number;
  /** Registrations; times that the variant of keys began again; indices that came again. */
  readonly keys: { readonly made: number; readonly variantWraps: number; readonly indexReuses: number };
  /** Queue pairs made, and those among them with a number that an earlier one had. */
  readonly queuePairs: { readonly made: number; readonly reused: number };
  /** Communication ids on the wire, repetitions of their messages included, and how many different ones. */
  readonly communicationIds: { readonly sent: number; readonly different: number };
  readonly psnWraps: number;
  readonly tcpWraps: number;
  readonly memory: readonly MemoryPoint[];
  readonly growth: Growth;
  /** What does not hold; none in a good run. */
  readonly faults: readonly string[];
}

/** Runs to the end, or to the first ten faults. */
export async function soakDays(options: DaysOptions): Promise<DaysFigures> {
  const days = new Days(options);
  return days.run();
}

class Days {
  readonly #options: DaysOptions;
  readonly #fabric: Fabric;
  readonly #odometer = new Odometer();
  readonly #keyUse = new Map<string, KeyUse>();
  readonly #keys: NumberUse;
  readonly #qpns: NumberUse;
  readonly #memory: MemoryPoint[] = [];
  readonly #faults: string[] = [];
  /** Activities of this round that are under way. */
  readonly #open = new Set<string>();
  #variantWraps = 0;
  #messages = 0;
  #connections = 0;
  #rounds = 0;
  #bulkPackets = 0;

  constructor(options: DaysOptions) {
    this.#options = options;
    this.#fabric = makeFabric(options.seed);
    const odometer = this.#odometer;
    this.#fabric.world.network.tap = {
      frame: (_now, _port, direction, bytes, start, end) => odometer.tap(direction, bytes, start, end),
    };
    this.#keys = new NumberUse();
    this.#qpns = new NumberUse();
  }

  async run(): Promise<DaysFigures> {
    const { world, stations } = this.#fabric;
    const { days, points, roundMinutes } = this.#options;
    const endNs = days * DAY_NS;
    const rounds = Math.max(1, Math.floor((days * DAY_NS) / (roundMinutes * MINUTE_NS)));
    const life = await this.#live();
    let first: ReturnType<Device['tables']>[] = [];
    for (let round = 0; round < rounds && this.#faults.length < MAX_FAULTS; round++) {
      await this.#guard(() => this.#round(round, life));
      const nextNs = Math.min(endNs, (round + 1) * roundMinutes * MINUTE_NS);
      if (nextNs > world.now) world.runFor(nextNs - world.now, { maxSteps: Infinity });
      if (round === 0) first = stations.map(({ device }) => device.tables());
      else for (const [i, { device }] of stations.entries()) this.#compare(device, first[i]);
      this.#rounds += 1;
      const point = Math.floor(((round + 1) * points) / rounds);
      if (point > this.#memory.length) this.#measure((round + 1) / rounds);
    }
    await this.#guard(() => life.end());
    if (endNs > world.now) world.runFor(endNs - world.now, { maxSteps: Infinity });
    world.runFor(LAST_NS);
    for (const { device } of stations) this.#faults.push(...leftOver(device));
    if (world.network.framesInFlight > 0) this.#faults.push('frames are on their way');
    return this.#figures();
  }

  /** All activities at the same time, each between another pair of hosts than in the round before. */
  async #round(round: number, life: Life): Promise<void> {
    const { world, stations } = this.#fabric;
    const names = Object.keys(ACTIVITIES);
    const turns = names.map(async (name, i): Promise<void> => {
      const from = stations[(round + i) % stations.length];
      const to = stations[(round + i + 1) % stations.length];
      if (from === undefined || to === undefined) throw new SoakFault('the world has hosts');
      const turn: Turn = {
        ...this.#fabric,
        ...{ from, to, fill: (round + i) & 0xff, port: 1 + ((round * names.length + i) % LAST_PORT) },
        keyed: (station, key) => this.#keyed(station, key),
        numbered: (station, qpn) => {
          this.#connections += 1;
          this.#qpns.use(station.device.name, qpn);
        },
      };
      this.#open.add(name);
      const messages = (await ACTIVITIES[name]?.(turn)) ?? 0;
      this.#messages += messages;
      this.#open.delete(name);
    });
    await world.run(Promise.all([...turns, life.round(round)]), { maxSteps: ROUND_STEPS });
  }

  /** The connection that lives from the beginning to the end. */
  async #live(): Promise<Life> {
    const { world, stations } = this.#fabric;
    const [from, , to] = stations;
    if (from === undefined || to === undefined) throw new SoakFault('the world has three hosts');
    const { bulkBytes } = this.#options;
    const [left, right] = [new Side(from.device, bulkBytes), new Side(to.device, bulkBytes)];
    const qps = { active: left.queuePair(), passive: right.queuePair() };
    const joined = await world.run(join(from.device, to, LIFE_PORT, qps, { mtu: LIFE_MTU }));
    return {
      round: async (round) => {
        left.mr.bytes.fill(round & 0xff);
        const sges = [{ mr: left.mr }];
        const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
        await left.done(qps.active, { wrId: round, opcode: WrOpcode.RdmaWrite, sges, ...remote });
        demand(sameBytes(left.mr.bytes, right.mr.bytes, bulkBytes), 'a large WRITE arrived with other bytes');
        this.#messages += 1;
        this.#bulkPackets += Math.ceil(bulkBytes / LIFE_MTU);
      },
      end: async () => {
        await world.run(part(joined));
        left.free();
        right.free();
      },
    };
  }

  #keyed({ device }: Station, key: number): void {
    const { name } = device;
    this.#keys.use(name, key >>> 8);
    const use = this.#keyUse.get(name) ?? { wraps: 1, variant: 0, given: new Int32Array(KEYS) };
    this.#keyUse.set(name, use);
    const variant = key & 0xff;
    if (variant < use.variant) {
      use.wraps += 1;
      this.#variantWraps += 1;
    }
    use.variant = variant;
    // Indices are drawn and variants count, so a key comes again after 256 registrations at the earliest.
    const slot = key & (KEYS - 1);
    if (use.given[slot] === use.wraps) this.#faults.push(`${name}: key 0x${key.toString(16)} came again too soon`);
    use.given[slot] = use.wraps;
  }

  #compare(device: Device, before: ReturnType<Device['tables']> | undefined): void {
    if (before === undefined) return;
    const changed = differences(device, before);
    for (const line of changed) this.#faults.push(`round ${this.#rounds}, ${line}`);
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#faults.push(`round ${this.#rounds}, in ${[...this.#open].join(', ')}: ${error.message}`);
      this.#open.clear();
    }
  }

  #measure(at: number): void {
    const point = memoryPoint(at);
    this.#memory.push(point);
    const day = (this.#fabric.world.now / DAY_NS).toFixed(2);
    const { frames } = this.#odometer;
    this.#options.say?.(
      `day ${day}: ${this.#messages} messages, ${frames} frames, ${(point.bytes / 1024).toFixed(0)} KiB, ${point.objects} objects, ${point.descriptors} descriptors`,
    );
  }

  #figures(): DaysFigures {
    const { frames, psnWraps, tcpWraps, idsSent, ids, faults } = this.#odometer;
    return {
      days: this.#fabric.world.now / DAY_NS,
      rounds: this.#rounds,
      messages: this.#messages,
      frames,
      connections: this.#connections / 2,
      bulkPackets: this.#bulkPackets,
      keys: { made: this.#keys.made, variantWraps: this.#variantWraps, indexReuses: this.#keys.reused },
      queuePairs: { made: this.#qpns.made, reused: this.#qpns.reused },
      communicationIds: { sent: idsSent, different: ids.size },
      ...{ psnWraps, tcpWraps },
      memory: this.#memory,
      growth: growth(this.#memory),
      faults: [...this.#faults, ...faults],
    };
  }
}

/** Keys that a device gave out. */
interface KeyUse {
  /** Times that the variant began again. */
  wraps: number;
  variant: number;
  /** By key: `wraps` when it was given out. `EdgeRandom` leaves 8 bits of an index. */
  readonly given: Int32Array;
}

interface Life {
  readonly round: (round: number) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Counts how often numbers of each device came again. Bounded by the number spaces, which `EdgeRandom` makes small. */
class NumberUse {
  made = 0;
  reused = 0;
  readonly #seen = new Set<string>();

  /** Whether the device has given it out before. */
  use(device: string, number: number): boolean {
    const key = `${device} ${number}`;
    const before = this.#seen.has(key);
    this.#seen.add(key);
    this.made += 1;
    if (before) this.reused += 1;
    return before;
  }
}

/** Three hosts on a wire with a little of every fault. */
function makeFabric(seed: number): Fabric {
  const options: WorldOptions = { seed, faults: FAULTS };
  const world = new World(options);
  const stations = [1, 2, 3].map((id): Station => {
    const address = `10.0.0.${id}`;
    const device = world.attach(`host${id}`, (host, link, random) => {
      const mac = parseMac(`02:00:00:00:00:0${id}`);
      const addresses = [IpPrefix.parse(`${address}/24`)];
      const { medium, mtu } = link;
      return new Device({ name: `host${id}`, host, random: new EdgeRandom(random), medium, mac, addresses, mtu });
    });
    return { device, address };
  });
  return { world, stations };
}

const FAULTS: FaultSpec = { loss: 0.002, duplicate: 0.002, reorder: 0.002, corrupt: 0.001 };
const MINUTE_NS = 60e9;
const DAY_NS = 24 * 60 * MINUTE_NS;
/** What is being repeated or waits in TIMEWAIT at the end is over by then. */
const LAST_NS = 10 * MINUTE_NS;
const MAX_FAULTS = 10;
const ROUND_STEPS = 1_000_000;
const KEYS = 0x1_00_00;
/** Ports wrap, too. */
const LAST_PORT = 499;
const LIFE_PORT = 50_000;
const LIFE_MTU = 256;
