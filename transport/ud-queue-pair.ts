/**
 * UdQueuePair: unreliable datagrams. A send is one packet to whatever its address handle names, and is done when it has
 * left; a datagram is received whole or dropped without a reply: each cause has a counter.
 *
 * A message above the port's MTU is not sent and completes all the same, as rxe does by C10-93.1.1 (ref:conformance
 * LEN-18). A datagram that finds no receive, or one too small, is gone; the receive stays for the next one
 * (ref:conformance#UD-05, UD-14), but with a shared receive queue it completes in error (ref:conformance#C.1, class E).
 */

import { dethSourceQpn } from '../packets/deth.ts';
import { invariant } from '../packets/errors.ts';
import type { Frame } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { GRH_BYTES } from '../packets/grh.ts';
import { DETH_AT } from '../packets/opcode.ts';
import { isMarked } from '../packets/traffic-class.ts';
import type { PortCounters } from './counters.ts';
import { PRIVILEGED_QKEY } from './qp-attributes.ts';
import type { QpCapabilities } from './qp-capabilities.ts';
import type { QpIdentity } from './qp-identity.ts';
import { QpState, rightsOf } from './qp-state.ts';
import { QpType } from './qp-type.ts';
import { BURST } from './queue-pair.ts';
import { ReceiveSlot } from './receive-slot.ts';
import { writePayload } from './request-writer.ts';
import type { SendEntry } from './send-entry.ts';
import { DatagramVerdict, judgeDatagram, NO_IMM, writeDatagramHeaders } from './ud-datagram.ts';
import { UnreliableQueuePair } from './unreliable-queue-pair.ts';
import { Verdict } from './verdict.ts';
import { WcStatus, WrOpcode } from './work.ts';

/**
 * A queue pair for unreliable datagrams.
 *
 * @example
 * ```ts
 * import { QpState, WrOpcode } from 'rocev2';
 * import { FrameWriter, HeaderTemplate, IpAddress, Medium } from 'rocev2/packets';
 * import { Prng } from 'rocev2/sim';
 * import { CompletionQueue, KeyTable, PortCounters, ProtectionDomain } from 'rocev2/transport';
 * import { AddressHandle, UdQueuePair } from 'rocev2/transport';
 *
 * const [local, remote] = [IpAddress.parse('10.0.0.1'), IpAddress.parse('10.0.0.2')];
 * const macs = { sourceMac: new Uint8Array(6), destMac: new Uint8Array(6) };
 * const ip = { source: local, destination: remote, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 50_000 };
 * const path = { local, remote, template: new HeaderTemplate({ medium: Medium.Ip, ...macs, ...ip }) };
 * const cq = new CompletionQueue(16, []);
 * const pd = new ProtectionDomain(1);
 * const identity = { qpn: 0x11, pd, keys: new KeyTable(new Prng(1), 16), sendCq: cq, recvCq: cq };
 * const room = { maxSendWr: 4, maxRecvWr: 4, maxSge: 1, maxInlineData: 64 };
 * const qp = new UdQueuePair(identity, room, new PortCounters(), 1024);
 * qp.modify({ state: QpState.Init, qkey: 7 });
 * qp.modify({ state: QpState.Rtr });
 * qp.modify({ state: QpState.Rts, sqPsn: 0 });
 * // Each datagram names where it goes.
 * const to = { ah: new AddressHandle(pd, path), remoteQpn: 0x22, remoteQkey: 7 };
 * qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3), ...to });
 * const frames = new FrameWriter(4, 2048);
 * qp.transmit(0, frames);
 * console.log(frames.count, frames.lengths[0], cq.length); // 1 56 1
 * ```
 */
export class UdQueuePair extends UnreliableQueuePair {
  readonly #slot = new ReceiveSlot();

  /** `portMtu`: largest payload of a datagram, in bytes. */
  constructor(identity: QpIdentity, capabilities: QpCapabilities, counters: PortCounters, portMtu: number) {
    super(QpType.Ud, identity, capabilities, counters, portMtu);
  }

  handleFrame(now: number, frame: Frame): void {
    if (this.current < QpState.Rtr) this.counters.badState += 1;
    else if (this.#admits(frame)) {
      if (isMarked(frame.trafficClass)) this.#noteMarked(now, frame);
      if (this.mayRespond()) this.#receive(frame);
    }
  }

  get pending(): boolean {
    return this.sendQueue.length > 0 && !this.pacing && rightsOf(this.current).start;
  }

  transmit(now: number, writer: FrameWriter): void {
    for (let budget = BURST; budget > 0 && this.pending && !writer.full && this.mayLeave(now); budget--) {
      const entry = this.sendQueue.at(this.sendQueue.head);
      if (entry.inlineLength < 0 && !entry.segments.accessible(this.config.pd, false)) {
        this.stopSending(WcStatus.LocProtErr);
        return;
      }
      if (entry.length > this.config.mtu) this.counters.oversizedSend += 1;
      else if (this.#send(entry, writer)) this.frameSent(now, writer);
      else {
        this.stopSending(WcStatus.LocProtErr);
        return;
      }
      if (entry.signaled) this.completeSend(entry, WcStatus.Success);
      entry.release();
      this.sendQueue.shift();
    }
  }

  protected clearConnection(): void {
    this.#slot.reset();
  }

  protected override flush(firstStatus: WcStatus): void {
    this.#slot.abandon(WcStatus.WrFlushErr, this.config);
    super.flush(firstStatus);
  }

  /** False when the memory of the message is not there any more. */
  #send(entry: SendEntry, writer: FrameWriter): boolean {
    const { config } = this;
    const path = entry.ah?.path;
    invariant(path !== undefined, 'a datagram is posted with an address handle that has a path');
    const { template } = path;
    const { length } = entry;
    const qkey = entry.remoteQkey >= PRIVILEGED_QKEY ? config.qkey : entry.remoteQkey;
    const imm = entry.opcode === WrOpcode.SendWithImm ? entry.immData : NO_IMM;
    const solicited = entry.solicited ? 1 : 0;
    const bth = writer.begin(template);
    const { view, bytes } = writer;
    const at = writeDatagramHeaders(view, bth, config, entry.remoteQpn, qkey, this.psn, length, solicited, imm);
    if (!writePayload(bytes, at, entry, 0, length)) return false;
    const pad = -length & 3;
    for (let i = 0; i < pad; i++) bytes[at + length + i] = 0;
    writer.end(template, at + length + pad);
    this.psn += 1;
    return true;
  }

  /** Datagrams to a group draw no CNP: every member would send one. */
  #noteMarked(now: number, frame: Frame): void {
    this.counters.npEcnMarkedRocePackets += 1;
    const notification = this.config.congestion?.notification;
    if (notification === undefined || frame.destQpn !== this.qpn || notification.parameters.signal === 'ack') return;
    const deth = frame.bthOffset + (DETH_AT[frame.opcode] as number);
    notification.markedDatagram(now, frame, dethSourceQpn(frame.view, deth));
  }

  #admits(frame: Frame): boolean {
    const { counters } = this;
    const verdict = judgeDatagram(frame, this.config);
    if (verdict === DatagramVerdict.BadService) counters.badService += 1;
    else if (verdict === DatagramVerdict.BadPkey) counters.badPkey += 1;
    else if (verdict === DatagramVerdict.BadQkey) counters.qkeyViolation += 1;
    return verdict === DatagramVerdict.Accept;
  }

  /** Only the buffer limits what is taken, not the MTU (ref:conformance#A C9-92). */
  #receive(frame: Frame): void {
    const slot = this.#slot;
    const { payloadLength, padCount } = frame;
    if (((payloadLength + padCount) & 3) !== 0) {
      this.counters.badLength += 1;
      return;
    }
    // A receive that was too small for the last one is still held.
    if (!slot.held && !slot.take(this.recvQueue)) {
      this.counters.noReceive += 1;
      return;
    }
    const verdict = slot.check(GRH_BYTES + payloadLength);
    if (verdict !== Verdict.Accept) {
      this.#refuse(verdict);
      return;
    }
    if (!slot.placeNetworkHeader(frame) || !slot.place(frame)) this.#refuse(Verdict.BufferFault);
    else if (!slot.finish(frame, 0, this.config)) this.fail();
  }

  #refuse(verdict: Verdict): void {
    if (verdict === Verdict.BufferFault) {
      // The receive names memory that is not ours any more: a local fault.
      this.#slot.abandon(WcStatus.LocProtErr, this.config);
      this.enterError(WcStatus.WrFlushErr);
      return;
    }
    this.counters.bufferTooSmall += 1;
    if (this.recvQueue.shared) this.#slot.abandon(WcStatus.LocLenErr, this.config);
  }
}
