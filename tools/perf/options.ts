/**
 * The options of a run of perftest, with perftest's own defaults and the dependencies between options.
 * Owns the numbers. Never parses a command line (main.ts) and never touches a device.
 * Sources: perftest's perftest_parameters.h (defaults, bounds) and perftest_parameters.c#force_dependecies.
 */
import type { IpAddress } from 'rocev2/packets';

export type PerfVerb = 'write' | 'read' | 'send' | 'atomic';
export type PerfTest = 'bw' | 'lat';
export type PerfService = 'RC' | 'UC' | 'UD';
export type AtomicType = 'CMP_AND_SWAP' | 'FETCH_AND_ADD';

/** The options given; a missing one has perftest's default. */
export interface PerfChoices {
  readonly verb: PerfVerb;
  readonly test: PerfTest;
  /** The server to connect to; absent: be one. */
  readonly server?: IpAddress | undefined;
  readonly port?: number | undefined;
  /** Bytes of a message. */
  readonly size?: number | undefined;
  /** Messages of each queue pair. */
  readonly iterations?: number | undefined;
  /** Seconds to run for, instead of a number of messages. */
  readonly durationS?: number | undefined;
  /** Sizes 2, 4, 8 ... 2^23 one after the other. */
  readonly all?: boolean | undefined;
  readonly bidirectional?: boolean | undefined;
  readonly service?: PerfService | undefined;
  readonly queuePairs?: number | undefined;
  readonly txDepth?: number | undefined;
  readonly rxDepth?: number | undefined;
  /** One completion for so many messages. */
  readonly cqModeration?: number | undefined;
  /** Messages up to this size travel in the work request. */
  readonly inlineBytes?: number | undefined;
  /** Path MTU wanted; the smaller one of both sides counts. */
  readonly mtu?: number | undefined;
  /** READs and atomics outstanding. */
  readonly outstandingReads?: number | undefined;
  readonly atomic?: AtomicType | undefined;
  /** Code of the ACK timeout, 0 to 31. */
  readonly ackTimeout?: number | undefined;
  readonly retryCount?: number | undefined;
  readonly trafficClass?: number | undefined;
  /** Receives come from one queue for all queue pairs. */
  readonly useSrq?: boolean | undefined;
  /** Index of our address. */
  readonly gidIndex?: number | undefined;
  /** Queue pairs speak from the first IPv6 address, whatever the introductions do. */
  readonly ipv6?: boolean | undefined;
  /** -R: queue pairs are connected by the connection manager. */
  readonly cm?: boolean | undefined;
  /** -z: only the introductions go through a connection of the connection manager. */
  readonly cmExchange?: boolean | undefined;
  readonly events?: boolean | undefined;
  readonly noPeak?: boolean | undefined;
  readonly gigabits?: boolean | undefined;
  readonly reportBoth?: boolean | undefined;
  readonly histogram?: boolean | undefined;
  readonly unsorted?: boolean | undefined;
  /** Prints one number and nothing else. */
  readonly output?: 'bandwidth' | 'message_rate' | 'latency' | undefined;
}

/** A run with everything decided. */
export interface PerfOptions extends PerfChoices {
  readonly port: number;
  readonly size: number;
  /** 0 when the run ends by time. */
  readonly iterations: number;
  readonly service: PerfService;
  readonly queuePairs: number;
  readonly txDepth: number;
  readonly rxDepth: number;
  readonly cqModeration: number;
  readonly inlineBytes: number;
  readonly outstandingReads: number;
  readonly atomic: AtomicType;
  readonly ackTimeout: number;
  readonly retryCount: number;
  readonly bidirectional: boolean;
  readonly all: boolean;
  readonly cm: boolean;
  /** Introductions through the connection manager: -z, or -R which brings it. */
  readonly cmExchange: boolean;
  readonly noPeak: boolean;
  readonly isServer: boolean;
}

/** Decides everything, or returns one sentence about options that do not fit together. */
export function decide(choices: PerfChoices): PerfOptions | string {
  const problem = contradiction(choices);
  if (problem !== undefined) return problem;
  const { verb, test, durationS, all = false, service = 'RC', bidirectional = false, cm = false } = choices;
  const isServer = choices.server === undefined;
  const wanted = choices.iterations ?? (verb === 'write' && test === 'bw' ? 5000 : 1000);
  const iterations = durationS === undefined ? wanted : 0;
  const size = all ? MAX_BYTES : (choices.size ?? defaultSize(verb, test));
  const limit = iterations === 0 ? Infinity : iterations;
  const txDepth = Math.min(choices.txDepth ?? (test === 'bw' ? 128 : 1), limit);
  const receives = verb === 'send' ? (choices.rxDepth ?? 512) : 1;
  const noPeak = choices.noPeak === true || iterations === 0 || iterations > MAX_PEAK_ITERATIONS;
  return {
    ...choices,
    port: choices.port ?? PERF_PORT,
    size,
    iterations,
    service,
    queuePairs: choices.queuePairs ?? 1,
    txDepth,
    rxDepth: receivesPosted(verb, service, choices.rxDepth === undefined, receives, limit),
    cqModeration: moderation(choices, size, txDepth),
    inlineBytes: verb === 'read' || verb === 'atomic' ? 0 : (choices.inlineBytes ?? 0),
    outstandingReads: verb === 'read' || verb === 'atomic' ? (choices.outstandingReads ?? 16) : 1,
    atomic: choices.atomic ?? 'FETCH_AND_ADD',
    // With -R the stock programs leave it to rdma_cm, which asks for 0x11 (0.54 s, Linux 6.12): 14 is too short for a
    // busy machine.
    ackTimeout: choices.ackTimeout ?? (cm ? 17 : 14),
    retryCount: choices.retryCount ?? 7,
    bidirectional,
    all,
    cm,
    cmExchange: cm || choices.cmExchange === true,
    // A server of SENDs sees messages arrive, not leave.
    noPeak: noPeak || (verb === 'send' && isServer && !bidirectional),
    isServer,
  };
}

/** The sizes of a run, in order. `largest` is what one message may have. */
export function sizesOf({ all, size }: PerfOptions, largest: number): readonly number[] {
  if (!all) return [size];
  const sizes: number[] = [];
  for (let next = 2; next <= Math.min(MAX_BYTES, largest); next *= 2) sizes.push(next);
  return sizes;
}

function contradiction(choices: PerfChoices): string | undefined {
  const { verb, test, durationS, all, service = 'RC', queuePairs = 1, bidirectional, cm, size } = choices;
  if (service === 'UD' && verb !== 'send') return 'UD carries SEND only';
  if (service === 'UC' && (verb === 'read' || verb === 'atomic')) return 'UC carries neither READ nor atomics';
  if (choices.useSrq === true && verb !== 'send') return 'a shared receive queue is for SEND';
  if (service === 'UC' && cm === true) return 'rdma_cm does not connect UC';
  if (test === 'lat' && queuePairs > 1) return 'several queue pairs are for bandwidth tests';
  if (test === 'lat' && bidirectional === true) return 'bidirectional is for bandwidth tests';
  if (verb === 'atomic' && (all === true || (size !== undefined && size !== ATOMIC_BYTES)))
    return `an atomic operation has ${ATOMIC_BYTES} bytes`;
  if (durationS !== undefined && all === true) return 'a run by time has one size';
  if (durationS !== undefined && choices.events === true) return 'a run by time does not sleep for events';
  return undefined;
}

function defaultSize(verb: PerfVerb, test: PerfTest): number {
  if (verb === 'atomic') return ATOMIC_BYTES;
  return test === 'bw' ? 65_536 : 2;
}

/**
 * force_dependecies: no more than there are messages, all of them where a loss cannot be repaired, and an even number.
 */
function receivesPosted(verb: PerfVerb, service: PerfService, unsaid: boolean, depth: number, limit: number): number {
  if (verb !== 'send') return depth;
  const all = service !== 'RC' && unsaid && limit < MAX_DATAGRAM_RECEIVES;
  const wanted = all ? limit : Math.min(depth, limit);
  return wanted + (wanted % 2);
}

function moderation({ cqModeration, service = 'RC', all }: PerfChoices, size: number, txDepth: number): number {
  const small = size <= MAX_MODERATED_BYTES || service === 'UD' || all === true;
  return Math.min(cqModeration ?? (small ? 100 : 1), txDepth);
}

export const PERF_PORT = 18_515;
export const ATOMIC_BYTES = 8;
export const MAX_BYTES = 2 ** 23;
export const MIN_ITERATIONS = 5;
const MAX_PEAK_ITERATIONS = 20_000;
const MAX_DATAGRAM_RECEIVES = 16_000;
const MAX_MODERATED_BYTES = 8192;
