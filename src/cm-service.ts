/**
 * Connecting and listening as an application sees it: promises and iterators over the connection manager's machine. The
 * queue pair's own way is in bring-up.ts.
 *
 * The starting PSN in REQ and REP is where the *other* side begins to send: it is the sender's own rq_psn (seen in the
 * captures of rdma_rxe: the first SEND of the active side carries the PSN of the REP).
 */
import { IpAddress } from '../packets/address.ts';
import { CmRejReason, RdmaPortSpace, rdmaServiceId } from '../packets/cm/index.ts';
import { RoceError } from '../packets/errors.ts';
import { PSN_MASK } from '../packets/psn.ts';
import type { CmEvent, CmId, ConnectionManager, DisconnectCause } from '../transport/cm/index.ts';
import { bringToError, bringToInit, bringToRts } from './bring-up.ts';
import {
  type AcceptOptions,
  Connection,
  ConnectionRejected,
  ConnectionRequest,
  type ConnectOptions,
  Listener,
} from './connection.ts';
import type { Device } from './device.ts';
import type { Qp } from './verbs.ts';

/** Where in its life a communication id is, and who waits for its next event. */
type Conversation =
  | {
      readonly kind: 'connecting';
      readonly options: ConnectOptions;
      readonly remote: IpAddress;
      readonly local: IpAddress;
      readonly rqPsn: number;
      readonly promise: Settle;
    }
  | { readonly kind: 'requested'; readonly request: ConnectionRequest }
  | { readonly kind: 'accepting'; readonly qp: Qp; readonly request: ConnectionRequest; readonly promise: Settle }
  | { readonly kind: 'connected'; readonly connection: Connection };

interface Settle {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: RoceError) => void;
}

const DEFAULT_DEPTH = 16;
const DEFAULT_BACKLOG = 128;
/** 15 as in rdma_cm; REQ is repeated every 4.096 us * 2^20, so a dead peer shows after a minute. */
const DEFAULT_RETRY = 7;
const DEFAULT_RNR_TIMER = 12;
/** 4.096 us * 2^17 is 0.54 s: long enough for an emulated peer, short enough to notice a loss. */
const DEFAULT_ACK_TIMEOUT = 17;
const MTU_CODE_BASE = 7;

export class CmService {
  readonly #device: Device;
  readonly #manager: ConnectionManager;
  readonly #conversations = new Map<CmId, Conversation>();
  readonly #listeners = new Map<bigint, Listener>();
  /** Queue pair numbers whose old packets may still be on their way (TIMEWAIT). */
  readonly #held = new Map<CmId, number>();
  readonly #heldQpns = new Set<number>();
  #closed = false;

  constructor(device: Device, manager: ConnectionManager) {
    this.#device = device;
    this.#manager = manager;
  }

  /**
   * Connects `options.qp`, which is in RESET, and resolves when it is in RTS. Rejects with ConnectionRejected,
   * ERR_ROCE_TIMEOUT (nobody answers) or ERR_ROCE_ADDRESS (nobody has the address).
   */
  async connect(options: ConnectOptions): Promise<Connection> {
    const remote = addressOf(options.address);
    const mtu = options.mtu ?? this.#device.activeMtu;
    if (mtu > this.#device.activeMtu) {
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `path MTU ${mtu} exceeds the ${this.#device.activeMtu} bytes this link carries`,
      );
    }
    this.#demandOpen();
    await this.#device.resolve(remote);
    this.#demandOpen();
    const local = addressOf(options.source) ?? this.#device.paths.sourceFor(remote);
    const rqPsn = this.#device.random.u32() & PSN_MASK;
    bringToInit(options.qp, options.responderResources ?? DEFAULT_DEPTH);
    return new Promise((resolve, reject) => {
      const id = this.#manager.connect(this.#device.now(), {
        serviceId: rdmaServiceId(RdmaPortSpace.Tcp, options.port),
        local,
        remote,
        localPort: options.localPort ?? 0xc0_00 | (this.#device.random.u32() & 0x3f_ff),
        qpn: options.qp.qpn,
        startingPsn: rqPsn,
        mtu: mtuCode(mtu),
        initiatorDepth: options.initiatorDepth ?? DEFAULT_DEPTH,
        responderResources: options.responderResources ?? DEFAULT_DEPTH,
        retryCount: options.retryCount ?? DEFAULT_RETRY,
        rnrRetryCount: options.rnrRetryCount ?? DEFAULT_RETRY,
        ackTimeout: options.ackTimeout ?? DEFAULT_ACK_TIMEOUT,
        ...(options.privateData === undefined ? {} : { privateData: options.privateData }),
        ...(options.cmResponseTimeout === undefined ? {} : { cmResponseTimeout: options.cmResponseTimeout }),
        ...(options.maxCmRetries === undefined ? {} : { maxCmRetries: options.maxCmRetries }),
      });
      this.#conversations.set(id, { kind: 'connecting', options, remote, local, rqPsn, promise: { resolve, reject } });
      this.#device.cmTouched();
    });
  }

  /** Takes connection requests for a port of RDMA_PS_TCP. Throws ERR_ROCE_IN_USE when somebody listens there. */
  listen(port: number, backlog = DEFAULT_BACKLOG): Listener {
    this.#demandOpen();
    const serviceId = rdmaServiceId(RdmaPortSpace.Tcp, port);
    if (this.#listeners.has(serviceId)) throw new RoceError('ERR_ROCE_IN_USE', `port ${port} is listened on already`);
    this.#manager.listen(serviceId, backlog);
    const listener = new Listener(port, () => {
      this.#manager.unlisten(serviceId);
      this.#listeners.delete(serviceId);
    });
    this.#listeners.set(serviceId, listener);
    return listener;
  }

  /** For `ConnectionRequest.accept`. The way back to the peer may not be known yet: nobody else can be asked for it. */
  async accept(request: ConnectionRequest, options: AcceptOptions): Promise<Connection> {
    this.#demandUnanswered(request);
    try {
      await this.#device.resolve(request.remoteAddress);
    } catch (error) {
      if (this.#isUnanswered(request)) this.reject(request, CmRejReason.NoResources);
      throw error;
    }
    this.#demandUnanswered(request);
    return new Promise((resolve, reject) => this.#accept(request, options, { resolve, reject }));
  }

  #accept(request: ConnectionRequest, options: AcceptOptions, promise: Settle): void {
    const { qp } = options;
    const { req } = request;
    const initiatorDepth = Math.min(options.initiatorDepth ?? DEFAULT_DEPTH, request.responderResources);
    const responderResources = Math.min(options.responderResources ?? DEFAULT_DEPTH, request.initiatorDepth);
    const rqPsn = this.#device.random.u32() & PSN_MASK;
    bringToInit(qp, responderResources);
    bringToRts(qp, {
      local: request.localAddress,
      remote: request.remoteAddress,
      destQpn: req.localQpn,
      rqPsn,
      sqPsn: req.startingPsn,
      mtu: mtuOfCode(req.pathMtu),
      initiatorDepth,
      responderResources,
      minRnrTimer: options.minRnrTimer ?? DEFAULT_RNR_TIMER,
      ackTimeout: options.ackTimeout ?? (req.primaryPath.localAckTimeout || DEFAULT_ACK_TIMEOUT),
      retryCount: req.retryCount,
      rnrRetryCount: req.rnrRetryCount,
    });
    this.#manager.accept(this.#device.now(), request.id, {
      qpn: qp.qpn,
      startingPsn: rqPsn,
      initiatorDepth,
      responderResources,
      rnrRetryCount: options.rnrRetryCount ?? DEFAULT_RETRY,
      ...(options.privateData === undefined ? {} : { privateData: options.privateData }),
    });
    this.#conversations.set(request.id, { kind: 'accepting', qp, request, promise });
    this.#hold(request.id, qp.qpn);
    this.#device.cmTouched();
  }

  #demandOpen(): void {
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the device is closed');
  }

  #isUnanswered(request: ConnectionRequest): boolean {
    return this.#conversations.get(request.id)?.kind === 'requested';
  }

  #demandUnanswered(request: ConnectionRequest): void {
    if (!this.#isUnanswered(request))
      throw new RoceError('ERR_ROCE_STATE', 'the request was answered or withdrawn already');
  }

  /** For `ConnectionRequest.reject`. */
  reject(request: ConnectionRequest, reason: number, privateData?: Uint8Array): void {
    this.#demandUnanswered(request);
    this.#conversations.delete(request.id);
    this.#manager.reject(this.#device.now(), request.id, reason, privateData);
    this.#device.cmTouched();
  }

  /** For `Connection.disconnect`: the queue pair first, so that nothing more is sent, then DREQ. Nothing when it has ended. */
  disconnect(connection: Connection, privateData?: Uint8Array): void {
    if (this.#conversations.get(connection.id)?.kind !== 'connected') return;
    bringToError(connection.qp);
    this.#manager.disconnect(this.#device.now(), connection.id, privateData);
    this.#device.cmTouched();
  }

  /** Data arrived on a queue pair in RTR: as good as the RTU. */
  notifyTraffic(qpn: number): void {
    this.#manager.notifyTraffic(this.#device.now(), qpn);
  }

  /** Whether a queue pair number is in TIMEWAIT or in use by a connection. */
  isHeld(qpn: number): boolean {
    return this.#heldQpns.has(qpn);
  }

  #hold(id: CmId, qpn: number): void {
    this.#held.set(id, qpn);
    this.#heldQpns.add(qpn);
  }

  #release(id: CmId): void {
    const qpn = this.#held.get(id);
    if (qpn === undefined) return;
    this.#held.delete(id);
    this.#heldQpns.delete(qpn);
  }

  /** Connections in any state, TIMEWAIT included. */
  get size(): number {
    return this.#manager.size;
  }

  /** Counters of the connection manager: one for every cause for which a MAD was not taken. */
  counters(): Readonly<Record<string, number>> {
    return this.#manager.counters();
  }

  nextDeadline(): number {
    return this.#manager.pollTimeout();
  }

  handleTimeouts(now: number): void {
    if (this.#manager.pollTimeout() <= now) this.#manager.handleTimeout(now);
  }

  /** Passes the machine's events on. */
  settle(): void {
    for (let event = this.#manager.pollEvent(); event !== undefined; event = this.#manager.pollEvent()) {
      this.#handleEvent(event);
    }
  }

  close(): void {
    this.#closed = true;
    for (const listener of [...this.#listeners.values()]) listener.close();
    for (const conversation of this.#conversations.values()) {
      const error = new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
      if (conversation.kind === 'connecting' || conversation.kind === 'accepting') conversation.promise.reject(error);
      if (conversation.kind === 'connected') conversation.connection.end('timeout');
    }
    this.#conversations.clear();
  }

  #handleEvent(event: CmEvent): void {
    const conversation = this.#conversations.get(event.id);
    switch (event.type) {
      case 'connect-request':
        this.#handleRequest(event);
        return;
      case 'connect-response':
        if (conversation?.kind === 'connecting') this.#handleResponse(event, conversation);
        return;
      case 'established':
        if (conversation?.kind === 'accepting') {
          const { qp, request, promise } = conversation;
          promise.resolve(this.#connected(event.id, qp, request.remoteAddress, event.privateData));
        }
        return;
      case 'rejected':
        this.#fail(event.id, conversation, new ConnectionRejected(event.reason, event.privateData), 'rej');
        return;
      case 'unreachable': {
        const error = new RoceError('ERR_ROCE_TIMEOUT', `the peer sent no ${event.waitingFor} in time`);
        this.#fail(event.id, conversation, error, 'timeout');
        return;
      }
      case 'disconnected':
        this.#disconnected(event.id, conversation, event.cause);
        return;
      case 'timewait-exit':
        this.#release(event.id);
        return;
      case 'mra':
        return;
      default:
        neverEvent(event);
    }
  }

  #handleRequest(event: Extract<CmEvent, { type: 'connect-request' }>): void {
    const { id, request, source, destination, ipHeader } = event;
    const listener = this.#listeners.get(request.serviceId);
    if (listener === undefined || mtuOfCode(request.pathMtu) > this.#device.activeMtu) {
      const reason = listener === undefined ? CmRejReason.InvalidServiceId : CmRejReason.InvalidMtu;
      this.#manager.reject(this.#device.now(), id, reason);
      return;
    }
    const pending = new ConnectionRequest(this, id, request, {
      remoteAddress: source,
      localAddress: destination,
      remotePort: ipHeader?.sourcePort ?? 0,
      privateData: event.privateData,
    });
    this.#conversations.set(id, { kind: 'requested', request: pending });
    listener.requests.push(pending);
  }

  /** REP has arrived: the queue pair goes to RTS, then RTU leaves. What the peer got wrong refuses the connection. */
  #handleResponse(
    event: Extract<CmEvent, { type: 'connect-response' }>,
    conversation: Extract<Conversation, { kind: 'connecting' }>,
  ): void {
    const { options, remote, local, rqPsn, promise } = conversation;
    const { qp } = options;
    try {
      bringToRts(qp, {
        local,
        remote,
        destQpn: event.rep.localQpn,
        rqPsn,
        sqPsn: event.rep.startingPsn,
        mtu: options.mtu ?? this.#device.activeMtu,
        initiatorDepth: event.initiatorDepth,
        responderResources: event.responderResources,
        minRnrTimer: options.minRnrTimer ?? DEFAULT_RNR_TIMER,
        ackTimeout: options.ackTimeout ?? DEFAULT_ACK_TIMEOUT,
        retryCount: options.retryCount ?? DEFAULT_RETRY,
        rnrRetryCount: Math.min(event.rep.rnrRetryCount, options.maxRnrRetry ?? 7),
      });
    } catch (cause) {
      this.#conversations.delete(event.id);
      this.#manager.reject(this.#device.now(), event.id, CmRejReason.ConsumerDefined);
      promise.reject(new RoceError('ERR_ROCE_REJECTED', 'the answer of the peer cannot be used', { cause }));
      return;
    }
    this.#manager.ready(this.#device.now(), event.id);
    this.#hold(event.id, qp.qpn);
    promise.resolve(this.#connected(event.id, qp, remote, event.privateData));
  }

  #connected(id: CmId, qp: Qp, remote: IpAddress, privateData: Uint8Array): Connection {
    const connection = new Connection(this, id, qp, remote, privateData);
    this.#conversations.set(id, { kind: 'connected', connection });
    return connection;
  }

  #fail(id: CmId, conversation: Conversation | undefined, error: RoceError, cause: DisconnectCause): void {
    if (conversation === undefined) return;
    if (conversation.kind === 'connected') {
      this.#disconnected(id, conversation, cause);
      return;
    }
    this.#conversations.delete(id);
    if (conversation.kind === 'requested') return;
    this.#release(id);
    bringToError(conversation.kind === 'connecting' ? conversation.options.qp : conversation.qp);
    conversation.promise.reject(error);
  }

  #disconnected(id: CmId, conversation: Conversation | undefined, cause: DisconnectCause): void {
    if (conversation?.kind === 'accepting') {
      // The peer gave up between our REP and its RTU.
      this.#fail(
        id,
        conversation,
        new RoceError('ERR_ROCE_CLOSED', 'the peer disconnected before it was ready'),
        cause,
      );
      return;
    }
    if (conversation?.kind !== 'connected') return;
    this.#conversations.delete(id);
    bringToError(conversation.connection.qp);
    conversation.connection.end(cause);
  }
}

function addressOf(value: IpAddress | string): IpAddress;
function addressOf(value: IpAddress | string | undefined): IpAddress | undefined;
function addressOf(value: IpAddress | string | undefined): IpAddress | undefined {
  return typeof value === 'string' ? IpAddress.parse(value) : value;
}

/** 256 is 1, 4096 is 5. */
function mtuCode(mtu: number): number {
  return Math.log2(mtu) - MTU_CODE_BASE;
}

function mtuOfCode(code: number): number {
  return 2 ** (code + MTU_CODE_BASE);
}

function neverEvent(event: never): never {
  throw new TypeError(`event ${JSON.stringify(event)} is not one of the connection manager's`);
}
