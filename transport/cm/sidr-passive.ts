/**
 * The side that offers datagram services: SIDR_REQ comes in, the application's answer goes out as SIDR_REP.
 *
 * Owns: the services, the requests that wait for an answer, and for a while the answers, as they may get lost.
 * Never: the other side (sidr-active.ts), a queue pair.
 * Rules: CM-24 (ref:conformance#CM): a service without a listener draws status 1, one whose IP CM header cannot be read
 * status 2 (rdma:cm.c#cm_sidr_req_handler, cm_destroy_id). Two requests are the same when address and request id are
 * (rdma:cm.c#cm_insert_remote_sidr); ib_cm forgets them with its answer and then takes a repetition for a new one.
 * The number of requests is bounded, answered ones go first (CM-26, SEC-14).
 */
import type { IpAddress } from '../../packets/address.ts';
import { type CmMad, type CmMessage, type CmSidrReq, CmSidrStatus } from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import { type CmCore, NO_BYTES } from './core.ts';
import { Deadlines, type Timed } from './deadlines.ts';
import { checkSidrAnswer } from './parameters.ts';
import { splitPrivateData } from './private-data.ts';
import { RequestShares } from './request-shares.ts';
import type { SidrAnswer } from './sidr-types.ts';
import {
  type CmId,
  CmInputStatus,
  codeToNs,
  DEFAULT_CM_RESPONSE_TIMEOUT,
  type MadOrigin,
  type WhenFull,
} from './types.ts';

interface SidrService {
  readonly backlog: number;
  readonly whenFull: WhenFull;
  /** Requests that the application has not answered yet. */
  waiting: number;
}

interface Request extends Timed {
  readonly id: CmId;
  readonly key: string;
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly transactionId: bigint;
  readonly requestId: number;
  readonly serviceId: bigint;
  readonly service: SidrService;
  /** SIDR_REP, once it has been sent. */
  answer: Uint8Array | undefined;
}

export class SidrPassive {
  readonly #core: CmCore;
  readonly #services = new Map<bigint, SidrService>();
  readonly #byId = new Map<CmId, Request>();
  /** By peer and its request id, oldest first. */
  readonly #byPeer = new Map<string, Request>();
  readonly #deadlines = new Deadlines<Request>();
  /** Requests that no application has taken yet. */
  readonly #shares = new RequestShares<SidrService, Request>();

  constructor(core: CmCore) {
    this.#core = core;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** What refers to requests beside that. */
  get entries(): number {
    return this.#byPeer.size + this.#deadlines.size + this.#shares.size;
  }

  has(id: CmId): boolean {
    return this.#byId.has(id);
  }

  listen(serviceId: bigint, backlog: number, whenFull: WhenFull): void {
    if (this.#services.has(serviceId)) {
      throw new RoceError('ERR_ROCE_IN_USE', `service id 0x${serviceId.toString(16)} is offered already`);
    }
    this.#services.set(serviceId, { backlog, whenFull, waiting: 0 });
  }

  /** Takes no more requests; those already reported can still be answered. */
  unlisten(serviceId: bigint): void {
    this.#services.delete(serviceId);
  }

  handleReq(now: number, mad: CmMad, req: CmSidrReq, origin: MadOrigin): CmInputStatus {
    const key = `${origin.source} ${req.requestId}`;
    const known = this.#byPeer.get(key);
    if (known !== undefined) {
      if (known.answer !== undefined) this.#core.sendBytes(known.local, known.remote, known.answer, true, true);
      return CmInputStatus.Duplicate;
    }
    const { transactionId } = mad.header;
    const service = this.#services.get(req.serviceId);
    if (service === undefined) {
      this.#refuse(origin, transactionId, req, CmSidrStatus.Unsupported);
      return CmInputStatus.NoListener;
    }
    const split = splitPrivateData(req.serviceId, req.privateData);
    if (split === undefined) {
      this.#refuse(origin, transactionId, req, CmSidrStatus.Reject);
      return CmInputStatus.Refused;
    }
    const from = `${origin.source}`;
    if (this.#shares.countOf(service, from) >= this.#core.maxPendingPerSource) return CmInputStatus.SourceFull;
    if (service.waiting >= service.backlog) {
      const victim = this.#shares.victimAt(service, from);
      if (victim === undefined) {
        if (service.whenFull === 'reject') this.#refuse(origin, transactionId, req, CmSidrStatus.Reject);
        return CmInputStatus.BacklogFull;
      }
      this.#displace(victim);
    }
    const id = this.#makeRoom(service, from) ? this.#core.unusedId() : undefined;
    if (id === undefined) return CmInputStatus.TableFull;
    const request: Request = {
      id,
      key,
      local: origin.destination,
      remote: origin.source,
      transactionId,
      requestId: req.requestId,
      serviceId: req.serviceId,
      service,
      answer: undefined,
      deadline: Number.POSITIVE_INFINITY,
      heapIndex: -1,
    };
    service.waiting++;
    this.#shares.add(service, from, request);
    this.#byId.set(id, request);
    this.#byPeer.set(key, request);
    this.#deadlines.set(request, now + this.#core.requestLifetimeNs);
    const { source, destination } = origin;
    this.#core.events.push({ type: 'resolve-request', id, request: req, ...split, source, destination });
    return CmInputStatus.Ok;
  }

  /** Sends SIDR_REP for a `resolve-request`. */
  answer(now: number, id: CmId, answer: SidrAnswer): void {
    const request = this.#byId.get(id);
    if (request === undefined || request.answer !== undefined) {
      throw new RoceError('ERR_ROCE_STATE', 'the request was answered or withdrawn already');
    }
    checkSidrAnswer(answer);
    request.answer = this.#reply(request.local, request.remote, request.transactionId, request, answer);
    request.service.waiting--;
    this.#shares.remove(request.service, request);
    this.#deadlines.set(request, now + MEMORY_NS);
  }

  /** The application has taken the request: it gives way to no other. Unknown ids are fine. */
  take(id: CmId): void {
    const request = this.#byId.get(id);
    if (request !== undefined) this.#shares.remove(request.service, request);
  }

  nextDeadline(): number {
    return this.#deadlines.next();
  }

  handleTimeout(now: number): void {
    for (const request of this.#deadlines.due(now)) {
      if (request.answer === undefined) this.#withdraw(request);
      else this.#forget(request);
    }
  }

  #withdraw(request: Request): void {
    this.#forget(request);
    request.service.waiting--;
    this.#core.events.push({ type: 'resolve-request-expired', id: request.id });
  }

  /** The request gives way to another; its peer repeats it. */
  #displace(request: Request): void {
    this.#core.countDisplaced(request.remote);
    this.#withdraw(request);
  }

  #refuse(origin: MadOrigin, transactionId: bigint, req: CmSidrReq, status: number): void {
    this.#reply(origin.destination, origin.source, transactionId, req, { status });
  }

  #reply(
    local: IpAddress,
    remote: IpAddress,
    transactionId: bigint,
    { requestId, serviceId }: Pick<CmSidrReq, 'requestId' | 'serviceId'>,
    answer: SidrAnswer,
  ): Uint8Array {
    const info = 'info' in answer ? (answer.info ?? NO_BYTES) : NO_BYTES;
    const found = 'qpn' in answer ? answer : undefined;
    const message: CmMessage = {
      kind: 'SIDR_REP',
      body: {
        requestId,
        status: answer.status ?? CmSidrStatus.Success,
        infoLength: info.length,
        vendorId: 0,
        qpn: found?.qpn ?? 0,
        serviceId,
        qkey: found?.qkey ?? 0,
        info,
        privateData: answer.privateData ?? NO_BYTES,
      },
    };
    return this.#core.send(local, remote, transactionId, message, true);
  }

  /** True when another request fits, for which an answered one may have to go, or one of a source that has more. */
  #makeRoom(service: SidrService, from: string): boolean {
    if (this.#byId.size < this.#core.maxPending) return true;
    for (const request of this.#byPeer.values()) {
      if (request.answer === undefined) continue;
      this.#forget(request);
      return true;
    }
    const victim = this.#shares.victim(service, from);
    if (victim !== undefined) this.#displace(victim);
    return victim !== undefined;
  }

  #forget(request: Request): void {
    this.#shares.remove(request.service, request);
    this.#byId.delete(request.id);
    this.#byPeer.delete(request.key);
    this.#deadlines.set(request, Number.POSITIVE_INFINITY);
  }
}

/** A peer that waits as long as rdma_cm does has sent its request twice by then. */
const MEMORY_NS = 2 * codeToNs(DEFAULT_CM_RESPONSE_TIMEOUT);
