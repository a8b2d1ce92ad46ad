/**
 * A target: serves subsystems, and the discovery service, on one port of a device.
 *
 * Owns the listener, the limits, and which queue belongs to which controller. Time comes in as `after`. A queue whose
 * host sends no Connect is closed after a while. Works with every `RdmaDevice`.
 */
import type { IpAddress } from '../../../../packets/address.ts';
import { RoceError } from '../../../../packets/errors.ts';
import type { RdmaConnectionRequest, RdmaDevice, RdmaListener, RdmaPd } from '../../../device/api.ts';
import {
  CM_REJECT,
  CM_REPLY,
  CmRejectStatus,
  CONNECT_RESULT,
  ConnectOffset,
  FABRICS_OPCODE,
  FabricsType,
  type NvmeCommand,
  NvmeStatus,
  RECFMT,
} from '../codec/index.ts';
import { adminDataLength, executeAdmin, executeFabrics } from './admin.ts';
import { isAuthentication, QueueAuthentication } from './authentication.ts';
import { type AskedController, type AskedQueue, askedController, askedQueue, invalid } from './connect.ts';
import { Controller } from './controller.ts';
import { DataPool } from './data-pool.ts';
import { discoveryLogFor } from './discovery-log.ts';
import { executeIo, findsRoom, ioDataLength } from './nvm.ts';
import { type TargetCounters, type TargetOptions, type TargetSettings, targetSettingsOf } from './options.ts';
import { TargetQueue } from './queue.ts';
import { type CapsuleReceives, OwnReceives, SharedReceives } from './receives.ts';
import type { Execution, QueueServices } from './services.ts';
import type { NvmeSubsystem } from './subsystem.ts';
import { type Outcome, refused, type Task } from './task.ts';

/** What is known of a queue. */
interface Known {
  /** The address that its host used. */
  readonly local: IpAddress;
  /** Once there is one. */
  controller?: Controller;
  /** Where the host has to prove itself. */
  authentication?: QueueAuthentication | undefined;
  /** Address of the host. */
  readonly peer: string;
  /** Waits no longer for a Connect: a timer would keep the queue's memory. */
  readonly noMoreWaiting: () => void;
}

/**
 * Subsystems served at one port of a device.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { connectNvme, MemoryBackend, NvmeSubsystem, NvmeTarget } from 'rocev2/nvme';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const timers = {
 *   after(ns: number, then: () => void): () => void {
 *     let live = true;
 *     void world.sleep(ns).then(() => live && then());
 *     return () => {
 *       live = false;
 *     };
 *   },
 * };
 * const subsystem = new NvmeSubsystem({ nqn: 'nqn.2026-01.example:disk' });
 * subsystem.addNamespace({ backend: new MemoryBackend(1 << 20), uuid: new Uint8Array(16) });
 * const target = NvmeTarget.listen(b, { subsystems: [subsystem], timers });
 * const host = { hostnqn: 'nqn.2026-01.example:host', hostid: new Uint8Array(16), timers };
 * const controller = await world.run(connectNvme(a, { address: '10.0.0.2', subnqn: subsystem.nqn, ...host }));
 * console.log(target.port, target.controllers.length, controller.state); // 4420 1 live
 * ```
 */
export class NvmeTarget implements QueueServices<TargetQueue> {
  /** The device that it serves them on. */
  readonly device: RdmaDevice;
  /** @internal */
  readonly pd: RdmaPd;
  /** @internal */
  readonly pool: DataPool;
  /** Port of RDMA_PS_TCP. */
  readonly port: number;
  /** Number of the port for hosts, and for ANA. */
  readonly portId: number;
  /** Data in a capsule at most, in bytes. */
  readonly inCapsuleBytes: number;
  /** What it has refused, and had. */
  readonly counters: TargetCounters = { connectionsRefused: 0, queues: 0, authenticationsFailed: 0 };
  readonly #options: TargetSettings;
  readonly #listener: RdmaListener;
  /** Of all I/O queues, where they share them. */
  readonly #receives: SharedReceives | undefined;
  readonly #queues = new Map<TargetQueue, Known>();
  readonly #controllers = new Map<number, { readonly controller: Controller; readonly local: IpAddress }>();
  readonly #running: Promise<void>;
  #discoveryId = FIRST_DISCOVERY_ID;

  private constructor(device: RdmaDevice, options: TargetSettings) {
    this.device = device;
    this.#options = options;
    this.port = options.port;
    this.portId = options.portId;
    this.inCapsuleBytes = options.inCapsuleBytes;
    this.#listener = device.cm.listen(options.port);
    this.pd = device.allocPd();
    this.#receives = this.#share(options.srq);
    this.pool = new DataPool(this.pd, options.dataBytes);
    this.#running = this.#run();
  }

  /** Serves until `close`. @throws RoceError ERR_ROCE_ARGUMENT, ERR_ROCE_IN_USE (port), ERR_ROCE_CLOSED */
  static listen(device: RdmaDevice, options: TargetOptions): NvmeTarget {
    return new NvmeTarget(device, targetSettingsOf(options));
  }

  /** Controllers that there are. */
  get controllers(): readonly Controller[] {
    return [...this.#controllers.values()].map(({ controller }) => controller);
  }

  /** Queues that there are, those without a controller included. */
  get queues(): readonly TargetQueue[] {
    return [...this.#queues.keys()];
  }

  /** Disconnects all hosts and frees everything. */
  async close(): Promise<void> {
    this.#listener.close();
    await this.#running;
    for (const { controller } of [...this.#controllers.values()]) controller.close();
    for (const queue of [...this.#queues.keys()]) queue.close();
    this.pool.free();
    this.#receives?.free();
  }

  /** Receives that wait for a capsule on any I/O queue; undefined where each queue has its own. */
  get sharedReceives(): number | undefined {
    return this.#receives?.srq.length;
  }

  /** @internal */
  receivesOf(qid: number, entries: number): CapsuleReceives {
    // An admin queue has its own: whatever I/O does, a host is heard there.
    return qid === 0 || this.#receives === undefined
      ? new OwnReceives(this.pd, entries + 1, this.inCapsuleBytes)
      : this.#receives.share(entries + 1);
  }

  dataLength(queue: TargetQueue, { command }: Task): number {
    const { controller, authentication } = this.#queues.get(queue) ?? {};
    if (authentication !== undefined && isAuthentication(command)) return authentication.dataLength(command);
    // Of what `execute` refuses, whatever it is, no data moves.
    if (authentication?.passed === false) return 0;
    if (controller === undefined) return isConnect(command) ? CONNECT_BYTES : 0;
    if (command.opcode === FABRICS_OPCODE) return 0;
    if (queue.qid === 0) return adminDataLength(command);
    return controller.subsystem === undefined ? 0 : ioDataLength(controller.subsystem, command);
  }

  findsRoom(queue: TargetQueue, { command }: Task): boolean {
    return queue.qid !== 0 && findsRoom(command);
  }

  execute(queue: TargetQueue, task: Task): Execution {
    const known = this.#queues.get(queue);
    const { command } = task;
    if (known === undefined) return refused(NvmeStatus.AbortedSqDeletion);
    const { controller, local, authentication } = known;
    if (authentication !== undefined && isAuthentication(command)) return authentication.execute(task);
    if (authentication?.passed === false) return refused(NvmeStatus.AuthenticationRequired);
    if (controller === undefined)
      return isConnect(command) ? this.#connect(queue, task, local) : refused(NvmeStatus.CommandSequenceError);
    const outcome = this.#executeOn(controller, queue, task);
    if (outcome instanceof Promise) return outcome.then((end) => controller.ended(queue, task, end));
    return controller.ended(queue, task, outcome);
  }

  closed(queue: TargetQueue, unanswered: boolean): void {
    const { controller, authentication, noMoreWaiting } = this.#queues.get(queue) ?? {};
    noMoreWaiting?.();
    authentication?.close();
    this.#queues.delete(queue);
    this.#options.observer?.queueClosed(controller, queue);
    if (controller === undefined) return;
    if (controller.queues.get(queue.qid) === queue) controller.queues.delete(queue.qid);
    // Without its admin queue there is no controller, nor without its host.
    if (queue.qid === 0 || unanswered) controller.close();
  }

  now(): number {
    return this.#options.now?.() ?? 0;
  }

  answered(queue: TargetQueue, arrivedAt: number): void {
    const { now, observer } = this.#options;
    if (now !== undefined) observer?.commandEnded?.(queue, now() - arrivedAt);
  }

  failed(queue: TargetQueue, error: unknown): void {
    this.#options.observer?.failed?.(error, queue);
  }

  /** The discovery log page for this host. */
  discoveryLog(controller: Controller): Uint8Array {
    const local = this.#controllers.get(controller.id)?.local;
    const { port, portId } = this;
    return discoveryLogFor(controller.hostNqn, this.#options, local && [{ address: local, port, portId }]);
  }

  #executeOn(controller: Controller, queue: TargetQueue, task: Task): Execution {
    if (queue.qid === 0) return executeAdmin(controller, queue, task, this);
    if (task.command.opcode === FABRICS_OPCODE) return executeFabrics(controller, task, queue.qid);
    return executeIo(controller, task, this.pool);
  }

  #share(receives: number): SharedReceives | undefined {
    try {
      return receives === 0 ? undefined : new SharedReceives(this.pd, receives, this.inCapsuleBytes);
    } catch (error) {
      this.#listener.close();
      this.pd.dealloc();
      throw error;
    }
  }

  async #run(): Promise<void> {
    for await (const request of this.#listener) {
      try {
        this.#take(request);
      } catch (error) {
        // One request fails, whatever it is; the next is another.
        this.#reject(request, CmRejectStatus.NoResources);
        this.#options.observer?.failed?.(error);
      }
    }
  }

  #take(request: RdmaConnectionRequest): void {
    const { maxQueues, maxEntries, maxControllers, timers } = this.#options;
    const asked = askedQueue(request.privateData, maxQueues, maxEntries);
    const peer = request.remoteAddress.toString();
    const full = (): boolean => this.#queues.size >= maxControllers * (1 + maxQueues) || !this.#makeRoom(peer);
    const queue = typeof asked === 'number' || full() ? undefined : this.#makeQueue(asked);
    if (typeof asked === 'number' || queue === undefined) {
      this.#reject(request, typeof asked === 'number' ? asked : CmRejectStatus.NoResources);
      return;
    }
    this.counters.queues++;
    const noMoreWaiting = timers.after(CONNECT_WITHIN_NS, () => queue.close());
    this.#queues.set(queue, { local: request.localAddress, peer, noMoreWaiting });
    request
      .accept({
        qp: queue.qp,
        privateData: CM_REPLY.encode({ recfmt: RECFMT, crqsize: asked.entries }),
        initiatorDepth: Math.max(1, Math.min(16, request.responderResources)),
        responderResources: Math.min(16, request.initiatorDepth),
      })
      .then(
        (connection) => queue.connected(connection),
        () => queue.close(),
      );
  }

  /** Undefined when the device has no room. */
  #makeQueue({ qid, entries }: AskedQueue): TargetQueue | undefined {
    try {
      return new TargetQueue(this, qid, entries);
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      return undefined;
    }
  }

  #reject(request: RdmaConnectionRequest, sts: number): void {
    this.counters.connectionsRefused++;
    try {
      request.reject(CM_REJECT.encode({ recfmt: RECFMT, sts }));
    } catch (error) {
      // The peer has gone meanwhile.
      if (!(error instanceof RoceError)) throw error;
    }
  }

  /**
   * Room for one more queue that has not connected, or has not proved itself: of the peer that has most of them the
   * oldest goes. False when that is the peer that asks.
   */
  #makeRoom(peer: string): boolean {
    const waiting = [...this.#queues].filter(([, each]) => !hasJoined(each));
    if (waiting.length < MAX_UNCONNECTED) return true;
    const counts = new Map<string, number>();
    for (const [, each] of waiting) counts.set(each.peer, (counts.get(each.peer) ?? 0) + 1);
    const most = Math.max(...counts.values());
    if (counts.get(peer) === most) return false;
    waiting.find(([, each]) => counts.get(each.peer) === most)?.[0].close();
    return true;
  }

  #connect(queue: TargetQueue, { command, data }: Task, local: IpAddress): Outcome {
    const { subsystems, maxControllers, maxQueues, maxEntries, probeMs, timers } = this.#options;
    const asked = askedController(command, data, queue, subsystems);
    if ('status' in asked) {
      this.counters.connectionsRefused++;
      return asked;
    }
    if (queue.qid !== 0) return this.#connectIo(queue, asked.cntlid, asked);
    if (this.#controllers.size >= maxControllers) return refused(NvmeStatus.ConnectControllerBusy);
    const id = this.#freeControllerId(asked.subsystem);
    const controller = new Controller({
      ...asked,
      id,
      port: this.portId,
      maxEntries,
      maxQueues,
      inCapsuleBytes: this.inCapsuleBytes,
      probeMs,
      timers,
      closed: () => this.#controllers.delete(id),
    });
    this.#controllers.set(id, { controller, local });
    return this.#join(queue, controller, asked);
  }

  #connectIo(queue: TargetQueue, cntlid: number, asked: AskedController): Outcome {
    const controller = this.#controllers.get(cntlid)?.controller;
    if (controller?.subsystem === undefined || !controller.isOf(asked)) return invalid(ConnectOffset.Cntlid, true);
    if (!controller.ready || controller.queues.has(queue.qid)) return refused(NvmeStatus.CommandSequenceError);
    return this.#join(queue, controller, asked);
  }

  #join(queue: TargetQueue, controller: Controller, asked: AskedController): Outcome {
    queue.withoutFlowControl = asked.withoutFlowControl;
    queue.submissionEntries = asked.submissionEntries;
    controller.queues.set(queue.qid, queue);
    const known = this.#queues.get(queue);
    known?.noMoreWaiting();
    const authentication = this.#authenticationOf(queue, controller);
    if (known !== undefined) Object.assign(known, { controller, authentication });
    this.#options.observer?.queueJoined(controller, queue);
    const dw0 = CONNECT_RESULT.toNumber({ cntlid: controller.id, authRequired: authentication !== undefined });
    return { status: NvmeStatus.Success, dw0 };
  }

  /** Undefined where the host has no secret. */
  #authenticationOf(queue: TargetQueue, controller: Controller): QueueAuthentication | undefined {
    const { subsystem, hostNqn } = controller;
    const terms = () => subsystem?.termsOf(hostNqn);
    if (terms() === undefined) return undefined;
    const { observer, timers } = this.#options;
    // A host that computes an exponential sends nothing meanwhile, and the authentication has a time limit of its own.
    if (queue.qid === 0) controller.pauseKeepAlive();
    return new QueueAuthentication(terms, timers, {
      passed: () => {
        if (queue.qid === 0) controller.armKeepAlive();
        observer?.authenticated?.(controller, queue, undefined);
      },
      failed: (failure) => {
        this.counters.authenticationsFailed++;
        observer?.authenticated?.(controller, queue, failure);
        if (queue.qid === 0) for (const other of [...controller.queues.values()]) if (other !== queue) other.close();
      },
      ended: () => queue.close(),
    });
  }

  /** Numbers are unique in a subsystem, over all its ports; those of the discovery service begin at 0x8000. */
  #freeControllerId(subsystem: NvmeSubsystem | undefined): number {
    for (;;) {
      const id = subsystem?.takeControllerId() ?? this.#discoveryId++;
      if (this.#discoveryId > LAST_CONTROLLER_ID) this.#discoveryId = FIRST_DISCOVERY_ID;
      if (!this.#controllers.has(id)) return id;
    }
  }
}

function isConnect({ opcode, fabricsType }: NvmeCommand): boolean {
  return opcode === FABRICS_OPCODE && fabricsType === FabricsType.Connect;
}

/** It has a controller, and has proved itself where it has to. */
function hasJoined({ controller, authentication }: Known): boolean {
  return controller !== undefined && authentication?.passed !== false;
}

const FIRST_DISCOVERY_ID = 0x80_00;
const LAST_CONTROLLER_ID = 0xff_ef;
const CONNECT_BYTES = 1024;
/** Queues at most that have not connected, or not proved themselves. */
const MAX_UNCONNECTED = 64;
const CONNECT_WITHIN_NS = 30e9;
