/**
 * The state of each communication id of the connection manager, and the promise that waits for its next event. Owns
 * their table, the queue pair numbers that connections hold, and whether the service still runs. Never calls the
 * connection manager.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { CmId } from '../../../transport/cm/index.ts';
import type { PathTraits } from '../options.ts';
import type { Qp } from '../verbs/index.ts';
import type { Connection, ConnectionRequest, ConnectOptions } from './connection.ts';

/** The promise of a `connect` or `accept`. */
export interface ConnectionPromise {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: RoceError) => void;
}

export interface Connecting {
  readonly kind: 'connecting';
  readonly options: ConnectOptions;
  readonly mtu: number;
  readonly remote: IpAddress;
  readonly local: IpAddress;
  readonly rqPsn: number;
  readonly traits: PathTraits;
  readonly promise: ConnectionPromise;
}

export interface Accepting {
  readonly kind: 'accepting';
  readonly qp: Qp;
  readonly request: ConnectionRequest;
  readonly promise: ConnectionPromise;
}

export type CmIdState =
  | Connecting
  | { readonly kind: 'requested'; readonly request: ConnectionRequest }
  | Accepting
  | { readonly kind: 'connected'; readonly connection: Connection };

export class CmIdTable {
  readonly #table = new Map<CmId, CmIdState>();
  /** Queue pair numbers whose old packets may still be on their way (TIMEWAIT). */
  readonly #held = new Map<CmId, number>();
  readonly #heldQpns = new Set<number>();
  /** Queue pairs that are being connected. */
  readonly #claimed = new Set<Qp>();
  /** Queue pairs whose REQ or REP is not answered yet. */
  readonly #attempts = new Map<Qp, CmId>();
  #closed = false;

  get(id: CmId): CmIdState | undefined {
    return this.#table.get(id);
  }

  set(id: CmId, conversation: CmIdState): void {
    this.#endAttempt(id);
    this.#table.set(id, conversation);
    const qp = attemptedBy(conversation);
    if (qp !== undefined) this.#attempts.set(qp, id);
  }

  delete(id: CmId): void {
    this.#endAttempt(id);
    this.#table.delete(id);
  }

  /** The pending connection attempt of a queue pair. */
  attemptOf(qp: Qp): CmId | undefined {
    return this.#attempts.get(qp);
  }

  /** @throws RoceError ERR_ROCE_CLOSED */
  demandOpen(): void {
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the device is closed');
  }

  /** Reserves a queue pair for one attempt. @throws RoceError ERR_ROCE_IN_USE */
  claim(qp: Qp): void {
    if (this.#claimed.has(qp)) throw new RoceError('ERR_ROCE_IN_USE', 'the queue pair is being connected already');
    this.#claimed.add(qp);
  }

  /** The attempt has succeeded or failed. */
  unclaim(qp: Qp): void {
    this.#claimed.delete(qp);
  }

  isUnanswered(request: ConnectionRequest): boolean {
    return this.#table.get(request.id)?.kind === 'requested';
  }

  /** @throws RoceError ERR_ROCE_STATE */
  demandUnanswered(request: ConnectionRequest): void {
    if (!this.isUnanswered(request))
      throw new RoceError('ERR_ROCE_STATE', 'the request was answered or withdrawn already');
  }

  /** Whether a queue pair number is in TIMEWAIT or in use by a connection. */
  isHeld(qpn: number): boolean {
    return this.#heldQpns.has(qpn);
  }

  hold(id: CmId, qpn: number): void {
    this.#held.set(id, qpn);
    this.#heldQpns.add(qpn);
  }

  release(id: CmId): void {
    const qpn = this.#held.get(id);
    if (qpn === undefined) return;
    this.#held.delete(id);
    this.#heldQpns.delete(qpn);
  }

  /** States, claims and attempts. */
  get size(): number {
    return this.#table.size + this.#claimed.size + this.#attempts.size;
  }

  /** Queue pair numbers that are held. */
  get heldCount(): number {
    return Math.max(this.#held.size, this.#heldQpns.size);
  }

  /** The device was closed: rejects every waiting promise. */
  close(): void {
    this.#closed = true;
    for (const conversation of this.#table.values()) {
      const error = new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
      if (conversation.kind === 'connecting' || conversation.kind === 'accepting') conversation.promise.reject(error);
      if (conversation.kind === 'connected') conversation.connection.end('timeout');
    }
    this.#table.clear();
    this.#claimed.clear();
    this.#attempts.clear();
  }

  #endAttempt(id: CmId): void {
    const qp = attemptedBy(this.#table.get(id));
    if (qp !== undefined) this.#attempts.delete(qp);
  }
}

function attemptedBy(conversation: CmIdState | undefined): Qp | undefined {
  if (conversation?.kind === 'connecting') return conversation.options.qp;
  return conversation?.kind === 'accepting' ? conversation.qp : undefined;
}
