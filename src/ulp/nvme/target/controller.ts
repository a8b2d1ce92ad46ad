/**
 * A controller: what one host has of a subsystem, or of the discovery service.
 *
 * Owns its properties, features, asynchronous events, the keep-alive timer and which queues there are. Commands are in
 * `admin.ts` and `nvm.ts`. Rules: ref:nvmeof.
 */
import {
  ASYNC_EVENT,
  ASYNC_EVENT_CONFIGURATION,
  AsyncEventType,
  AsyncNotice,
  CAP,
  CC,
  CSTS,
  Feature,
  LogPage,
  NvmeStatus,
  PropertyOffset,
  ShutdownStatus,
  VS,
} from '../codec/index.ts';
import type { IoCounters } from './nvm.ts';
import type { TargetQueue } from './queue.ts';
import type { NvmeSubsystem, SubsystemWatcher } from './subsystem.ts';
import { DONE, type Outcome, refused, type Task } from './task.ts';

/** Time, for a protocol that has no clock: in a program a wrapper of setTimeout, in a simulation the world's. */
export interface TargetTimers {
  /** Calls `then` once after so many nanoseconds; what it returns cancels that. */
  after(durationNs: number, then: () => void): () => void;
}

/** What a controller is made of. */
export interface ControllerOptions {
  readonly id: number;
  /** Undefined: the discovery service. */
  readonly subsystem: NvmeSubsystem | undefined;
  readonly hostNqn: string;
  readonly hostId: Uint8Array;
  /** Number of the port that the host came by. */
  readonly port: number;
  /** Keep-alive timeout, in milliseconds; 0 for none. */
  readonly kato: number;
  /** Entries of a queue at most. */
  readonly maxEntries: number;
  /** I/O queues at most. */
  readonly maxQueues: number;
  /** Data in a capsule at most, in bytes. */
  readonly inCapsuleBytes: number;
  /** How long a host without keep-alive may be silent before it is probed, in milliseconds; 0: it is never probed. */
  readonly probeMs: number;
  readonly timers: TargetTimers;
  /** It is gone. */
  readonly closed: (controller: Controller) => void;
}

/** A command that failed. */
export interface FailedCommand {
  /** Its queue. */
  readonly sqid: number;
  /** Its identifier. */
  readonly cid: number;
  /** How it failed: type, code, and do not retry. */
  readonly status: number;
  /** Its namespace; 0 where it had none. */
  readonly nsid: number;
}

/** A controller, as an observer of the target sees it. */
export class Controller implements SubsystemWatcher {
  /** Its number, unique in its subsystem. */
  readonly id: number;
  /** What it belongs to; undefined for the discovery service. */
  readonly subsystem: NvmeSubsystem | undefined;
  /** Qualified name of its host. */
  readonly hostNqn: string;
  /** Identifier of its host, 16 bytes. */
  readonly hostId: Uint8Array;
  /** Number of the port that the host came by. */
  readonly port: number;
  /** Entries of a queue at most. */
  readonly maxEntries: number;
  /** I/O queues at most. */
  readonly maxQueues: number;
  /** Data in a capsule at most, in bytes. */
  readonly inCapsuleBytes: number;
  /** What its I/O commands did. */
  readonly io: IoCounters = { reads: 0, writes: 0, bytesRead: 0, bytesWritten: 0, mediaErrors: 0 };
  /** By their numbers; 0 is the admin queue. */
  readonly queues = new Map<number, TargetQueue>();
  /** Values of features, by number. */
  readonly features = new Map<number, number>();
  /** Namespaces that have changed since the log page was read. */
  readonly changedNamespaces = new Set<number>();
  /** The last commands that failed, newest first. */
  readonly errors: FailedCommand[] = [];
  /** Commands that failed. */
  errorCount = 0;
  /** Keep-alive timeout, in milliseconds; 0 for none. */
  kato: number;
  readonly #probeMs: number;
  readonly #timers: TargetTimers;
  readonly #onClosed: (controller: Controller) => void;
  #cc = 0;
  #fatal = false;
  #shutdown: number = ShutdownStatus.Normal;
  /** Asynchronous Event Requests that wait for an event. */
  readonly #held: Task[] = [];
  /** Events that wait for a request; one of a kind. */
  readonly #events = new Set<number>();
  /** Kinds of events that were reported, until their log page is read. */
  readonly #masked = new Set<number>();
  #cancelKeepAlive = (): void => {};
  #lastActivity = -1;
  #closed = false;

  constructor(options: ControllerOptions) {
    this.id = options.id;
    this.subsystem = options.subsystem;
    this.hostNqn = options.hostNqn;
    this.hostId = options.hostId;
    this.port = options.port;
    this.kato = options.kato;
    this.maxEntries = options.maxEntries;
    this.maxQueues = options.maxQueues;
    this.inCapsuleBytes = options.inCapsuleBytes;
    this.#probeMs = options.probeMs;
    this.#timers = options.timers;
    this.#onClosed = options.closed;
    this.subsystem?.watchers.add(this);
    this.armKeepAlive();
  }

  /** Whether it is gone. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether it is what this host has of this subsystem. @internal */
  isOf({ subsystem, hostNqn, hostId }: Pick<ControllerOptions, 'subsystem' | 'hostNqn' | 'hostId'>): boolean {
    if (this.subsystem !== subsystem || this.hostNqn !== hostNqn) return false;
    return this.hostId.every((byte, i) => byte === hostId[i]);
  }

  /** Enabled, not shut down and not failed. */
  get ready(): boolean {
    return (this.#cc & 1) !== 0 && !this.#fatal;
  }

  /** Ends it and all its queues. May be called more than once. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelKeepAlive();
    this.subsystem?.watchers.delete(this);
    for (const queue of [...this.queues.values()]) queue.close();
    this.#onClosed(this);
  }

  /** Value of a property; undefined for one that there is not, or of the other size. */
  property(offset: number, eightBytes: boolean): bigint | undefined {
    if (eightBytes !== (offset === PropertyOffset.Cap)) return undefined;
    switch (offset) {
      case PropertyOffset.Cap:
        return CAP.toBigint({ mqes: this.maxEntries - 1, cqr: true, to: READY_IN_500MS, css: 1 });
      case PropertyOffset.Vs:
        return BigInt(VERSION);
      case PropertyOffset.Cc:
        return BigInt(this.#cc);
      case PropertyOffset.Csts:
        return CSTS.toBigint({ rdy: this.ready, cfs: this.#fatal, shst: this.#shutdown });
      default:
        return undefined;
    }
  }

  /** Sets CC, the only property that can be set. */
  setProperty(offset: number, value: bigint): Outcome {
    if (offset !== PropertyOffset.Cc) return refused(NvmeStatus.InvalidField);
    const before = CC.ofNumber(this.#cc);
    this.#cc = Number(BigInt.asUintN(32, value));
    const now = CC.ofNumber(this.#cc);
    if (now.en && !before.en) this.#shutdown = ShutdownStatus.Normal;
    if (now.en && (now.css !== 0 || now.mps !== 0 || now.ams !== 0)) this.#fatal = true;
    if (!now.en && before.en) this.#reset();
    if (now.shn !== 0 && before.shn === 0) this.#shutdown = ShutdownStatus.Complete;
    this.armKeepAlive();
    return DONE;
  }

  /** Holds an Asynchronous Event Request until there is an event. Refused beyond four. */
  holdEventRequest(task: Task): Outcome | undefined {
    if (this.#held.length >= MAX_EVENT_REQUESTS) return refused(NvmeStatus.AsyncEventLimitExceeded);
    this.#held.push(task);
    this.#deliverEvents();
    return undefined;
  }

  /** Abort: only event requests can be aborted, all else ends soon enough. Whether it was. */
  abortEventRequest(cid: number): boolean {
    const at = this.#held.findIndex(({ command }) => command.cid === cid);
    const task = at < 0 ? undefined : this.#held.splice(at, 1)[0];
    if (task === undefined) return false;
    this.queues.get(0)?.complete(task, { status: NvmeStatus.AbortRequested });
    return true;
  }

  /** The log page of an event was read: the next event of the kind is reported. */
  logPageRead(page: number): void {
    for (const event of this.#masked) if (ASYNC_EVENT.ofNumber(event).logPage === page) this.#masked.delete(event);
    this.#deliverEvents();
  }

  namespaceChanged(nsid: number): void {
    this.changedNamespaces.add(nsid);
    if (this.#wants('namespaceAttribute')) this.#report(AsyncNotice.NamespaceAttribute, LogPage.ChangedNamespaces);
  }

  anaChanged(): void {
    if (this.#wants('anaChange')) this.#report(AsyncNotice.AnaChange, LogPage.Ana);
  }

  /** A command has ended, or is held: one that has failed is for the error log. */
  ended(queue: TargetQueue, { command }: Task, outcome: Outcome | undefined): Outcome | undefined {
    if (outcome === undefined || outcome.status === NvmeStatus.Success) return outcome;
    this.errorCount++;
    this.errors.unshift({ sqid: queue.qid, cid: command.cid, status: outcome.status, nsid: command.nsid });
    if (this.errors.length > ERROR_ENTRIES) this.errors.pop();
    return outcome;
  }

  /** Begins to wait anew for a sign of life: any command is one. Without keep-alive the host's queue pair is asked. */
  armKeepAlive(): void {
    this.pauseKeepAlive();
    const waitMs = this.kato === 0 ? this.#probeMs : this.kato + KEEP_ALIVE_GRACE_MS;
    if (waitMs === 0 || this.#closed) return;
    this.#lastActivity = this.#activity();
    this.#cancelKeepAlive = this.#timers.after(waitMs * 1e6, () => {
      if (this.#activity() !== this.#lastActivity) {
        this.armKeepAlive();
      } else if (this.kato === 0) {
        this.queues.get(0)?.probe();
        this.armKeepAlive();
      } else {
        this.#fatal = true;
        this.close();
      }
    });
  }

  /** Waits for no sign of life until `armKeepAlive`. */
  pauseKeepAlive(): void {
    this.#cancelKeepAlive();
    this.#cancelKeepAlive = (): void => {};
  }

  #activity(): number {
    let sum = 0;
    for (const queue of this.queues.values()) sum += queue.activity;
    return sum;
  }

  /** I/O queues go, the admin queue stays. */
  #reset(): void {
    this.#fatal = false;
    const held = this.#held.splice(0);
    for (const task of held) this.queues.get(0)?.complete(task, { status: NvmeStatus.AbortRequested });
    this.#events.clear();
    this.#masked.clear();
    for (const queue of [...this.queues.values()]) if (queue.qid !== 0) queue.close();
  }

  #wants(what: 'namespaceAttribute' | 'anaChange'): boolean {
    return ASYNC_EVENT_CONFIGURATION.ofNumber(this.features.get(Feature.AsyncEventConfiguration) ?? 0)[what];
  }

  #report(info: number, logPage: number): void {
    this.#events.add(ASYNC_EVENT.toNumber({ type: AsyncEventType.Notice, info, logPage }));
    this.#deliverEvents();
  }

  #deliverEvents(): void {
    for (const event of [...this.#events]) {
      if (this.#masked.has(event)) continue;
      const task = this.#held.shift();
      if (task === undefined) return;
      this.#events.delete(event);
      this.#masked.add(event);
      this.queues.get(0)?.complete(task, { status: NvmeStatus.Success, dw0: event });
    }
  }
}

/** 1.4. */
export const VERSION = VS.toNumber({ mjr: 1, mnr: 4 });
/** Entries of the error log. */
export const ERROR_ENTRIES = 16;
/** Asynchronous Event Requests at a time. */
export const MAX_EVENT_REQUESTS = 4;
const READY_IN_500MS = 15;
/** A command on a bad wire may be late. */
const KEEP_ALIVE_GRACE_MS = 1000;
