/**
 * ARP and neighbour discovery on an Ethernet link: resolves MAC addresses, answers solicitations for ours, and answers
 * pings.
 *
 * Owns the packets received and sent; the table and its ageing are in neighbour-table.ts. Replies that wait have a
 * bound. Never does I/O and has no clock. An address enters the table only because we solicited it or because its owner
 * solicited ours, so that no remote host can fill or poison the table; later announcements update entries, as in Linux.
 * Whatever bytes arrive: no exception, no reply that the protocol does not require. Frames of another VLAN are not
 * ours.
 * Sources: RFC 826; RFC 5227 section 2 (probes and conflicts); RFC 4861 sections 7.1, 7.2; RFC 4862 section 5.4
 * (duplicate address detection); RFC 1112 section 6.4 and RFC 2464 section 7 (multicast MAC addresses).
 */
import { BROADCAST_MAC, formatMac, type IpAddress, type IpPrefix, type MacAddress } from '../../../packets/address.ts';
import { ArpOperation, readArp } from '../../../packets/arp.ts';
import { RoceError } from '../../../packets/errors.ts';
import { ETHERNET_BYTES, ETHERTYPE_ARP, readEthernet, VLAN_TAG_BYTES } from '../../../packets/ethernet.ts';
import { type Frame, FrameStatus, frameDestination, frameSource, Medium } from '../../../packets/frame.ts';
import type { FrameWriter } from '../../../packets/frame-writer.ts';
import { type IcmpEcho, Icmpv6Type, readIcmpEcho, readIcmpv6Echo } from '../../../packets/icmp.ts';
import { readNeighborAdvertisement, readNeighborSolicitation } from '../../../packets/icmpv6-nd.ts';
import { IP_PROTOCOL_ICMP, IP_PROTOCOL_ICMPV6 } from '../../../packets/ipv4.ts';
import { NO_VLAN, vlanOfFrame, vlanTci } from '../../../packets/vlan.ts';
import type { StaticNeighbour, VlanOptions } from '../options.ts';
import { DEFAULT_STRANGER_LIMITS, type StrangerLimits } from '../options.ts';
import { isGroup, isLimitedBroadcast, isLinkLocal, isUnicast, isUnspecified } from './address-kinds.ts';
import { groupMac } from './group-frames.ts';
import { HostAddresses } from './host-addresses.ts';
import type { ResolutionNeed } from './neighbour-entry.ts';
import { type NeighbourSuspicion, sameMac } from './neighbour-entry.ts';
import {
  advertisementFrame,
  arpReplyFrame,
  echoReplyFrame,
  type FrameEndpoint,
  solicitationFrame,
} from './neighbour-frames.ts';
import { NeighbourTable, type Resolution } from './neighbour-table.ts';

/** What `Neighbours` are made of. */
export interface NeighboursOptions {
  /** Our own MAC address. */
  readonly mac: MacAddress;
  /** Our addresses with the networks that are on this link. */
  readonly addresses: readonly IpPrefix[];
  /** Next hops for what is not on the link, one per IP version at most. */
  readonly gateway?: IpAddress | readonly IpAddress[];
  /** Bounds, and what strangers may do; default `DEFAULT_STRANGER_LIMITS`. Static entries are beside them. */
  readonly strangers?: Partial<StrangerLimits>;
  /** Neighbours known from the start: never solicited, never overwritten, never dropped. */
  readonly neighbours?: readonly StaticNeighbour[];
  /** Tag of every frame sent; only frames of this VLAN are received. Absent: untagged frames. */
  readonly vlan?: VlanOptions;
  /** Something of this address was counted that may be an attack. */
  readonly suspect?: ((cause: NeighbourSuspicion, address: IpAddress) => void) | undefined;
}

const MAX_REPLIES = 64;

/**
 * ARP, neighbour discovery and ping of a host on an Ethernet link. Its owner passes frames in, takes frames out and
 * keeps the time.
 *
 * @example
 * ```ts
 * import { Neighbours } from 'rocev2/host';
 * import { Frame, FrameWriter, formatMac, IpAddress, IpPrefix, Medium, parseFrame, parseMac } from 'rocev2/packets';
 *
 * const a = new Neighbours({ mac: parseMac('02:00:00:00:00:01'), addresses: [IpPrefix.parse('10.0.0.1/24')] });
 * const b = new Neighbours({ mac: parseMac('02:00:00:00:00:02'), addresses: [IpPrefix.parse('10.0.0.2/24')] });
 * function carry(from: Neighbours, to: Neighbours): void {
 *   const batch = new FrameWriter(1, 2048);
 *   const frame = new Frame();
 *   from.poll(0, batch);
 *   const status = parseFrame(batch.bytes, batch.view, 0, batch.lengths[0] ?? 0, Medium.Ethernet, frame);
 *   to.handleFrame(0, frame, status);
 * }
 * a.resolve(0, IpAddress.parse('10.0.0.2'));
 * carry(a, b);
 * carry(b, a);
 * const found = a.pollResolved();
 * if (found?.mac !== undefined) console.log(formatMac(found.mac)); // 02:00:00:00:00:02
 * ```
 */
export class Neighbours {
  /** Since it was made; they count on while it runs. */
  readonly counters = {
    /** ARP requests and neighbour solicitations sent. */
    questions: 0,
    /** Replies to others, answers to pings among them. */
    replies: 0,
    /** Replies not sent: too many waited, or longer than the MTU. */
    repliesDropped: 0,
    /** Neighbours found or heard of for the first time. */
    learnt: 0,
    /** Neighbours found at another MAC address than before. */
    moved: 0,
    /** Neighbours dropped because they no longer answered. */
    lost: 0,
    /** Frames that name another MAC address than the known one of a neighbour: a move, or an attempt to redirect. */
    claims: 0,
    /** Probes after such a frame that the known MAC address has answered. */
    claimsRefuted: 0,
    /** Resolutions for answers to strangers, and addresses of strangers, refused because their share is used up. */
    strangersDropped: 0,
    /** Frames of others that claim an address of ours. */
    conflicts: 0,
    /** Frames that call for nothing. */
    ignored: 0,
  };

  readonly #mac: MacAddress;
  readonly #addresses: readonly IpPrefix[];
  readonly #hosts: HostAddresses;
  readonly #gateways: readonly IpAddress[];
  readonly #vlanId: number;
  readonly #vlanTci: number | undefined;
  readonly #table: NeighbourTable;
  readonly #replies: Uint8Array[] = [];

  /**
   * @throws RoceError ERR_ROCE_ADDRESS when a gateway is not on the link, or for an address that cannot be a
   * neighbour's
   */
  constructor(options: NeighboursOptions) {
    const { gateway = [], vlan, neighbours = [] } = options;
    this.#mac = options.mac;
    this.#addresses = options.addresses;
    this.#hosts = new HostAddresses(Medium.Ethernet, options.addresses);
    this.#gateways = 'version' in gateway ? [gateway] : gateway;
    this.#vlanId = vlan?.id ?? NO_VLAN;
    this.#vlanTci = vlan === undefined ? undefined : vlanTci(vlan.id, vlan.priority ?? 0);
    const { maxNeighbours, maxUnresolved, confirmMoves } = { ...DEFAULT_STRANGER_LIMITS, ...options.strangers };
    this.#table = new NeighbourTable(this.counters, {
      ...{ maxEntries: maxNeighbours, maxStrangers: maxUnresolved, confirmMoves, suspect: options.suspect },
    });
    for (const hop of this.#gateways) {
      if (!this.#isOnLink(hop)) throw new RoceError('ERR_ROCE_ADDRESS', `gateway ${hop} is not on this link`);
    }
    for (const neighbour of neighbours) this.#setStatic(neighbour);
  }

  /** Sizes of its tables: neighbours known, next hops held for queue pairs, addresses being resolved. @internal */
  get sizes(): { readonly known: number; readonly held: number; readonly resolving: number } {
    return this.#table.sizes;
  }

  /** MAC address of the next hop towards `address`, while it is known; groups and our own addresses always are. */
  lookup(address: IpAddress): MacAddress | undefined {
    const fixed = this.#fixedMac(address);
    if (fixed !== undefined) return fixed;
    const hop = this.nextHop(address);
    return hop === undefined ? undefined : this.#table.lookup(hop);
  }

  /**
   * Resolves the next hop towards `address`; `poll` emits the solicitation, `pollResolved` returns the result.
   * Resolutions for strangers have a budget (`ResolutionNeed`), and end at once without a result when it is used up.
   */
  resolve(now: number, address: IpAddress, need: ResolutionNeed = 'own'): void {
    const mac = this.lookup(address);
    const hop = this.nextHop(address);
    if (hop === undefined || mac !== undefined) this.#table.settle(address, mac);
    else this.#table.resolve(now, hop, address, need);
  }

  /**
   * The next hop of a packet for `address`: itself, or a gateway when it is not on the link. Undefined when there is no
   * route. A static neighbour is always on the link.
   */
  nextHop(address: IpAddress): IpAddress | undefined {
    if (isUnspecified(address)) return undefined;
    if (this.#isOnLink(address) || this.#table.isStatic(address)) return address;
    return this.#gateways.find((hop) => hop.version === address.version);
  }

  /** Queue pairs send to this next hop until `release`: its entry gives way to no other. */
  hold(hop: IpAddress): void {
    this.#table.hold(hop);
  }

  /** No queue pair sends to this next hop any more. */
  release(hop: IpAddress): void {
    this.#table.release(hop);
  }

  /** Packets go to this next hop: solicits again when the entry is stale. Returns when to call this again. */
  use(now: number, hop: IpAddress): number {
    return this.#fixedMac(hop) === undefined ? this.#table.use(now, hop) : Infinity;
  }

  /** Packets to this next hop are not answered: solicits it, as it may have moved. */
  doubt(now: number, hop: IpAddress): void {
    this.#table.doubt(now, hop);
  }

  /** Drops the entry of the next hop towards `address`, so that `resolve` solicits again. */
  forget(address: IpAddress): void {
    const hop = this.nextHop(address);
    if (hop !== undefined) this.#table.forget(hop);
  }

  /** Takes a frame that `parseFrame` found to be not RoCE; other protocols are ignored. */
  handleFrame(now: number, frame: Frame, status: FrameStatus): void {
    if (frame.medium !== Medium.Ethernet || frame.end - frame.start < ETHERNET_BYTES) return;
    if (vlanOfFrame(frame.view, frame.start, frame.end) !== this.#vlanId) return;
    const { destMac, sourceMac } = readEthernet(frame.view, frame.start);
    const toUs = sameMac(destMac, this.#mac);
    if (!isUnicast(sourceMac) || sameMac(sourceMac, this.#mac) || !(toUs || isGroup(destMac))) this.counters.ignored++;
    else if (status === FrameStatus.NotIp && frame.etherType === ETHERTYPE_ARP) this.#handleArp(now, frame);
    else if (status === FrameStatus.NotUdp && frame.ipVersion === 6 && frame.protocol === IP_PROTOCOL_ICMPV6) {
      this.#handleIcmpv6(now, frame, sourceMac, toUs);
    } else if (status === FrameStatus.NotUdp && frame.ipVersion === 4 && frame.protocol === IP_PROTOCOL_ICMP && toUs) {
      this.#handleEcho(frame, sourceMac, readIcmpEcho(frame.view, frame.l4Offset, frame.ipEnd));
    }
  }

  /** Emits replies and solicitations that are due until the writer is full; true when some are left. */
  poll(_now: number, writer: FrameWriter): boolean {
    if (this.#replies.length === 0 && !this.#table.hasSolicitation) return false;
    const slotBytes = writer.bytes.length / writer.starts.length;
    while (!writer.full && this.#replies.length > 0) {
      const reply = this.#replies.shift();
      if (reply !== undefined && reply.length <= slotBytes) writer.appendRaw(reply, 0, reply.length);
      else this.counters.repliesDropped++;
    }
    while (!writer.full) {
      const next = this.#table.takeSolicitation();
      if (next === undefined) return this.#replies.length > 0;
      this.counters.questions++;
      const question = solicitationFrame(this.#station(this.#sourceFor(next.target)), next.target, next.mac);
      writer.appendRaw(question, 0, question.length);
    }
    return this.#replies.length > 0 || this.#table.hasSolicitation;
  }

  /** When a solicitation is repeated or given up; Infinity when none is under way. */
  nextDeadline(): number {
    return this.#table.nextDeadline();
  }

  /** Does what is due at `now`, nanoseconds; `nextDeadline` has said when. */
  handleTimeouts(now: number): void {
    this.#table.handleTimeouts(now);
  }

  /** Whether `pollResolved` or `pollMoved` has something. */
  get hasResults(): boolean {
    return this.#table.hasResults;
  }

  /** The next finished resolution, once; undefined when there is none. */
  pollResolved(): Resolution | undefined {
    return this.#table.pollResolved();
  }

  /** The next hop whose MAC address is new, once; undefined when there is none. */
  pollMoved(): IpAddress | undefined {
    return this.#table.pollMoved();
  }

  #handleArp(now: number, frame: Frame): void {
    const at = frame.start + ETHERNET_BYTES + (frame.vlanTci >= 0 ? VLAN_TAG_BYTES : 0);
    const arp = readArp(frame.view, at, frame.end);
    if (arp === undefined || !isUnicast(arp.senderMac) || sameMac(arp.senderMac, this.#mac)) {
      this.counters.ignored++;
      return;
    }
    const asker: FrameEndpoint = { mac: arp.senderMac, address: arp.senderIp };
    if (this.#isOurs(arp.senderIp)) {
      // Another host claims our address. An answer would not resolve the conflict.
      this.counters.conflicts++;
      return;
    }
    if (!isUnspecified(arp.senderIp) && !this.#hosts.isHost(arp.senderIp)) {
      this.counters.ignored++;
      return;
    }
    const us = this.#ours(arp.targetIp);
    const asksUs = arp.operation === ArpOperation.Request && us !== undefined;
    if (arp.operation === ArpOperation.Request || arp.operation === ArpOperation.Reply)
      this.#hear(now, asker, asksUs, true);
    // A sender without an address probes whether ours is free (RFC 5227 2.1.1): answer it, but add no entry.
    if (asksUs) this.#reply(arpReplyFrame(us, asker));
  }

  #handleIcmpv6(now: number, frame: Frame, sourceMac: MacAddress, toUs: boolean): void {
    const { view, ipOffset, l4Offset, ipEnd } = frame;
    if (ipEnd - l4Offset < 1) return;
    const type = view.getUint8(l4Offset);
    if (type === Icmpv6Type.NeighborSolicitation) this.#handleSolicitation(now, frame, sourceMac);
    else if (type === Icmpv6Type.NeighborAdvertisement) this.#handleAdvertisement(now, frame);
    else if (toUs) this.#handleEcho(frame, sourceMac, readIcmpv6Echo(view, ipOffset, l4Offset, ipEnd));
  }

  #handleSolicitation(now: number, frame: Frame, sourceMac: MacAddress): void {
    const message = readNeighborSolicitation(frame.view, frame.ipOffset, frame.l4Offset, frame.ipEnd);
    const us = message === undefined ? undefined : this.#ours(message.target);
    const destination = frameDestination(frame);
    if (message === undefined || us === undefined || !(destination.isMulticast || this.#isOurs(destination))) {
      this.counters.ignored++;
      return;
    }
    const source = frameSource(frame);
    if (isUnspecified(source)) {
      this.#reply(advertisementFrame(us, undefined));
      return;
    }
    if (source.isMulticast || this.#isOurs(source)) {
      this.counters.conflicts++;
      return;
    }
    const mac = message.sourceMac ?? sourceMac;
    if (!isUnicast(mac) || !this.#hosts.isHost(source)) return;
    const asker: FrameEndpoint = { mac, address: source };
    if (message.sourceMac !== undefined) this.#hear(now, asker, true, true);
    this.#reply(advertisementFrame(us, asker));
  }

  #handleAdvertisement(now: number, frame: Frame): void {
    const message = readNeighborAdvertisement(frame.view, frame.ipOffset, frame.l4Offset, frame.ipEnd);
    if (message === undefined) this.counters.ignored++;
    else if (this.#isOurs(message.target)) this.counters.conflicts++;
    else if (message.targetMac !== undefined && isUnicast(message.targetMac)) {
      this.#hear(now, { mac: message.targetMac, address: message.target }, false, message.override);
    }
  }

  #handleEcho(frame: Frame, sourceMac: MacAddress, echo: IcmpEcho | undefined): void {
    const us = this.#ours(frameDestination(frame));
    const source = frameSource(frame);
    if (echo === undefined || echo.reply || us === undefined || !this.#hosts.isHost(source)) this.counters.ignored++;
    else this.#reply(echoReplyFrame(us, { mac: sourceMac, address: source }, echo, frame.trafficClass));
  }

  /** A neighbour's address was received. `mayLearn`: it solicited us, so an entry may be added. */
  #hear(now: number, { address, mac }: FrameEndpoint, mayLearn: boolean, override: boolean): void {
    this.#table.hear(now, address, mac, mayLearn && this.#isOnLink(address), override);
  }

  #reply(frame: Uint8Array): void {
    if (this.#replies.length >= MAX_REPLIES) {
      this.counters.repliesDropped++;
      return;
    }
    this.counters.replies++;
    this.#replies.push(frame);
  }

  #setStatic({ address, mac }: StaticNeighbour): void {
    const impossible = this.#fixedMac(address) !== undefined || isUnspecified(address);
    if (impossible) throw new RoceError('ERR_ROCE_ADDRESS', `${address} cannot be a neighbour's address`);
    if (!isUnicast(mac))
      throw new RoceError('ERR_ROCE_ADDRESS', `${formatMac(mac)} cannot be a neighbour's MAC address`);
    this.#table.setStatic(address, mac);
  }

  /** MAC addresses that need no solicitation. */
  #fixedMac(address: IpAddress): MacAddress | undefined {
    if (this.#isOurs(address)) return this.#mac;
    if (isLimitedBroadcast(address)) return BROADCAST_MAC;
    if (!address.isMulticast) return undefined;
    return groupMac(address);
  }

  #isOnLink(address: IpAddress): boolean {
    if (isUnspecified(address)) return false;
    return this.#addresses.some((prefix) => {
      return prefix.contains(address) || (prefix.address.version === 6 && isLinkLocal(address));
    });
  }

  /** The source address of a solicitation: one on the same network, else the first of the version. */
  #sourceFor(target: IpAddress): IpAddress {
    const same = this.#addresses.filter(({ address }) => address.version === target.version);
    return (same.find((prefix) => prefix.contains(target)) ?? same[0])?.address ?? target;
  }

  #isOurs(address: IpAddress): boolean {
    return this.#addresses.some((prefix) => prefix.address.equals(address));
  }

  #ours(address: IpAddress): FrameEndpoint | undefined {
    return this.#isOurs(address) ? this.#station(address) : undefined;
  }

  #station(address: IpAddress): FrameEndpoint {
    return { mac: this.#mac, address, vlanTci: this.#vlanTci };
  }
}
