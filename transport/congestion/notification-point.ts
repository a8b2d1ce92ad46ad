/**
 * The notification point of a device: packets that a switch marked Congestion Experienced draw congestion notification packets to the
 * queue pair that sent them, at most one per flow and interval. Owns which flows are owed one, and the writing of it. Which packets count
 * is the queue pair's business: those it admits. A CNP is none of them, so that none ever draws another.
 *
 * Rules: ref:dcqcn#7 (annex A17), ref:wire#9. A flow is a connection, or what one sender of datagrams sends.
 */
import { CNP_BYTES, writeCnp } from '../../packets/cnp.ts';
import { readMac } from '../../packets/ethernet.ts';
import { type Frame, frameDestination, frameSource, frameSourceIs, Medium } from '../../packets/frame.ts';
import type { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import type { IpAddress } from '../../packets/index.ts';
import type { PortCounters } from '../counters.ts';
import type { NotificationParameters } from './congestion-options.ts';

/** Senders of datagrams that are remembered; beyond them the one that was seen first is forgotten, and may draw a CNP too early. */
const MAX_DATAGRAM_FLOWS = 64;
const DSCP_SHIFT = 2;
const HOP_LIMIT = 64;

/** Packets of one sender to one queue pair of ours: what a CNP for them needs, and when the last one was. */
export class MarkedFlow {
  /** Headers on the way back. */
  template: HeaderTemplate | undefined = undefined;
  /** Of the marked packet. */
  pkey = 0;
  /** The queue pair that sent it. */
  senderQpn = 0;
  /** When a CNP was last decided on. */
  lastAt = Number.NEGATIVE_INFINITY;
  /** A CNP is to be written. */
  owed = false;
}

/** A flow of datagrams, and who it is from. */
interface DatagramFlow {
  readonly source: IpAddress;
  readonly senderQpn: number;
  readonly flow: MarkedFlow;
}

/** Turns marks into notifications. */
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
    if (flow.owed || now - flow.lastAt < this.parameters.minTimeBetweenCnpsNs) return;
    flow.template = template;
    flow.pkey = pkey;
    flow.senderQpn = senderQpn;
    flow.lastAt = now;
    flow.owed = true;
    this.#owed.push(flow);
  }

  /** A datagram to one of our own addresses came marked. */
  markedDatagram(now: number, frame: Frame, senderQpn: number): void {
    const flow = this.#datagramFlow(frame, senderQpn);
    if (now - flow.lastAt < this.parameters.minTimeBetweenCnpsNs) return;
    this.marked(now, flow, wayBack(frame), frame.pkey, senderQpn);
  }

  /** Writes what is owed until nothing is or the writer is full; true when something is left. */
  transmit(writer: FrameWriter): boolean {
    let written = 0;
    for (; written < this.#owed.length && !writer.full; written++) this.#write(this.#owed[written], writer);
    if (written > 0) this.#owed.splice(0, written);
    return this.#owed.length > 0;
  }

  #write(flow: MarkedFlow | undefined, writer: FrameWriter): void {
    if (flow?.template === undefined) return;
    const bth = writer.begin(flow.template);
    writeCnp(writer.view, bth, flow.pkey, flow.senderQpn, this.parameters.becn);
    writer.end(flow.template, bth + CNP_BYTES, this.parameters.cnpDscp << DSCP_SHIFT);
    flow.owed = false;
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

/** Headers of an answer to whoever sent a datagram: back to where it came from, from where it came to. */
function wayBack(frame: Frame): HeaderTemplate {
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

const MAC_BYTES = 6;
const NO_MAC = new Uint8Array(MAC_BYTES);
