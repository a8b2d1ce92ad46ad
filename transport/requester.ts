/**
 * Requester: turns posted requests into packets, in order, from a cursor that the queue pair can set back (go-back-N).
 * It never looks at what arrives and owns no timer. Packetisation: ref:wire#5, ref:wire#8, ref:conformance LEN-13, OPS-14.
 */

import { writeAtomicEth } from '../packets/atomic-eth.ts';
import { BTH_BYTES, writeBth } from '../packets/bth.ts';
import { invariant } from '../packets/errors.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import type { HeaderTemplate } from '../packets/header-template.ts';
import { writeIeth } from '../packets/ieth.ts';
import { writeImmDt } from '../packets/imm-dt.ts';
import { OPCODE_HEADER_BYTES, Op } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import { RETH_BYTES, writeReth } from '../packets/reth.ts';
import { Attempt } from './attempt.ts';
import type { QpConfig } from './qp-config.ts';
import { copyBytes } from './segments.ts';
import type { SendEntry, SendQueue } from './send-queue.ts';
import { WcStatus, WrOpcode } from './work.ts';

/**
 * A READ waits until it and all that is unacknowledged before it fit half the PSN space; else the peer would take a
 * repetition of the oldest for the future (ref:wire#8). Other requests are kept far below this by `maxUnacked`.
 */
const MAX_PSN_SPAN = 2 ** 23;

export class Requester {
  /** Queue position of the request the next packet belongs to. */
  position = 0;
  /** Extended PSN of the next packet. */
  psn = 0;
  /** First extended PSN never sent. */
  sentPsn = 0;
  /** READs and atomics started and not completed. */
  outstanding = 0;
  /** After `Attempt.Fault`: the status of the request at `position`. */
  fault: WcStatus = WcStatus.Success;
  /** Bytes of the current request that earlier packets carry. */
  #offset = 0;
  #sinceAckReq = 0;
  /** Position of a request with a local fault that waits for all before it to complete; -1 for none. */
  #faultyPosition = -1;

  reset(startingPsn: number, queue: SendQueue): void {
    this.position = queue.head;
    this.psn = startingPsn;
    this.sentPsn = startingPsn;
    this.outstanding = 0;
    this.#offset = 0;
    this.#sinceAckReq = 0;
    this.#faultyPosition = -1;
  }

  /** Whether `transmit` would send a packet or report a fault now. */
  ready(queue: SendQueue, config: QpConfig, una: number, mayStart: boolean): boolean {
    if (this.position === queue.tail || this.psn - una >= config.maxUnacked) return false;
    if (this.position === this.#faultyPosition) return queue.head === this.position;
    const entry = queue.at(this.position);
    return entry.started || (mayStart && this.#mayStart(entry, config, una));
  }

  /** Sends at most one packet. `una` is the oldest unacknowledged PSN. */
  transmit(queue: SendQueue, config: QpConfig, una: number, mayStart: boolean, writer: FrameWriter): Attempt {
    if (!this.ready(queue, config, una, mayStart)) return Attempt.Nothing;
    const entry = queue.at(this.position);
    this.fault = localFault(entry, config);
    if (this.fault !== WcStatus.Success) {
      // Completions keep the order of posting: the fault shows when everything before it has completed.
      this.#faultyPosition = this.position;
      return queue.head === this.position ? Attempt.Fault : Attempt.Nothing;
    }
    if (!entry.started) this.#start(entry, config);
    invariant(config.path !== undefined, 'a queue pair that sends has a path');
    const template = config.path.template;
    if (entry.opcode === WrOpcode.RdmaRead) this.#sendRead(entry, config, template, writer);
    else if (entry.isAtomic) this.#sendAtomic(entry, config, template, writer);
    else this.#sendData(entry, config, template, writer, una);
    if (this.psn > entry.lastPsn) {
      this.position += 1;
      this.#offset = 0;
    }
    if (this.psn > this.sentPsn) this.sentPsn = this.psn;
    return Attempt.Sent;
  }

  /** Moves the cursor to extended PSN `psn`, which was sent before or is the next to send. */
  seek(queue: SendQueue, psn: number, mtu: number): void {
    let position = queue.head;
    while (position < queue.tail) {
      const entry = queue.at(position);
      if (!entry.started || psn <= entry.lastPsn) break;
      position += 1;
    }
    this.position = position;
    this.psn = psn;
    this.#offset = 0;
    if (position === queue.tail) return;
    const entry = queue.at(position);
    if (entry.started) this.#offset = (psn - entry.firstPsn) * mtu;
    this.#sinceAckReq = 0;
  }

  #mayStart(entry: SendEntry, config: QpConfig, una: number): boolean {
    if (this.psn + packetsOf(entry, config.mtu) - una > MAX_PSN_SPAN && entry.wantsAnswer) return false;
    if (this.outstanding === 0) return true;
    if (entry.fence) return false;
    return !entry.wantsAnswer || this.outstanding < config.maxRdAtomic;
  }

  #start(entry: SendEntry, config: QpConfig): void {
    entry.firstPsn = this.psn;
    entry.lastPsn = this.psn + packetsOf(entry, config.mtu) - 1;
    this.#offset = 0;
    if (entry.wantsAnswer) this.outstanding += 1;
  }

  #sendData(entry: SendEntry, config: QpConfig, template: HeaderTemplate, writer: FrameWriter, una: number): void {
    const left = entry.length - this.#offset;
    const size = Math.min(left, config.mtu);
    const last = left <= config.mtu;
    const opcode = dataOpcode(entry.opcode, this.#offset === 0, last);
    this.#sinceAckReq += 1;
    const windowCloses = this.psn + 1 - una >= config.maxUnacked;
    const ackReq = last || windowCloses || this.#sinceAckReq >= config.ackInterval ? 1 : 0;
    if (ackReq === 1) this.#sinceAckReq = 0;
    const pad = -size & 3;
    const solicited = last && entry.solicited ? 1 : 0;
    const { bytes, view } = writer;
    const bth = writer.begin(template);
    writeBth(
      view,
      bth,
      opcode,
      solicited,
      config.migReq,
      pad,
      config.pkey,
      config.destQpn,
      ackReq,
      this.psn & PSN_MASK,
    );
    writeDataHeaders(view, bth + BTH_BYTES, entry, this.#offset === 0, last);
    const payload = bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] as number);
    if (entry.inlineLength >= 0) copyBytes(bytes, payload, entry.inlineBytes, this.#offset, size);
    else entry.segments.gather(this.#offset, bytes, payload, size);
    for (let i = 0; i < pad; i++) bytes[payload + size + i] = 0;
    writer.end(template, payload + size + pad);
    this.#offset += size;
    this.psn += 1;
  }

  /** A READ that is resumed asks only for its missing tail (ref:wire#8, ref:conformance RD-08, REQ-25). */
  #sendRead(entry: SendEntry, config: QpConfig, template: HeaderTemplate, writer: FrameWriter): void {
    const low = entry.remoteLo + this.#offset;
    const hi = (entry.remoteHi + (low > 0xff_ff_ff_ff ? 1 : 0)) >>> 0;
    const bth = writer.begin(template);
    writeBth(
      writer.view,
      bth,
      Op.ReadRequest,
      0,
      config.migReq,
      0,
      config.pkey,
      config.destQpn,
      1,
      this.psn & PSN_MASK,
    );
    writeReth(writer.view, bth + BTH_BYTES, hi, low >>> 0, entry.rkey, entry.length - this.#offset);
    writer.end(template, bth + BTH_BYTES + RETH_BYTES);
    this.psn = entry.lastPsn + 1;
  }

  #sendAtomic(entry: SendEntry, config: QpConfig, template: HeaderTemplate, writer: FrameWriter): void {
    const opcode = entry.opcode === WrOpcode.AtomicCmpAndSwp ? Op.CompareSwap : Op.FetchAdd;
    const bth = writer.begin(template);
    const at = bth + BTH_BYTES;
    writeBth(writer.view, bth, opcode, 0, config.migReq, 0, config.pkey, config.destQpn, 1, this.psn & PSN_MASK);
    const { remoteHi, remoteLo, rkey, swapHi, swapLo, compareHi, compareLo } = entry;
    writeAtomicEth(writer.view, at, remoteHi, remoteLo, rkey, swapHi, swapLo, compareHi, compareLo);
    writer.end(template, at + (OPCODE_HEADER_BYTES[opcode] as number));
    this.psn += 1;
  }
}

/** PSNs a request takes: one a packet, for a READ one a response packet. */
function packetsOf(entry: SendEntry, mtu: number): number {
  return entry.isAtomic ? 1 : Math.max(1, Math.ceil(entry.length / mtu));
}

/** Local errors that stop a request before a packet of it leaves; checked again for every packet, as keys may die. */
function localFault(entry: SendEntry, config: QpConfig): WcStatus {
  if (entry.wantsAnswer && config.maxRdAtomic === 0) return WcStatus.LocQpOpErr;
  if (entry.inlineLength >= 0 || entry.segments.accessible(config.pd, entry.wantsAnswer)) return WcStatus.Success;
  return WcStatus.LocProtErr;
}

function writeDataHeaders(view: DataView, at: number, entry: SendEntry, first: boolean, last: boolean): void {
  const write = entry.opcode === WrOpcode.RdmaWrite || entry.opcode === WrOpcode.RdmaWriteWithImm;
  if (write && first) {
    writeReth(view, at, entry.remoteHi, entry.remoteLo, entry.rkey, entry.length);
    at += RETH_BYTES;
  }
  if (!last) return;
  if (entry.opcode === WrOpcode.SendWithImm || entry.opcode === WrOpcode.RdmaWriteWithImm)
    writeImmDt(view, at, entry.immData);
  else if (entry.opcode === WrOpcode.SendWithInv) writeIeth(view, at, entry.invalidateRkey);
}

function dataOpcode(opcode: WrOpcode, first: boolean, last: boolean): number {
  const write = opcode === WrOpcode.RdmaWrite || opcode === WrOpcode.RdmaWriteWithImm;
  if (!last) {
    if (first) return write ? Op.WriteFirst : Op.SendFirst;
    return write ? Op.WriteMiddle : Op.SendMiddle;
  }
  switch (opcode) {
    case WrOpcode.RdmaWrite:
      return first ? Op.WriteOnly : Op.WriteLast;
    case WrOpcode.RdmaWriteWithImm:
      return first ? Op.WriteOnlyImm : Op.WriteLastImm;
    case WrOpcode.SendWithImm:
      return first ? Op.SendOnlyImm : Op.SendLastImm;
    case WrOpcode.SendWithInv:
      return first ? Op.SendOnlyInvalidate : Op.SendLastInvalidate;
    default:
      return first ? Op.SendOnly : Op.SendLast;
  }
}
