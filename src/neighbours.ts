/**
 * Who is where on an Ethernet link: asks for MAC addresses, answers those who ask for ours, and answers pings.
 *
 * Owns the table of neighbours, the questions under way and the replies not sent yet; each has a bound. Never does I/O and has no clock.
 * An address enters the table only because we asked for it or because its owner asked for ours, so that nobody can fill or
 * poison the table from afar; what is in it follows later announcements, as Linux does. Entries do not age: a path that has
 * gone stale shows as retries of the transport, and `forget` makes room for a new question.
 * Whatever bytes arrive: no exception, no reply that the protocol does not ask for. Tagged frames are not ours.
 * Sources: RFC 826; RFC 5227 section 2 (probes and conflicts); RFC 4861 sections 7.1, 7.2; RFC 4862 section 5.4 (duplicate
 * address detection); RFC 1112 section 6.4 and RFC 2464 section 7 (multicast MAC addresses).
 */
import { BROADCAST_MAC, type IpAddress, type IpPrefix, type MacAddress } from '../packets/address.ts';
import { ArpOperation, readArp } from '../packets/arp.ts';
import { RoceError } from '../packets/errors.ts';
import { ETHERNET_BYTES, ETHERTYPE_ARP, readEthernet } from '../packets/ethernet.ts';
import { type Frame, FrameStatus, frameDestination, frameSource, Medium } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { type IcmpEcho, Icmpv6Type, readIcmpEcho, readIcmpv6Echo } from '../packets/icmp.ts';
import { multicastMac, readNeighborAdvertisement, readNeighborSolicitation } from '../packets/icmpv6-nd.ts';
import { IP_PROTOCOL_ICMP, IP_PROTOCOL_ICMPV6 } from '../packets/ipv4.ts';
import { advertisementFrame, arpReplyFrame, echoReplyFrame, questionFrame, type Station } from './neighbour-frames.ts';

export interface NeighboursOptions {
  readonly mac: MacAddress;
  /** Our addresses with the networks that are on this link. */
  readonly addresses: readonly IpPrefix[];
  /** Next hops for what is not on the link, one per IP version at most. */
  readonly gateway?: IpAddress | readonly IpAddress[];
  /** Neighbours remembered, questions under way included; default 1,024. */
  readonly maxEntries?: number;
}

/** The end of a `resolve`: `mac` is undefined when nobody answered or no way leads there. */
export interface Resolution {
  /** As asked for, which may lie behind the gateway. */
  readonly address: IpAddress;
  readonly mac: MacAddress | undefined;
}

interface Entry {
  readonly address: IpAddress;
  mac: MacAddress | undefined;
  /** What is asked for behind this next hop, as long as it is not known. */
  readonly waiting: IpAddress[];
  /** When the question is repeated or given up; Infinity when known. */
  deadline: number;
  attempts: number;
  questionDue: boolean;
}

const DEFAULT_MAX_ENTRIES = 1024;
const RETRY_NS = 1e9;
const MAX_ATTEMPTS = 3;
const MAX_REPLIES = 64;
/** Destinations that wait behind one next hop. */
const MAX_WAITING = 256;

export class Neighbours {
  readonly counters = { questions: 0, replies: 0, repliesDropped: 0, learnt: 0, conflicts: 0, ignored: 0 };

  readonly #mac: MacAddress;
  readonly #addresses: readonly IpPrefix[];
  readonly #gateways: readonly IpAddress[];
  readonly #maxEntries: number;
  /** In the order of the last news, so that the first is the one to forget. */
  readonly #table = new Map<string, Entry>();
  readonly #asking = new Set<Entry>();
  readonly #replies: Uint8Array[] = [];
  readonly #resolved: Resolution[] = [];
  #nextDeadline = Infinity;

  /** @throws RoceError ERR_ROCE_ADDRESS when a gateway is not on the link */
  constructor(options: NeighboursOptions) {
    const { gateway = [] } = options;
    this.#mac = options.mac;
    this.#addresses = options.addresses;
    this.#gateways = 'version' in gateway ? [gateway] : gateway;
    this.#maxEntries = options.maxEntries ?? DEFAULT_MAX_ENTRIES;
    for (const hop of this.#gateways) {
      if (!this.#isOnLink(hop)) throw new RoceError('ERR_ROCE_ADDRESS', `gateway ${hop} is not on this link`);
    }
  }

  /** MAC address of the next hop towards `address`, while it is known; groups and our own addresses always are. */
  lookup(address: IpAddress): MacAddress | undefined {
    const fixed = this.#fixedMac(address);
    if (fixed !== undefined) return fixed;
    const hop = this.#nextHop(address);
    return hop === undefined ? undefined : this.#table.get(keyOf(hop))?.mac;
  }

  /** Asks for the next hop towards `address`; `pollResolved` tells the end, `poll` emits the question. */
  resolve(now: number, address: IpAddress): void {
    const mac = this.lookup(address);
    const hop = this.#nextHop(address);
    const entry = hop === undefined || mac !== undefined ? undefined : this.#question(now, hop);
    if (entry === undefined || entry.waiting.length >= MAX_WAITING) this.#resolved.push({ address, mac });
    else if (!entry.waiting.some((waiting) => waiting.equals(address))) entry.waiting.push(address);
  }

  /** Forgets what is known of the next hop towards `address`, so that `resolve` asks anew. */
  forget(address: IpAddress): void {
    const hop = this.#nextHop(address);
    const entry = hop === undefined ? undefined : this.#table.get(keyOf(hop));
    if (entry?.mac !== undefined) this.#table.delete(keyOf(entry.address));
  }

  /** Takes a frame that `parseFrame` found to be not RoCE; all that is none of our business is ignored. */
  handleFrame(_now: number, frame: Frame, status: FrameStatus): void {
    if (frame.medium !== Medium.Ethernet || frame.vlanTci >= 0 || frame.end - frame.start < ETHERNET_BYTES) return;
    const { destMac, sourceMac } = readEthernet(frame.view, frame.start);
    const toUs = sameMac(destMac, this.#mac);
    if (!isUnicast(sourceMac) || sameMac(sourceMac, this.#mac) || !(toUs || isGroup(destMac))) this.counters.ignored++;
    else if (status === FrameStatus.NotIp && frame.etherType === ETHERTYPE_ARP) this.#handleArp(frame);
    else if (status === FrameStatus.NotUdp && frame.ipVersion === 6 && frame.protocol === IP_PROTOCOL_ICMPV6) {
      this.#handleIcmpv6(frame, sourceMac, toUs);
    } else if (status === FrameStatus.NotUdp && frame.ipVersion === 4 && frame.protocol === IP_PROTOCOL_ICMP && toUs) {
      this.#handleEcho(frame, sourceMac, readIcmpEcho(frame.view, frame.l4Offset, frame.ipEnd));
    }
  }

  /** Emits replies and questions that are due until the writer is full; true when some are left. */
  poll(_now: number, writer: FrameWriter): boolean {
    const slotBytes = writer.bytes.length / writer.starts.length;
    while (!writer.full && this.#replies.length > 0) {
      const reply = this.#replies.shift();
      if (reply !== undefined && reply.length <= slotBytes) writer.appendRaw(reply, 0, reply.length);
      else this.counters.repliesDropped++;
    }
    for (const entry of this.#asking) {
      if (!entry.questionDue) continue;
      if (writer.full) return true;
      entry.questionDue = false;
      this.counters.questions++;
      const question = questionFrame({ mac: this.#mac, address: this.#sourceFor(entry.address) }, entry.address);
      writer.appendRaw(question, 0, question.length);
    }
    return this.#replies.length > 0;
  }

  /** When a question is repeated or given up; Infinity when none is under way. */
  nextDeadline(): number {
    return this.#nextDeadline;
  }

  handleTimeouts(now: number): void {
    if (now < this.#nextDeadline) return;
    for (const entry of this.#asking) {
      if (entry.deadline > now) continue;
      if (entry.attempts < MAX_ATTEMPTS) ask(entry, now);
      else {
        this.#table.delete(keyOf(entry.address));
        this.#finish(entry);
      }
    }
    this.#updateDeadline();
  }

  /** The next finished question, once; undefined when there is none. */
  pollResolved(): Resolution | undefined {
    return this.#resolved.shift();
  }

  #handleArp(frame: Frame): void {
    const arp = readArp(frame.view, frame.start + ETHERNET_BYTES, frame.end);
    if (arp === undefined || !isUnicast(arp.senderMac) || sameMac(arp.senderMac, this.#mac)) {
      this.counters.ignored++;
      return;
    }
    const asker: Station = { mac: arp.senderMac, address: arp.senderIp };
    if (this.#isOurs(arp.senderIp)) {
      // Somebody claims our address. Answering would only add to the quarrel.
      this.counters.conflicts++;
      return;
    }
    const us = this.#ours(arp.targetIp);
    const asksUs = arp.operation === ArpOperation.Request && us !== undefined;
    if (arp.operation === ArpOperation.Request || arp.operation === ArpOperation.Reply) this.#hear(asker, asksUs, true);
    // A sender without an address probes whether ours is free (RFC 5227 2.1.1): it is answered and not learnt.
    if (asksUs) this.#reply(arpReplyFrame(us, asker));
  }

  #handleIcmpv6(frame: Frame, sourceMac: MacAddress, toUs: boolean): void {
    const { view, ipOffset, l4Offset, ipEnd } = frame;
    if (ipEnd - l4Offset < 1) return;
    const type = view.getUint8(l4Offset);
    if (type === Icmpv6Type.NeighborSolicitation) this.#handleSolicitation(frame, sourceMac);
    else if (type === Icmpv6Type.NeighborAdvertisement) this.#handleAdvertisement(frame);
    else if (toUs) this.#handleEcho(frame, sourceMac, readIcmpv6Echo(view, ipOffset, l4Offset, ipEnd));
  }

  #handleSolicitation(frame: Frame, sourceMac: MacAddress): void {
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
    if (!isUnicast(mac)) return;
    const asker: Station = { mac, address: source };
    if (message.sourceMac !== undefined) this.#hear(asker, true, true);
    this.#reply(advertisementFrame(us, asker));
  }

  #handleAdvertisement(frame: Frame): void {
    const message = readNeighborAdvertisement(frame.view, frame.ipOffset, frame.l4Offset, frame.ipEnd);
    if (message === undefined) this.counters.ignored++;
    else if (this.#isOurs(message.target)) this.counters.conflicts++;
    else if (message.targetMac !== undefined && isUnicast(message.targetMac)) {
      this.#hear({ mac: message.targetMac, address: message.target }, false, message.override);
    }
  }

  #handleEcho(frame: Frame, sourceMac: MacAddress, echo: IcmpEcho | undefined): void {
    const us = this.#ours(frameDestination(frame));
    const source = frameSource(frame);
    const isHost =
      !source.isMulticast && !isUnspecified(source) && !isLimitedBroadcast(source) && !this.#isOurs(source);
    if (echo === undefined || echo.reply || us === undefined || !isHost) this.counters.ignored++;
    else this.#reply(echoReplyFrame(us, { mac: sourceMac, address: source }, echo, frame.trafficClass));
  }

  /**
   * Somebody said where he is.
   * @param mayLearn he asked for us, which is reason to remember him
   * @param override replaces another address that is known already (RFC 4861 7.2.5)
   */
  #hear(station: Station, mayLearn: boolean, override: boolean): void {
    const key = keyOf(station.address);
    const entry = this.#table.get(key);
    if (entry === undefined) {
      if (mayLearn && this.#isOnLink(station.address) && this.#makeRoom()) {
        this.counters.learnt++;
        const { address, mac } = station;
        this.#table.set(key, { address, mac, waiting: [], deadline: Infinity, attempts: 0, questionDue: false });
      }
      return;
    }
    if (entry.mac !== undefined && !override) return;
    const wasAsking = entry.mac === undefined;
    entry.mac = station.mac;
    this.#table.delete(key);
    this.#table.set(key, entry);
    if (!wasAsking) return;
    this.counters.learnt++;
    this.#finish(entry);
    this.#updateDeadline();
  }

  /** The question for `hop`, new or under way; undefined when there is no room for one. */
  #question(now: number, hop: IpAddress): Entry | undefined {
    const known = this.#table.get(keyOf(hop));
    if (known !== undefined) return known;
    if (!this.#makeRoom()) return undefined;
    const entry = { address: hop, mac: undefined, waiting: [], deadline: 0, attempts: 0, questionDue: true };
    ask(entry, now);
    this.#table.set(keyOf(hop), entry);
    this.#asking.add(entry);
    this.#updateDeadline();
    return entry;
  }

  #finish(entry: Entry): void {
    this.#asking.delete(entry);
    entry.deadline = Infinity;
    for (const address of entry.waiting) this.#resolved.push({ address, mac: entry.mac });
    entry.waiting.length = 0;
  }

  /** Forgets whom we have not heard of for longest; questions under way stay. */
  #makeRoom(): boolean {
    if (this.#table.size < this.#maxEntries) return true;
    for (const [key, entry] of this.#table) {
      if (entry.mac !== undefined) return this.#table.delete(key);
    }
    return false;
  }

  #reply(frame: Uint8Array): void {
    if (this.#replies.length >= MAX_REPLIES) {
      this.counters.repliesDropped++;
      return;
    }
    this.counters.replies++;
    this.#replies.push(frame);
  }

  #updateDeadline(): void {
    this.#nextDeadline = Infinity;
    for (const entry of this.#asking) this.#nextDeadline = Math.min(this.#nextDeadline, entry.deadline);
  }

  #nextHop(address: IpAddress): IpAddress | undefined {
    if (isUnspecified(address)) return undefined;
    return this.#isOnLink(address) ? address : this.#gateways.find((hop) => hop.version === address.version);
  }

  /** MAC addresses that need no question. */
  #fixedMac(address: IpAddress): MacAddress | undefined {
    if (this.#isOurs(address)) return this.#mac;
    if (isLimitedBroadcast(address)) return BROADCAST_MAC;
    if (!address.isMulticast) return undefined;
    return address.version === 6 ? multicastMac(address) : multicastMacOfIpv4(address);
  }

  #isOnLink(address: IpAddress): boolean {
    if (isUnspecified(address)) return false;
    return this.#addresses.some((prefix) => {
      return prefix.contains(address) || (prefix.address.version === 6 && isLinkLocal(address));
    });
  }

  /** Our address to ask from: one on the same network, else the first of the version. */
  #sourceFor(target: IpAddress): IpAddress {
    const same = this.#addresses.filter(({ address }) => address.version === target.version);
    return (same.find((prefix) => prefix.contains(target)) ?? same[0])?.address ?? target;
  }

  #isOurs(address: IpAddress): boolean {
    return this.#addresses.some((prefix) => prefix.address.equals(address));
  }

  #ours(address: IpAddress): Station | undefined {
    return this.#isOurs(address) ? { mac: this.#mac, address } : undefined;
  }
}

function ask(entry: Entry, now: number): void {
  entry.attempts++;
  entry.questionDue = true;
  entry.deadline = now + RETRY_NS;
}

function keyOf({ version, w0, w1, w2, w3 }: IpAddress): string {
  return version === 4 ? `${w3}` : `${w0}:${w1}:${w2}:${w3}`;
}

/** 01:00:5e and the last 23 bits of the group. */
function multicastMacOfIpv4(group: IpAddress): MacAddress {
  return Uint8Array.of(0x01, 0x00, 0x5e, (group.w3 >>> 16) & 0x7f, (group.w3 >>> 8) & 0xff, group.w3 & 0xff);
}

function isUnspecified({ version, w0, w1, w2, w3 }: IpAddress): boolean {
  return version === 4 ? w3 === 0 : (w0 | w1 | w2 | w3) === 0;
}

function isLimitedBroadcast({ version, w3 }: IpAddress): boolean {
  return version === 4 && w3 === 0xff_ff_ff_ff;
}

/** fe80::/10. */
function isLinkLocal({ version, w0 }: IpAddress): boolean {
  return version === 6 && w0 >>> 22 === 0x3fa;
}

function isGroup(mac: MacAddress): boolean {
  return ((mac[0] ?? 0) & 1) !== 0;
}

function isUnicast(mac: MacAddress): boolean {
  return !isGroup(mac) && mac.some((byte) => byte !== 0);
}

function sameMac(a: MacAddress, b: MacAddress): boolean {
  return a.every((byte, index) => byte === b[index]);
}
