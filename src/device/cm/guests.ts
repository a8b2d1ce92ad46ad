/**
 * Users of the connection manager that move their queue pairs themselves, as programs on the kernel's rdma_cm do: they
 * get the machine's events as they are, and call it directly, without a promise. So a caller that lets the world take
 * single steps sees each of them in the step in which it happens. Owns who gets which event, and that the number of a
 * queue pair is held until TIMEWAIT is over. Beside active-side.ts and passive-side.ts, which move queue pairs for
 * their callers.
 */
import { CmSidrStatus } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type {
  AcceptParameters,
  CmEvent,
  CmId,
  CmInspection,
  ConnectionManager,
  ConnectParameters,
  ResolveParameters,
  SidrAnswer,
} from '../../../transport/cm/index.ts';
import { DEFAULT_PATIENCE } from './connection.ts';
import type { CmIdTable } from './conversations.ts';
import type { CmDevice } from './port.ts';

/** Gets the events of its connections, and requests for its service. Must not throw. */
export interface CmGuest {
  handle(event: CmEvent): void;
}

/** What a guest does. Ids are the machine's; the machine checks what is asked of it, and throws as it documents. */
export class CmGuests {
  readonly #device: CmDevice;
  readonly #manager: ConnectionManager;
  readonly #conversations: CmIdTable;
  readonly #services = new Map<bigint, CmGuest>();
  readonly #guests = new Map<CmId, CmGuest>();
  /** Datagram services that are offered. */
  readonly #datagramServices = new Map<bigint, CmGuest>();
  /** Lookups of these that are not answered. */
  readonly #asked = new Set<CmId>();

  constructor(device: CmDevice, manager: ConnectionManager, conversations: CmIdTable) {
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
  }

  /** Services that are listened on. */
  get listeners(): number {
    return this.#services.size + this.#datagramServices.size;
  }

  /** Connections and lookups with a guest. */
  get size(): number {
    return this.#guests.size;
  }

  /** Sends REQ. */
  connect(guest: CmGuest, parameters: ConnectParameters): CmId {
    this.#conversations.demandOpen();
    const id = this.#manager.connect(this.#device.now(), parameters);
    this.#guests.set(id, guest);
    this.#conversations.hold(id, parameters.qpn);
    this.#device.cmTouched();
    return id;
  }

  /** Takes requests for a service. Throws ERR_ROCE_IN_USE. */
  listen(guest: CmGuest, serviceId: bigint, backlog: number): void {
    this.#conversations.demandOpen();
    this.#manager.listen(serviceId, backlog, { services: ['rc', 'uc'] });
    this.#services.set(serviceId, guest);
  }

  unlisten(serviceId: bigint): void {
    if (this.#services.delete(serviceId)) this.#manager.unlisten(serviceId);
  }

  /** From now on the events of this connection are for another guest: its application has taken it. */
  assign(id: CmId, guest: CmGuest): void {
    if (this.#guests.has(id)) this.#guests.set(id, guest);
    this.#manager.take(id);
    if (this.#asked.has(id)) return;
    // As rdma_cm does: a repeated REQ is answered with an MRA (rdma:cma.c#cma_ib_req_handler, CMA_CM_MRA_SETTING).
    this.#manager.sendMra(this.#device.now(), id, DEFAULT_PATIENCE, true);
  }

  /** Sends REP. */
  accept(id: CmId, parameters: AcceptParameters): void {
    this.#demand(id);
    this.#manager.accept(this.#device.now(), id, parameters);
    this.#conversations.hold(id, parameters.qpn);
    this.#device.cmTouched();
  }

  /** Sends RTU. */
  ready(id: CmId): void {
    this.#demand(id);
    this.#manager.ready(this.#device.now(), id);
    this.#device.cmTouched();
  }

  /** Sends MRA: the answer takes up to 4.096 us * 2^serviceTimeout longer. */
  delay(id: CmId, serviceTimeout: number): void {
    this.#demand(id);
    this.#manager.sendMra(this.#device.now(), id, serviceTimeout);
    this.#device.cmTouched();
  }

  /** Sends REJ. */
  reject(id: CmId, reason: number, privateData: Uint8Array): void {
    this.#demand(id);
    this.#manager.reject(this.#device.now(), id, reason, privateData);
    this.#guests.delete(id);
    this.#device.cmTouched();
  }

  /** Sends DREQ. */
  disconnect(id: CmId): void {
    this.#demand(id);
    this.#manager.disconnect(this.#device.now(), id);
    this.#device.cmTouched();
  }

  /** Offers a datagram service: what comes is `resolve-request`. Throws ERR_ROCE_IN_USE. */
  offer(guest: CmGuest, serviceId: bigint, backlog: number): void {
    this.#conversations.demandOpen();
    this.#manager.listenSidr(serviceId, backlog);
    this.#datagramServices.set(serviceId, guest);
  }

  withdraw(serviceId: bigint): void {
    if (this.#datagramServices.delete(serviceId)) this.#manager.unlistenSidr(serviceId);
  }

  /** Sends SIDR_REQ. */
  lookUp(guest: CmGuest, parameters: ResolveParameters): CmId {
    this.#conversations.demandOpen();
    const id = this.#manager.resolve(this.#device.now(), parameters);
    this.#guests.set(id, guest);
    this.#device.cmTouched();
    return id;
  }

  /** Sends SIDR_REP; that is the end of the lookup. */
  answer(id: CmId, answer: SidrAnswer): void {
    this.#demand(id);
    this.#manager.answerSidr(this.#device.now(), id, answer);
    this.#asked.delete(id);
    this.#guests.delete(id);
    this.#device.cmTouched();
  }

  /** The guest is gone: no more events; the peer is told what its state needs. */
  destroy(id: CmId): void {
    if (this.#asked.has(id)) {
      this.answer(id, { status: CmSidrStatus.Reject });
      return;
    }
    if (!this.#guests.delete(id)) return;
    this.#manager.cancelResolve(id);
    this.#manager.destroy(this.#device.now(), id);
    this.#conversations.release(id);
    this.#device.cmTouched();
  }

  /** What the machine has of a connection, and what it waits for; undefined when it has forgotten it. */
  inspect(id: CmId): CmInspection | undefined {
    return this.#manager.inspect(id);
  }

  /** For the service: whether this event was a guest's. */
  handleEvent(event: CmEvent): boolean {
    const guest = this.#guestOf(event);
    if (guest !== undefined) this.#guests.set(event.id, guest);
    if (guest !== undefined && event.type === 'resolve-request') this.#asked.add(event.id);
    const known = this.#guests.get(event.id);
    if (known === undefined) return false;
    if (LAST.has(event.type)) {
      this.#guests.delete(event.id);
      this.#asked.delete(event.id);
      this.#conversations.release(event.id);
    }
    known.handle(event);
    return true;
  }

  /** Whose service a request is for. */
  #guestOf(event: CmEvent): CmGuest | undefined {
    if (event.type === 'connect-request') return this.#services.get(event.request.serviceId);
    return event.type === 'resolve-request' ? this.#datagramServices.get(event.request.serviceId) : undefined;
  }

  #demand(id: CmId): void {
    if (!this.#guests.has(id)) throw new RoceError('ERR_ROCE_STATE', 'the connection is over');
  }
}

/** After these the machine has no such id. */
const LAST: ReadonlySet<CmEvent['type']> = new Set([
  'rejected',
  'unreachable',
  'timewait-exit',
  'resolved',
  'unresolved',
  'resolve-request-expired',
]);
