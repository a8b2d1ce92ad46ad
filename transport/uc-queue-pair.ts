/**
 * UcQueuePair: an unreliable connection. SENDs and WRITEs go out once, in order, and are done when their last packet
 * has left; nothing is acknowledged or repeated.
 * What arrives is the business of uc-responder.ts. ref:rxe#3; AckReq is not set (ref:rxe#6, ref:conformance#PKT-18).
 */
import type { Frame } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import type { PortCounters } from './counters.ts';
import { executeLocalWork } from './local-work.ts';
import type { QpCapabilities } from './qp-capabilities.ts';
import type { QpIdentity } from './qp-identity.ts';
import { QpState, rightsOf } from './qp-state.ts';
import { QpType } from './qp-type.ts';
import { BURST } from './queue-pair.ts';
import { writeData } from './request-writer.ts';
import type { SendEntry } from './send-entry.ts';
import { UcOutcome, UcResponder } from './uc-responder.ts';
import { UnreliableQueuePair } from './unreliable-queue-pair.ts';
import { WcStatus } from './work.ts';

/**
 * A queue pair of an unreliable connection.
 *
 * @example
 * ```ts
 * import { QpState, WrOpcode } from 'rocev2';
 * import { FrameWriter, HeaderTemplate, IpAddress, Medium } from 'rocev2/packets';
 * import { Prng } from 'rocev2/sim';
 * import { CompletionQueue, KeyTable, PortCounters, ProtectionDomain, UcQueuePair } from 'rocev2/transport';
 *
 * const [local, remote] = [IpAddress.parse('10.0.0.1'), IpAddress.parse('10.0.0.2')];
 * const macs = { sourceMac: new Uint8Array(6), destMac: new Uint8Array(6) };
 * const ip = { source: local, destination: remote, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 50_000 };
 * const path = { local, remote, template: new HeaderTemplate({ medium: Medium.Ip, ...macs, ...ip }) };
 * const cq = new CompletionQueue(16, []);
 * const pd = new ProtectionDomain(1);
 * const identity = { qpn: 0x11, pd, keys: new KeyTable(new Prng(1), 16), sendCq: cq, recvCq: cq };
 * const room = { maxSendWr: 4, maxRecvWr: 4, maxSge: 1, maxInlineData: 64 };
 * const qp = new UcQueuePair(identity, room, new PortCounters());
 * qp.modify({ state: QpState.Init, access: 0 });
 * qp.modify({ state: QpState.Rtr, path, destQpn: 0x22, rqPsn: 0, mtu: 1024 });
 * qp.modify({ state: QpState.Rts, sqPsn: 0 });
 * qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3) });
 * const frames = new FrameWriter(4, 2048);
 * qp.transmit(0, frames);
 * // Done when it has left: nothing is acknowledged, and nothing is waited for.
 * console.log(frames.count, qp.nextDeadline(), cq.length); // 1 Infinity 1
 * ```
 */
export class UcQueuePair extends UnreliableQueuePair {
  readonly #responder = new UcResponder();
  /** Bytes of the oldest send that earlier packets carry. */
  #offset = 0;

  /** In state RESET. */
  constructor(identity: QpIdentity, capabilities: QpCapabilities, counters: PortCounters) {
    super(QpType.Uc, identity, capabilities, counters);
  }

  handleFrame(now: number, frame: Frame): void {
    if (!this.admitsFromPeer(now, frame) || !this.mayRespond()) return;
    const outcome = this.#responder.handle(frame, this.recvQueue, this.config, this.counters);
    if (outcome !== UcOutcome.Dropped) this.noteRequest();
    this.port?.learn(frame);
    if (outcome === UcOutcome.Overrun) this.fail();
    else if (outcome === UcOutcome.Fault) this.enterError(WcStatus.WrFlushErr);
  }

  get pending(): boolean {
    if (this.sendQueue.length === 0 || this.pacing) return false;
    const { request, start } = rightsOf(this.current);
    return start || (request && this.sendQueue.at(this.sendQueue.head).started);
  }

  transmit(now: number, writer: FrameWriter): void {
    for (let budget = BURST; budget > 0 && this.pending && !writer.full && this.mayLeave(now); budget--) {
      const entry = this.sendQueue.at(this.sendQueue.head);
      const fault = this.#execute(now, entry, writer);
      if (fault === WcStatus.Success) continue;
      this.stopSending(fault);
      return;
    }
  }

  override retire(): void {
    super.retire();
    this.#responder.reset();
  }

  protected clearConnection(): void {
    this.#offset = 0;
    this.#responder.reset();
  }

  protected override flush(firstStatus: WcStatus): void {
    this.#responder.abandon(WcStatus.WrFlushErr, this.config);
    super.flush(firstStatus);
  }

  protected override flushSends(firstStatus: WcStatus): void {
    super.flushSends(firstStatus);
    this.#offset = 0;
  }

  /** Sends the next packet of the oldest request, or executes a local request; or returns why not. */
  #execute(now: number, entry: SendEntry, writer: FrameWriter): WcStatus {
    if (entry.local) {
      const status = executeLocalWork(entry, this.config);
      if (status === WcStatus.Success) this.#complete(entry);
      return status;
    }
    // Checked for every packet, as keys may be invalidated.
    if (entry.inlineLength < 0 && !entry.segments.accessible(this.config.pd, false)) return WcStatus.LocProtErr;
    if (!this.#sendPacket(entry, writer)) return WcStatus.LocProtErr;
    this.frameSent(now, writer);
    return WcStatus.Success;
  }

  /** False when the memory of the message is not there any more. */
  #sendPacket(entry: SendEntry, writer: FrameWriter): boolean {
    if (!entry.started) entry.firstPsn = this.psn;
    const last = entry.length - this.#offset <= this.config.mtu;
    const sent = writeData(writer, this.config, entry, this.#offset, this.psn, 0);
    if (sent < 0) return false;
    this.#offset += sent;
    this.psn += 1;
    if (last) this.#complete(entry);
    return true;
  }

  #complete(entry: SendEntry): void {
    this.#offset = 0;
    if (entry.signaled) this.completeSend(entry, WcStatus.Success);
    entry.release();
    this.sendQueue.shift();
    if (this.current === QpState.Sqd) this.noteDrained();
  }
}
