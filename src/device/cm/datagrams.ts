/**
 * Datagram services by the connection manager: offering one and finding one (SIDR), as rdma_cm does for RDMA_PS_UDP
 * (rdma:cma.c#cma_resolve_ib_udp, cma_send_sidr_rep). Owns the services offered and the lookups under way.
 * Never: the messages themselves (transport/cm), datagrams.
 */

import { CmSidrStatus, RDMA_UDP_QKEY } from '../../../packets/cm/index.ts';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import {
  type CmId,
  type ConnectionManager,
  checkResolve,
  checkSidrAnswer,
  type SidrAnswer,
  type SidrEvent,
} from '../../../transport/cm/index.ts';
import { PRIVILEGED_QKEY } from '../../../transport/qp-attributes.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { Pd, Qp } from '../verbs/index.ts';
import { bringDatagramsToRts } from './bring-up.ts';
import { Listener } from './connection.ts';
import type { CmIdTable } from './conversations.ts';
import {
  type ListenUdOptions,
  type ResolveUdOptions,
  ServiceRefused,
  type UdAnswer,
  type UdDestination,
  UdRequest,
  type UdRequestAnswers,
} from './datagram-service.ts';
import { addressOf, DATAGRAM_SPACES, DEFAULT_BACKLOG, ephemeralPort, serviceIdOf } from './numbers.ts';
import type { CmDevice } from './port.ts';

/** Takes requests for a datagram service. */
export type UdListener = Listener<UdRequest>;

type Resolved = Extract<SidrEvent, { type: 'resolved' }>;

interface Lookup {
  readonly resolve: (event: Resolved) => void;
  readonly reject: (error: RoceError) => void;
}

interface Service {
  readonly listener: UdListener;
  /** The fixed answer to every request, where the application gave one. */
  readonly standing: UdAnswer | undefined;
}

export class CmDatagrams implements UdRequestAnswers {
  readonly #device: CmDevice;
  readonly #manager: ConnectionManager;
  readonly #conversations: CmIdTable;
  readonly #services = new Map<bigint, Service>();
  readonly #lookups = new Map<CmId, Lookup>();
  /** Requests that are not answered. */
  readonly #waiting = new Map<CmId, { readonly request: UdRequest; readonly listener: UdListener }>();

  constructor(device: CmDevice, manager: ConnectionManager, conversations: CmIdTable) {
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
  }

  /** Ports that are listened on. */
  get listeners(): number {
    return this.#services.size;
  }

  /** Lookups and requests that wait for an answer. */
  get waiting(): number {
    return this.#lookups.size + this.#waiting.size;
  }

  /** For `CmService.listenUd`. */
  listen(port: number, options: ListenUdOptions): UdListener {
    this.#conversations.demandOpen();
    const { qp, qkey, privateData, backlog = DEFAULT_BACKLOG, whenFull = 'drop' } = options;
    const serviceId = serviceIdOf(DATAGRAM_SPACES, options.portSpace ?? 'udp', port);
    const standing = qp === undefined ? undefined : { qp, ...defined({ qkey, privateData }) };
    if (standing !== undefined) this.#answerOf(standing);
    this.#manager.listenSidr(serviceId, backlog, whenFull);
    if (standing !== undefined) this.#makeReady(standing);
    const take = ({ id }: UdRequest): void => this.#manager.take(id);
    const unlisten = (): void => {
      this.#manager.unlistenSidr(serviceId);
      this.#services.delete(serviceId);
    };
    const listener: UdListener = new Listener(port, unlisten, take);
    this.#services.set(serviceId, { listener, standing });
    return listener;
  }

  /** For `CmService.resolveUd`. */
  async resolve(options: ResolveUdOptions): Promise<UdDestination> {
    this.#conversations.demandOpen();
    const { pd } = options;
    if (!(pd instanceof Pd) || pd.device !== this.#device)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'an address handle is made in a protection domain of its own device');
    const { paths, random } = this.#device;
    const remote = addressOf(options.address);
    const local = addressOf(options.source) ?? paths.sourceFor(remote);
    if (!paths.isOurs(local)) throw new RoceError('ERR_ROCE_ADDRESS', `${local} is not an address of this device`);
    const traits = paths.traits(options);
    const question = {
      serviceId: serviceIdOf(DATAGRAM_SPACES, options.portSpace ?? 'udp', options.port),
      local,
      remote,
      localPort: options.localPort ?? ephemeralPort(random),
      ...defined({
        privateData: options.privateData,
        cmResponseTimeout: options.cmResponseTimeout,
        maxCmRetries: options.maxCmRetries,
      }),
    };
    checkResolve(question);
    await this.#device.resolve(remote);
    this.#conversations.demandOpen();
    const found = await new Promise<Resolved>((resolve, reject) => {
      const id = this.#manager.resolve(this.#device.now(), question);
      this.#lookups.set(id, { resolve, reject });
      this.#device.cmTouched();
    });
    const { status, qpn, qkey, info, privateData } = found;
    if (status !== CmSidrStatus.Success) throw new ServiceRefused(status, info, privateData);
    const av = { ...traits, destination: remote, source: local };
    return { ah: await pd.createAh(av), av, remoteQpn: qpn, qkey, privateData };
  }

  /** For `UdRequest.accept`. */
  accept(request: UdRequest, answer: UdAnswer): void {
    this.#conversations.demandOpen();
    this.#manager.answerSidr(this.#device.now(), request.id, this.#answerOf(answer));
    this.#waiting.delete(request.id);
    this.#makeReady(answer);
    this.#device.cmTouched();
  }

  /** For `UdRequest.reject`. */
  reject(request: UdRequest, status: number, privateData: Uint8Array | undefined): void {
    this.#conversations.demandOpen();
    const answer = { status, ...defined({ privateData }) };
    this.#manager.answerSidr(this.#device.now(), request.id, answer);
    this.#waiting.delete(request.id);
    this.#device.cmTouched();
  }

  handleEvent(event: SidrEvent): void {
    switch (event.type) {
      case 'resolve-request':
        this.#handleRequest(event);
        return;
      case 'resolve-request-expired':
        this.#withdraw(event.id);
        return;
      case 'resolved':
        this.#take(event.id)?.resolve(event);
        return;
      case 'unresolved':
        this.#take(event.id)?.reject(new RoceError('ERR_ROCE_TIMEOUT', 'the peer sent no SIDR_REP in time'));
        return;
    }
  }

  close(): void {
    for (const { listener } of [...this.#services.values()]) listener.close();
    for (const lookup of this.#lookups.values()) {
      lookup.reject(new RoceError('ERR_ROCE_CLOSED', 'the device was closed'));
    }
    this.#lookups.clear();
  }

  #handleRequest(event: Extract<SidrEvent, { type: 'resolve-request' }>): void {
    const { id, request, ipHeader, privateData, source, destination } = event;
    const service = this.#services.get(request.serviceId);
    if (service === undefined || service.standing !== undefined) {
      this.#manager.answerSidr(this.#device.now(), id, this.#standingAnswer(service?.standing));
      return;
    }
    const facts = {
      remoteAddress: source,
      localAddress: destination,
      remotePort: ipHeader?.sourcePort ?? 0,
      privateData,
    };
    const waiting = new UdRequest(this, id, facts);
    this.#waiting.set(id, { request: waiting, listener: service.listener });
    service.listener.requests.push(waiting);
  }

  /**
   * The request was not answered in time: it leaves the listener's queue; an application that already has it gets an
   * error when it answers.
   */
  #withdraw(id: CmId): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.listener.requests.drop(waiting.request);
  }

  #standingAnswer(standing: UdAnswer | undefined): SidrAnswer {
    if (standing === undefined) return { status: CmSidrStatus.Unsupported };
    const { qp, privateData } = standing;
    const deaf = qp.destroyed || qp.state === QpState.Error || qp.state === QpState.Reset;
    // Its Q_Key may have changed since it was offered.
    return deaf ? { status: CmSidrStatus.NoQp } : this.#answerOf({ qp, ...defined({ privateData }) });
  }

  /** The answer as it is sent. Throws for an invalid one and changes nothing. */
  #answerOf({ qp, qkey, privateData }: UdAnswer): SidrAnswer {
    if (!(qp instanceof Qp) || qp.pd.device !== this.#device || qp.core.type !== QpType.Ud)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a datagram service is a queue pair of type UD of its own device');
    if (qp.destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
    if (qp.state === QpState.Error) throw new RoceError('ERR_ROCE_STATE', 'the queue pair is in ERR');
    if ((qkey ?? 0) >= PRIVILEGED_QKEY)
      throw new RoceError('ERR_ROCE_ACCESS', 'a Q_Key with its highest bit set belongs to management');
    const own = qp.state === QpState.Reset ? undefined : qp.core.config.qkey;
    if (own !== undefined && qkey !== undefined && own !== qkey)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'the queue pair has another Q_Key than the one in the response');
    const answer = { qpn: qp.qpn, qkey: own ?? qkey ?? RDMA_UDP_QKEY, ...defined({ privateData }) };
    checkSidrAnswer(answer);
    return answer;
  }

  #makeReady({ qp, qkey }: UdAnswer): void {
    bringDatagramsToRts(qp, qkey ?? RDMA_UDP_QKEY);
  }

  #take(id: CmId): Lookup | undefined {
    const lookup = this.#lookups.get(id);
    this.#lookups.delete(id);
    return lookup;
  }
}
