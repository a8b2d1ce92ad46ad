/**
 * The side that listens: REQ in, the application's answer out, and its queue pair brought to RTS before the REP leaves.
 * Owns the listeners and the answers to REQs. Never: the messages themselves (transport/cm), the end of a connection.
 *
 * Where neither the application nor the device sets header fields, our packets follow the path in the REQ: traffic
 * class and flow label are the peer's, the hop limit is our own (rdma:cm.c#cm_format_paths_from_req, and
 * cm_req_handler, which replaces the hop limit).
 */

import type { IpAddress } from '../../../packets/address.ts';
import { CmRejReason, hasAlternatePath } from '../../../packets/cm/index.ts';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import {
  type AcceptParameters,
  type CmEvent,
  type ConnectionManager,
  checkAccept,
} from '../../../transport/cm/index.ts';
import type { Qp } from '../verbs/index.ts';
import type { ListenOptions } from './api.ts';
import { bringToInit, bringToRts, demandConnectable, givesCredits, type NegotiatedParameters } from './bring-up.ts';
import {
  type AcceptOptions,
  type Connection,
  ConnectionRequest,
  DEFAULT_PATIENCE,
  Listener,
  type RequestAnswers,
} from './connection.ts';
import type { CmIdTable, ConnectionPromise } from './conversations.ts';
import {
  CONNECTION_SPACES,
  checkTunables,
  DEFAULT_ACK_TIMEOUT,
  DEFAULT_BACKLOG,
  DEFAULT_DEPTH,
  DEFAULT_RETRY,
  DEFAULT_RNR_TIMER,
  mtuOfCode,
  serviceIdOf,
  withPortOf,
} from './numbers.ts';
import type { CmDevice } from './port.ts';

/** The values of an accept that passed every check. */
interface AcceptPlan {
  readonly parameters: AcceptParameters;
  readonly agreed: NegotiatedParameters;
}

export class PassiveSide implements RequestAnswers {
  readonly #device: CmDevice;
  readonly #manager: ConnectionManager;
  readonly #conversations: CmIdTable;
  readonly #listeners = new Map<bigint, Listener>();

  constructor(device: CmDevice, manager: ConnectionManager, conversations: CmIdTable) {
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
  }

  /** Ports that are listened on. */
  get listeners(): number {
    return this.#listeners.size;
  }

  /** For `CmService.listen`. */
  listen(port: number, options: ListenOptions): Listener {
    const serviceId = serviceIdOf(CONNECTION_SPACES, options.portSpace ?? 'tcp', port);
    if (this.#listeners.has(serviceId)) throw new RoceError('ERR_ROCE_IN_USE', `port ${port} is listened on already`);
    const { backlog = DEFAULT_BACKLOG, whenFull, services } = options;
    this.#manager.listen(serviceId, backlog, {
      ...defined({ whenFull, services }),
    });
    const take = ({ id }: ConnectionRequest): void => this.#manager.take(id);
    const unlisten = (): void => {
      this.#manager.unlisten(serviceId);
      this.#listeners.delete(serviceId);
    };
    const listener = new Listener(port, unlisten, take);
    this.#listeners.set(serviceId, listener);
    return listener;
  }

  /** A REQ has arrived; it goes to the listener of its service id. */
  handleRequest(event: Extract<CmEvent, { type: 'connect-request' }>): void {
    const { id, request, service, source, destination, ipHeader } = event;
    // The peer may have withdrawn it in the same batch of frames.
    if (this.#manager.state(id) !== 'req-rcvd') return;
    const listener = this.#listeners.get(request.serviceId);
    const now = this.#device.now();
    if (listener === undefined || mtuOfCode(request.pathMtu) > this.#device.activeMtu) {
      const reason = listener === undefined ? CmRejReason.InvalidServiceId : CmRejReason.InvalidMtu;
      this.#manager.reject(now, id, reason);
      return;
    }
    if (hasAlternatePath(request) && !this.#device.paths.isOurs(request.alternatePath.remoteGid)) {
      this.#manager.reject(now, id, CmRejReason.InvalidAltGid, NO_BYTES, gidBytes(destination));
      return;
    }
    // As rdma_cm does: a repeated REQ is answered with an MRA (rdma:cma.c#cma_ib_req_handler, CMA_CM_MRA_SETTING).
    this.#manager.sendMra(now, id, DEFAULT_PATIENCE, true);
    const pending = new ConnectionRequest(this, id, request, {
      service,
      remoteAddress: source,
      localAddress: destination,
      remotePort: ipHeader?.sourcePort ?? 0,
      privateData: event.privateData,
    });
    this.#conversations.set(id, { kind: 'requested', request: pending });
    listener.requests.push(pending);
  }

  /**
   * Accepts a request. What can be refused is refused before the queue pair moves. The path back to the peer may not be
   * resolved yet, so this resolves it.
   */
  async accept(request: ConnectionRequest, options: AcceptOptions): Promise<Connection> {
    this.#conversations.demandUnanswered(request);
    const { qp } = options;
    const granted = this.#grant(request, options);
    this.#conversations.claim(qp);
    try {
      await this.#device.resolveCaller(request.remoteAddress);
      this.#conversations.demandUnanswered(request);
      demandConnectable(this.#device, qp, 'passive');
    } catch (error) {
      this.#conversations.unclaim(qp);
      const nowhere = error instanceof RoceError && error.code === 'ERR_ROCE_ADDRESS';
      if (nowhere && this.#conversations.isUnanswered(request)) this.reject(request, CmRejReason.NoResources);
      throw error;
    }
    return new Promise((resolve, reject) => this.#accept(request, qp, granted, { resolve, reject }));
  }

  /** Sends an MRA. */
  delay(request: ConnectionRequest, serviceTimeout: number): void {
    this.#conversations.demandUnanswered(request);
    this.#manager.sendMra(this.#device.now(), request.id, serviceTimeout);
    this.#device.cmTouched();
  }

  /** Sends a REJ. */
  reject(request: ConnectionRequest, reason: number, privateData?: Uint8Array): void {
    this.#conversations.demandUnanswered(request);
    this.#manager.reject(this.#device.now(), request.id, reason, privateData);
    this.#conversations.delete(request.id);
    this.#device.cmTouched();
  }

  /** A request ended unanswered: the listener does not deliver it any more. */
  withdraw(request: ConnectionRequest): void {
    this.#listeners.get(request.req.serviceId)?.requests.drop(request);
  }

  close(): void {
    for (const listener of [...this.#listeners.values()]) listener.close();
  }

  /** The parameters that result from an accept. Throws for invalid ones and changes nothing. */
  #grant(request: ConnectionRequest, options: AcceptOptions): AcceptPlan {
    const { req, service } = request;
    const own = demandConnectable(this.#device, options.qp, 'passive');
    if (own !== service)
      throw new RoceError('ERR_ROCE_ARGUMENT', `the peer asks for a connection of type ${service}, not ${own}`);
    checkTunables(options);
    const chosen = this.#device.paths.traits(options);
    const { trafficClass, flowLabel, localAckTimeout } = req.primaryPath;
    const reliable = service === 'uc' ? 0 : 1;
    const initiatorDepth = Math.min(reliable * (options.initiatorDepth ?? DEFAULT_DEPTH), request.responderResources);
    const responderResources = Math.min(
      reliable * (options.responderResources ?? DEFAULT_DEPTH),
      request.initiatorDepth,
    );
    const theirs = req.endToEndFlowControl === 1;
    const flowControl = theirs && givesCredits(options.qp, options.flowControl ?? theirs);
    const startingPsn = this.#device.random.u32() & PSN_MASK;
    const parameters: AcceptParameters = {
      qpn: options.qp.qpn,
      startingPsn,
      initiatorDepth,
      responderResources,
      rnrRetryCount: reliable * (options.rnrRetryCount ?? DEFAULT_RETRY),
      srq: options.qp.core.srq !== undefined,
      flowControl,
      ...defined({ privateData: options.privateData }),
    };
    checkAccept(parameters);
    const agreed: NegotiatedParameters = {
      local: request.localAddress,
      remote: request.remoteAddress,
      destQpn: req.localQpn,
      rqPsn: startingPsn,
      sqPsn: req.startingPsn,
      mtu: mtuOfCode(req.pathMtu),
      initiatorDepth,
      responderResources,
      minRnrTimer: options.minRnrTimer ?? DEFAULT_RNR_TIMER,
      ackTimeout: options.ackTimeout ?? (localAckTimeout || DEFAULT_ACK_TIMEOUT),
      retryCount: req.retryCount,
      rnrRetryCount: req.rnrRetryCount,
      flowControl,
      traits: withPortOf(chosen.flowLabel ?? flowLabel, { trafficClass, ...chosen }),
    };
    return { parameters, agreed };
  }

  #accept(request: ConnectionRequest, qp: Qp, { parameters, agreed }: AcceptPlan, promise: ConnectionPromise): void {
    this.#conversations.unclaim(qp);
    bringToInit(qp, agreed.responderResources);
    bringToRts(qp, agreed);
    this.#manager.accept(this.#device.now(), request.id, parameters);
    this.#conversations.set(request.id, { kind: 'accepting', qp, request, promise });
    this.#conversations.hold(request.id, qp.qpn);
    this.#device.cmTouched();
  }
}

function gidBytes(address: IpAddress): Uint8Array {
  const bytes = new Uint8Array(16);
  address.writeGid(new DataView(bytes.buffer), 0);
  return bytes;
}

const NO_BYTES = new Uint8Array(0);
