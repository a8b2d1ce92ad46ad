/**
 * The side that listens: REQ in, the application's answer out, and its queue pair brought to RTS before the REP leaves. Owns
 * the listeners and what is answered to a REQ. Never: the messages themselves (transport/cm), the end of a connection.
 *
 * What our packets carry follows the path in the REQ where nobody here has chosen: traffic class and flow label are the
 * peer's, the hop limit is our own (rdma:cm.c#cm_format_paths_from_req, and cm_req_handler, which replaces the hop limit).
 */
import { CmRejReason, RdmaPortSpace, rdmaServiceId } from '../packets/cm/index.ts';
import { RoceError } from '../packets/errors.ts';
import { PSN_MASK } from '../packets/psn.ts';
import type { CmEvent, ConnectionManager } from '../transport/cm/index.ts';
import { bringToInit, bringToRts } from './bring-up.ts';
import type { Conversations, Settle } from './cm-conversations.ts';
import {
  DEFAULT_ACK_TIMEOUT,
  DEFAULT_DEPTH,
  DEFAULT_RETRY,
  DEFAULT_RNR_TIMER,
  mtuOfCode,
  withPortOf,
} from './cm-numbers.ts';
import type { CmService } from './cm-service.ts';
import { type AcceptOptions, type Connection, ConnectionRequest, Listener } from './connection.ts';
import type { Device } from './device.ts';
import type { PathTraits } from './device-options.ts';

export class PassiveSide {
  readonly #service: CmService;
  readonly #device: Device;
  readonly #manager: ConnectionManager;
  readonly #conversations: Conversations;
  readonly #listeners = new Map<bigint, Listener>();

  constructor(service: CmService, device: Device, manager: ConnectionManager, conversations: Conversations) {
    this.#service = service;
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
  }

  /** For `CmService.listen`. */
  listen(port: number, backlog: number): Listener {
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

  /** REQ has arrived, and somebody may want it. */
  handleRequest(event: Extract<CmEvent, { type: 'connect-request' }>): void {
    const { id, request, source, destination, ipHeader } = event;
    const listener = this.#listeners.get(request.serviceId);
    if (listener === undefined || mtuOfCode(request.pathMtu) > this.#device.activeMtu) {
      const reason = listener === undefined ? CmRejReason.InvalidServiceId : CmRejReason.InvalidMtu;
      this.#manager.reject(this.#device.now(), id, reason);
      return;
    }
    const pending = new ConnectionRequest(this.#service, id, request, {
      remoteAddress: source,
      localAddress: destination,
      remotePort: ipHeader?.sourcePort ?? 0,
      privateData: event.privateData,
    });
    this.#conversations.set(id, { kind: 'requested', request: pending });
    listener.requests.push(pending);
  }

  /** For `CmService.accept`. */
  async accept(request: ConnectionRequest, options: AcceptOptions): Promise<Connection> {
    this.#conversations.demandUnanswered(request);
    const chosen = this.#device.paths.traits(options);
    try {
      await this.#device.resolve(request.remoteAddress);
    } catch (error) {
      if (this.#conversations.isUnanswered(request)) this.reject(request, CmRejReason.NoResources);
      throw error;
    }
    this.#conversations.demandUnanswered(request);
    return new Promise((resolve, reject) => this.#accept(request, options, chosen, { resolve, reject }));
  }

  /** For `CmService.reject`. */
  reject(request: ConnectionRequest, reason: number, privateData?: Uint8Array): void {
    this.#conversations.demandUnanswered(request);
    this.#conversations.delete(request.id);
    this.#manager.reject(this.#device.now(), request.id, reason, privateData);
    this.#device.cmTouched();
  }

  close(): void {
    for (const listener of [...this.#listeners.values()]) listener.close();
  }

  #accept(request: ConnectionRequest, options: AcceptOptions, chosen: PathTraits, promise: Settle): void {
    const { qp } = options;
    const { req } = request;
    const { trafficClass, flowLabel } = req.primaryPath;
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
      traits: withPortOf(chosen.flowLabel ?? flowLabel, { trafficClass, ...chosen }),
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
    this.#conversations.hold(request.id, qp.qpn);
    this.#device.cmTouched();
  }
}
