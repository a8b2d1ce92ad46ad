/**
 * The side that connects, from an application's options to a queue pair in RTS: REQ out, REP in, RTU out. Owns what is asked
 * for in a REQ. Never: the messages themselves (transport/cm), the end of a connection (cm-service.ts).
 *
 * The starting PSN in REQ and REP is where the *other* side begins to send: it is the sender's own rq_psn (seen in the
 * captures of rdma_rxe: the first SEND of the active side carries the PSN of the REP).
 * The flow label in the REQ gives both sides their source port; nobody's choice, it is a random one, not 0, so that connections
 * spread over equal-cost paths (rdma_cm hashes its ports for it: rdma:cma.c#cma_get_roce_udp_flow_label).
 */
import type { IpAddress } from '../packets/address.ts';
import { CmRejReason, RdmaPortSpace, rdmaServiceId } from '../packets/cm/index.ts';
import { RoceError } from '../packets/errors.ts';
import { MAX_FLOW_LABEL } from '../packets/flow-label.ts';
import { PSN_MASK } from '../packets/psn.ts';
import type { CmEvent, CmId, ConnectionManager } from '../transport/cm/index.ts';
import { bringToInit, bringToRts } from './bring-up.ts';
import type { Connecting, Conversations } from './cm-conversations.ts';
import {
  addressOf,
  DEFAULT_ACK_TIMEOUT,
  DEFAULT_DEPTH,
  DEFAULT_RETRY,
  DEFAULT_RNR_TIMER,
  mtuCode,
  withPortOf,
} from './cm-numbers.ts';
import type { Connection, ConnectOptions } from './connection.ts';
import type { Device } from './device.ts';
import type { PathTraits } from './device-options.ts';
import type { Qp } from './verbs/index.ts';

/** What becomes of a conversation whose two sides agree. */
export type Connected = (id: CmId, qp: Qp, remote: IpAddress, privateData: Uint8Array) => Connection;

/** What we say of ourselves. */
interface Offer {
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly rqPsn: number;
  readonly mtu: number;
  readonly traits: PathTraits;
}

export class ActiveSide {
  readonly #device: Device;
  readonly #manager: ConnectionManager;
  readonly #conversations: Conversations;
  readonly #connected: Connected;

  constructor(device: Device, manager: ConnectionManager, conversations: Conversations, connected: Connected) {
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
    this.#connected = connected;
  }

  /** For `CmService.connect`. */
  async connect(options: ConnectOptions): Promise<Connection> {
    const remote = addressOf(options.address);
    const mtu = options.mtu ?? this.#device.activeMtu;
    if (mtu > this.#device.activeMtu) {
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `path MTU ${mtu} exceeds the ${this.#device.activeMtu} bytes this link carries`,
      );
    }
    const chosen = this.#device.paths.traits(options);
    this.#conversations.demandOpen();
    await this.#device.resolve(remote);
    this.#conversations.demandOpen();
    const local = addressOf(options.source) ?? this.#device.paths.sourceFor(remote);
    const rqPsn = this.#device.random.u32() & PSN_MASK;
    bringToInit(options.qp, options.responderResources ?? DEFAULT_DEPTH);
    return new Promise((resolve, reject) => {
      const promise = { resolve, reject };
      const flowLabel = chosen.flowLabel ?? (this.#device.random.u32() % MAX_FLOW_LABEL) + 1;
      const traits = withPortOf(flowLabel, chosen);
      const id = this.#request(options, { local, remote, rqPsn, mtu, traits: { ...traits, flowLabel } });
      this.#conversations.set(id, { kind: 'connecting', options, remote, local, rqPsn, traits, promise });
      this.#device.cmTouched();
    });
  }

  /** REP has arrived: the queue pair goes to RTS, then RTU leaves. What the peer got wrong refuses the connection. */
  handleResponse(event: Extract<CmEvent, { type: 'connect-response' }>, conversation: Connecting): void {
    const { options, remote, local, rqPsn, traits, promise } = conversation;
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

  #request(options: ConnectOptions, { local, remote, rqPsn, mtu, traits }: Offer): CmId {
    const { trafficClass, hopLimit, flowLabel } = traits;
    return this.#manager.connect(this.#device.now(), {
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
      ...(trafficClass === undefined ? {} : { trafficClass }),
      ...(hopLimit === undefined ? {} : { hopLimit }),
      ...(flowLabel === undefined ? {} : { flowLabel }),
    });
  }
}
