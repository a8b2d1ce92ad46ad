/**
 * From addresses to headers: the source address for a destination, the MAC address of its next hop, and the finished
 * header template. Keeps the MAC address in the templates of queue pairs up to date. On the IP medium the kernel
 * resolves.
 *
 * The source port of a connected queue pair never changes, and spreads over queue pairs (ref:wire#2; annex A17.9.4 by
 * way of
 * ref:conformance#ANX-47): the one its address vector names, else the one its flow label gives, else that of both queue
 * pair numbers, so that both ends send from the same port (rdma:ib_verbs.h#rdma_get_udp_sport, which rdma_rxe follows).
 */

import type { IpAddress, IpPrefix, MacAddress } from '../../packets/address.ts';
import { defined } from '../../packets/defined.ts';
import { RoceError } from '../../packets/errors.ts';
import { flowLabelOfQpns, sourcePortOfFlowLabel } from '../../packets/flow-label.ts';
import { type Frame, frameDestinationIs, Medium } from '../../packets/frame.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import { ROCE_UDP_PORT } from '../../packets/udp.ts';
import { vlanTci } from '../../packets/vlan.ts';
import type { QpPath } from '../../transport/qp-path.ts';
import { HostAddresses } from './host/host-addresses.ts';
import { keyOf, type ResolutionNeed } from './host/neighbour-entry.ts';
import { Neighbours, type NeighboursOptions } from './host/neighbours.ts';
import type { NextHop, PathUser } from './next-hop.ts';
import type { StrangerLimits } from './options.ts';
import { checkTraits, type PathTraits, type StaticNeighbour, type VlanOptions } from './options.ts';
import type { DeviceTables } from './tables.ts';
import type { AddressVector } from './verbs/address-vector.ts';

const DEFAULT_HOP_LIMIT = 64;
/** Datagram paths kept; they can be rebuilt at any time. */
const MAX_TEMPLATES = 256;
const RECHECK_NS = 1e9;
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
  readonly neighbours?: readonly StaticNeighbour[];
  readonly vlan?: VlanOptions;
  /** The one source port the wire allows; default a port for each queue pair. */
  readonly sourcePort?: number;
  readonly path?: PathTraits;
  readonly strangers?: Partial<StrangerLimits>;
  /** Something of a neighbour was counted that may be an attack. */
  readonly suspect?: NeighboursOptions['suspect'];
}

export class Paths {
  /** Absent on the IP medium, where the kernel does this. */
  readonly neighbours: Neighbours | undefined;
  /** Addresses to which answers may go. */
  readonly hosts: HostAddresses;
  readonly #options: PathsOptions;
  readonly #defaults: PathTraits;
  /** Tag of every frame, if any. */
  readonly vlanTci: number | undefined;
  readonly #nextHops = new Map<string, NextHop>();
  readonly #waiters = new Map<string, Waiter[]>();
  #closed = false;
  readonly #templates = new Map<string, HeaderTemplate>();
  /**
   * Some path leads from the device to itself: no switch returns such frames, so the device has to loop them back. On
   * the IP medium the kernel does.
   */
  loopsBack = false;

  constructor(options: PathsOptions) {
    const { medium, vlan, path = {} } = options;
    this.#options = options;
    this.#defaults = path;
    this.hosts = new HostAddresses(medium, options.addresses);
    this.vlanTci = vlan === undefined ? undefined : vlanTci(vlan.id, vlan.priority ?? 0);
    if (medium === Medium.Ethernet) this.neighbours = new Neighbours(options);
  }

  /** Sizes of its tables: neighbours known, next hops in use, addresses being resolved. */
  get sizes(): Pick<DeviceTables, 'neighbours' | 'nextHops' | 'resolutions'> {
    const { known, held, resolving } = this.neighbours?.sizes ?? { known: 0, held: 0, resolving: 0 };
    return {
      neighbours: known,
      nextHops: Math.max(this.#nextHops.size, held),
      resolutions: Math.max(this.#waiters.size, resolving),
    };
  }

  isOurs(address: IpAddress): boolean {
    return this.#options.addresses.some((prefix) => prefix.address.equals(address));
  }

  /** Whether a packet is to one of our addresses. */
  isToUs(frame: Frame): boolean {
    const { addresses } = this.#options;
    for (let i = 0; i < addresses.length; i++)
      if (frameDestinationIs(frame, (addresses[i] as IpPrefix).address)) return true;
    return false;
  }

  /**
   * Whether packets may go from one address to the other: from one of ours, within one IP version. `templateFor`
   * requires nothing else.
   */
  joins(source: IpAddress, destination: IpAddress): boolean {
    return source.version === destination.version && this.isOurs(source);
  }

  /**
   * Our address for a destination: one on its subnet, else the first of its version. Throws ERR_ROCE_ADDRESS when there
   * is none.
   */
  sourceFor(destination: IpAddress): IpAddress {
    const { addresses } = this.#options;
    const same = addresses.filter((prefix) => prefix.address.version === destination.version);
    const chosen = same.find((prefix) => prefix.contains(destination)) ?? same[0];
    if (chosen === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', `no IPv${destination.version} address to reach ${destination} from`);
    return chosen.address;
  }

  /**
   * The header fields of a path: its own, else the device's; absent where neither sets them. Throws ERR_ROCE_ARGUMENT.
   */
  traits(own: PathTraits): PathTraits {
    checkTraits(own);
    const { trafficClass, hopLimit, flowLabel, sourcePort } = { ...this.#defaults, ...defined(own) };
    return defined({ trafficClass, hopLimit, flowLabel, sourcePort });
  }

  /**
   * The path of a queue pair connected to `destQpn`. Throws ERR_ROCE_ADDRESS when the next hop is not known yet,
   * ERR_ROCE_ARGUMENT for numbers out of range.
   */
  pathTo(qpn: number, av: AddressVector, destQpn = 0): QpPath {
    const { trafficClass, hopLimit, flowLabel = 0, sourcePort } = this.traits(av);
    const source = av.source ?? this.sourceFor(av.destination);
    if (!this.isOurs(source)) throw new RoceError('ERR_ROCE_ADDRESS', `${source} is not an address of this device`);
    const mac = this.#macTowards(av.destination);
    if (mac === undefined) throw unreachable(`the link address of ${av.destination} is not known`);
    const template = new HeaderTemplate({
      medium: this.#options.medium,
      sourceMac: this.#options.mac,
      destMac: mac,
      ...defined({ vlanTci: this.vlanTci }),
      source,
      destination: av.destination,
      trafficClass: trafficClass ?? 0,
      hopLimit: hopLimit ?? DEFAULT_HOP_LIMIT,
      flowLabel,
      sourcePort:
        this.#options.sourcePort ?? sourcePort ?? sourcePortOfFlowLabel(flowLabel || flowLabelOfQpns(qpn, destQpn)),
    });
    return { template, local: source, remote: av.destination };
  }

  /** From now on the user's headers follow the neighbour at its next hop. */
  follow(user: PathUser, destination: IpAddress): void {
    this.unfollow(user);
    // A group's MAC address is derived from the group, and our own is known; no neighbour has them.
    const fixed = destination.isMulticast || this.isOurs(destination);
    const address = fixed ? undefined : this.neighbours?.nextHop(destination);
    if (address === undefined) return;
    const key = keyOf(address);
    const hop = this.#nextHops.get(key) ?? { address, users: new Set(), checkAt: 0 };
    if (hop.users.size === 0) this.neighbours?.hold(address);
    this.#nextHops.set(key, hop);
    hop.users.add(user);
    user.nextHop = hop;
  }

  /** A connection has migrated to its alternate path, whose neighbour may have moved since the path was loaded. */
  migrated(user: PathUser, remote: IpAddress): void {
    this.follow(user, remote);
    const mac = this.#macTowards(remote);
    if (mac !== undefined) user.template?.setDestMac(mac);
  }

  unfollow(user: PathUser): void {
    const hop = user.nextHop;
    if (hop === undefined) return;
    user.nextHop = undefined;
    hop.users.delete(user);
    if (hop.users.size > 0) return;
    this.#nextHops.delete(keyOf(hop.address));
    this.neighbours?.release(hop.address);
  }

  /** A packet went or is about to go to this next hop, and `checkAt` has come. */
  check(now: number, hop: NextHop): void {
    // If an error of ours keeps the neighbours from saying when: not with each packet.
    hop.checkAt = now + RECHECK_NS;
    hop.checkAt = this.neighbours?.use(now, hop.address) ?? Infinity;
  }

  /** Packets to this address were not answered: its next hop may have moved. */
  doubt(now: number, address: IpAddress): void {
    const hop = this.isOurs(address) ? undefined : this.neighbours?.nextHop(address);
    if (hop !== undefined) this.neighbours?.doubt(now, hop);
  }

  /**
   * Headers for datagrams of queue pair 1 between addresses that `joins`, or undefined after starting to resolve the
   * next hop. `forStranger`: the destination has proved nothing, and its next hop is resolved within a budget.
   */
  templateFor(
    now: number,
    source: IpAddress,
    destination: IpAddress,
    forStranger: boolean,
  ): HeaderTemplate | undefined {
    const mac = this.#macTowards(destination);
    if (mac === undefined) {
      this.neighbours?.resolve(now, destination, forStranger ? 'answer' : 'own');
      return undefined;
    }
    const hop = this.isOurs(destination) ? undefined : this.neighbours?.nextHop(destination);
    if (hop !== undefined) this.neighbours?.use(now, hop);
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

  /** Drops the MAC address of the next hop towards `address`, so that the next `resolve` solicits it again. */
  forget(address: IpAddress): void {
    this.neighbours?.forget(address);
  }

  /**
   * Resolves when the next hop towards `address` is known; rejects with ERR_ROCE_ADDRESS when no answer comes,
   * ERR_ROCE_CLOSED after `close`: nobody would ask.
   */
  resolve(now: number, address: IpAddress, need: ResolutionNeed = 'own'): Promise<void> {
    if (this.#closed) return Promise.reject(closed());
    if (this.#macTowards(address) !== undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const key = address.toString();
      const waiters = this.#waiters.get(key) ?? [];
      waiters.push({ resolve, reject });
      this.#waiters.set(key, waiters);
      this.neighbours?.resolve(now, address, need);
    });
  }

  /** Whether `settle` has anything to do. */
  get unsettled(): boolean {
    return this.neighbours?.hasResults ?? false;
  }

  /** Applies results of the neighbour table: to the headers of queue pairs, and to pending `resolve` calls. */
  settle(unreachable: (address: IpAddress) => void): void {
    const { neighbours } = this;
    if (neighbours === undefined) return;
    for (let hop = neighbours.pollMoved(); hop !== undefined; hop = neighbours.pollMoved()) this.#readdress(hop);
    for (let result = neighbours.pollResolved(); result !== undefined; result = neighbours.pollResolved()) {
      this.#answer(result.address, result.mac !== undefined);
      if (result.mac === undefined) unreachable(result.address);
    }
  }

  #readdress(address: IpAddress): void {
    const mac = this.neighbours?.lookup(address);
    if (mac === undefined) return;
    for (const user of this.#nextHops.get(keyOf(address))?.users ?? []) user.template?.setDestMac(mac);
  }

  #answer(address: IpAddress, reachable: boolean): void {
    const key = address.toString();
    const waiters = this.#waiters.get(key) ?? [];
    this.#waiters.delete(key);
    for (const waiter of waiters) {
      if (reachable) waiter.resolve();
      else waiter.reject(unreachable(`no answer from ${address} on this link`));
    }
  }

  /** Settles every pending `resolve`, and those to come. */
  close(): void {
    this.#closed = true;
    const error = closed();
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
    this.#waiters.clear();
  }

  #macTowards(address: IpAddress): MacAddress | undefined {
    if (this.neighbours === undefined) return ZERO_MAC;
    if (!this.isOurs(address)) return this.neighbours.lookup(address);
    this.loopsBack = true;
    return this.#options.mac;
  }
}

function closed(): RoceError {
  return new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
}

function unreachable(why: string): RoceError {
  return new RoceError('ERR_ROCE_ADDRESS', why, { errno: 'EHOSTUNREACH' });
}
