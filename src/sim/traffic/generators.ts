/**
 * Traffic patterns: senders, receivers and start times of the literature's patterns as functions of a few numbers and a
 * stream of randomness. The same stream gives the same flows, in order of start. `makeTraffic` takes them as plain
 * data.
 */
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { Prng } from '../../ground/prng.ts';
import {
  checkDistribution,
  drawBytes,
  fixedSize,
  meanBytes,
  type SizeDistribution,
  sizeDistribution,
  uniform,
} from './distributions.ts';
import type { Flow, FlowOperation } from './flow.ts';

/** What flows of every pattern can have. */
export interface FlowTraits {
  /** Of the first flow, nanoseconds; default 0. */
  readonly startNs?: number;
  /** Every start is later by a time of its own, uniform in 0 .. jitterNs; default 0. */
  readonly jitterNs?: number;
  /** Every flow starts later than the one before it by this, nanoseconds; default 0. */
  readonly staggerNs?: number;
  /** As in `Flow`. */
  readonly operation?: FlowOperation;
  /** As in `Flow`. */
  readonly priority?: number;
}

/** How large flows are: bytes (Infinity or 'endless' for flows that do not end), a name, or a table. */
export type Sizes = number | string | SizeDistribution;

/** Selects the pattern of the other fields. */
export interface OfPattern<P extends string> {
  /** Name of the pattern. */
  readonly pattern: P;
}

/** Traffic of plain data, by pattern. */
export type TrafficSpec =
  | (OfPattern<'incast'> & IncastOptions)
  | (OfPattern<'pairs'> & PairsOptions)
  | (OfPattern<'permutation'> & PermutationOptions)
  | (OfPattern<'all-to-all'> & AllToAllOptions)
  | (OfPattern<'poisson'> & PoissonOptions)
  | (OfPattern<'ring-all-reduce'> & RingAllReduceOptions);

/** The flows that the data describes. @throws RoceError ERR_ROCE_ARGUMENT naming the invalid field */
export function makeTraffic(spec: TrafficSpec, random: Prng): Flow[] {
  switch (spec.pattern) {
    case 'incast':
      return incast(spec, random);
    case 'pairs':
      return pairs(spec, random);
    case 'permutation':
      return permutation(spec, random);
    case 'all-to-all':
      return allToAll(spec, random);
    case 'poisson':
      return poisson(spec, random);
    case 'ring-all-reduce':
      return ringAllReduce(spec, random);
    default:
      return unknownPattern(spec);
  }
}

function unknownPattern(spec: never): never {
  const { pattern } = spec as { readonly pattern: unknown };
  throw new RoceError('ERR_ROCE_ARGUMENT', `there is no traffic pattern ${JSON.stringify(pattern)}`);
}

/** Many to one. */
export interface IncastOptions extends FlowTraits {
  /** Hosts that send: so many from 0 on without the receiver, or which. */
  readonly senders: number | readonly number[];
  /** The host that receives. */
  readonly receiver: number;
  /** Of every flow. */
  readonly bytes: Sizes;
  /** Flows from every sender; default 1. */
  readonly flowsPerSender?: number;
}

/** Every sender to the receiver. @throws RoceError ERR_ROCE_ARGUMENT */
export function incast(options: IncastOptions, random: Prng): Flow[] {
  const { senders, receiver, flowsPerSender = 1 } = options;
  demandCount('flowsPerSender', flowsPerSender, 1);
  demandCount('receiver', receiver, 0);
  if (typeof senders === 'number') demandCount('senders', senders, 1);
  demandFlows((typeof senders === 'number' ? senders : senders.length) * flowsPerSender);
  const from = typeof senders === 'number' ? firstHosts(senders, receiver) : senders;
  const all = Array.from({ length: flowsPerSender }, () => from).flat();
  return flowsOf(
    all.map((src) => [src, receiver]),
    options,
    random,
  );
}

/** Explicit pairs of hosts. */
export interface PairsOptions extends FlowTraits {
  /** Sender and receiver of every flow. */
  readonly pairs: readonly (readonly [src: number, dst: number])[];
  /** Of every flow. */
  readonly bytes: Sizes;
}

/** One flow a pair: with `staggerNs` flows that join one after the other. @throws RoceError ERR_ROCE_ARGUMENT */
export function pairs(options: PairsOptions, random: Prng): Flow[] {
  return flowsOf(options.pairs, options, random);
}

/** Every host sends to one other and receives from one other. */
export interface PermutationOptions extends FlowTraits {
  /** Hosts 0 .. hosts - 1; 2 or more. */
  readonly hosts: number;
  /** Of every flow. */
  readonly bytes: Sizes;
}

/**
 * A random permutation in which no host sends to itself: one cycle through all hosts (Sattolo). @throws RoceError
 * ERR_ROCE_ARGUMENT
 */
export function permutation(options: PermutationOptions, random: Prng): Flow[] {
  const { hosts } = options;
  demandCount('hosts', hosts, 2);
  demandFlows(hosts);
  const to = Array.from({ length: hosts }, (_, host) => host);
  for (let last = hosts - 1; last > 0; last--) {
    const other = random.below(last);
    [to[last], to[other]] = [to[other] ?? 0, to[last] ?? 0];
  }
  return flowsOf(
    to.map((dst, src) => [src, dst]),
    options,
    random,
  );
}

/** Every host to every other. */
export interface AllToAllOptions extends FlowTraits {
  /** Hosts 0 .. hosts - 1; 2 or more. */
  readonly hosts: number;
  /** Of every flow. */
  readonly bytes: Sizes;
}

/**
 * hosts (hosts - 1) flows; in round r host i sends to host i + r, so that no receiver comes first for every sender.
 * @throws RoceError ERR_ROCE_ARGUMENT
 */
export function allToAll(options: AllToAllOptions, random: Prng): Flow[] {
  const { hosts } = options;
  demandCount('hosts', hosts, 2);
  demandFlows(hosts * (hosts - 1));
  const all: [number, number][] = [];
  for (let round = 1; round < hosts; round++)
    for (let src = 0; src < hosts; src++) all.push([src, (src + round) % hosts]);
  return flowsOf(all, options, random);
}

/** Hosts that send and hosts that receive; some may do both. */
export interface TwoSides {
  /** The senders. */
  readonly senders: readonly number[];
  /** The receivers. */
  readonly receivers: readonly number[];
}

/** Flows that arrive at random moments. */
export interface PoissonOptions extends Pick<FlowTraits, 'startNs' | 'operation' | 'priority'> {
  /** Hosts 0 .. hosts - 1, or the senders and the receivers. */
  readonly hosts: number | TwoSides;
  /** Share of `rateBps` that payload makes up at every sender in the long run, over 0. */
  readonly load: number;
  /** Of the link of a sender; bits a second. */
  readonly rateBps: number;
  /** Of every flow; not Infinity. */
  readonly bytes: Sizes;
  /** Flows start within this time, nanoseconds. */
  readonly durationNs: number;
}

/**
 * Every sender by itself: times between flows are exponential with mean 8 meanBytes / (load rateBps) seconds, receivers
 * uniform among the others. Loads count payload, headers come on top, as in the generator of HPCC. @throws RoceError
 * ERR_ROCE_ARGUMENT
 */
export function poisson(options: PoissonOptions, random: Prng): Flow[] {
  const { hosts, load, rateBps, durationNs, startNs = 0 } = options;
  if (typeof hosts === 'number') demandCount('hosts', hosts, 2);
  demandPositive('load', load);
  demandPositive('rateBps', rateBps);
  demandPositive('durationNs', durationNs);
  demandCount('startNs', startNs, 0);
  const sizes = sizesOf(options.bytes);
  if (sizes === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', 'bytes: flows that arrive at random have an end');
  const meanGapNs = (8e9 * meanBytes(sizes)) / (load * rateBps);
  const senderCount = typeof hosts === 'number' ? hosts : hosts.senders.length;
  demandFlows(Math.max(senderCount, Math.round((senderCount * durationNs) / meanGapNs)));
  const allHosts = typeof hosts === 'number' ? firstHosts(hosts, -1) : [];
  const { senders, receivers } = typeof hosts === 'number' ? { senders: allHosts, receivers: allHosts } : hosts;
  const expected = (senders.length * durationNs) / meanGapNs;
  if (!(expected <= MAX_FLOWS))
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      `load, durationNs: about ${expected} flows, and at most ${MAX_FLOWS} are possible`,
    );
  const flows: Flow[] = [];
  for (const src of senders) {
    const others = receivers.filter((host) => host !== src);
    if (others.length === 0) throw new RoceError('ERR_ROCE_ARGUMENT', `receivers: none is left for host ${src}`);
    // A stream of its own for each sender: another host, or another load there, does not change this one's flows.
    const stream = random.fork(`poisson ${src}`);
    for (let at = gap(meanGapNs, stream); at < durationNs; at += gap(meanGapNs, stream)) {
      const dst = others[stream.below(others.length)] ?? 0;
      flows.push({
        src,
        dst,
        bytes: drawBytes(sizes, stream),
        startNs: startNs + Math.round(at),
        ...traitsOf(options),
      });
    }
  }
  return inOrder(flows);
}

/** All hosts add up what each has, and each gets the sum: the gradients of a training step. */
export interface RingAllReduceOptions extends Pick<FlowTraits, 'startNs' | 'jitterNs' | 'staggerNs' | 'priority'> {
  /** Hosts 0 .. hosts - 1, or which, in the order of the ring; 2 or more. */
  readonly hosts: number | readonly number[];
  /** What each host has; as many chunks as there are hosts, rounded up to whole bytes a chunk. */
  readonly bytes: number;
  /** Name of the ring, for rings that run side by side; default 'ring'. */
  readonly ring?: string;
}

/**
 * Reduce-scatter and all-gather by a ring: 2 (n - 1) steps, in each of which every host sends a chunk to its successor.
 * A host sends in the next step what has arrived in this one. @throws RoceError ERR_ROCE_ARGUMENT
 */
export function ringAllReduce(options: RingAllReduceOptions, random: Prng): Flow[] {
  const { bytes, ring = 'ring' } = options;
  if (typeof options.hosts === 'number') {
    demandCount('hosts', options.hosts, 2);
    demandFlows(options.hosts);
  }
  const hosts = typeof options.hosts === 'number' ? firstHosts(options.hosts, -1) : options.hosts;
  demandCount('hosts', hosts.length, 2);
  demandCount('bytes', bytes, 1);
  if (new Set(hosts).size !== hosts.length)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'hosts: a host is in the ring twice');
  const messageBytes = Math.ceil(bytes / hosts.length);
  const ends = hosts.map((src, place) => [src, hosts[(place + 1) % hosts.length] ?? src] as const);
  const flows = flowsOf(ends, { ...options, bytes: messageBytes * 2 * (hosts.length - 1), operation: 'send' }, random);
  return flows.map((flow) => ({ ...flow, messageBytes, relay: ring }));
}

function gap(meanNs: number, random: Prng): number {
  return -Math.log(uniform(random)) * meanNs;
}

function flowsOf(
  ends: readonly (readonly [src: number, dst: number])[],
  options: FlowTraits & { readonly bytes: Sizes },
  random: Prng,
): Flow[] {
  const { startNs = 0, jitterNs = 0, staggerNs = 0 } = options;
  demandCount('startNs', startNs, 0);
  demandCount('jitterNs', jitterNs, 0);
  demandCount('staggerNs', staggerNs, 0);
  const sizes = sizesOf(options.bytes);
  const flows = ends.map(([src, dst], index): Flow => {
    const bytes = sizes === undefined ? Infinity : drawBytes(sizes, random);
    const late = jitterNs === 0 ? 0 : Math.floor(uniform(random) * (jitterNs + 1));
    return { src, dst, bytes, startNs: startNs + index * staggerNs + late, ...traitsOf(options) };
  });
  return inOrder(flows);
}

/** Undefined: flows that do not end. */
function sizesOf(bytes: Sizes): SizeDistribution | undefined {
  if (bytes === Infinity || bytes === 'endless') return undefined;
  if (typeof bytes === 'number') return fixedSize(bytes);
  return typeof bytes === 'string' ? sizeDistribution(bytes) : checkDistribution(bytes);
}

function traitsOf({ operation, priority }: FlowTraits): Pick<FlowTraits, 'operation' | 'priority'> {
  return { ...defined({ operation, priority }) };
}

/** So many hosts from 0 on, passing over one. */
function firstHosts(count: number, without: number): number[] {
  return Array.from({ length: count }, (_, index) => (without >= 0 && index >= without ? index + 1 : index));
}

function inOrder(flows: Flow[]): Flow[] {
  return flows.sort((a, b) => a.startNs - b.startNs);
}

function demandCount(name: string, value: number, min: number): void {
  if (!Number.isSafeInteger(value) || value < min)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is ${value}: it is a whole number from ${min}`);
}

/** Before they are made: a mistaken number would take all memory. */
function demandFlows(count: number): void {
  if (!(count <= MAX_FLOWS))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${count} flows, and at most ${MAX_FLOWS} are possible`);
}

function demandPositive(name: string, value: number): void {
  if (!(value > 0 && value < Infinity)) throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is ${value}: it is over 0`);
}

const MAX_FLOWS = 1e7;
