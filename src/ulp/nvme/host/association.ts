/**
 * A host's connection to one controller: the admin queue, the controller made ready, and the I/O queues. It lives until
 * any of its queues dies or it is closed; a reconnection makes a new one.
 *
 * Owns the order of these steps (ref:nvmeof), the controller's answers, keep-alive, and the timeout of commands.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { RdmaDevice } from '../../../device/api.ts';
import {
  AdminOpcode,
  CAP,
  type Cap,
  CC,
  CNTLID_DYNAMIC,
  COMMAND_BYTES,
  CSTS,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  IDENTIFY,
  IDENTIFY_BYTES,
  IDENTIFY_CONTROLLER,
  IdentifyCns,
  type IdentifyController,
  NUMBER_OF_QUEUES,
  NvmeStatus,
  PROPERTY,
  PropertyOffset,
  ShutdownStatus,
} from '../codec/index.ts';
import { type AuthenticationWay, authenticateAgain } from './authenticate.ts';
import { connectQueue } from './connect.ts';
import { NvmeAuthenticationError, NvmeError } from './errors.ts';
import { type HostCredentials, MS, type NvmeSettings } from './options.ts';
import type { HostQueue, QueueOwner } from './queue.ts';
import { HostRequest } from './request.ts';

/** What an association tells whoever made it. */
export interface AssociationOwner {
  /** An I/O queue has a free slot. */
  ioSlotFreed(queue: HostQueue): void;
  /** It is dead; `unanswered` are the commands of its I/O queues, first sent first. */
  died(association: Association, reason: Error, unanswered: readonly HostRequest[]): void;
}

export class Association implements QueueOwner {
  readonly settings: NvmeSettings;
  /** The controller's identifier. */
  cntlid = 0;
  /** Its capabilities. */
  cap: Cap = CAP.zeroed();
  /** What it is. */
  identity: IdentifyController = IDENTIFY_CONTROLLER.zeroed();
  /** The I/O queues that it granted. */
  readonly ioQueues: HostQueue[] = [];
  readonly #device: RdmaDevice;
  readonly #owner: AssociationOwner;
  #admin: HostQueue | undefined;
  #dead: Error | undefined;
  /** Admin commands that wait for a slot. */
  #waiting: HostRequest[] = [];
  #unanswered: HostRequest[] = [];
  #cancelTick: (() => void) | undefined;
  #tick = 0;
  /** It takes more than properties. */
  #ready = false;
  #keepAlive: HostRequest | undefined;

  private constructor(device: RdmaDevice, settings: NvmeSettings, owner: AssociationOwner) {
    this.#device = device;
    this.settings = settings;
    this.#owner = owner;
  }

  /** `withIo` false: the admin queue alone, as for discovery. Rejects as `connectQueue`, and for what it finds. */
  static async connect(
    device: RdmaDevice,
    settings: NvmeSettings,
    owner: AssociationOwner,
    withIo: boolean,
  ): Promise<Association> {
    const association = new Association(device, settings, owner);
    try {
      await association.#begin();
      if (withIo) await association.#addQueues();
      return association;
    } catch (error) {
      await association.close(false);
      throw error;
    }
  }

  /** Why it is dead; undefined while it lives. */
  get dead(): Error | undefined {
    return this.#dead;
  }

  /** Ticks since it began, of which there are some in the time that a command may take. */
  get tick(): number {
    return this.#tick;
  }

  /** Sends an admin command when there is room, and waits. Rejects with NvmeError for any status but success. */
  async admin(what: string, request: HostRequest): Promise<HostRequest> {
    if (this.#dead !== undefined) throw this.#dead;
    request.sentTick = this.#tick;
    if (this.#admin !== undefined && this.#admin.free > 0) this.#admin.send(request);
    else this.#waiting.push(request);
    await request.done;
    const { status, dw0 } = request.completion;
    const of = request.command.opcode === FABRICS_OPCODE ? 'fabrics' : 'nvm';
    if (status !== 0) throw new NvmeError(what, status, dw0, of);
    return request;
  }

  /** Identify. */
  async identify(cns: number, nsid = 0, csi = 0): Promise<Uint8Array> {
    const request = new HostRequest();
    request.command.begin(AdminOpcode.Identify, nsid).setArguments(IDENTIFY, { cns, csi });
    request.direction = 'read';
    request.data = new Uint8Array(IDENTIFY_BYTES);
    await this.admin('Identify', request);
    return request.data;
  }

  /** Set Features with a value of 32 bits; resolves with dword 0. */
  async setFeature(fid: number, value: number): Promise<number> {
    const request = new HostRequest();
    request.command.begin(AdminOpcode.SetFeatures).setArguments(FEATURES, { fid, value });
    return (await this.admin('Set Features', request)).completion.dw0;
  }

  /**
   * Authenticates again, the admin queue first and then all others; I/O goes on meanwhile. Rejects as
   * `authenticateQueue`: an end that has not proved itself ends the association.
   */
  async reauthenticate(credentials: HostCredentials, adminPassed: () => void): Promise<void> {
    const { settings } = this;
    const again = async (queue: HostQueue): Promise<void> => {
      const way: AuthenticationWay = {
        qid: queue.qid,
        send: (request) => {
          request.sentTick = this.#tick;
          queue.sendNext(request);
        },
        kill: (reason) => queue.kill(reason),
      };
      await authenticateAgain(way, credentials, {
        hostNqn: settings.hostnqn,
        subNqn: settings.subnqn,
        timers: settings.timers,
        timeoutMs: settings.commandTimeoutMs,
      });
    };
    try {
      if (this.#admin !== undefined) await again(this.#admin);
      adminPassed();
      // All of them have ended when this does: the next proof must not begin in the middle of one.
      const proofs = await Promise.allSettled(this.ioQueues.map(again));
      for (const proof of proofs) if (proof.status === 'rejected') throw proof.reason;
    } catch (error) {
      if (error instanceof NvmeAuthenticationError) this.#die(error);
      throw error;
    }
  }

  /** Shuts the controller down, where it answers, and ends all connections. */
  async close(shutdown: boolean): Promise<void> {
    if (shutdown && this.#dead === undefined) await this.#shutDown();
    this.#die(new RoceError('ERR_ROCE_CLOSED', 'the controller is disconnected'));
    await Promise.all([...this.ioQueues, this.#admin].map((queue) => queue?.close()));
  }

  /** Ends it as a failure. */
  kill(reason: Error): void {
    this.#die(reason);
  }

  // What queues tell.

  slotFreed(queue: HostQueue): void {
    if (queue.qid !== 0) this.#owner.ioSlotFreed(queue);
    else {
      const next = this.#waiting.shift();
      if (next !== undefined) queue.send(next);
    }
  }

  died(queue: HostQueue, reason: Error, unanswered: readonly HostRequest[]): void {
    if (queue.qid === 0 || !this.ioQueues.includes(queue)) for (const request of unanswered) request.fail(reason);
    else this.#unanswered.push(...unanswered);
    this.#die(reason);
  }

  #die(reason: Error): void {
    if (this.#dead !== undefined) return;
    this.#dead = reason;
    this.#cancelTick?.();
    for (const queue of [...this.ioQueues, this.#admin]) queue?.kill(reason);
    for (const request of this.#waiting.splice(0)) request.fail(reason);
    this.#owner.died(this, reason, this.#unanswered);
  }

  async #begin(): Promise<void> {
    const { settings } = this;
    const { queue, result } = await connectQueue(
      this.#device,
      {
        to: settings,
        subnqn: settings.subnqn,
        qid: 0,
        shape: { size: ADMIN_QUEUE_SIZE, inCapsuleBytes: 0, maxTransferBytes: ADMIN_TRANSFER_BYTES },
        cntlid: CNTLID_DYNAMIC,
        keepAliveMs: settings.keepAliveMs,
        remoteInvalidate: settings.remoteInvalidate,
        credentials: settings.credentials,
        timeoutMs: settings.commandTimeoutMs,
      },
      this,
    );
    this.#admin = queue;
    this.cntlid = result.cntlid;
    this.#startTicks();
    this.cap = CAP.ofNumber(await this.#property(PropertyOffset.Cap, 1));
    await this.#enable();
    const data = await this.identify(IdentifyCns.Controller);
    this.identity = IDENTIFY_CONTROLLER.read(data) ?? this.identity;
    if (!this.identity.sglsKeyed)
      throw new RoceError('ERR_ROCE_UNSUPPORTED', 'the controller takes no keyed SGLs, which RDMA needs');
    this.#ready = true;
  }

  async #enable(): Promise<void> {
    const cc = CC.toBigint({ en: true, iosqes: 6, iocqes: 4 });
    await this.#setProperty(PropertyOffset.Cc, cc);
    const tries = Math.max(1, Math.ceil((this.cap.to * READY_UNIT_MS) / READY_POLL_MS));
    for (let i = 0; i <= tries; i++) {
      const csts = CSTS.ofNumber(await this.#property(PropertyOffset.Csts, 0));
      if (csts.cfs) break;
      if (csts.rdy) return;
      await this.#sleep(READY_POLL_MS);
    }
    throw new RoceError('ERR_ROCE_TIMEOUT', 'the controller does not become ready');
  }

  async #shutDown(): Promise<void> {
    try {
      await this.#setProperty(PropertyOffset.Cc, CC.toBigint({ en: true, shn: 1, iosqes: 6, iocqes: 4 }));
      for (let i = 0; i < SHUTDOWN_POLLS; i++) {
        const csts = CSTS.ofNumber(await this.#property(PropertyOffset.Csts, 0));
        if (csts.shst === ShutdownStatus.Complete) return;
        await this.#sleep(READY_POLL_MS);
      }
    } catch (error) {
      // Gone meanwhile: there is nothing left to shut down.
      if (!(error instanceof RoceError)) throw error;
    }
  }

  async #addQueues(): Promise<void> {
    const { settings, identity, cap } = this;
    const asked = settings.queues - 1;
    const granted = NUMBER_OF_QUEUES.ofNumber(
      await this.setFeature(Feature.NumberOfQueues, NUMBER_OF_QUEUES.toNumber({ nsq: asked, ncq: asked })),
    );
    const count = Math.min(settings.queues, granted.nsq + 1, granted.ncq + 1);
    const capsuleData = identity.ioccsz * CAPSULE_UNIT - COMMAND_BYTES;
    const inCapsule = identity.sglsOffset && identity.icdoff === 0 ? Math.max(0, capsuleData) : 0;
    const size = Math.min(settings.queueSize, cap.mqes + 1, identity.maxcmd === 0 ? Infinity : identity.maxcmd);
    for (let qid = 1; qid <= count; qid++) {
      const { queue } = await connectQueue(
        this.#device,
        {
          to: settings,
          subnqn: settings.subnqn,
          qid,
          shape: {
            size: Math.max(size, 2),
            // Connect sends 1024 bytes, in the capsule where they fit.
            inCapsuleBytes: Math.min(settings.inCapsuleBytes, inCapsule),
            maxTransferBytes: Math.max(settings.maxTransferBytes, CONNECT_DATA_BYTES),
          },
          cntlid: this.cntlid,
          keepAliveMs: 0,
          remoteInvalidate: settings.remoteInvalidate,
          credentials: settings.credentials,
          timeoutMs: settings.commandTimeoutMs,
        },
        this,
      );
      if (this.#dead !== undefined) {
        await queue.close();
        throw this.#dead;
      }
      this.ioQueues.push(queue);
    }
  }

  async #property(offset: number, size: 0 | 1): Promise<bigint> {
    const request = new HostRequest();
    request.command.begin(FABRICS_OPCODE, FabricsType.PropertyGet).setArguments(PROPERTY, { size, offset });
    const { completion } = await this.admin('Property Get', request);
    return (size === 1 ? BigInt(completion.dw1) << 32n : 0n) | BigInt(completion.dw0);
  }

  async #setProperty(offset: number, value: bigint): Promise<void> {
    const request = new HostRequest();
    request.command.begin(FABRICS_OPCODE, FabricsType.PropertySet).setArguments(PROPERTY, { size: 0, offset, value });
    await this.admin('Property Set', request);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.settings.timers.after(ms * MS, resolve));
  }

  /** Keep-alive, and a look at the oldest command of each queue, a few times in the shorter of the two timeouts. */
  #startTicks(): void {
    const { keepAliveMs, commandTimeoutMs, timers } = this.settings;
    const timeouts = [keepAliveMs, commandTimeoutMs].filter((ms) => ms > 0);
    if (timeouts.length === 0) return;
    const tickMs = Math.max(1, Math.floor(Math.min(...timeouts) / TICKS_PER_TIMEOUT));
    const patience = Math.ceil(commandTimeoutMs / tickMs);
    const tick = (): void => {
      this.#tick++;
      if (keepAliveMs > 0 && this.#ready) this.#sendKeepAlive(Math.ceil(keepAliveMs / tickMs));
      if (commandTimeoutMs > 0) this.#lookForOverdue(patience);
      if (this.#dead === undefined) this.#cancelTick = timers.after(tickMs * MS, tick);
    };
    this.#cancelTick = timers.after(tickMs * MS, tick);
  }

  #sendKeepAlive(patience: number): void {
    if (this.#keepAlive !== undefined) {
      if (this.#tick - this.#keepAlive.sentTick > patience)
        this.#die(new RoceError('ERR_ROCE_TIMEOUT', 'the controller does not answer a Keep Alive'));
      return;
    }
    const request = new HostRequest();
    request.command.begin(AdminOpcode.KeepAlive);
    this.#keepAlive = request;
    this.admin('Keep Alive', request).then(
      () => {
        this.#keepAlive = undefined;
      },
      (error: Error) => this.#die(error),
    );
  }

  #lookForOverdue(patience: number): void {
    for (const queue of [this.#admin, ...this.ioQueues])
      for (const { held, sentTick } of queue?.outstanding ?? []) {
        if (held) continue;
        if (this.#tick - sentTick <= patience) break;
        this.#die(new RoceError('ERR_ROCE_TIMEOUT', `a command on queue ${queue?.qid} is not answered`));
        return;
      }
  }
}

/** Whether a failure to connect will be one for ever: the controller has said so. */
export function isFinal(error: unknown): boolean {
  if (error instanceof NvmeAuthenticationError) return true;
  if (!(error instanceof NvmeError)) return error instanceof RoceError && error.code === 'ERR_ROCE_UNSUPPORTED';
  return error.doNotRetry && error.statusCode !== NvmeStatus.ConnectControllerBusy;
}

/** As Linux has it (NVME_AQ_DEPTH). */
const ADMIN_QUEUE_SIZE = 32;
const ADMIN_TRANSFER_BYTES = 1 << 18;
const CONNECT_DATA_BYTES = 1024;
/** IOCCSZ counts in units of 16 bytes. */
const CAPSULE_UNIT = 16;
/** CAP.TO counts in units of 500 ms. */
const READY_UNIT_MS = 500;
const READY_POLL_MS = 20;
const SHUTDOWN_POLLS = 250;
const TICKS_PER_TIMEOUT = 4;
