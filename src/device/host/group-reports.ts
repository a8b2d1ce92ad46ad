/**
 * The multicast listener of a host on Ethernet: reports when it joins and leaves, and answers to queries. Sans I/O:
 * deadlines are numbers, randomness is an argument.
 *
 * It sends IGMPv3 and MLDv2, and for a while an older version after a query of one. A change is reported twice, in case
 * a report is lost. Groups that every host is in are not reported. However many queries come, a group is reported once
 * a second at most (and its changes twice). Whatever bytes arrive: no exception, and nothing
 * sent but reports.
 * Sources: RFC 3376 sections 5.1, 5.2, 7.2, 8; RFC 3810 sections 6.1, 6.2, 8.2, 9; RFC 2236 sections 3, 8; RFC 2710
 * sections 4, 7.
 */
import { IpAddress, type IpPrefix, type MacAddress } from '../../../packets/address.ts';
import { type Frame, Medium } from '../../../packets/frame.ts';
import type { FrameWriter } from '../../../packets/frame-writer.ts';
import { GroupRecordType } from '../../../packets/group-record.ts';
import { type IgmpMessage, IgmpType, IP_PROTOCOL_IGMP, readIgmp } from '../../../packets/igmp.ts';
import { IPV4_BYTES, IPV4_PROTOCOL_AT, IPV4_SOURCE_AT, IPV4_TOTAL_LENGTH_AT } from '../../../packets/ipv4.ts';
import {
  IPV6_BYTES,
  IPV6_HOP_LIMIT_AT,
  IPV6_NEXT_HEADER_AT,
  IPV6_PAYLOAD_LENGTH_AT,
  IPV6_SOURCE_AT,
} from '../../../packets/ipv6.ts';
import {
  afterHopByHop,
  IP_PROTOCOL_HOP_BY_HOP,
  MLD_HOP_LIMIT,
  type MldMessage,
  MldType,
  readMld,
} from '../../../packets/mld.ts';
import type { Random } from '../../../transport/random.ts';
import { leaveFrame, recordsFrame, reportFrame } from './group-frames.ts';
import { HostAddresses } from './host-addresses.ts';
import type { FrameEndpoint } from './neighbour-frames.ts';

export interface GroupReportsOptions {
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  readonly vlanTci: number | undefined;
  readonly random: Random;
  readonly suspect?: ((cause: 'bad-source', source: IpAddress) => void) | undefined;
}

/** One group, from the join to the last report of its end. */
interface GroupMembership {
  readonly group: IpAddress;
  leaving: boolean;
  /** Reports of the last change still to send, and when. */
  changesLeft: number;
  changeAt: number;
  /** When a query is to be answered; Infinity for no query. */
  answerAt: number;
  /** When one was answered last. */
  answeredAt: number;
}

/** The version to send: the newest (3 of IGMP, 2 of MLD) unless a query of an older version came recently. */
interface Compatibility {
  version: 1 | 2 | undefined;
  until: number;
}

export class GroupReports {
  /** `badSource`: queries and reports from what cannot be a host of this link. */
  readonly counters = { reports: 0, leaves: 0, queries: 0, suppressed: 0, badSource: 0 };
  readonly #options: GroupReportsOptions;
  readonly #hosts: HostAddresses;
  readonly #listening: GroupMembership[] = [];
  readonly #older: Readonly<Record<4 | 6, Compatibility>> = {
    4: { version: undefined, until: 0 },
    6: { version: undefined, until: 0 },
  };

  constructor(options: GroupReportsOptions) {
    this.#options = options;
    this.#hosts = new HostAddresses(Medium.Ethernet, options.addresses);
  }

  join(now: number, group: IpAddress): void {
    if (isNeverReported(group)) return;
    this.#change(now, this.#find(group) ?? this.#add(group), false);
  }

  leave(now: number, group: IpAddress): void {
    const listening = this.#find(group);
    if (listening === undefined) return;
    this.#change(now, listening, true);
    // IGMPv1 has no leave message.
    if (this.#version(now, group) === 1 && group.version === 4) this.#forget(listening);
  }

  /** Takes a packet that is IGMP or MLD behind its IP header; all else is ignored. */
  handleFrame(now: number, frame: Frame, ipAt: number): void {
    const { view, end } = frame;
    const version = end > ipAt ? view.getUint8(ipAt) >>> 4 : 0;
    if (version === 4) this.#handleIgmp(now, this.#fromHost(igmpIn(view, ipAt, end), view, ipAt));
    else if (version === 6) this.#handleMld(now, this.#fromHost(mldIn(view, ipAt, end), view, ipAt));
  }

  /**
   * The message, if its source can be that of a listener or router of this link: over IPv4 a host or, as snooping
   * switches send, 0.0.0.0; over IPv6 a link-local address (RFC 3810 section 5.1.14), or :: in reports (5.2.13).
   */
  #fromHost<M extends IgmpMessage | MldMessage>(message: M | undefined, view: DataView, ipAt: number): M | undefined {
    if (message === undefined) return undefined;
    const isV4 = view.getUint8(ipAt) >>> 4 === 4;
    const source = IpAddress.read(view, ipAt + (isV4 ? IPV4_SOURCE_AT : IPV6_SOURCE_AT), isV4 ? 4 : 6);
    const unspecified = source.w0 === 0 && source.w1 === 0 && source.w3 === 0 && (isV4 || source.w2 === 0);
    const isV6Host = source.w0 >>> 22 === LINK_LOCAL_PREFIX && this.#hosts.isHost(source);
    const fits = isV4
      ? unspecified || this.#hosts.isHost(source)
      : isV6Host || (unspecified && message.type !== MldType.Query);
    if (!fits) {
      this.counters.badSource += 1;
      this.#options.suspect?.('bad-source', source);
    }
    return fits ? message : undefined;
  }

  nextDeadline(): number {
    let next = Infinity;
    for (const { changeAt, answerAt } of this.#listening) next = Math.min(next, changeAt, answerAt);
    return next;
  }

  /** Writes reports that are due until the writer is full; true when some are left. */
  poll(now: number, writer: FrameWriter): boolean {
    if (this.nextDeadline() > now) return false;
    for (const listening of [...this.#listening]) {
      if (writer.full) return true;
      // Before anything can go wrong: what was due is due once.
      const { changeAt, answerAt } = listening;
      if (changeAt <= now) {
        listening.changeAt = Infinity;
        this.#sayChange(now, listening, writer);
      } else if (answerAt <= now) {
        listening.answerAt = Infinity;
        this.#answer(now, listening, writer);
      }
    }
    return this.nextDeadline() <= now;
  }

  #change(now: number, listening: GroupMembership, leaving: boolean): void {
    listening.leaving = leaving;
    listening.changesLeft = ROBUSTNESS;
    listening.changeAt = now;
    listening.answerAt = Infinity;
  }

  #sayChange(now: number, listening: GroupMembership, writer: FrameWriter): void {
    const { group, leaving } = listening;
    const version = this.#version(now, group);
    const type = leaving ? GroupRecordType.ChangeToInclude : GroupRecordType.ChangeToExclude;
    if (version === undefined) this.#send(writer, recordsFrame(this.#station(group), [{ type, group }]));
    else if (leaving) this.#send(writer, leaveFrame(this.#station(group), group));
    else this.#send(writer, reportFrame(this.#station(group), group, version));
    this.counters[leaving ? 'leaves' : 'reports'] += 1;
    // An older version reports the end once.
    listening.changesLeft = leaving && version !== undefined ? 0 : listening.changesLeft - 1;
    listening.changeAt = listening.changesLeft > 0 ? now + this.#within(intervalNs(version)) : Infinity;
    if (leaving && listening.changesLeft === 0) this.#forget(listening);
  }

  #answer(now: number, listening: GroupMembership, writer: FrameWriter): void {
    const { group } = listening;
    const version = this.#version(now, group);
    listening.answerAt = Infinity;
    listening.answeredAt = now;
    const record = { type: GroupRecordType.ModeIsExclude, group };
    if (version === undefined) this.#send(writer, recordsFrame(this.#station(group), [record]));
    else this.#send(writer, reportFrame(this.#station(group), group, version));
    this.counters.reports += 1;
  }

  #handleIgmp(now: number, message: IgmpMessage | undefined): void {
    if (message?.type === IgmpType.Query) {
      const { version, maxResponse, group } = message;
      this.#heardQuery(now, group, version === 3 ? undefined : version, maxResponse * 1e8);
    } else if (message?.type === IgmpType.V1Report || message?.type === IgmpType.V2Report) {
      this.#heardReport(now, message.group);
    }
  }

  #handleMld(now: number, message: MldMessage | undefined): void {
    if (message?.type === MldType.Query)
      this.#heardQuery(now, message.group, message.version === 2 ? undefined : 1, message.maxResponse * 1e6);
    else if (message?.type === MldType.V1Report) this.#heardReport(now, message.group);
  }

  /** Answers within `maxResponseNs`, and not later than an earlier query requires. */
  #heardQuery(now: number, asked: IpAddress, older: 1 | 2 | undefined, maxResponseNs: number): void {
    this.counters.queries += 1;
    const compatibility = this.#older[asked.version];
    if (older !== undefined && (compatibility.version !== 1 || compatibility.until <= now || older === 1)) {
      compatibility.version = older;
      compatibility.until = now + OLDER_QUERIER_NS;
    }
    for (const listening of this.#listening) {
      const { group, leaving } = listening;
      if (leaving || group.version !== asked.version || !(asked.isMulticast ? asked.equals(group) : true)) continue;
      const at = Math.max(now + this.#within(maxResponseNs), listening.answeredAt + ANSWER_INTERVAL_NS);
      listening.answerAt = Math.min(listening.answerAt, at);
    }
  }

  /** With an older version, one report per group is enough (RFC 2236 section 3). */
  #heardReport(now: number, group: IpAddress): void {
    const listening = this.#find(group);
    if (listening === undefined || listening.answerAt === Infinity || this.#version(now, group) === undefined) return;
    listening.answerAt = Infinity;
    this.counters.suppressed += 1;
  }

  #version(now: number, group: IpAddress): 1 | 2 | undefined {
    const { version, until } = this.#older[group.version];
    return now < until ? version : undefined;
  }

  #send(writer: FrameWriter, frame: Uint8Array): void {
    writer.appendRaw(frame, 0, frame.length);
  }

  /** MLD is sent from the link-local address, or from :: without one (RFC 3810 section 5.2.13). */
  #station(group: IpAddress): FrameEndpoint {
    const { mac, addresses, vlanTci } = this.#options;
    const fits = ({ address }: IpPrefix): boolean =>
      address.version === group.version && (group.version === 4 || address.w0 >>> 22 === LINK_LOCAL_PREFIX);
    const address =
      addresses.find(fits)?.address ?? new IpAddress(group.version, 0, 0, group.version === 4 ? 0xff_ff : 0, 0);
    return { mac, address, vlanTci };
  }

  #within(ns: number): number {
    return Math.floor((this.#options.random.u32() / 2 ** 32) * ns);
  }

  #find(group: IpAddress): GroupMembership | undefined {
    return this.#listening.find((listening) => listening.group.equals(group));
  }

  #add(group: IpAddress): GroupMembership {
    const listening = {
      group,
      leaving: false,
      changesLeft: 0,
      changeAt: Infinity,
      answerAt: Infinity,
      answeredAt: -Infinity,
    };
    this.#listening.push(listening);
    return listening;
  }

  #forget(listening: GroupMembership): void {
    this.#listening.splice(this.#listening.indexOf(listening), 1);
  }
}

function igmpIn(view: DataView, ipAt: number, end: number): IgmpMessage | undefined {
  if (end - ipAt < IPV4_BYTES || view.getUint8(ipAt + IPV4_PROTOCOL_AT) !== IP_PROTOCOL_IGMP) return undefined;
  const headerBytes = 4 * (view.getUint8(ipAt) & 0x0f);
  const ipEnd = ipAt + view.getUint16(ipAt + IPV4_TOTAL_LENGTH_AT);
  if (headerBytes < IPV4_BYTES || ipAt + headerBytes > ipEnd || ipEnd > end) return undefined;
  return readIgmp(view, ipAt + headerBytes, ipEnd);
}

/** A query that a router could have forwarded is ignored (RFC 3810 section 5.1.14). */
function mldIn(view: DataView, ipAt: number, end: number): MldMessage | undefined {
  if (end - ipAt < IPV6_BYTES || view.getUint8(ipAt + IPV6_HOP_LIMIT_AT) !== MLD_HOP_LIMIT) return undefined;
  if (view.getUint8(ipAt + IPV6_NEXT_HEADER_AT) !== IP_PROTOCOL_HOP_BY_HOP) return undefined;
  const payload = ipAt + IPV6_BYTES;
  const ipEnd = payload + view.getUint16(ipAt + IPV6_PAYLOAD_LENGTH_AT);
  if (ipEnd > end) return undefined;
  const at = afterHopByHop(view, payload, ipEnd);
  return at < 0 ? undefined : readMld(view, ipAt, at, ipEnd);
}

/**
 * All hosts, and groups that do not leave the node: they are never queried (RFC 3376 section 5, RFC 3810 section 6).
 */
function isNeverReported(group: IpAddress): boolean {
  if (group.version === 4) return group.w3 === ALL_HOSTS;
  const scope = (group.w0 >>> 16) & 0x0f;
  return scope <= 1 || group.equals(ALL_NODES);
}

/** The interval between the two reports of a change: one second, ten in older versions. */
function intervalNs(version: 1 | 2 | undefined): number {
  return version === undefined ? 1e9 : 10e9;
}

const ROBUSTNESS = 2;
/** Between two answers about a group; a querier asks for one no oftener (RFC 3376 section 8.8). */
const ANSWER_INTERVAL_NS = 1e9;
/** Robustness times the query interval of 125 s, and 10 s for answers. */
const OLDER_QUERIER_NS = 260e9;
const LINK_LOCAL_PREFIX = 0x3fa;
const ALL_HOSTS = 0xe0_00_00_01;
const ALL_NODES = IpAddress.parse('ff02::1');
