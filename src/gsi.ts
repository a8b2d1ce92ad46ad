/**
 * Queue pair 1, the general services interface: carries the connection manager's MADs as UD datagrams.
 * ref:wire#10: UD SEND ONLY between queue pairs 1, Q_Key 0x80010000, 256 bytes; everything else is counted and dropped.
 */
import type { IpAddress } from '../packets/address.ts';
import { BTH_BYTES, writeBth } from '../packets/bth.ts';
import { DETH_BYTES, dethQkey, dethSourceQpn, writeDeth } from '../packets/deth.ts';
import { type Frame, frameDestination, frameSource } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import type { HeaderTemplate } from '../packets/header-template.ts';
import { GSI_PKEY, GSI_QKEY, GSI_QPN } from '../packets/mad.ts';
import { DETH_AT, Op } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import type { ConnectionManager } from '../transport/cm/index.ts';
import type { OutgoingMad } from '../transport/cm/types.ts';

/** What queue pair 1 needs of its device. */
export interface GsiPort {
  /** Headers for a datagram, or undefined while the next hop is not known (the device then asks for it). */
  templateFor(source: IpAddress, destination: IpAddress): HeaderTemplate | undefined;
  /** What was sent there has drawn no answer. */
  doubt(destination: IpAddress): void;
}

/** MADs that may wait for their next hop; the connection manager repeats what is dropped. */
const MAX_WAITING = 64;

export class Gsi {
  readonly counters = { received: 0, sent: 0, badOpcode: 0, badQkey: 0, droppedUnresolved: 0 };
  readonly #cm: ConnectionManager;
  readonly #port: GsiPort;
  readonly #waiting: OutgoingMad[] = [];
  #psn = 0;

  constructor(cm: ConnectionManager, port: GsiPort) {
    this.#cm = cm;
    this.#port = port;
  }

  /** Takes a packet to queue pair 1 that parsed well and whose ICRC is right. */
  handleFrame(now: number, frame: Frame): void {
    if (frame.opcode !== Op.UdSendOnly) {
      this.counters.badOpcode += 1;
      return;
    }
    const deth = frame.bthOffset + (DETH_AT[Op.UdSendOnly] as number);
    if (dethQkey(frame.view, deth) !== GSI_QKEY) {
      this.counters.badQkey += 1;
      return;
    }
    this.counters.received += 1;
    this.#cm.handleMad(now, frame.view, frame.payloadOffset, frame.payloadLength, {
      source: frameSource(frame),
      destination: frameDestination(frame),
      sourceQpn: dethSourceQpn(frame.view, deth),
    });
  }

  /** Writes MADs that are due until none is or the writer is full; true in the second case. */
  transmit(now: number, writer: FrameWriter): boolean {
    this.#retryWaiting(writer);
    while (!writer.full) {
      const mad = this.#cm.pollTransmit(now);
      if (mad === undefined) return false;
      if (mad.repeated) this.#port.doubt(mad.destination);
      if (!this.#send(mad, writer)) this.#hold(mad);
    }
    return true;
  }

  #retryWaiting(writer: FrameWriter): void {
    for (let i = this.#waiting.length; i > 0 && !writer.full; i--) {
      const mad = this.#waiting.shift();
      if (mad !== undefined && !this.#send(mad, writer)) this.#waiting.push(mad);
    }
  }

  #hold(mad: OutgoingMad): void {
    if (this.#waiting.length === MAX_WAITING) {
      this.#waiting.shift();
      this.counters.droppedUnresolved += 1;
    }
    this.#waiting.push(mad);
  }

  /** For the device: nobody answered for this next hop. */
  unresolved(destination: IpAddress): void {
    for (let i = this.#waiting.length; i > 0; i--) {
      const mad = this.#waiting.shift();
      if (mad === undefined) return;
      if (mad.destination.equals(destination)) this.counters.droppedUnresolved += 1;
      else this.#waiting.push(mad);
    }
  }

  #send(mad: OutgoingMad, writer: FrameWriter): boolean {
    const template = this.#port.templateFor(mad.source, mad.destination);
    if (template === undefined) return false;
    const bth = writer.begin(template);
    this.#psn = (this.#psn + 1) & PSN_MASK;
    writeBth(writer.view, bth, Op.UdSendOnly, 0, 1, 0, GSI_PKEY, mad.remoteQpn, 0, this.#psn);
    writeDeth(writer.view, bth + BTH_BYTES, GSI_QKEY, GSI_QPN);
    const payload = bth + BTH_BYTES + DETH_BYTES;
    writer.bytes.set(mad.bytes, payload);
    writer.end(template, payload + mad.bytes.length);
    this.counters.sent += 1;
    return true;
  }
}
