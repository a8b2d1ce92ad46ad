/**
 * All connections, found by local id, by the peer's id, by the peer's queue pair and by our own, and their deadlines.
 *
 * Owns: the indexes, the choice of communication ids, the count of half-open connections, the next deadline.
 * Never: changes a connection's state.
 * Rules: an id is unpredictable and not given out again while anything still has it, TIMEWAIT included (CM-19); the
 * number of half-open connections is bounded (CM-26, SEC-14). Ids and queue pairs of a peer are compared within one
 * address: GUIDs and queue pair numbers are no secret, and another host may name them first.
 */
import type { IpAddress } from '../../packets/address.ts';
import { invariant } from '../../packets/errors.ts';
import type { Random } from '../random.ts';
import type { Connection } from './connection.ts';
import { Deadlines } from './deadlines.ts';
import type { CmId } from './types.ts';

export class ConnectionTable {
  readonly #byId = new Map<CmId, Connection>();
  /** Key: address, CA GUID and communication id of the peer. */
  readonly #byPeerId = new Map<string, Connection>();
  /** Key: address, CA GUID and queue pair number of the peer. */
  readonly #byPeerQpn = new Map<string, Connection>();
  /** Passive connections that wait for RTU, by their own queue pair. */
  readonly #byLocalQpn = new Map<number, Connection>();
  /** Half-open ones, oldest first. */
  readonly #pending = new Set<Connection>();
  readonly #deadlines = new Deadlines<Connection>();

  get size(): number {
    return this.#byId.size;
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Entries of all indexes but that by id, and deadlines. */
  get entries(): number {
    const indexes = this.#byPeerId.size + this.#byPeerQpn.size + this.#byLocalQpn.size;
    return indexes + this.#pending.size + this.#deadlines.size;
  }

  /** An id that nothing here has; `undefined` when the random source keeps giving used ones. */
  unusedId(random: Random, takenElsewhere: (id: CmId) => boolean = () => false): CmId | undefined {
    for (let attempt = 0; attempt < MAX_ID_ATTEMPTS; attempt++) {
      const id = random.u32() >>> 0;
      if (id !== 0 && !this.#byId.has(id) && !takenElsewhere(id)) return id;
    }
    return undefined;
  }

  add(connection: Connection): void {
    invariant(!this.#byId.has(connection.id), 'a communication id is given out once');
    this.#byId.set(connection.id, connection);
  }

  /** Forgets the connection entirely. */
  remove(connection: Connection): void {
    this.#byId.delete(connection.id);
    this.unlinkPeer(connection);
    const key = idKey(connection);
    if (this.#byPeerId.get(key) === connection) this.#byPeerId.delete(key);
    this.schedule(connection, Number.POSITIVE_INFINITY);
  }

  byId(id: CmId): Connection | undefined {
    return this.#byId.get(id);
  }

  byPeerId(remote: IpAddress, caGuid: bigint, commId: number): Connection | undefined {
    return this.#byPeerId.get(peerKey(remote, caGuid, commId));
  }

  byPeerQpn(remote: IpAddress, caGuid: bigint, qpn: number): Connection | undefined {
    return this.#byPeerQpn.get(peerKey(remote, caGuid, qpn));
  }

  byLocalQpn(qpn: number): Connection | undefined {
    return this.#byLocalQpn.get(qpn);
  }

  /** Indexes the connection by its peer's id and queue pair, which the caller has found unused. */
  linkPeer(connection: Connection): void {
    this.#byPeerId.set(idKey(connection), connection);
    this.#byPeerQpn.set(qpnKey(connection), connection);
  }

  linkLocalQpn(connection: Connection): void {
    this.#byLocalQpn.set(connection.localQpn, connection);
  }

  /** Its queue pairs are free for another connection; repetitions of its messages still find it by the ids. */
  unlinkPeer(connection: Connection): void {
    const key = qpnKey(connection);
    if (this.#byPeerQpn.get(key) === connection) this.#byPeerQpn.delete(key);
    this.unlinkLocalQpn(connection);
    this.#pending.delete(connection);
  }

  unlinkLocalQpn(connection: Connection): void {
    if (this.#byLocalQpn.get(connection.localQpn) === connection) this.#byLocalQpn.delete(connection.localQpn);
  }

  addPending(connection: Connection): void {
    this.#pending.add(connection);
  }

  removePending(connection: Connection): void {
    this.#pending.delete(connection);
  }

  /** The oldest half-open connection that only waits to repeat its refusal. */
  oldestRejected(): Connection | undefined {
    for (const connection of this.#pending) if (connection.state === 'rejected') return connection;
    return undefined;
  }

  /** Sets the connection's deadline in ns; Infinity for none. */
  schedule(connection: Connection, deadline: number): void {
    this.#deadlines.set(connection, deadline);
  }

  /** The earliest deadline in ns, or Infinity. */
  nextDeadline(): number {
    return this.#deadlines.next();
  }

  /** Connections whose deadline has come, earliest first. */
  due(now: number): Connection[] {
    return this.#deadlines.due(now);
  }
}

const idKey = ({ remote, remoteCaGuid, remoteCommId }: Connection): string =>
  peerKey(remote, remoteCaGuid, remoteCommId);

const qpnKey = ({ remote, remoteCaGuid, remoteQpn }: Connection): string => peerKey(remote, remoteCaGuid, remoteQpn);

function peerKey(remote: IpAddress, caGuid: bigint, number: number): string {
  return `${remote} ${caGuid} ${number}`;
}

/** With fewer than 2^31 connections each attempt succeeds more often than not. */
const MAX_ID_ATTEMPTS = 64;
