/**
 * The side that connects, from an application's options to a queue pair in RTS: REQ out, REP in, RTU out. Owns the
 * contents of a REQ. Never: the messages themselves (transport/cm), the end of a connection (service.ts).
 *
 * The starting PSN in REQ and REP is where the *other* side begins to send: it is the sender's own rq_psn (seen in the
 * captures of rdma_rxe: the first SEND of the active side carries the PSN of the REP).
 * The flow label in the REQ gives both sides their source port; where the application sets none, it is random and not
 * 0, so that connections spread over equal-cost paths (rdma_cm hashes its ports for it:
 * rdma:cma.c#cma_get_roce_udp_flow_label).
 */

import type { IpAddress } from '../../../packets/address.ts';
import { CmRejReason, type CmTransportService } from '../../../packets/cm/index.ts';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { MAX_FLOW_LABEL } from '../../../packets/flow-label.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import {
  type CmEvent,
  type CmId,
  type ConnectionManager,
  type ConnectParameters,
  checkConnect,
} from '../../../transport/cm/index.ts';
import type { PathTraits } from '../options.ts';
import type { Qp } from '../verbs/index.ts';
import { bringToInit, bringToRts, demandConnectable, givesCredits } from './bring-up.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import type { CmIdTable, Connecting } from './conversations.ts';
import {
  addressOf,
  CONNECTION_SPACES,
  checkTunables,
  DEFAULT_ACK_TIMEOUT,
  DEFAULT_DEPTH,
  DEFAULT_RETRY,
  DEFAULT_RNR_TIMER,
  ephemeralPort,
  mtuCode,
  serviceIdOf,
  withPortOf,
} from './numbers.ts';
import type { CmDevice } from './port.ts';

/** Makes the connection once both sides agreed. */
export type Connected = (id: CmId, qp: Qp, remote: IpAddress, privateData: Uint8Array) => Connection;

/** The local values in the REQ. */
interface RequestParameters {
  readonly service: CmTransportService;
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly rqPsn: number;
  readonly mtu: number;
  /** The label of the REQ; the headers carry it where `traits` has it. */
  readonly flowLabel: number;
  readonly traits: PathTraits;
}

export class ActiveSide {
  readonly #device: CmDevice;
  readonly #manager: ConnectionManager;
  readonly #conversations: CmIdTable;
  readonly #connected: Connected;

  constructor(device: CmDevice, manager: ConnectionManager, conversations: CmIdTable, connected: Connected) {
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
    this.#connected = connected;
  }

  /** For `CmService.connect`. Checks everything before the queue pair changes state and before anything is sent. */
  async connect(options: ConnectOptions): Promise<Connection> {
    this.#conversations.demandOpen();
    const { qp } = options;
    const offer = this.#offer(options);
    const request = this.#request(options, offer);
    checkTunables(options);
    checkConnect(request);
    this.#conversations.claim(qp);
    try {
      await this.#device.resolve(offer.remote);
      this.#conversations.demandOpen();
      demandConnectable(this.#device, qp, 'active');
    } catch (error) {
      this.#conversations.unclaim(qp);
      throw error;
    }
    bringToInit(qp, request.responderResources);
    return new Promise((resolve, reject) => {
      const { local, remote, rqPsn, mtu, traits } = offer;
      const promise = { resolve, reject };
      const id = this.#manager.connect(this.#device.now(), request);
      this.#conversations.set(id, { kind: 'connecting', options, mtu, remote, local, rqPsn, traits, promise });
      this.#device.cmTouched();
    });
  }

  /** REP has arrived: the queue pair goes to RTS, then RTU leaves. Invalid values of the peer reject the connection. */
  handleResponse(event: Extract<CmEvent, { type: 'connect-response' }>, conversation: Connecting): void {
    const { options, mtu, remote, local, rqPsn, traits, promise } = conversation;
    const { qp } = options;
    // The peer may have withdrawn it in the same batch of frames.
    if (this.#manager.state(event.id) !== 'rep-rcvd') return;
    this.#conversations.unclaim(qp);
    try {
      bringToRts(qp, {
        local,
        remote,
        destQpn: event.remoteQpn,
        rqPsn,
        sqPsn: event.rep.startingPsn,
        mtu,
        initiatorDepth: event.initiatorDepth,
        responderResources: event.responderResources,
        minRnrTimer: options.minRnrTimer ?? DEFAULT_RNR_TIMER,
        ackTimeout: options.ackTimeout ?? DEFAULT_ACK_TIMEOUT,
        retryCount: options.retryCount ?? DEFAULT_RETRY,
        rnrRetryCount: Math.min(event.rep.rnrRetryCount, options.maxRnrRetry ?? 7),
        flowControl: givesCredits(qp, options.flowControl ?? false) && event.rep.endToEndFlowControl === 1,
        traits,
      });
    } catch (cause) {
      this.#conversations.delete(event.id);
      this.#manager.reject(this.#device.now(), event.id, CmRejReason.ConsumerDefined);
      promise.reject(new RoceError('ERR_ROCE_REJECTED', 'the answer of the peer cannot be used', { cause }));
      return;
    }
    this.#manager.ready(this.#device.now(), event.id);
    this.#conversations.hold(event.id, qp.qpn);
    promise.resolve(this.#connected(event.id, qp, remote, event.privateData));
  }

  #offer(options: ConnectOptions): RequestParameters {
    const { activeMtu, paths, random } = this.#device;
    const service = demandConnectable(this.#device, options.qp, 'active');
    const mtu = options.mtu ?? activeMtu;
    if (mtu > activeMtu) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `path MTU ${mtu} exceeds the ${activeMtu} bytes this link carries`);
    }
    const remote = addressOf(options.address);
    const local = addressOf(options.source) ?? paths.sourceFor(remote);
    if (!paths.isOurs(local)) throw new RoceError('ERR_ROCE_ADDRESS', `${local} is not an address of this device`);
    const chosen = paths.traits(options);
    const rqPsn = random.u32() & PSN_MASK;
    const flowLabel = chosen.flowLabel ?? (random.u32() % MAX_FLOW_LABEL) + 1;
    return { service, local, remote, rqPsn, mtu, flowLabel, traits: withPortOf(flowLabel, chosen) };
  }

  #request(options: ConnectOptions, offer: RequestParameters): ConnectParameters {
    const { service, local, remote, rqPsn, mtu, flowLabel, traits } = offer;
    const { trafficClass, hopLimit } = traits;
    const { random } = this.#device;
    // An unreliable connection has no READs and no retries.
    const reliable = service === 'uc' ? 0 : 1;
    return {
      serviceId: serviceIdOf(CONNECTION_SPACES, options.portSpace ?? 'tcp', options.port),
      service,
      local,
      remote,
      localPort: options.localPort ?? ephemeralPort(random),
      qpn: options.qp.qpn,
      startingPsn: rqPsn,
      mtu: mtuCode(mtu),
      initiatorDepth: reliable * (options.initiatorDepth ?? DEFAULT_DEPTH),
      responderResources: reliable * (options.responderResources ?? DEFAULT_DEPTH),
      retryCount: reliable * (options.retryCount ?? DEFAULT_RETRY),
      rnrRetryCount: reliable * (options.rnrRetryCount ?? DEFAULT_RETRY),
      ackTimeout: options.ackTimeout ?? DEFAULT_ACK_TIMEOUT,
      flowLabel,
      srq: options.qp.core.srq !== undefined,
      flowControl: givesCredits(options.qp, options.flowControl ?? false),
      ...defined({
        privateData: options.privateData,
        cmResponseTimeout: options.cmResponseTimeout,
        maxCmRetries: options.maxCmRetries,
        trafficClass,
        hopLimit,
      }),
    };
  }
}
