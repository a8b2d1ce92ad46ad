/**
 * Puts one packet of a request into a frame: SEND and WRITE data, READ and atomic requests, of any connected service.
 * The service is a field of the queue pair's configuration: its bits go into the opcode, and XRC requests name their
 * shared receive queue. Never decides what is sent or when, and keeps nothing. Packetisation: ref:wire#5, ref:wire#8,
 * ref:conformance#LEN-13, OPS-14.
 */
import { writeAtomicEth } from '../packets/atomic-eth.ts';
import { BTH_BYTES, writeBth } from '../packets/bth.ts';
import { invariant } from '../packets/errors.ts';
import { FETH_BYTES, writeFeth } from '../packets/feth.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { writeIeth } from '../packets/ieth.ts';
import { writeImmDt } from '../packets/imm-dt.ts';
import { OPCODE_HEADER_BYTES, Op, Service } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import { RETH_BYTES, writeReth } from '../packets/reth.ts';
import { rxeFlushIcrc } from '../packets/rxe-flush-icrc.ts';
import { writeXrceth, XRCETH_BYTES } from '../packets/xrceth.ts';
import type { QpConfig } from './qp-config.ts';
import type { SendEntry } from './send-entry.ts';
import { copyBytes } from './shared-copy.ts';
import { WrOpcode } from './work.ts';

/**
 * Writes the packet of a SEND or WRITE that carries its bytes from `offset` on, and returns how many it carries; -1,
 * and no packet, when memory is not there any more.
 */
export function writeData(
  writer: FrameWriter,
  config: QpConfig,
  entry: SendEntry,
  offset: number,
  psn: number,
  ackReq: 0 | 1,
): number {
  invariant(config.path !== undefined, 'a queue pair that sends has a path');
  const { template } = config.path;
  const left = entry.length - offset;
  const size = Math.min(left, config.mtu);
  const last = left <= config.mtu;
  const first = offset === 0;
  const opcode = dataOpcode(entry.opcode, first, last) | config.service;
  const pad = -size & 3;
  const solicited = last && entry.solicited ? 1 : 0;
  const { bytes, view } = writer;
  const bth = writer.begin(template);
  writeBth(view, bth, opcode, solicited, config.migReq, pad, config.pkey, config.destQpn, ackReq, psn & PSN_MASK);
  writeDataHeaders(view, writeServiceHeader(view, bth + BTH_BYTES, config, entry), entry, first, last);
  const payload = bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] as number);
  if (!writePayload(bytes, payload, entry, offset, size)) return -1;
  for (let i = 0; i < pad; i++) bytes[payload + size + i] = 0;
  writer.end(template, payload + size + pad);
  return size;
}

/** Writes a READ request for all that lies from `offset` on: a READ that is resumed requests only its missing tail. */
export function writeReadRequest(
  writer: FrameWriter,
  config: QpConfig,
  entry: SendEntry,
  offset: number,
  psn: number,
): void {
  invariant(config.path !== undefined, 'a queue pair that sends has a path');
  const { template } = config.path;
  const low = entry.remoteLo + offset;
  const hi = (entry.remoteHi + (low > 0xff_ff_ff_ff ? 1 : 0)) >>> 0;
  const bth = writer.begin(template);
  const at = writeRequestBth(writer.view, bth, Op.ReadRequest, config, entry, psn);
  writeReth(writer.view, at, hi, low >>> 0, entry.rkey, entry.length - offset);
  writer.end(template, at + RETH_BYTES);
}

export function writeAtomic(writer: FrameWriter, config: QpConfig, entry: SendEntry, psn: number): void {
  invariant(config.path !== undefined, 'a queue pair that sends has a path');
  const { template } = config.path;
  const opcode = entry.opcode === WrOpcode.AtomicCmpAndSwp ? Op.CompareSwap : Op.FetchAdd;
  const bth = writer.begin(template);
  const at = writeRequestBth(writer.view, bth, opcode, config, entry, psn);
  const { remoteHi, remoteLo, rkey, swapHi, swapLo, compareHi, compareLo } = entry;
  writeAtomicEth(writer.view, at, remoteHi, remoteLo, rkey, swapHi, swapLo, compareHi, compareLo);
  writer.end(template, bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode | config.service] as number));
}

/** Writes a FLUSH. `rxeIcrc`: with the ICRC that rdma_rxe demands of one. */
export function writeFlush(
  writer: FrameWriter,
  config: QpConfig,
  entry: SendEntry,
  psn: number,
  rxeIcrc: boolean,
): void {
  invariant(config.path !== undefined, 'a queue pair that sends has a path');
  const { template } = config.path;
  const bth = writer.begin(template);
  const at = writeRequestBth(writer.view, bth, Op.Flush, config, entry, psn);
  writeFeth(writer.view, at, entry.flushType, entry.flushLevel);
  writeReth(writer.view, at + FETH_BYTES, entry.remoteHi, entry.remoteLo, entry.rkey, entry.flushLength);
  const end = at + FETH_BYTES + RETH_BYTES;
  writer.end(template, end);
  if (!rxeIcrc) return;
  const icrc = rxeFlushIcrc(writer.view.getUint32(end, true), writer.bytes, bth, end);
  writer.view.setUint32(end, icrc, true);
}

/** Copies `size` bytes of a message, from byte `offset` on, into a frame; false when memory is not there any more. */
export function writePayload(bytes: Uint8Array, at: number, entry: SendEntry, offset: number, size: number): boolean {
  if (entry.inlineLength < 0) return entry.segments.gather(offset, bytes, at, size);
  copyBytes(bytes, at, entry.inlineBytes, offset, size);
  return true;
}

/**
 * The BTH of a request without payload that requests an ACK, and the header of its service; returns where the next
 * one starts.
 */
function writeRequestBth(
  view: DataView,
  bth: number,
  op: number,
  config: QpConfig,
  entry: SendEntry,
  psn: number,
): number {
  const opcode = op | config.service;
  writeBth(view, bth, opcode, 0, config.migReq, 0, config.pkey, config.destQpn, 1, psn & PSN_MASK);
  return writeServiceHeader(view, bth + BTH_BYTES, config, entry);
}

/**
 * What the service itself puts behind the BTH: XRC, the shared receive queue of the peer. Returns where the next header
 * starts.
 */
function writeServiceHeader(view: DataView, at: number, config: QpConfig, entry: SendEntry): number {
  if (config.service !== Service.Xrc) return at;
  writeXrceth(view, at, entry.remoteSrqn);
  return at + XRCETH_BYTES;
}

function writeDataHeaders(view: DataView, at: number, entry: SendEntry, first: boolean, last: boolean): void {
  if (first && carriesReth(entry.opcode)) {
    writeReth(view, at, entry.remoteHi, entry.remoteLo, entry.rkey, entry.length);
    at += RETH_BYTES;
  }
  if (!last) return;
  if (entry.opcode === WrOpcode.SendWithImm || entry.opcode === WrOpcode.RdmaWriteWithImm)
    writeImmDt(view, at, entry.immData);
  else if (entry.opcode === WrOpcode.SendWithInv) writeIeth(view, at, entry.invalidateRkey);
}

/** WRITEs of every kind: an ATOMIC WRITE is one of a single packet. */
function carriesReth(opcode: WrOpcode): boolean {
  return opcode === WrOpcode.RdmaWrite || opcode === WrOpcode.RdmaWriteWithImm || opcode === WrOpcode.AtomicWrite;
}

/** Without the service bits. */
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
    case WrOpcode.AtomicWrite:
      return Op.AtomicWrite;
    case WrOpcode.SendWithInv:
      return first ? Op.SendOnlyInvalidate : Op.SendLastInvalidate;
    default:
      return first ? Op.SendOnly : Op.SendLast;
  }
}
