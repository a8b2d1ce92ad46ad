/** How a target is made, who it tells of what happens, and what it counts. Owns the defaults and ranges of options. */
import type { IpAddress } from '../../../../packets/address.ts';
import { RoceError } from '../../../../packets/errors.ts';
import type { Controller, TargetTimers } from './controller.ts';
import type { TargetQueue } from './queue.ts';
import type { NvmeSubsystem } from './subsystem.ts';

/** How a target is made. */
export interface TargetOptions {
  /** What it serves. */
  readonly subsystems: readonly NvmeSubsystem[];
  /** Time. */
  readonly timers: TargetTimers;
  /** Is told of what happens; for a program to print [nobody]. */
  readonly observer?: TargetObserver;
  /** The time in nanoseconds, for `TargetObserver.commandEnded` [not measured]. */
  readonly now?: () => number;
  /** Port of RDMA_PS_TCP [4420]. */
  readonly port?: number;
  /** Number of the port for hosts, and for ANA [1]. */
  readonly portId?: number;
  /** I/O queues of a controller at most, 1..128 [8]. */
  readonly maxQueues?: number;
  /** Entries of a queue at most, 2..1024 [128]. */
  readonly maxEntries?: number;
  /** Controllers at most [64]. */
  readonly maxControllers?: number;
  /**
   * Receives that all I/O queues share, 16..65536, in place of as many for each queue as it has entries: less memory
   * for many hosts, and one that finds them all in use has to send again. 0: each queue has its own [0].
   */
  readonly srq?: number;
  /** Data in a capsule at most: 0, or a multiple of 512 up to 65536 bytes [4096]. */
  readonly inCapsuleBytes?: number;
  /** Memory for data of commands at most, in bytes [32 MiB]. */
  readonly dataBytes?: number;
  /**
   * After so many milliseconds without a command, a host that has no keep-alive timer is probed: its queue pair has to
   * acknowledge an RDMA WRITE of nothing, or its controller ends. 0: never, as Linux's target [20 000].
   */
  readonly probeMs?: number;
  /** Ports that discovery tells hosts of [this one, at the address that the host used]. */
  readonly portals?: readonly Portal[];
}

/** Is told of what happens at a target. */
export interface TargetObserver {
  /** A host has a queue of a controller; its first is the admin queue, number 0. */
  queueJoined(controller: Controller, queue: TargetQueue): void;
  /** A queue is gone; its counters are final. Without a controller: no Connect came. */
  queueClosed(controller: Controller | undefined, queue: TargetQueue): void;
  /**
   * A host has proved itself on a queue, or has not: `failure` is one of `AuthenticationFailure`, 0 where it took too
   * long; undefined for success.
   */
  authenticated?(controller: Controller, queue: TargetQueue, failure: number | undefined): void;
  /** A response leaves, so many nanoseconds after the command came; with the option `now`. */
  commandEnded?(queue: TargetQueue, durationNs: number): void;
  /** An error of this side, which has ended the queue: of a backend or an observer that throws, or of the target. */
  failed?(error: unknown, queue?: TargetQueue): void;
}

/** A way to the subsystems. */
export interface Portal {
  /** Where it listens. */
  readonly address: IpAddress;
  /** Port of RDMA_PS_TCP. */
  readonly port: number;
  /** Number of the port for hosts, and for ANA. */
  readonly portId: number;
}

/** The options with nothing left open that has a default. */
export type TargetSettings = Required<Omit<TargetOptions, 'portals' | 'observer' | 'now'>> &
  Pick<TargetOptions, 'portals' | 'observer' | 'now'>;

/** What a target has refused. */
export interface TargetCounters {
  /** Requests that were refused, and commands Connect. */
  connectionsRefused: number;
  /** Queues that there were. */
  queues: number;
  /** Authentications that failed. */
  authenticationsFailed: number;
}

/** The options with nothing left open that has a default. @throws RoceError ERR_ROCE_ARGUMENT */
export function targetSettingsOf(options: TargetOptions): TargetSettings {
  const given = { ...DEFAULTS, ...options };
  demand('maxQueues', given.maxQueues, 1, 128);
  demand('maxEntries', given.maxEntries, 2, 1024);
  demand('maxControllers', given.maxControllers, 1, 0xff_00);
  if (given.srq !== 0) demand('srq', given.srq, 16, 65_536);
  demand('inCapsuleBytes', given.inCapsuleBytes, 0, 65_536);
  demand('probeMs', given.probeMs, 0, 0x7f_ff_ff_ff);
  demand('dataBytes', given.dataBytes, 1 << 20, Number.MAX_SAFE_INTEGER);
  if (given.inCapsuleBytes % 512 !== 0) throw new RoceError('ERR_ROCE_ARGUMENT', 'inCapsuleBytes is a multiple of 512');
  return given;
}

function demand(name: string, value: number, min: number, max: number): void {
  if (!(Number.isInteger(value) && value >= min && value <= max))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from ${min} to ${max}, not ${value}`);
}

const DEFAULTS = {
  port: 4420,
  portId: 1,
  maxQueues: 8,
  maxEntries: 128,
  maxControllers: 64,
  srq: 0,
  inCapsuleBytes: 4096,
  dataBytes: 32 << 20,
  probeMs: 20_000,
};
