/**
 * The connection manager's verbs, served in the worker. Owns the tables of listeners, requests and connections by the
 * application's handles, and sends their events.
 */
import { CmRejReason } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { Connection, ConnectionRequest, Listener } from '../../device/cm/connection.ts';
import type { Device } from '../../device/device.ts';
import type { Outbox } from './outbox.ts';
import type { QueueServer } from './queue-server.ts';
import type { CmVerbs } from './verbs.ts';
import { type ObjectHandle, reviveEndpoints, reviveVector, type WireConnection } from './wire-values.ts';

export class CmServer {
  readonly #device: Device;
  readonly #outbox: Outbox;
  readonly #queues: QueueServer;
  readonly #listeners = new Map<ObjectHandle, Listener>();
  readonly #requests = new Map<ObjectHandle, ConnectionRequest>();
  readonly #connections = new Map<ObjectHandle, Connection>();
  #handles = 0;

  /** The handlers. */
  readonly verbs: CmVerbs = {
    connect: async ({ qp: handle, address, source, ...rest }) => {
      const { qp } = this.#queues.qp(handle);
      const endpoints = reviveEndpoints(source === undefined ? { address } : { address, source });
      const options = { ...rest, ...endpoints, qp };
      return this.#connected(await this.#device.cm.connect(options));
    },
    accept: async (handle, options) => {
      const request = this.#request(handle);
      const { qp } = this.#queues.qp(options.qp);
      return this.#connected(await request.accept({ ...options, qp }));
    },
    delay: (handle, serviceTimeout) => {
      this.#request(handle).delay(serviceTimeout);
    },
    reject: (handle, privateData, reason) => {
      this.#request(handle).reject(privateData, reason);
    },
    forgetRequest: (handle) => {
      this.#requests.delete(handle);
    },
    refuseRequest: (handle) => {
      const request = this.#requests.get(handle);
      this.#requests.delete(handle);
      try {
        request?.reject(undefined, CmRejReason.InvalidServiceId);
      } catch (error) {
        // A request that has timed out meanwhile needs no answer.
        if (!(error instanceof RoceError)) throw error;
      }
    },
    listen: (port, options) => {
      const listener = this.#device.cm.listen(port, options);
      const handle = ++this.#handles;
      this.#listeners.set(handle, listener);
      void this.#tellRequests(handle, listener);
      return handle;
    },
    unlisten: (handle) => {
      this.#listeners.get(handle)?.close();
      this.#listeners.delete(handle);
    },
    /** Begins to disconnect; an event follows when the connection has ended. */
    disconnect: (handle, privateData) => {
      const connection = this.#connections.get(handle);
      if (connection !== undefined) this.#device.cm.disconnect(connection, privateData);
    },
    loadAlternatePath: async (handle, av) => {
      const connection = this.#connections.get(handle);
      if (connection === undefined) throw new RoceError('ERR_ROCE_STATE', 'the connection has ended');
      await connection.loadAlternatePath(reviveVector(av));
    },
  };

  constructor(device: Device, outbox: Outbox, queues: QueueServer) {
    this.#device = device;
    this.#outbox = outbox;
    this.#queues = queues;
  }

  #request(handle: ObjectHandle): ConnectionRequest {
    const request = this.#requests.get(handle);
    if (request === undefined) throw new RoceError('ERR_ROCE_STATE', 'the request was answered or withdrawn already');
    return request;
  }

  #connected(connection: Connection): WireConnection {
    const handle = ++this.#handles;
    this.#connections.set(handle, connection);
    void connection.closed.then((cause) => {
      this.#connections.delete(handle);
      this.#outbox.post({ kind: 'disconnected', connection: handle, cause });
    });
    const { remoteAddress, privateData } = connection;
    return { connection: handle, remoteAddress, privateData };
  }

  async #tellRequests(handle: ObjectHandle, listener: Listener): Promise<void> {
    for await (const request of listener) {
      const { service, remoteAddress, localAddress, remotePort, privateData, initiatorDepth, responderResources } =
        request;
      const name = ++this.#handles;
      this.#requests.set(name, request);
      this.#outbox.post({
        kind: 'request',
        listener: handle,
        request: {
          request: name,
          service,
          remoteAddress,
          localAddress,
          remotePort,
          privateData,
          initiatorDepth,
          responderResources,
        },
      });
    }
  }
}
