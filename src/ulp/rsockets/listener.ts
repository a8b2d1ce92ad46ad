/** Takes connections of rsockets on a port, one accept at a time or as an iteration. */
import type { IpAddress } from '../../../packets/address.ts';
import { CmRejReason } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { RdmaDevice, RdmaListener } from '../../device/api.ts';
import { acceptRequest, refuse } from './connect.ts';
import { type RSocketOptions, type RSocketSettings, settingsOf } from './options.ts';
import { RSocket } from './rsocket.ts';

/** Where to listen, and the sizes of sockets that are taken. */
export interface RListenOptions extends RSocketOptions {
  /** Port of RDMA_PS_TCP, 0..65535. */
  readonly port: number;
  /** Takes connections to this address of the device only [to any]. */
  readonly address?: IpAddress;
  /** Requests that may wait [that of `RdmaCm.listen`]. */
  readonly backlog?: number;
}

/**
 * Takes connections: `for await (const socket of listener)`.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { RListener, RSocket } from 'rocev2/rsockets';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const listener = RListener.listen(b, { port: 7471 });
 * async function serve(): Promise<void> {
 *   for await (const socket of listener) {
 *     const into = new Uint8Array(64);
 *     const length = await socket.recv(into);
 *     console.log(new TextDecoder().decode(into.subarray(0, length)), `${socket.remoteAddress}`); // hello 10.0.0.1
 *     return;
 *   }
 * }
 * async function greet(): Promise<void> {
 *   const socket = await RSocket.connect(a, { address: '10.0.0.2', port: listener.port });
 *   await socket.send(new TextEncoder().encode('hello'));
 * }
 * await world.run(Promise.all([serve(), greet()]));
 * await listener.close();
 * ```
 */
export class RListener implements AsyncIterable<RSocket> {
  /** Where it listens. */
  readonly port: number;
  /** Requests refused because they are not of the rsocket protocol. */
  refused = 0;
  readonly #device: RdmaDevice;
  readonly #listener: RdmaListener;
  readonly #settings: RSocketSettings;
  readonly #address: IpAddress | undefined;
  #closed = false;

  private constructor(device: RdmaDevice, listener: RdmaListener, settings: RSocketSettings, address?: IpAddress) {
    this.#address = address;
    this.#device = device;
    this.#listener = listener;
    this.#settings = settings;
    this.port = listener.port;
  }

  /**
   * Sizes in `options` are those of every socket taken.
   * @throws RoceError ERR_ROCE_IN_USE (port), ERR_ROCE_ARGUMENT (sizes), ERR_ROCE_ADDRESS (not the device's)
   */
  static listen(device: RdmaDevice, options: RListenOptions): RListener {
    const { port, backlog, address } = options;
    if (address !== undefined && !device.addresses.some((prefix) => prefix.address.equals(address)))
      throw new RoceError('ERR_ROCE_ADDRESS', `${address} is not an address of this device`);
    const settings = settingsOf(device, options);
    return new RListener(device, device.cm.listen(port, backlog), settings, address);
  }

  /**
   * The next socket, waited for. `options` change the sizes for this one. Rejects with ERR_ROCE_CLOSED when the
   * listener or the device was closed, and as `RdmaConnectionRequest.accept` when the peer of this one has gone.
   */
  async accept(options?: RSocketOptions): Promise<RSocket> {
    const settings =
      options === undefined ? this.#settings : settingsOf(this.#device, { ...this.#settings, ...options });
    const socket = await this.#take(settings);
    if (socket === undefined) throw new RoceError('ERR_ROCE_CLOSED', 'the listener is closed');
    return socket;
  }

  /** Undefined after the end. */
  async #take(settings: RSocketSettings): Promise<RSocket | undefined> {
    for (;;) {
      const { value: request, done } = await this.#listener.next();
      if (done === true) return undefined;
      if (this.#address !== undefined && !request.localAddress.equals(this.#address)) {
        refuse(request, CmRejReason.InvalidServiceId);
        continue;
      }
      const established = await acceptRequest(this.#device, request, settings);
      if (established !== undefined) return new RSocket(established);
      this.refused++;
    }
  }

  /** Sockets until the listener is closed; one that goes away before it is accepted is passed over. */
  async *[Symbol.asyncIterator](): AsyncIterator<RSocket> {
    for (;;) {
      let socket: RSocket | undefined;
      try {
        socket = await this.#take(this.#settings);
      } catch (error) {
        if (!(error instanceof RoceError)) throw error;
        continue;
      }
      if (socket === undefined) return;
      yield socket;
    }
  }

  /** Takes no more requests, and rejects waiting ones. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.close();
    for await (const request of this.#listener) refuse(request, CmRejReason.InvalidServiceId);
  }
}
