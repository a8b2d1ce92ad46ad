/**
 * Alternate paths of connections: requested (LAP out, APR in) and granted (LAP in, APR out). Owns the pending requests.
 * Never: the messages (transport/cm/alternate-path.ts), when a queue pair migrates.
 *
 * A path is granted when its far end is ours, its next hop resolves and the queue pair accepts it. Linux drops LAP and
 * APR on RoCE (rdma:cm.c#cm_lap_handler), so against such a peer a request ends with ERR_ROCE_TIMEOUT and the
 * connection goes on as it was.
 */
import { CmAprStatus, type CmPath, cmAprStatusName } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { AlternatePathEvent, CmId, ConnectionManager } from '../../../transport/cm/index.ts';
import type { AddressVector } from '../verbs/index.ts';
import { loadAlternate } from './bring-up.ts';
import type { Connection } from './connection.ts';
import type { CmIdTable } from './conversations.ts';
import { DEFAULT_ACK_TIMEOUT } from './numbers.ts';
import type { CmDevice } from './port.ts';

/**
 * The peer refused the alternate path.
 *
 * @example
 * ```ts
 * import { AlternatePathRefused, attachDevice, IpAddress, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * const connecting = a.cm.connect({ address: '10.0.0.2', port: 7471, qp });
 * const [connection] = await world.run(Promise.all([connecting, accepted]));
 * attachDevice(world, 'c', { addresses: ['10.0.0.3/24'] });
 * try {
 *   // An address that is there, but not at the peer.
 *   await world.run(connection.loadAlternatePath({ destination: IpAddress.parse('10.0.0.3') }));
 * } catch (error) {
 *   if (!(error instanceof AlternatePathRefused)) throw error;
 *   console.log(error.status); // 8
 * }
 * ```
 */
export class AlternatePathRefused extends RoceError {
  /** One of `CmAprStatus`. */
  readonly status: number;
  /** What goes with the status, up to 72 bytes. */
  readonly info: Uint8Array;

  /** For the connection manager. */
  constructor(status: number, info: Uint8Array) {
    super('ERR_ROCE_REJECTED', `the alternate path is not taken: ${cmAprStatusName(status)} (${status})`);
    this.status = status;
    this.info = info;
  }
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: RoceError) => void;
  readonly av: AddressVector;
}

export class AlternatePaths {
  readonly #device: CmDevice;
  readonly #manager: ConnectionManager;
  readonly #conversations: CmIdTable;
  readonly #waiting = new Map<CmId, Waiting>();

  constructor(device: CmDevice, manager: ConnectionManager, conversations: CmIdTable) {
    this.#device = device;
    this.#manager = manager;
    this.#conversations = conversations;
  }

  /** Requests that wait for an answer. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** For `Connection.loadAlternatePath`. */
  async load(connection: Connection, av: AddressVector): Promise<void> {
    this.#demandConnected(connection);
    const { paths } = this.#device;
    const local = av.source ?? paths.sourceFor(av.destination);
    if (!paths.isOurs(local)) throw new RoceError('ERR_ROCE_ADDRESS', `${local} is not an address of this device`);
    const { flowLabel = 0, trafficClass = 0, hopLimit = DEFAULT_HOP_LIMIT } = paths.traits(av);
    await this.#device.resolve(av.destination);
    this.#demandConnected(connection);
    const path = { local, remote: av.destination, flowLabel, trafficClass, hopLimit, ackTimeout: DEFAULT_ACK_TIMEOUT };
    await new Promise<void>((resolve, reject) => {
      this.#manager.loadAlternatePath(this.#device.now(), connection.id, path);
      this.#waiting.set(connection.id, { resolve, reject, av });
      this.#device.cmTouched();
    });
  }

  handleEvent(event: AlternatePathEvent): void {
    const conversation = this.#conversations.get(event.id);
    if (conversation?.kind !== 'connected') return;
    switch (event.type) {
      case 'alternate-path-request':
        void this.#grant(conversation.connection, event.path);
        return;
      case 'alternate-path-response':
        this.#answered(conversation.connection, event.status, event.info);
        return;
      case 'alternate-path-unanswered':
        this.#fail(event.id, new RoceError('ERR_ROCE_TIMEOUT', 'the peer sent no APR in time'));
        return;
    }
  }

  /** The connection has ended: no APR will come. */
  ended(id: CmId): void {
    this.#fail(id, new RoceError('ERR_ROCE_CLOSED', 'the connection has ended'));
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.ended(id);
  }

  /** The peer has loaded the path: this side loads it as well. */
  #answered(connection: Connection, status: number, info: Uint8Array): void {
    const waiting = this.#waiting.get(connection.id);
    if (waiting === undefined) return;
    const own = status === CmAprStatus.Success ? loadAlternate(connection.qp, waiting.av) : status;
    if (own !== CmAprStatus.Success) {
      this.#fail(connection.id, new AlternatePathRefused(own, info));
      return;
    }
    this.#waiting.delete(connection.id);
    waiting.resolve();
  }

  async #grant(connection: Connection, path: CmPath): Promise<void> {
    const status = await this.#judge(connection, path);
    // The connection may have ended, or be ending, while the next hop was looked for.
    if (this.#manager.state(connection.id) !== 'established') return;
    this.#manager.answerAlternatePath(this.#device.now(), connection.id, status);
    this.#device.cmTouched();
  }

  /** The status for the APR; the path is loaded when it is 0. */
  async #judge(connection: Connection, path: CmPath): Promise<number> {
    const { paths } = this.#device;
    if (!(paths.joins(path.remoteGid, path.localGid) && paths.hosts.isHost(path.localGid)))
      return CmAprStatus.InvalidGid;
    try {
      await this.#device.resolve(path.localGid);
    } catch {
      return CmAprStatus.InvalidGid;
    }
    const { flowLabel, trafficClass } = path;
    // The hop limit is never the peer's, as with the first path.
    const av = { destination: path.localGid, source: path.remoteGid, flowLabel, trafficClass };
    return loadAlternate(connection.qp, av);
  }

  #demandConnected(connection: Connection): void {
    this.#conversations.demandOpen();
    if (this.#conversations.get(connection.id)?.kind === 'connected') return;
    throw new RoceError('ERR_ROCE_STATE', 'the connection has ended');
  }

  #fail(id: CmId, error: RoceError): void {
    this.#waiting.get(id)?.reject(error);
    this.#waiting.delete(id);
  }
}

const DEFAULT_HOP_LIMIT = 64;
