/**
 * A controller as an application sees it: its namespaces, its events, and a connection that comes back.
 *
 * Owns reconnection. While there is no connection, commands wait; after the last attempt they fail. A controller that
 * comes back with other namespaces under the old numbers gets none of the commands that were meant for the old ones.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { RdmaDevice } from '../../../device/api.ts';
import { AsyncQueue } from '../../../ground/async-queue.ts';
import { blockBytesOf, IdentifyCns, type IdentifyController, readNamespaceList } from '../codec/index.ts';
import { Association, type AssociationOwner, isFinal } from './association.ts';
import { Dispatcher } from './dispatcher.ts';
import { type NvmeEvent, readLogPage, watchEvents } from './events.ts';
import { identifyNamespace, isSameNamespace, type KnownNamespace } from './known-namespace.ts';
import { NvmeNamespace } from './namespace.ts';
import {
  MS,
  type NvmeConnectOptions,
  type NvmeSecrets,
  type NvmeSettings,
  otherCredentials,
  settingsOf,
} from './options.ts';
import type { HostQueue } from './queue.ts';
import type { HostRequest } from './request.ts';

/** How a controller is reached now. */
export type NvmeState = 'live' | 'reconnecting' | 'closed';

/**
 * A controller of a subsystem, connected by `connectNvme`.
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
 * NvmeTarget.listen(b, { subsystems: [subsystem], timers });
 * const host = { hostnqn: 'nqn.2026-01.example:host', hostid: new Uint8Array(16), timers };
 * const controller = await world.run(connectNvme(a, { address: '10.0.0.2', subnqn: subsystem.nqn, ...host }));
 * console.log(controller.state, controller.queues); // live 1
 * await world.run(controller.close());
 * console.log(controller.state); // closed
 * ```
 */
export class NvmeController implements AssociationOwner {
  /** Asynchronous events, until it is closed; the last 64 that nobody has taken. */
  readonly events = new AsyncQueue<NvmeEvent>();
  /** Events that were dropped because nobody took them. */
  eventsLost = 0;
  /** Connections that came after a loss. */
  reconnects = 0;
  readonly #device: RdmaDevice;
  #settings: NvmeSettings;
  readonly #dispatcher = new Dispatcher();
  /** Namespaces in use, as they were identified first. */
  readonly #known = new Map<number, KnownNamespace>();
  #association: Association | undefined;
  #identity: IdentifyController | undefined;
  #state: NvmeState = 'reconnecting';
  #cancelWait: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #reconnecting: Promise<void> | undefined;
  /** The last authentication that was asked for. */
  #authenticating: Promise<unknown> = Promise.resolve();

  private constructor(device: RdmaDevice, settings: NvmeSettings) {
    this.#device = device;
    this.#settings = settings;
  }

  /** For `connectNvme`. @internal */
  static async connect(device: RdmaDevice, options: NvmeConnectOptions): Promise<NvmeController> {
    const controller = new NvmeController(device, settingsOf(options));
    const association = await Association.connect(device, controller.#settings, controller, true);
    if (association.dead !== undefined) throw association.dead;
    controller.#live(association);
    return controller;
  }

  /** How it is reached now. */
  get state(): NvmeState {
    return this.#state;
  }

  /** What it said of itself when it was connected last. */
  get identity(): IdentifyController {
    if (this.#identity === undefined) throw new RoceError('ERR_ROCE_STATE', 'the controller was never connected');
    return this.#identity;
  }

  /** Its identifier, on this connection. */
  get cntlid(): number {
    return this.#association?.cntlid ?? 0;
  }

  /** I/O queues of this connection. */
  get queues(): number {
    return this.#association?.ioQueues.length ?? 0;
  }

  /** Commands sent again after a loss. */
  get replayed(): number {
    return this.#dispatcher.replayed;
  }

  /** Commands answered by each I/O queue of this connection. */
  get completed(): readonly number[] {
    return this.#association?.ioQueues.map((queue) => queue.completed) ?? [];
  }

  /** Bytes of one command at most. */
  get maxTransferBytes(): number {
    const { mdts } = this.identity;
    const page = 2 ** (12 + (this.#association?.cap.mpsmin ?? 0));
    return mdts === 0 ? this.#settings.maxTransferBytes : Math.min(this.#settings.maxTransferBytes, page * 2 ** mdts);
  }

  /** Identifiers of its active namespaces, in order. */
  async namespaces(): Promise<number[]> {
    return readNamespaceList(await this.#demandLive().identify(IdentifyCns.ActiveNamespaces, 0));
  }

  /** A namespace, identified. Rejects with ERR_ROCE_ARGUMENT when there is none, or its format is not understood. */
  async namespace(nsid: number): Promise<NvmeNamespace> {
    const known = await identifyNamespace(this.#demandLive(), nsid);
    const { identity } = known;
    const blockBytes = blockBytesOf(identity);
    if (identity.nsze === 0n || blockBytes === undefined)
      throw new RoceError('ERR_ROCE_ARGUMENT', `there is no namespace ${nsid}`);
    if (identity.nsze > BigInt(Math.floor(Number.MAX_SAFE_INTEGER / blockBytes)))
      throw new RoceError('ERR_ROCE_UNSUPPORTED', `namespace ${nsid} has ${identity.nsze} blocks`);
    if (blockBytes > this.maxTransferBytes)
      throw new RoceError('ERR_ROCE_UNSUPPORTED', `a block of namespace ${nsid} is larger than a command may be`);
    this.#known.set(nsid, known);
    return new NvmeNamespace(this, nsid, blockBytes, Number(identity.nsze));
  }

  /** Reads `bytes` bytes of a log page, a multiple of 4. */
  async logPage(lid: number, bytes: number, nsid = 0xff_ff_ff_ff): Promise<Uint8Array> {
    return readLogPage(this.#demandLive(), lid, bytes, { nsid });
  }

  /**
   * Host and controller prove themselves again, on every queue, with the secrets in use or with others; commands go on
   * meanwhile. New secrets hold from the proof on the admin queue on, for reconnections, too. Rejects with
   * NvmeAuthenticationError where one side does not prove itself: the connection ends then, and is made again with the
   * secrets that hold; with NvmeError where the controller knows no authentication, with ERR_ROCE_CLOSED while there is
   * no connection, with ERR_ROCE_TIMEOUT, and with ERR_ROCE_ARGUMENT for secrets that are none, or none at all.
   */
  reauthenticate(secrets: NvmeSecrets = {}): Promise<void> {
    const proof = this.#authenticating.then(() => {
      const credentials = otherCredentials(this.#settings.credentials, secrets);
      return this.#demandLive().reauthenticate(credentials, () => {
        this.#settings = { ...this.#settings, credentials };
      });
    });
    // One after the other: messages of two would mix.
    this.#authenticating = proof.catch(() => {});
    return proof;
  }

  /** Sends an I/O command, now or when there is a connection. @internal */
  submit(request: HostRequest): void {
    this.#dispatcher.submit(request);
  }

  /** Shuts the controller down and disconnects; commands that wait fail. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  // What associations tell.

  /** @internal */
  ioSlotFreed(queue: HostQueue): void {
    this.#dispatcher.slotFreed(queue);
  }

  /** @internal */
  died(association: Association, reason: Error, unanswered: readonly HostRequest[]): void {
    if (association !== this.#association) {
      // One that never became live has no commands.
      return;
    }
    this.#association = undefined;
    if (this.#state === 'closed') this.#dispatcher.close(reason);
    this.#dispatcher.lost(unanswered, reason);
    if (this.#state === 'closed') return;
    this.#state = 'reconnecting';
    this.#reconnecting = this.#reconnect(reason);
  }

  async #close(): Promise<void> {
    const association = this.#association;
    this.#state = 'closed';
    this.#cancelWait?.();
    await association?.close(true);
    this.#dispatcher.close(new RoceError('ERR_ROCE_CLOSED', 'the controller is closed'));
    await this.#reconnecting;
    this.events.close();
  }

  #live(association: Association): void {
    this.#association = association;
    this.#identity = association.identity;
    this.#state = 'live';
    void watchEvents(association, (event) => this.#tell(event));
    this.#dispatcher.begin(association);
  }

  #tell(event: NvmeEvent): void {
    if (this.events.length >= MOST_EVENTS) {
      this.events.drop(() => true);
      this.eventsLost++;
    }
    this.events.push(event);
  }

  async #reconnect(reason: Error): Promise<void> {
    let last: unknown = reason;
    for (let tries = 0; tries < this.#settings.reconnectTries; tries++) {
      await this.#wait(this.#settings.reconnectDelayMs);
      if (this.#isClosed()) return;
      try {
        const association = await Association.connect(this.#device, this.#settings, this, true);
        try {
          await this.#demandSame(association);
        } catch (error) {
          await association.close(true);
          throw error;
        }
        if (this.#isClosed()) {
          await association.close(true);
          return;
        }
        if (association.dead !== undefined) throw association.dead;
        this.reconnects++;
        this.#live(association);
        return;
      } catch (error) {
        last = error;
        // What is no error of the connection is one of ours: whoever waits for a command is told.
        if (!(error instanceof RoceError) || isFinal(error)) break;
      }
    }
    this.#state = 'closed';
    const { message } = last instanceof Error ? last : reason;
    this.#dispatcher.close(new RoceError('ERR_ROCE_CLOSED', `the connection is lost: ${message}`, { cause: last }));
    this.events.close();
    const left = this.#association;
    this.#association = undefined;
    await left?.close(false);
  }

  /** The namespaces in use are those that they were: nothing is written on another disk. */
  async #demandSame(association: Association): Promise<void> {
    for (const [nsid, before] of this.#known)
      if (!isSameNamespace(before, await identifyNamespace(association, nsid)))
        throw new RoceError('ERR_ROCE_UNSUPPORTED', `namespace ${nsid} is another one than before`);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#settings.timers.after(ms * MS, resolve);
      this.#cancelWait = () => {
        cancel();
        resolve();
      };
    });
  }

  #isClosed(): boolean {
    return this.#closing !== undefined;
  }

  #demandLive(): Association {
    if (this.#association === undefined)
      throw new RoceError('ERR_ROCE_CLOSED', `the controller is not connected now: ${this.#state}`);
    return this.#association;
  }
}

/** Events kept for whoever looks at them later: a controller may send as many as it likes. */
const MOST_EVENTS = 64;
