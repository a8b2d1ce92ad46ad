/**
 * Receives frames: checks the addresses and the integrity, then finds the queue pair, service or protocol. Owns the
 * order of these checks and the counters of drops. Never sends, and never makes the checks of a queue pair.
 */
import { MAC_BYTES, type MacAddress } from '../../packets/address.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import type { FrameBatch } from '../../packets/frame-writer.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { GSI_QPN } from '../../packets/mad.ts';
import { Op, SERVICE_MASK, Service } from '../../packets/opcode.ts';
import { isRxeFlush } from '../../packets/rxe-flush-icrc.ts';
import { NO_VLAN, vlanOfFrame } from '../../packets/vlan.ts';
import type { PortCounters } from '../../transport/counters.ts';
import { QpType } from '../../transport/qp-type.ts';
import type { Gsi } from './cm/gsi.ts';
import { type DeviceCounters, dropCauseOf } from './counters.ts';
import { type HostProtocols, isForMac } from './host/host-protocols.ts';
import type { InternalErrors } from './internal-errors.ts';
import { MULTICAST_QPN, type Multicast } from './multicast.ts';
import type { VlanOptions } from './options.ts';
import type { Paths } from './paths.ts';
import type { SuspiciousCounters } from './suspicious-counters.ts';
import type { Qp } from './verbs/index.ts';

/** What receiving needs of the device. */
export interface ReceivingDevice {
  readonly medium: Medium;
  readonly mac: MacAddress;
  readonly vlan: VlanOptions | undefined;
  /** ICRCs are checked by the link. */
  readonly icrcOffload: boolean;
  readonly counters: DeviceCounters;
  readonly portCounters: PortCounters;
  readonly suspicious: Pick<SuspiciousCounters, 'afterFrame'>;
  readonly gsi: Pick<Gsi, 'handleFrame'>;
  readonly paths: Pick<Paths, 'hosts' | 'isToUs'>;
  readonly multicast: Pick<Multicast, 'loopsBack' | 'membersOf'>;
  now(): number;
  /** A service is about to get a frame. */
  disturb(): void;
}

export class FrameReceiver {
  readonly #device: ReceivingDevice;
  readonly #protocols: HostProtocols;
  readonly #qps: ReadonlyMap<number, Qp>;
  readonly #changed: (qp: Qp) => void;
  readonly #errors: InternalErrors;
  readonly #frame = new Frame();
  /** Which queue pair has the current frame, if any: what an error of ours takes down. */
  #current: Qp | undefined;
  /** Of the next frame in its batch. */
  #index = 0;
  /** The frames are the device's own, on their way back to it. */
  #looping = false;
  #groupsFrom = 0;

  /**
   * @param changed called for each queue pair that a frame was given to
   * @param errors takes what handling a frame threw; the frames after it are handled nevertheless
   */
  constructor(
    device: ReceivingDevice,
    protocols: HostProtocols,
    qps: ReadonlyMap<number, Qp>,
    changed: (qp: Qp) => void,
    errors: InternalErrors,
  ) {
    this.#device = device;
    this.#protocols = protocols;
    this.#qps = qps;
    this.#changed = changed;
    this.#errors = errors;
  }

  /** Takes the frames of a batch from the `from`th on. */
  take(now: number, batch: FrameBatch, from: number): void {
    this.#index = from;
    while (this.#index < batch.count) this.#takeSome(now, batch);
  }

  /**
   * Loops back frames to the device itself, and from `groupsFrom` on those to groups that it is in, as no switch
   * returns them to the sender. True when there were some.
   */
  takeOwn(now: number, batch: FrameBatch, from: number, groupsFrom: number): boolean {
    const before = this.#device.counters.receivedFrames;
    this.#index = from;
    this.#looping = true;
    this.#groupsFrom = groupsFrom;
    while (this.#index < batch.count) this.#takeSome(now, batch);
    this.#looping = false;
    return this.#device.counters.receivedFrames > before;
  }

  /**
   * The boundary for errors of ours: nothing that a frame contains gets past it. After one, the next frame follows.
   */
  #takeSome(now: number, batch: FrameBatch): void {
    let start = 0;
    let end = 0;
    try {
      while (this.#index < batch.count) {
        start = batch.starts[this.#index] as number;
        end = start + (batch.lengths[this.#index] as number);
        this.#index += 1;
        this.#current = undefined;
        if (!this.#looping || this.#returns(batch.view, start, end)) this.#takeFrame(now, batch, start, end);
      }
    } catch (error) {
      this.#errors.caught('receive', error, this.#current, batch.bytes.subarray(start, end));
    }
  }

  /** Whether a frame of our own is one that we receive. */
  #returns(view: DataView, start: number, end: number): boolean {
    const { multicast, mac } = this.#device;
    if ((view.getUint8(start) & 1) === 0) return isForMac(view, start, end, mac);
    // The index is already that of the next frame.
    return multicast.loopsBack && this.#index > this.#groupsFrom;
  }

  #takeFrame(now: number, batch: FrameBatch, start: number, end: number): void {
    const frame = this.#frame;
    const { counters, medium, mac, vlan, icrcOffload } = this.#device;
    counters.receivedFrames += 1;
    if (medium === Medium.Ethernet && !isForMac(batch.view, start, end, mac)) {
      counters.otherHost += 1;
      return;
    }
    if (medium === Medium.Ethernet && vlanOfFrame(batch.view, start, end) !== (vlan?.id ?? NO_VLAN)) {
      counters.otherVlan += 1;
      return;
    }
    const status = parseFrame(batch.bytes, batch.view, start, end, medium, frame);
    if (status === FrameStatus.Ok) {
      if (icrcOffload || icrcMatches(frame) || isRxeFlush(frame)) this.#deliver(now, frame);
      else counters.badIcrc += 1;
      this.#device.suspicious.afterFrame(now, frame);
    } else if (status === FrameStatus.UnknownOpcode && answersReserved(frame.opcode)) {
      this.#deliverReserved(now, frame);
      this.#device.suspicious.afterFrame(now, frame);
    } else {
      counters[dropCauseOf(status)] += 1;
      this.#device.disturb();
      this.#protocols.handleFrame(now, frame, status);
    }
  }

  #deliver(now: number, frame: Frame): void {
    const device = this.#device;
    device.portCounters.rcvdPkts += 1;
    const { destQpn } = frame;
    if (destQpn === GSI_QPN) {
      if (!this.#isBetweenHosts(frame)) return;
      device.disturb();
      // Reads the clock again: data earlier in this batch may have called the connection manager with a later time.
      device.gsi.handleFrame(device.now(), frame);
      return;
    }
    if (destQpn === MULTICAST_QPN) {
      this.#deliverToGroup(now, frame);
      return;
    }
    const qp = this.#qps.get(destQpn);
    if (qp === undefined) {
      device.counters.badQpn += 1;
    } else if (qp.type !== QpType.Ud || this.#isBetweenHosts(frame)) {
      this.#current = qp;
      if (qp.core.broken) device.portCounters.badState += 1;
      else if (frame.opcode === Op.Cnp) qp.core.handleCnp(now, frame);
      else qp.core.handleFrame(now, frame);
      this.#changed(qp);
    }
  }

  /**
   * Whether a datagram is to an address of ours, and from one that may be answered, which is our own for what loops
   * back only. Connected queue pairs compare both addresses themselves.
   */
  #isBetweenHosts(frame: Frame): boolean {
    const { counters, paths } = this.#device;
    if (!paths.isToUs(frame)) counters.otherAddress += 1;
    else if (hasGroupMac(frame) || !(this.#looping || paths.hosts.isFromHost(frame))) counters.badSource += 1;
    else return true;
    return false;
  }

  /** To every queue pair attached to the group, each with its own keys and receives. */
  #deliverToGroup(now: number, frame: Frame): void {
    const qps = this.#device.multicast.membersOf(frame);
    if (qps === undefined) {
      this.#device.counters.otherGroup += 1;
      return;
    }
    for (let i = 0; i < qps.length; i++) this.#deliverToMember(now, frame, qps[i] as Qp);
  }

  /** With a boundary of its own: an error of ours at one member leaves the others their copy. */
  #deliverToMember(now: number, frame: Frame, qp: Qp): void {
    if (qp.core.broken) return;
    try {
      qp.core.handleFrame(now, frame);
      this.#changed(qp);
    } catch (error) {
      this.#errors.caught('receive', error, qp, bytesOf(frame));
    }
  }

  /** A reserved opcode of a reliable service may draw a NAK, but only when every other check of the packet passes. */
  #deliverReserved(now: number, frame: Frame): void {
    this.#device.counters.unknownOpcode += 1;
    const qp = this.#qps.get(frame.destQpn);
    if (qp === undefined || qp.core.broken || !(this.#device.icrcOffload || icrcMatches(frame))) return;
    this.#current = qp;
    qp.core.handleReserved(now, frame);
    this.#changed(qp);
  }
}

/** The frame as it came, in place. */
function bytesOf({ bytes, start, end }: Frame): Uint8Array {
  return bytes.subarray(start, end);
}

/** Whether the source MAC address is multicast; a CNP would go back to that address. */
function hasGroupMac({ medium, view, start }: Frame): boolean {
  return medium === Medium.Ethernet && (view.getUint8(start + MAC_BYTES) & 1) !== 0;
}

/** Whether the service of this opcode sends ACKs and NAKs. */
function answersReserved(opcode: number): boolean {
  const service = opcode & SERVICE_MASK;
  return service === Service.Rc || service === Service.Xrc;
}
