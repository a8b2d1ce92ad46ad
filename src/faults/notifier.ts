/**
 * Sends congestion notification packets (CNPs) for packets that were marked here, in the name of the receiver.
 *
 * It is for receivers that send none: rdma_rxe neither marks, nor notifies, nor slows down (ref:wire#9, ref:rxe#3).
 * Switches do this as well and call it Fast CNP: draft-xiao-rtgwg-rocev2-fast-cnp; "Enabling the Fast CNP Function" in
 * Huawei's guide for CloudEngine switches, which learn queue pairs from packets as we do; US 2020/0396170, "CNP
 * Generation by Switch".
 *
 * Owns the interval between notifications of a flow, one queue pair's packets to one address, and the packet. It sends
 * none for packets marked elsewhere, and none for a CNP (ref:dcqcn#7). No clock and no I/O: its owner sends.
 */

import { BTH_BYTES } from '../../packets/bth.ts';
import { CNP_BYTES, writeCnp } from '../../packets/cnp.ts';
import { ETHERNET_BYTES, VLAN_TAG_BYTES } from '../../packets/ethernet.ts';
import { Frame, FrameStatus, frameDestination, frameSource, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { GSI_QPN } from '../../packets/mad.ts';
import { OpFlag } from '../../packets/opcode.ts';
import { vlanTci } from '../../packets/vlan.ts';
import { type NotificationParameters, notificationParameters } from '../../transport/congestion/congestion-options.ts';
import type { ConnectionTracker } from './conversations.ts';
import type { FaultDirection } from './rule.ts';

/** How notifications are sent, by the names that a device's own have; absent is its default. */
export type NotifyOptions = Partial<Omit<NotificationParameters, 'signal' | 'spacing'>>;

/** Outcome of the RoCE packets that were marked in one direction. Each is one of the last four. */
export interface NotifierCounters {
  /** RoCE packets marked here, CNPs and management datagrams left aside. */
  marked: number;
  /** A congestion notification packet went back. */
  cnpSent: number;
  /** One had gone back for the same flow less than the interval ago. */
  filtered: number;
  /** The queue pair that sent it is not known yet. */
  unknownSender: number;
  /** There was no room for one, or the packet was damaged or oddly wrapped. */
  unsent: number;
}

/**
 * Takes a frame that goes against `direction`; false when there is no room. @param about serial of the frame that was
 * marked
 */
export type NotificationSender = (now: number, direction: number, frame: FrameWriter, about: number) => boolean;

/** Sends CNPs for receivers on both sides of a wire. */
export class Notifier {
  /** By the direction of what was marked, as `FAULT_DIRECTIONS` has them. */
  readonly counters: readonly [NotifierCounters, NotifierCounters] = [newCounters(), newCounters()];
  readonly #conversations: ConnectionTracker;
  readonly #parameters: NotificationParameters;
  readonly #send: NotificationSender;
  /** By flow, oldest first: when the last notification went. */
  readonly #lastNs = new Map<number, number>();
  readonly #frame = new Frame();
  readonly #writer = new FrameWriter(1, MAX_HEADERS_BYTES + CNP_BYTES + 4);

  /** @throws RoceError ERR_ROCE_ARGUMENT naming what is out of range */
  constructor(conversations: ConnectionTracker, options: NotifyOptions, send: NotificationSender) {
    this.#conversations = conversations;
    this.#parameters = notificationParameters(options);
    this.#send = send;
  }

  /** What was counted, by direction of the packets marked. */
  get byDirection(): Readonly<Record<FaultDirection, Readonly<NotifierCounters>>> {
    return { 'a-to-b': this.counters[0], 'b-to-a': this.counters[1] };
  }

  /**
   * An Ethernet frame has been marked on its way in `direction`. True when a notification went back.
   *
   * @param serial its serial for observers
   */
  marked(now: number, direction: number, serial: number, bytes: Uint8Array, start: number, end: number): boolean {
    const frame = this.#frame;
    const { buffer, byteOffset, byteLength } = bytes;
    const view = new DataView(buffer, byteOffset, byteLength);
    if (parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return false;
    if ((frame.flags & OpFlag.Cnp) !== 0 || frame.destQpn <= GSI_QPN) return false;
    const counters = direction === 0 ? this.counters[0] : this.counters[1];
    counters.marked++;
    const sender = this.#conversations.senderOf(frame, direction);
    if (sender < 0) {
      counters.unknownSender++;
      return false;
    }
    const flow = this.#conversations.flowOf(frame, direction, sender);
    if (now - (this.#lastNs.get(flow) ?? -Infinity) < this.#parameters.minTimeBetweenCnpsNs) {
      counters.filtered++;
      return false;
    }
    // A damaged packet may carry any address.
    if (!icrcMatches(frame) || !this.#write(frame, sender) || !this.#send(now, direction, this.#writer, serial)) {
      counters.unsent++;
      return false;
    }
    counters.cnpSent++;
    this.#remember(flow, now);
    return true;
  }

  /** What the receiver of the frame would send; false when its headers are not of the usual form. */
  #write(frame: Frame, sender: number): boolean {
    const { bytes, start, vlanTci: tag, sourcePort } = frame;
    const tags = tag < 0 ? 0 : VLAN_TAG_BYTES;
    if (frame.ipOffset - start !== ETHERNET_BYTES + tags) return false;
    const { cnpDscp, becn } = this.#parameters;
    const template = new HeaderTemplate({
      medium: Medium.Ethernet,
      sourceMac: bytes.slice(start, start + 6),
      destMac: bytes.slice(start + 6, start + 12),
      ...(tag < 0 ? {} : { vlanTci: vlanTci(tag & 0xf_ff, CNP_PRIORITY) }),
      source: frameDestination(frame),
      destination: frameSource(frame),
      trafficClass: cnpDscp << 2,
      hopLimit: HOP_LIMIT,
      flowLabel: 0,
      sourcePort,
    });
    const writer = this.#writer;
    writer.reset();
    const bth = writer.begin(template);
    writeCnp(writer.view, bth, frame.pkey, sender, becn);
    writer.end(template, bth + CNP_BYTES);
    return true;
  }

  #remember(flow: number, now: number): void {
    this.#lastNs.delete(flow);
    this.#lastNs.set(flow, now);
    if (this.#lastNs.size <= MAX_FLOWS) return;
    for (const oldest of this.#lastNs.keys()) {
      this.#lastNs.delete(oldest);
      return;
    }
  }
}

function newCounters(): NotifierCounters {
  return { marked: 0, cnpSent: 0, filtered: 0, unknownSender: 0, unsent: 0 };
}

/** Ethernet with a tag, IPv6, UDP. */
const MAX_HEADERS_BYTES = ETHERNET_BYTES + VLAN_TAG_BYTES + 40 + 8 + BTH_BYTES;
/** ref:dcqcn#2, CNP_802P_PRIO. */
const CNP_PRIORITY = 6;
const HOP_LIMIT = 64;
/** Evicting one early causes one CNP within the interval. */
const MAX_FLOWS = 4096;
