/**
 * Datagram services (SIDR), served in the worker. Owns the tables of services and requests by the application's
 * handles, and sends events for requests.
 */
import { CmSidrStatus } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { UdRequest } from '../../device/cm/datagram-service.ts';
import type { UdListener } from '../../device/cm/datagrams.ts';
import type { Device } from '../../device/device.ts';
import type { AhServer } from './ah-server.ts';
import type { Outbox } from './outbox.ts';
import { HandleTable, type ServedObjects } from './served.ts';
import type { DatagramVerbs } from './verbs.ts';
import { type ObjectHandle, reviveEndpoints } from './wire-values.ts';

export class DatagramServer {
  readonly #device: Device;
  readonly #outbox: Outbox;
  readonly #served: ServedObjects;
  readonly #ahs: AhServer;
  readonly #listeners = new HandleTable<UdListener>();
  readonly #requests = new HandleTable<UdRequest>();

  /** The handlers. */
  readonly verbs: DatagramVerbs = {
    listenUd: (port, { qp, ...rest }) => {
      const standing = qp === undefined ? {} : { qp: this.#served.qps.found(qp).qp };
      const listener = this.#device.cm.listenUd(port, { ...rest, ...standing });
      const handle = this.#listeners.add(listener);
      void this.#tellRequests(handle, listener);
      return handle;
    },
    unlistenUd: (handle) => {
      this.#listeners.get(handle)?.close();
      this.#listeners.delete(handle);
    },
    acceptUd: (handle, answer) => {
      this.#requests.found(handle).accept({ ...answer, qp: this.#served.qps.found(answer.qp).qp });
    },
    rejectUd: (handle, status, privateData) => {
      this.#requests.found(handle).reject(status, privateData);
    },
    forgetUdRequest: (handle) => {
      this.#requests.delete(handle);
    },
    refuseUdRequest: (handle) => {
      const request = this.#requests.get(handle);
      this.#requests.delete(handle);
      try {
        request?.reject(CmSidrStatus.Unsupported);
      } catch (error) {
        // A request that has timed out meanwhile needs no answer.
        if (!(error instanceof RoceError)) throw error;
      }
    },
    resolveUd: async ({ pd, address, source, ...rest }) => {
      const endpoints = reviveEndpoints(source === undefined ? { address } : { address, source });
      const found = await this.#device.cm.resolveUd({ ...rest, ...endpoints, pd: this.#served.pds.found(pd) });
      const { ah, av, remoteQpn, qkey, privateData } = found;
      return { ...this.#ahs.serve(ah), av, remoteQpn, qkey, privateData };
    },
  };

  constructor(device: Device, outbox: Outbox, served: ServedObjects, ahs: AhServer) {
    this.#device = device;
    this.#outbox = outbox;
    this.#served = served;
    this.#ahs = ahs;
  }

  async #tellRequests(listener: ObjectHandle, { requests }: UdListener): Promise<void> {
    for await (const request of requests) {
      const { remoteAddress, localAddress, remotePort, privateData } = request;
      const facts = { remoteAddress, localAddress, remotePort, privateData };
      this.#outbox.post({ kind: 'ud-request', listener, request: { request: this.#requests.add(request), ...facts } });
    }
  }
}
