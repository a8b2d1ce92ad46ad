/**
 * From addresses to headers: which of our addresses speaks to a destination, which MAC address is its next hop, and the
 * finished header template. On the IP medium there is nothing to resolve.
 */
import type { IpAddress, IpPrefix, MacAddress } from '../packets/address.ts';
import { RoceError } from '../packets/errors.ts';
import { Medium } from '../packets/frame.ts';
import { HeaderTemplate } from '../packets/header-template.ts';
import { ROCE_UDP_PORT } from '../packets/udp.ts';
import type { QpPath } from '../transport/qp-config.ts';
import { Neighbours } from './neighbours.ts';
import type { AddressVector } from './verbs.ts';

const DEFAULT_HOP_LIMIT = 64;
/** Datagram paths kept; they are rebuilt at will. */
const MAX_TEMPLATES = 256;
const ZERO_MAC: MacAddress = new Uint8Array(6);

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: RoceError) => void;
}

export interface PathsOptions {
  readonly medium: Medium;
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  readonly gateway?: IpAddress;
  /** The one source port the wire allows; default a port for each queue pair. */
  readonly sourcePort?: number;
}

export class Paths {
  /** Absent on the IP medium, where the kernel does this. */
  readonly neighbours: Neighbours | undefined;
  readonly #options: PathsOptions;
  readonly #waiters = new Map<string, Waiter[]>();
  readonly #templates = new Map<string, HeaderTemplate>();

  constructor(options: PathsOptions) {
    this.#options = options;
    const { medium, mac, addresses, gateway } = options;
    if (medium === Medium.Ethernet) {
      this.neighbours = new Neighbours({ mac, addresses, ...(gateway === undefined ? {} : { gateway }) });
    }
  }

  isOurs(address: IpAddress): boolean {
    return this.#options.addresses.some((prefix) => prefix.address.equals(address));
  }

  /** Our address for a destination: one on its subnet, else the first of its version. Throws ERR_ROCE_ADDRESS when there is none. */
  sourceFor(destination: IpAddress): IpAddress {
    const { addresses } = this.#options;
    const same = addresses.filter((prefix) => prefix.address.version === destination.version);
    const chosen = same.find((prefix) => prefix.contains(destination)) ?? same[0];
    if (chosen === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', `no IPv${destination.version} address to reach ${destination} from`);
    return chosen.address;
  }

  /** The path of a connected queue pair. Throws ERR_ROCE_ADDRESS when the next hop is not known yet. */
  pathTo(qpn: number, av: AddressVector): QpPath {
    const source = av.source ?? this.sourceFor(av.destination);
    if (!this.isOurs(source)) throw new RoceError('ERR_ROCE_ADDRESS', `${source} is not an address of this device`);
    const mac = this.#nextHop(av.destination);
    if (mac === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', `the link address of ${av.destination} is not known`);
    const template = new HeaderTemplate({
      medium: this.#options.medium,
      sourceMac: this.#options.mac,
      destMac: mac,
      source,
      destination: av.destination,
      trafficClass: av.trafficClass ?? 0,
      hopLimit: av.hopLimit ?? DEFAULT_HOP_LIMIT,
      flowLabel: av.flowLabel ?? 0,
      sourcePort: this.#options.sourcePort ?? av.sourcePort ?? sourcePortOf(qpn),
    });
    return { template, local: source, remote: av.destination };
  }

  /** Headers for datagrams of queue pair 1, or undefined after asking for the next hop. */
  templateFor(now: number, source: IpAddress, destination: IpAddress): HeaderTemplate | undefined {
    const mac = this.#nextHop(destination);
    if (mac === undefined) {
      this.neighbours?.resolve(now, destination);
      return undefined;
    }
    const key = `${source} ${destination}`;
    const known = this.#templates.get(key);
    if (known !== undefined) {
      known.setDestMac(mac);
      return known;
    }
    if (this.#templates.size >= MAX_TEMPLATES) this.#templates.clear();
    const fresh = this.pathTo(1, { source, destination, sourcePort: ROCE_UDP_PORT }).template;
    this.#templates.set(key, fresh);
    return fresh;
  }

  /** Forgets the link address towards `address`, so that the next `resolve` asks for it anew. */
  forget(address: IpAddress): void {
    this.neighbours?.forget(address);
  }

  /** Resolves when the next hop towards `address` is known; rejects with ERR_ROCE_ADDRESS when nobody answers. */
  resolve(now: number, address: IpAddress): Promise<void> {
    if (this.#nextHop(address) !== undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const key = address.toString();
      const waiters = this.#waiters.get(key) ?? [];
      waiters.push({ resolve, reject });
      this.#waiters.set(key, waiters);
      this.neighbours?.resolve(now, address);
    });
  }

  /** Passes on an answer, or the lack of one, to whoever waits for it. */
  settle(address: IpAddress, reachable: boolean): void {
    const key = address.toString();
    const waiters = this.#waiters.get(key) ?? [];
    this.#waiters.delete(key);
    for (const waiter of waiters) {
      if (reachable) waiter.resolve();
      else waiter.reject(new RoceError('ERR_ROCE_ADDRESS', `nobody answers for ${address} on this link`));
    }
  }

  /** Nobody will be answered any more. */
  close(): void {
    const error = new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
    this.#waiters.clear();
  }

  #nextHop(address: IpAddress): MacAddress | undefined {
    return this.neighbours === undefined ? ZERO_MAC : this.neighbours.lookup(address);
  }
}

/** The UDP source port of a queue pair: constant, and spread over 0xc000..0xffff, the range rdma_rxe uses (ref:wire#2). */
function sourcePortOf(qpn: number): number {
  const hash = Math.imul(qpn, 0x9e_37_79_b1) >>> 18;
  return 0xc0_00 | (hash & 0x3f_ff);
}
