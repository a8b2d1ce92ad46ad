/** Datagram services (SIDR) of a device in a worker, on the application's side: listeners, requests and lookups. */
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { QpType } from '../../../transport/qp-type.ts';
import type {
  RdmaListenUdOptions,
  RdmaPd,
  RdmaQp,
  RdmaResolveUdOptions,
  RdmaUdAnswer,
  RdmaUdDestination,
  RdmaUdRequest,
} from '../../device/api.ts';
import { Listener } from '../../device/cm/connection.ts';
import { type ObjectHandle, ownBytes, revive, type WireUdRequest, withOwnData } from './wire-values.ts';
import { WorkerPd } from './worker-pd.ts';
import { WorkerQp } from './worker-qp.ts';
import type { WorkerStack } from './worker-stack.ts';

export class WorkerDatagrams {
  readonly #stack: WorkerStack;
  readonly #listeners = new Map<ObjectHandle, Listener<RdmaUdRequest>>();
  /** The worker keeps a request for as long as it may be answered. */
  readonly #forgotten: FinalizationRegistry<ObjectHandle>;

  constructor(stack: WorkerStack) {
    this.#stack = stack;
    this.#forgotten = new FinalizationRegistry((handle) => stack.channel.tell('forgetUdRequest', handle));
  }

  listen(port: number, { qp, ...rest }: RdmaListenUdOptions): Listener<RdmaUdRequest> {
    const { channel } = this.#stack;
    const standing = qp === undefined ? {} : { qp: this.#own(qp) };
    const handle = channel.call('listenUd', port, { ...withOwnData(rest), ...standing });
    const listener = new Listener<RdmaUdRequest>(port, () => {
      if (!this.#listeners.delete(handle) || channel.gone) return;
      channel.call('unlistenUd', handle);
    });
    this.#listeners.set(handle, listener);
    return listener;
  }

  async resolve({ pd, ...rest }: RdmaResolveUdOptions): Promise<RdmaUdDestination> {
    const domain = this.#ownDomain(pd);
    return this.#stack.channel.ask(
      'resolveUd',
      ({ remoteQpn, qkey, privateData, ...wired }) => {
        const ah = domain.adopt(wired);
        return { ah, av: ah.av, remoteQpn, qkey, privateData };
      },
      { ...withOwnData(rest), pd: domain.handle },
    );
  }

  /** For `WorkerUdRequest.accept`. */
  accept(request: ObjectHandle, { qp, ...rest }: RdmaUdAnswer): void {
    this.#stack.channel.call('acceptUd', request, { ...withOwnData(rest), qp: this.#own(qp) });
  }

  /** For `WorkerUdRequest.reject`. */
  reject(request: ObjectHandle, status: number | undefined, privateData: Uint8Array | undefined): void {
    this.#stack.channel.call('rejectUd', request, status, privateData && ownBytes(privateData));
  }

  /** Events from the worker. */
  requested(listener: ObjectHandle, wired: WireUdRequest): void {
    const target = this.#listeners.get(listener);
    if (target === undefined) {
      this.#stack.channel.tell('refuseUdRequest', wired.request);
      return;
    }
    const request = new WorkerUdRequest(this, wired);
    this.#forgotten.register(request, wired.request);
    target.requests.push(request);
  }

  /** The device has ended. */
  close(): void {
    for (const listener of this.#listeners.values()) listener.requests.close();
    this.#listeners.clear();
  }

  #own(qp: RdmaQp): ObjectHandle {
    if (!(qp instanceof WorkerQp && qp.pd.device === this.#stack.device && qp.type === QpType.Ud))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a datagram service is a queue pair of type UD of its own device');
    if (qp.destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
    return qp.handle;
  }

  #ownDomain(pd: RdmaPd): WorkerPd {
    if (pd instanceof WorkerPd && pd.device === this.#stack.device) return pd;
    throw new RoceError('ERR_ROCE_ARGUMENT', 'an address handle is made in a protection domain of its own device');
  }
}

class WorkerUdRequest implements RdmaUdRequest {
  readonly remoteAddress: IpAddress;
  readonly localAddress: IpAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
  readonly #datagrams: WorkerDatagrams;
  readonly #handle: ObjectHandle;

  constructor(datagrams: WorkerDatagrams, wired: WireUdRequest) {
    this.#datagrams = datagrams;
    this.#handle = wired.request;
    this.remoteAddress = revive(wired.remoteAddress);
    this.localAddress = revive(wired.localAddress);
    this.remotePort = wired.remotePort;
    this.privateData = wired.privateData;
  }

  accept(answer: RdmaUdAnswer): void {
    this.#datagrams.accept(this.#handle, answer);
  }

  reject(status?: number, privateData?: Uint8Array): void {
    this.#datagrams.reject(this.#handle, status, privateData);
  }
}
