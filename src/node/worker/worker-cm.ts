/** The connection manager of a device in a worker, on the application's side: listeners, requests, connections. */
import type { IpAddress } from '../../../packets/address.ts';
import type { CmTransportService } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { DisconnectCause } from '../../../transport/cm/index.ts';
import type {
  RdmaAcceptOptions,
  RdmaCm,
  RdmaConnection,
  RdmaConnectionRequest,
  RdmaConnectOptions,
  RdmaListenUdOptions,
  RdmaQp,
  RdmaResolveUdOptions,
  RdmaUdDestination,
  RdmaUdListener,
} from '../../device/api.ts';
import type { ListenOptions } from '../../device/cm/api.ts';
import { DEFAULT_PATIENCE, Listener } from '../../device/cm/connection.ts';
import type { AddressVector } from '../../device/verbs/index.ts';
import {
  type ObjectHandle,
  ownBytes,
  revive,
  type WireConnection,
  type WireRequest,
  withOwnData,
} from './wire-values.ts';
import { WorkerDatagrams } from './worker-datagrams.ts';
import { WorkerQp } from './worker-qp.ts';
import type { WorkerStack } from './worker-stack.ts';

export class WorkerCm implements RdmaCm {
  readonly datagrams: WorkerDatagrams;
  readonly #stack: WorkerStack;
  readonly #listeners = new Map<ObjectHandle, Listener<RdmaConnectionRequest>>();
  readonly #connections = new Map<ObjectHandle, WorkerConnection>();
  /** Ends that arrived before their connection. */
  readonly #early = new Map<ObjectHandle, DisconnectCause>();
  /** The worker keeps a request for as long as it may be answered. */
  readonly #forgotten: FinalizationRegistry<ObjectHandle>;

  constructor(stack: WorkerStack) {
    this.#stack = stack;
    this.datagrams = new WorkerDatagrams(stack);
    this.#forgotten = new FinalizationRegistry((handle) => stack.channel.tell('forgetRequest', handle));
  }

  get size(): number {
    return this.#stack.snapshot().connections;
  }

  counters(): Readonly<Record<string, number>> {
    return this.#stack.snapshot().cm;
  }

  async connect(options: RdmaConnectOptions): Promise<WorkerConnection> {
    const { qp: given, ...rest } = options;
    const qp = this.#own(given);
    return this.#stack.channel.ask('connect', (wired) => this.#connected(wired, qp), {
      ...withOwnData(rest),
      qp: qp.handle,
    });
  }

  listen(port: number, options: ListenOptions | number = {}): Listener<RdmaConnectionRequest> {
    const { channel } = this.#stack;
    const handle = channel.call('listen', port, options);
    const listener = new Listener<RdmaConnectionRequest>(port, () => {
      if (!this.#listeners.delete(handle) || channel.gone) return;
      channel.call('unlisten', handle);
    });
    this.#listeners.set(handle, listener);
    return listener;
  }

  listenUd(port: number, options: RdmaListenUdOptions = {}): RdmaUdListener {
    return this.datagrams.listen(port, options);
  }

  resolveUd(options: RdmaResolveUdOptions): Promise<RdmaUdDestination> {
    return this.datagrams.resolve(options);
  }

  /** For `WorkerConnectionRequest.accept`. */
  async accept(request: ObjectHandle, options: RdmaAcceptOptions): Promise<WorkerConnection> {
    const { qp: given, ...rest } = options;
    const qp = this.#own(given);
    const wired = { ...withOwnData(rest), qp: qp.handle };
    return this.#stack.channel.ask('accept', (connection) => this.#connected(connection, qp), request, wired);
  }

  /** For `WorkerConnectionRequest.delay`. */
  delay(request: ObjectHandle, serviceTimeout: number): void {
    this.#stack.channel.call('delay', request, serviceTimeout);
  }

  /** For `WorkerConnectionRequest.reject`. */
  reject(request: ObjectHandle, privateData: Uint8Array | undefined, reason: number | undefined): void {
    this.#stack.channel.call('reject', request, privateData && ownBytes(privateData), reason);
  }

  /** For `WorkerConnection.disconnect`. */
  disconnect(connection: ObjectHandle, privateData: Uint8Array | undefined): void {
    if (!this.#connections.has(connection) || this.#stack.channel.gone) return;
    this.#stack.channel.call('disconnect', connection, privateData && ownBytes(privateData));
  }

  /** For `WorkerConnection.loadAlternatePath`. */
  loadAlternatePath(connection: ObjectHandle, av: AddressVector): Promise<void> {
    return this.#stack.channel.ask('loadAlternatePath', () => undefined, connection, av);
  }

  // Events from the worker.

  requested(listener: ObjectHandle, wired: WireRequest): void {
    const { channel } = this.#stack;
    const target = this.#listeners.get(listener);
    if (target === undefined) {
      channel.tell('refuseRequest', wired.request);
      return;
    }
    const request = new WorkerConnectionRequest(this, wired);
    this.#forgotten.register(request, wired.request);
    target.requests.push(request);
  }

  disconnected(handle: ObjectHandle, cause: DisconnectCause): void {
    const connection = this.#connections.get(handle);
    if (connection === undefined) this.#early.set(handle, cause);
    else connection.end(cause);
    this.#connections.delete(handle);
  }

  /** The device was closed. */
  close(): void {
    this.datagrams.close();
    for (const listener of [...this.#listeners.values()]) listener.requests.close();
    for (const connection of this.#connections.values()) connection.end('timeout');
    this.#listeners.clear();
    this.#connections.clear();
  }

  #connected({ connection: handle, remoteAddress, privateData }: WireConnection, qp: WorkerQp): WorkerConnection {
    const connection = new WorkerConnection(this, handle, qp, revive(remoteAddress), privateData);
    const cause = this.#early.get(handle);
    this.#early.delete(handle);
    if (cause === undefined) this.#connections.set(handle, connection);
    else connection.end(cause);
    return connection;
  }

  #own(qp: RdmaQp): WorkerQp {
    if (qp instanceof WorkerQp && qp.pd.device === this.#stack.device) return qp;
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a connection is made of a queue pair of its own device');
  }
}

class WorkerConnectionRequest implements RdmaConnectionRequest {
  readonly service: CmTransportService;
  readonly remoteAddress: IpAddress;
  readonly localAddress: IpAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
  readonly initiatorDepth: number;
  readonly responderResources: number;
  readonly #cm: WorkerCm;
  readonly #handle: ObjectHandle;

  constructor(cm: WorkerCm, wired: WireRequest) {
    this.#cm = cm;
    this.#handle = wired.request;
    this.service = wired.service;
    this.remoteAddress = revive(wired.remoteAddress);
    this.localAddress = revive(wired.localAddress);
    this.remotePort = wired.remotePort;
    this.privateData = wired.privateData;
    this.initiatorDepth = wired.initiatorDepth;
    this.responderResources = wired.responderResources;
  }

  accept(options: RdmaAcceptOptions): Promise<RdmaConnection> {
    return this.#cm.accept(this.#handle, options);
  }

  delay(serviceTimeout = DEFAULT_PATIENCE): void {
    this.#cm.delay(this.#handle, serviceTimeout);
  }

  reject(privateData?: Uint8Array, reason?: number): void {
    this.#cm.reject(this.#handle, privateData, reason);
  }
}

class WorkerConnection implements RdmaConnection {
  readonly qp: WorkerQp;
  readonly remoteAddress: IpAddress;
  readonly privateData: Uint8Array;
  readonly closed: Promise<DisconnectCause>;
  readonly #cm: WorkerCm;
  readonly #handle: ObjectHandle;
  #end: (cause: DisconnectCause) => void = () => {};

  constructor(cm: WorkerCm, handle: ObjectHandle, qp: WorkerQp, remoteAddress: IpAddress, privateData: Uint8Array) {
    this.#cm = cm;
    this.#handle = handle;
    this.qp = qp;
    this.remoteAddress = remoteAddress;
    this.privateData = privateData;
    this.closed = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  loadAlternatePath(av: AddressVector): Promise<void> {
    return this.#cm.loadAlternatePath(this.#handle, av);
  }

  async disconnect(privateData?: Uint8Array): Promise<DisconnectCause> {
    this.#cm.disconnect(this.#handle, privateData);
    return this.closed;
  }

  /** For the connection manager. */
  end(cause: DisconnectCause): void {
    this.#end(cause);
  }
}
