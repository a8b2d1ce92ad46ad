/**
 * Queue pair 1, the general services interface: carries the connection manager's MADs as UD datagrams.
 * On the wire it is a UD queue pair and shares their packet code. It has no queues, as the connection manager is its
 * only user.
 * ref:wire#10: UD SEND ONLY between queue pairs 1, Q_Key 0x80010000, 256 bytes; everything else is counted and dropped.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { dethSourceQpn } from '../../../packets/deth.ts';
import { type Frame, frameDestination, frameSource } from '../../../packets/frame.ts';
import type { FrameWriter } from '../../../packets/frame-writer.ts';
import type { HeaderTemplate } from '../../../packets/header-template.ts';
import { GSI_PKEY, GSI_QKEY, GSI_QPN } from '../../../packets/mad.ts';
import { DETH_AT, Op } from '../../../packets/opcode.ts';
import { ConnectionManager } from '../../../transport/cm/index.ts';
import { CmInputStatus, type OutgoingMad } from '../../../transport/cm/types.ts';
import type { Random } from '../../../transport/random.ts';
import {
  type DatagramEnd,
  DatagramVerdict,
  judgeDatagram,
  NO_IMM,
  writeDatagramHeaders,
} from '../../../transport/ud-datagram.ts';

/** What queue pair 1 needs of its device. */
export interface GsiPort {
  /**
   * Whether a datagram may go from one address to the other at all: from one of the device's, within one IP version.
   */
  joins(source: IpAddress, destination: IpAddress): boolean;
  /**
   * Headers for a datagram, or undefined while the next hop is not known (the device then resolves it). `unproven`: the
   * destination has not shown that it is there.
   */
  templateFor(source: IpAddress, destination: IpAddress, unproven: boolean): HeaderTemplate | undefined;
  /** MADs to this address were not answered: its next hop may have moved. */
  doubt(destination: IpAddress): void;
  /** A request of this source found no place, or lost its own. */
  suspect(now: number, cause: CmSuspicion, source: IpAddress, sourcePort: number): void;
}

/** Why a connection request is suspicious (`SuspicionCause`). */
export type CmSuspicion = 'cm-source-full' | 'cm-displaced' | 'cm-backlog-full' | 'cm-table-full';

/** What queue pair 1 and the connection manager are made of. */
interface GsiDevice {
  readonly random: Random;
  readonly guid: bigint;
  readonly strangers: Readonly<Record<'maxRequests' | 'maxRequestsPerSource' | 'maxUnprovenReps', number>>;
  readonly paths: {
    joins(source: IpAddress, destination: IpAddress): boolean;
    templateFor(now: number, source: IpAddress, to: IpAddress, unproven: boolean): HeaderTemplate | undefined;
    doubt(now: number, destination: IpAddress): void;
  };
  readonly suspicions: {
    byAddress(now: number, cause: CmSuspicion, count: number, source: IpAddress, port: number, qpn: number): void;
  };
  now(): number;
}

/** The connection manager of a device. */
export function managerOf({ random, guid, strangers }: GsiDevice): ConnectionManager {
  const { maxRequests: maxPending, maxRequestsPerSource: maxPendingPerSource, maxUnprovenReps } = strangers;
  return new ConnectionManager({ random, caGuid: guid, maxPending, maxPendingPerSource, maxUnprovenReps });
}

/** Queue pair 1 of a device. */
export function gsiOf(device: GsiDevice, manager: ConnectionManager): Gsi {
  const { paths, suspicions } = device;
  return new Gsi(manager, {
    joins: (source, destination) => paths.joins(source, destination),
    templateFor: (source, destination, unproven) => paths.templateFor(device.now(), source, destination, unproven),
    doubt: (destination) => paths.doubt(device.now(), destination),
    suspect: (now, cause, source, port) => suspicions.byAddress(now, cause, 1, source, port, GSI_QPN),
  });
}

const SUSPICIOUS: Partial<Record<CmInputStatus, CmSuspicion>> = {
  [CmInputStatus.SourceFull]: 'cm-source-full',
  [CmInputStatus.BacklogFull]: 'cm-backlog-full',
  [CmInputStatus.TableFull]: 'cm-table-full',
};

const GSI: DatagramEnd = { qpn: GSI_QPN, pkey: GSI_PKEY, qkey: GSI_QKEY, migReq: 1 };

/** MADs that may wait for their next hop; the connection manager retransmits dropped ones. */
const MAX_WAITING = 64;

export class Gsi {
  /**
   * `droppedUnresolved`: MADs whose next hop did not answer; `droppedUnroutable`: those between addresses that no path
   * joins.
   */
  readonly counters = {
    received: 0,
    sent: 0,
    badOpcode: 0,
    badPkey: 0,
    badQkey: 0,
    droppedUnresolved: 0,
    droppedUnroutable: 0,
  };
  readonly #cm: ConnectionManager;
  readonly #port: GsiPort;
  readonly #waiting: OutgoingMad[] = [];
  #psn = 0;

  constructor(cm: ConnectionManager, port: GsiPort) {
    this.#cm = cm;
    this.#port = port;
  }

  /**
   * Takes a packet to queue pair 1 that parsed well and whose ICRC is right, from another host to an address of ours.
   */
  handleFrame(now: number, frame: Frame): void {
    if (!this.#admits(frame)) return;
    const deth = frame.bthOffset + (DETH_AT[Op.UdSendOnly] as number);
    this.counters.received += 1;
    const source = frameSource(frame);
    const status = this.#cm.handleMad(now, frame.view, frame.payloadOffset, frame.payloadLength, {
      source,
      destination: frameDestination(frame),
      sourceQpn: dethSourceQpn(frame.view, deth),
    });
    const cause = SUSPICIOUS[status];
    if (cause !== undefined) this.#port.suspect(now, cause, source, frame.sourcePort);
    // The one that gave way, and not the one that came, has most of the requests.
    const displaced = this.#cm.takeDisplaced();
    if (displaced !== undefined) this.#port.suspect(now, 'cm-displaced', displaced, 0);
  }

  #admits(frame: Frame): boolean {
    const { counters } = this;
    const verdict = judgeDatagram(frame, GSI);
    if (verdict === DatagramVerdict.BadService || frame.opcode !== Op.UdSendOnly) counters.badOpcode += 1;
    else if (verdict === DatagramVerdict.BadPkey) counters.badPkey += 1;
    else if (verdict === DatagramVerdict.BadQkey) counters.badQkey += 1;
    else return true;
    return false;
  }

  /** Writes MADs that are due until none is or the writer is full; true in the second case. */
  transmit(now: number, writer: FrameWriter): boolean {
    if (this.waiting === 0) return false;
    this.#retryWaiting(writer);
    while (!writer.full) {
      const mad = this.#cm.pollTransmit(now);
      if (mad === undefined) return false;
      if (!this.#port.joins(mad.source, mad.destination)) {
        this.counters.droppedUnroutable += 1;
        continue;
      }
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

  /** MADs that wait to be sent. */
  get waiting(): number {
    return this.#waiting.length + this.#cm.transmitCount;
  }

  /** For the device: this next hop did not resolve. */
  unresolved(destination: IpAddress): void {
    for (let i = this.#waiting.length; i > 0; i--) {
      const mad = this.#waiting.shift();
      if (mad === undefined) return;
      if (mad.destination.equals(destination)) this.counters.droppedUnresolved += 1;
      else this.#waiting.push(mad);
    }
  }

  #send(mad: OutgoingMad, writer: FrameWriter): boolean {
    const template = this.#port.templateFor(mad.source, mad.destination, mad.unproven);
    if (template === undefined) return false;
    const bth = writer.begin(template);
    this.#psn += 1;
    const { length } = mad.bytes;
    const payload = writeDatagramHeaders(writer.view, bth, GSI, mad.remoteQpn, GSI_QKEY, this.#psn, length, 0, NO_IMM);
    writer.bytes.set(mad.bytes, payload);
    writer.end(template, payload + length);
    this.counters.sent += 1;
    return true;
  }
}
