/**
 * The notification point of a device: packets that a switch marked Congestion Experienced draw congestion notification
 * packets to the queue pair that sent them, at most one per flow and interval. Owns which flows are owed one, and the
 * writing of it. Which packets count is the queue pair's business: those it admits. A CNP is none of them, so that none
 * ever draws another.
 *
 * Rules: ref:dcqcn#7 (annex A17), ref:wire#9. A flow is a connection, or what one sender of datagrams sends.
 */
import { CNP_BYTES, writeCnp } from '../../packets/cnp.ts';
import { invariant } from '../../packets/errors.ts';
import { ETHERNET_BYTES, readMac } from '../../packets/ethernet.ts';
import { type Frame, frameDestination, frameSource, frameSourceIs, Medium } from '../../packets/frame.ts';
import type { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import type { IpAddress } from '../../packets/index.ts';
import { trafficClassOf } from '../../packets/traffic-class.ts';
import type { PortCounters } from '../counters.ts';
import type { NotificationParameters } from './congestion-options.ts';

/**
 * Senders of datagrams that are remembered; beyond them the one that was seen first is forgotten, and may draw a CNP
 * too early.
 */
const MAX_DATAGRAM_FLOWS = 64;
const HOP_LIMIT = 64;
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Packets of one sender to one queue pair of ours: what a CNP for them needs, and when the last one was.
 *
 * @example
 * ```ts
 * import { MarkedFlow } from 'rocev2/transport';
 *
 * // A queue pair has one, and a notification point writes to it.
 * const flow = new MarkedFlow();
 * console.log(flow.owed, flow.lastAt); // false -Infinity
 * ```
 */
export class MarkedFlow {
  /** Headers on the way back. */
  template: HeaderTemplate | undefined = undefined;
  /** Of the marked packet. */
  pkey = 0;
  /** The queue pair that sent it. */
  senderQpn = 0;
  /** When the last CNP was written. */
  lastAt = NEVER;
  /** When its first packet came marked, where CNPs are counted by periods. */
  firstAt = NEVER;
  /** A CNP is to be written. */
  owed = false;
}

/** A flow of datagrams, and its sender. */
interface DatagramFlow {
  readonly source: IpAddress;
  readonly senderQpn: number;
  readonly flow: MarkedFlow;
}

/**
 * Turns marks into notifications.
 *
 * @example
 * ```ts
 * import { FrameWriter, HeaderTemplate, IpAddress, Medium } from 'rocev2/packets';
 * import { DEFAULT_NOTIFICATION, MarkedFlow, NotificationPoint, PortCounters } from 'rocev2/transport';
 *
 * const mac = new Uint8Array(6);
 * const [source, destination] = [IpAddress.parse('10.0.0.2'), IpAddress.parse('10.0.0.1')];
 * const path = { source, destination, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 50_000 };
 * const back = new HeaderTemplate({ ...path, medium: Medium.Ip, sourceMac: mac, destMac: mac });
 * const counters = new PortCounters();
 * const point = new NotificationPoint(DEFAULT_NOTIFICATION, counters);
 * const flow = new MarkedFlow();
 * // Three packets of queue pair 0x11 come marked; one CNP at most leaves in 50 us.
 * for (const now of [0, 1_000, 60_000]) {
 *   point.marked(now, flow, back, 0xffff, 0x11);
 *   point.transmit(now, new FrameWriter(1, 128));
 * }
 * console.log(counters.npCnpSent); // 2
 * ```
 */
export class NotificationPoint {
  /** How. */
  readonly parameters: NotificationParameters;
  readonly #counters: PortCounters;
  readonly #owed: MarkedFlow[] = [];
  readonly #datagrams: DatagramFlow[] = [];
  #oldest = 0;

  /** `counters` count what is sent. */
  constructor(parameters: NotificationParameters, counters: PortCounters) {
    this.parameters = parameters;
    this.#counters = counters;
  }

  /** Whether `transmit` has something to write. */
  get pending(): boolean {
    return this.#owed.length > 0;
  }

  /** A packet of this flow came marked. */
  marked(now: number, flow: MarkedFlow, template: HeaderTemplate, pkey: number, senderQpn: number): void {
    if (!this.#isDue(now, flow)) return;
    flow.template = template;
    flow.pkey = pkey;
    flow.senderQpn = senderQpn;
    flow.owed = true;
    this.#owed.push(flow);
  }

  /** A datagram to one of our own addresses came marked. */
  markedDatagram(now: number, frame: Frame, senderQpn: number): void {
    const flow = this.#datagramFlow(frame, senderQpn);
    if (this.#isDue(now, flow)) this.marked(now, flow, reversePath(frame), frame.pkey, senderQpn);
  }

  /** Writes what is owed until nothing is or the writer is full; true when something is left. */
  transmit(now: number, writer: FrameWriter): boolean {
    const owed = this.#owed;
    if (owed.length === 0) return false;
    let taken = 0;
    try {
      while (taken < owed.length && !writer.full) this.#write(now, owed[taken++] as MarkedFlow, writer);
    } finally {
      // The one that could not be written, too: it would be the first again.
      owed.splice(0, taken);
    }
    return owed.length > 0;
  }

  /**
   * Whether a mark draws a CNP. The interval begins when one leaves: one that a busy port kept back is not followed by
   * another at once.
   */
  #isDue(now: number, flow: MarkedFlow): boolean {
    if (flow.owed) return false;
    const { minTimeBetweenCnpsNs, spacing } = this.parameters;
    if (spacing === 'gap') return now - flow.lastAt >= minTimeBetweenCnpsNs;
    if (flow.firstAt === NEVER) flow.firstAt = now;
    const period = Math.floor((now - flow.firstAt) / minTimeBetweenCnpsNs);
    return period > Math.floor((flow.lastAt - flow.firstAt) / minTimeBetweenCnpsNs);
  }

  #write(now: number, flow: MarkedFlow, writer: FrameWriter): void {
    const { template } = flow;
    flow.owed = false;
    invariant(template !== undefined, 'a flow that is owed a CNP has a way back');
    const { becn, cnpDscp } = this.parameters;
    const bth = writer.begin(template);
    const { view } = writer;
    writeCnp(view, bth, flow.pkey, flow.senderQpn, becn);
    if (template.ipOffset > ETHERNET_BYTES) setPcp(view, bth - template.length + ETHERNET_BYTES, cnpDscp >> PCP_SHIFT);
    writer.end(template, bth + CNP_BYTES, trafficClassOf(cnpDscp));
    flow.lastAt = now;
    this.#counters.npCnpSent += 1;
  }

  #datagramFlow(frame: Frame, senderQpn: number): MarkedFlow {
    const flows = this.#datagrams;
    for (let i = 0; i < flows.length; i++) {
      const known = flows[i] as DatagramFlow;
      if (known.senderQpn === senderQpn && frameSourceIs(frame, known.source)) return known.flow;
    }
    const flow = new MarkedFlow();
    flows[this.#oldest] = { source: frameSource(frame), senderQpn, flow };
    this.#oldest = (this.#oldest + 1) % MAX_DATAGRAM_FLOWS;
    return flow;
  }
}

/** Headers of a reply to the sender of a datagram: source and destination exchanged. */
function reversePath(frame: Frame): HeaderTemplate {
  const ethernet = frame.medium === Medium.Ethernet;
  const { view, start } = frame;
  return new HeaderTemplate({
    medium: frame.medium,
    sourceMac: ethernet ? readMac(view, start) : NO_MAC,
    destMac: ethernet ? readMac(view, start + MAC_BYTES) : NO_MAC,
    ...(frame.vlanTci < 0 ? {} : { vlanTci: frame.vlanTci }),
    source: frameDestination(frame),
    destination: frameSource(frame),
    trafficClass: 0,
    hopLimit: HOP_LIMIT,
    flowLabel: 0,
    sourcePort: frame.sourcePort,
  });
}

/** On a VLAN the class of a packet is in its tag, and a CNP must not wait behind the data that it is about. */
function setPcp(view: DataView, tciAt: number, pcp: number): void {
  view.setUint8(tciAt, (pcp << TCI_PCP_SHIFT) | (view.getUint8(tciAt) & ~TCI_PCP_MASK));
}

/** A DSCP's class is its upper three bits. */
const PCP_SHIFT = 3;
/** In the first byte of a tag. */
const TCI_PCP_SHIFT = 5;
const TCI_PCP_MASK = 0xe0;
const MAC_BYTES = 6;
const NO_MAC = new Uint8Array(MAC_BYTES);
