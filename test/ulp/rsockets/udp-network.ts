/** UDP between hosts of a simulated world, by hand: what is sent arrives when promises have had a turn, or is lost. */
import type { IpAddress } from '../../../src/index.ts';
import type { UdpPort } from '../../../src/ulp/rsockets/index.ts';

type Handler = Parameters<UdpPort['listen']>[0];

export class UdpNetwork {
  /** Datagrams sent so far. */
  sent = 0;
  /** Set to lose what is sent. */
  broken = false;
  readonly #handlers = new Map<string, Handler>();

  /** A port of the host with these addresses. */
  open(addresses: readonly IpAddress[], port: number): UdpPort & { closed: boolean } {
    const keys = addresses.map((address) => `${address} ${port}`);
    return {
      port,
      closed: false,
      listen: (handler) => {
        for (const key of keys) this.#handlers.set(key, handler);
      },
      send: (bytes, address, to) => {
        const from = addresses.find(({ version }) => version === address.version);
        this.sent++;
        if (this.broken || from === undefined) return;
        const copy = bytes.slice();
        void Promise.resolve().then(() => this.#handlers.get(`${address} ${to}`)?.(copy, from, port));
      },
      close() {
        this.closed = true;
      },
    };
  }

  /** Lets a host hear anything from anybody. */
  inject(bytes: Uint8Array, from: IpAddress, fromPort: number, to: IpAddress, toPort: number): void {
    this.#handlers.get(`${to} ${toPort}`)?.(bytes, from, fromPort);
  }
}
