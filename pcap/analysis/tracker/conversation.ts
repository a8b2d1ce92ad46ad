/**
 * A conversation while the capture is read: a `ConversationReport` with the current figures, and its plain copy for the
 * end.
 *
 * Owns both ends with their figures, and the PSN space of each. `tracker.ts` decides which packets belong to it.
 */
import { formatMac, type IpAddress, MAC_BYTES } from '../../../packets/address.ts';
import { ETHERTYPE_AT } from '../../../packets/ethernet.ts';
import { MAX_FLOW_LABEL } from '../../../packets/flow-label.ts';
import { type Frame, Medium } from '../../../packets/frame.ts';
import { OpFlag, SERVICE_MASK, Service } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import { virtualNetworkText } from '../../tunnels/index.ts';
import { Role } from '../facts.ts';
import type { CmReport, ConversationReport, EndReport, TransportEvent } from '../types.ts';
import { CongestionFigures, congestionReport } from './congestion-figures.ts';
import { IpIdOrder } from './id-order.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { PsnSpace } from './psn-space.ts';
import { RequesterFigures, requesterReport } from './requester-figures.ts';

/** Figures of an end that can be gone back to. */
export interface EndSnapshot {
  readonly packets: number;
  readonly bytes: number;
  readonly badIcrc: number;
  readonly pathMtu: number;
  readonly requester: RequesterFigures;
  readonly congestion: CongestionFigures;
}

/** One end and all that it sent. */
export class ConversationEnd implements EndReport {
  readonly ip: IpAddress;
  qpn = -1;
  network = '';
  vlan = -1;
  vlanPriority = -1;
  readonly vlans: number[] = [];
  readonly pkeys: number[] = [];
  migReq = -1;
  migReqFrame = 0;
  packets = 0;
  bytes = 0;
  badIcrc = 0;
  pathMtu = 0;
  /** Payload of the last FIRST or MIDDLE packet that it sent, or that the other end sent since it changed; 0: none. */
  mtu = 0;
  flowLabel = -1;
  readonly sourcePorts: number[] = [];
  requester = new RequesterFigures();
  congestion = new CongestionFigures();
  ids = new IpIdOrder();
  /** PSNs of the requests that this end sends, once there are any. */
  space: PsnSpace | undefined;
  /** The source port seen last. */
  port = -1;
  /** Tag and P_Key seen last. */
  #tci = UNSEEN;
  #pkey = UNSEEN;
  #mac: Uint8Array | undefined;
  #address = '';

  constructor(ip: IpAddress) {
    this.ip = ip;
  }

  get address(): string {
    if (this.#address === '') this.#address = this.ip.toString();
    return this.#address;
  }

  get mac(): string {
    return this.#mac === undefined ? '' : formatMac(this.#mac);
  }

  /** Books a packet that it sent, whatever it is. */
  count(facts: MutableFacts): void {
    const { frame, tunnels, depth } = facts.dissection;
    this.packets++;
    this.bytes += facts.packet.originalLength;
    if (frame.sourcePort !== this.port) this.#learnPort(frame.sourcePort);
    if (this.packets === 1) {
      this.#learnLink(frame);
      if (depth > 0) this.network = virtualNetworkText(tunnels, depth);
    }
    if (frame.vlanTci !== this.#tci) this.#learnVlan(frame.vlanTci);
    // A damaged packet may have any.
    if (facts.icrc === IcrcState.Bad) return;
    if (frame.pkey !== this.#pkey) this.#learnPkey(frame.pkey);
    // A CNP always has 0 (ref:wire#9).
    if (frame.migReq !== this.migReq && facts.role !== Role.Cnp) this.#learnMigReq(frame.migReq, facts.packet.number);
  }

  snapshot(): EndSnapshot {
    const { packets, bytes, badIcrc, pathMtu } = this;
    return { packets, bytes, badIcrc, pathMtu, requester: this.requester.copy(), congestion: this.congestion.copy() };
  }

  /** The packets since then were of something else, and this end has ended. */
  restore({ packets, bytes, badIcrc, pathMtu, requester, congestion }: EndSnapshot): void {
    Object.assign(this, { packets, bytes, badIcrc, pathMtu, requester, congestion });
    this.space?.end(requester);
  }

  /** Takes over what was booked for the same end elsewhere; its PSN space only where this one has none. */
  absorb(other: ConversationEnd): void {
    if (this.qpn < 0) this.qpn = other.qpn;
    if (this.flowLabel < 0) this.flowLabel = other.flowLabel;
    this.packets += other.packets;
    this.bytes += other.bytes;
    this.badIcrc += other.badIcrc;
    this.pathMtu = Math.max(this.pathMtu, other.pathMtu);
    if (this.mtu === 0) this.mtu = other.mtu;
    for (const port of other.sourcePorts) this.#learnPort(port);
    for (const vlan of other.vlans) addNew(this.vlans, vlan);
    for (const pkey of other.pkeys) addNew(this.pkeys, pkey);
    if (this.migReq < 0) this.migReq = other.migReq;
    this.migReqFrame = Math.max(this.migReqFrame, other.migReqFrame);
    this.congestion.absorb(other.congestion);
    this.ids = this.ids.better(other.ids);
    if (this.#mac === undefined && other.#mac !== undefined) {
      this.#mac = other.#mac;
      this.network = other.network;
      this.vlan = other.vlan;
      this.vlanPriority = other.vlanPriority;
    }
    if (this.space !== undefined || other.space === undefined) return;
    this.space = other.space;
    this.requester = other.requester;
  }

  #learnPort(port: number): void {
    this.port = port;
    if (this.sourcePorts.length < MOST_PORTS && !this.sourcePorts.includes(port)) this.sourcePorts.push(port);
  }

  #learnVlan(tci: number): void {
    this.#tci = tci;
    addNew(this.vlans, tci < 0 ? 0 : tci & VLAN_ID_MASK);
  }

  #learnPkey(pkey: number): void {
    this.#pkey = pkey;
    addNew(this.pkeys, pkey);
  }

  #learnMigReq(migReq: number, number: number): void {
    if (this.migReq >= 0) this.migReqFrame = number;
    this.migReq = migReq;
  }

  #learnLink(frame: Frame): void {
    const { bytes, start, medium, vlanTci, view, ipVersion, ipOffset } = frame;
    if (ipVersion === 6) this.flowLabel = view.getUint32(ipOffset) & MAX_FLOW_LABEL;
    if (medium !== Medium.Ethernet) return;
    this.#mac = bytes.slice(start + ETHERTYPE_AT - MAC_BYTES, start + ETHERTYPE_AT);
    if (vlanTci < 0) return;
    this.vlan = vlanTci & VLAN_ID_MASK;
    this.vlanPriority = vlanTci >>> 13;
  }
}

/** The mutable `CmReport`. */
export type MutableCmReport = { -readonly [K in keyof CmReport]: CmReport[K] };

export class Conversation implements ConversationReport {
  /** 0: not yet one of the capture (`lives.ts`). */
  id: number;
  service: ConversationReport['service'];
  readonly learnt: 'cm' | 'traffic';
  readonly interfaceIndex: number;
  sameAs = 0;
  previousLife = 0;
  firstFrame: number;
  lastFrame: number;
  startNs: number;
  endNs: number;
  readonly ends: readonly [ConversationEnd, ConversationEnd];
  cm?: MutableCmReport;
  /** Number of the vantage point that sees it. */
  readonly vantage: number;
  /** Payload of a full packet: what connection management agreed on, or what was seen first or last; 0: not known. */
  pathMtu = 0;
  /** DREQ has come: what follows on these queue pairs is something else. */
  ended = false;
  /** The conversation this half turned out to be a part of. */
  mergedInto: Conversation | undefined;
  /** And end 0 of this half is end 1 of that. */
  mergedCrosswise = false;
  /** What may be the next life of the queue pairs, as a conversation of its own, and which one it may follow. */
  rival: Conversation | undefined;
  rivalOf: Conversation | undefined;
  /** Its events, while it is not known whether they are true (`hidden-life.ts`). */
  held: TransportEvent[] | undefined;
  readonly #withinHost: boolean;

  constructor(
    id: number,
    learnt: 'cm' | 'traffic',
    vantage: number,
    ends: readonly [ConversationEnd, ConversationEnd],
    facts: MutableFacts,
  ) {
    this.id = id;
    this.learnt = learnt;
    this.vantage = vantage;
    this.ends = ends;
    this.service = 'RC';
    this.interfaceIndex = facts.packet.interfaceIndex;
    this.firstFrame = facts.packet.number;
    this.lastFrame = this.firstFrame;
    this.startNs = facts.timeNs;
    this.endNs = facts.timeNs;
    this.#withinHost = ends[0].ip.equals(ends[1].ip);
  }

  end(side: 0 | 1): ConversationEnd {
    return side === 0 ? this.ends[0] : this.ends[1];
  }

  /** Takes over a half of itself. @param crosswise end 0 of the one is end 1 of the other */
  absorb(half: Conversation, crosswise: boolean): void {
    for (const side of [0, 1] as const) {
      const mine = this.end(side);
      mine.absorb(half.end(crosswise === (side === 0) ? 1 : 0));
      if (mine.space === undefined) continue;
      mine.space.state.conversation = this;
      mine.space.state.requester = side;
    }
    this.firstFrame = Math.min(this.firstFrame, half.firstFrame);
    this.lastFrame = Math.max(this.lastFrame, half.lastFrame);
    this.startNs = Math.min(this.startNs, half.startNs);
    this.endNs = Math.max(this.endNs, half.endNs);
    if (this.pathMtu === 0) this.pathMtu = half.pathMtu;
  }

  /**
   * A FIRST or MIDDLE packet has another payload than those before: they are full, so this is the path MTU
   * (ref:wire#8). Where an end changes it, the other one does, too.
   */
  learnMtu(sender: 0 | 1, payloadLength: number): void {
    const end = this.end(sender);
    const changed = end.mtu > 0;
    end.mtu = payloadLength;
    end.pathMtu = Math.max(end.pathMtu, payloadLength);
    if (!changed && this.pathMtu > 0) return;
    this.pathMtu = payloadLength;
    for (const each of this.ends) {
      if (each.mtu > 0) each.mtu = payloadLength;
      each.space?.learnMtu(payloadLength);
    }
  }

  /** Books a packet of one of the ends. */
  count(facts: MutableFacts, sender: 0 | 1): void {
    facts.conversation = this;
    facts.sender = sender;
    this.lastFrame = facts.packet.number;
    this.endNs = facts.timeNs;
    this.end(sender).count(facts);
  }

  /** Both ends have one address: a host that talks to itself, where only queue pairs tell who sent a packet. */
  get isWithinHost(): boolean {
    return this.#withinHost;
  }

  /** For JSON, which would not find what is computed. */
  toJSON(): ConversationReport {
    return conversationReport(this);
  }
}

/** The figures as they are, without what makes them. */
export function conversationReport(live: ConversationReport): ConversationReport {
  const { id, service, learnt, interfaceIndex, sameAs, previousLife, ends, cm } = live;
  const { firstFrame, lastFrame, startNs, endNs } = live;
  return {
    id,
    service,
    learnt,
    interfaceIndex,
    sameAs,
    previousLife,
    firstFrame,
    lastFrame,
    startNs,
    endNs,
    ends: [endReport(ends[0]), endReport(ends[1])],
    ...(cm === undefined ? {} : { cm: { ...cm } }),
  };
}

function endReport(live: EndReport): EndReport {
  const { address, mac, qpn, network, vlan, vlanPriority, migReq, migReqFrame, packets, bytes, badIcrc, pathMtu } =
    live;
  return {
    address,
    mac,
    qpn,
    network,
    sourcePorts: [...live.sourcePorts],
    flowLabel: live.flowLabel,
    vlan,
    vlanPriority,
    vlans: [...live.vlans],
    pkeys: [...live.pkeys],
    migReq,
    migReqFrame,
    packets,
    bytes,
    badIcrc,
    pathMtu,
    requester: requesterReport(live.requester),
    congestion: congestionReport(live.congestion),
  };
}

/** The transport service of a packet, by its opcode. */
export function serviceOf(frame: Frame): Conversation['service'] {
  switch (frame.opcode & SERVICE_MASK) {
    case Service.Uc:
      return 'UC';
    case Service.Rd:
      return 'RD';
    case Service.Ud:
      return 'UD';
    case Service.Xrc:
      return 'XRC';
    default:
      return 'RC';
  }
}

/** Its payload is the path MTU. One that is smaller than any is an error, and counts of PSNs do not follow from it. */
export function showsMtu({ flags, payloadLength }: Frame): boolean {
  return (flags & (OpFlag.First | OpFlag.Middle)) !== 0 && payloadLength >= SMALLEST_MTU;
}

function addNew(values: number[], value: number): void {
  if (values.length < MOST_VALUES && !values.includes(value)) values.push(value);
}

const MOST_PORTS = 16;
/** VLANs, or P_Keys. */
const MOST_VALUES = 4;
/** No value that a packet may have. */
const UNSEEN = -2;
const VLAN_ID_MASK = 0x0f_ff;
/** Of all path MTUs, bytes (ref:wire#8). */
const SMALLEST_MTU = 256;
