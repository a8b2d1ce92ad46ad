/**
 * The send queue of a queue pair: posted requests in order, from post to completion. It holds facts about each request
 * (the work request, its PSNs, how far its response has come); the requester and the completer read and advance them.
 *
 * Packet sequence numbers here and in the requester and completer are *extended*: they count up from the starting PSN
 * and never wrap, so that order is plain `<`. Only the low 24 bits travel; see `extendPsn`.
 */

import { RoceError } from '../packets/errors.ts';
import { psnDiff } from '../packets/psn.ts';
import type { SendInspection } from './inspection.ts';
import { bindTerms, checkLocalWork, fastTerms } from './local-work.ts';
import { PRIVILEGED_QKEY } from './qp-attributes.ts';
import { type Pool, Ring } from './ring.ts';
import { checkSges } from './segments.ts';
import type { SendEntry } from './send-entry.ts';
import { FlushLevel, FlushType, type SendWr, WcOpcode, WrOpcode } from './work.ts';

/** Largest message: 2^31 bytes (ref:conformance#LEN-15). */
export const MAX_MESSAGE_BYTES = 2 ** 31;

/** The extended PSN nearest to `near` whose low 24 bits are `psn`; a distance of exactly 2^23 counts as past. */
export function extendPsn(psn: number, near: number): number {
  return near + psnDiff(psn, near % 0x1_00_00_00);
}

const EXPECTS_RESPONSE = 1;
const RETURNS_DATA = 2;
const LOCAL = 4;
const CONSUMES_RECEIVE = 8;

const TRAITS: Readonly<Partial<Record<WrOpcode, number>>> = {
  [WrOpcode.Send]: CONSUMES_RECEIVE,
  [WrOpcode.SendWithImm]: CONSUMES_RECEIVE,
  [WrOpcode.SendWithInv]: CONSUMES_RECEIVE,
  [WrOpcode.RdmaWriteWithImm]: CONSUMES_RECEIVE,
  [WrOpcode.RdmaRead]: EXPECTS_RESPONSE | RETURNS_DATA,
  [WrOpcode.AtomicCmpAndSwp]: EXPECTS_RESPONSE | RETURNS_DATA,
  [WrOpcode.AtomicFetchAndAdd]: EXPECTS_RESPONSE | RETURNS_DATA,
  [WrOpcode.Flush]: EXPECTS_RESPONSE,
  [WrOpcode.AtomicWrite]: EXPECTS_RESPONSE,
  [WrOpcode.LocalInv]: LOCAL,
  [WrOpcode.BindMw]: LOCAL,
  [WrOpcode.RegMr]: LOCAL,
};

const COMPLETION_OPCODE: Readonly<Record<WrOpcode, number>> = {
  [WrOpcode.Send]: WcOpcode.Send,
  [WrOpcode.SendWithImm]: WcOpcode.Send,
  [WrOpcode.SendWithInv]: WcOpcode.Send,
  [WrOpcode.RdmaWrite]: WcOpcode.RdmaWrite,
  [WrOpcode.RdmaWriteWithImm]: WcOpcode.RdmaWrite,
  [WrOpcode.RdmaRead]: WcOpcode.RdmaRead,
  [WrOpcode.AtomicCmpAndSwp]: WcOpcode.CompSwap,
  [WrOpcode.AtomicFetchAndAdd]: WcOpcode.FetchAdd,
  [WrOpcode.LocalInv]: WcOpcode.LocalInv,
  [WrOpcode.BindMw]: WcOpcode.BindMw,
  [WrOpcode.Flush]: WcOpcode.Flush,
  [WrOpcode.AtomicWrite]: WcOpcode.AtomicWrite,
  [WrOpcode.RegMr]: WcOpcode.RegMr,
};

/** The ibv_wc_opcode with which a request completes. */
export function completionOpcode(opcode: WrOpcode): number {
  return COMPLETION_OPCODE[opcode];
}

export interface SendLimits {
  readonly maxSge: number;
  readonly maxInlineData: number;
}

export class SendQueue extends Ring<SendEntry> implements SendLimits {
  readonly maxSge: number;
  readonly maxInlineData: number;

  constructor(capacity: number, limits: SendLimits, pool: Pool<SendEntry>) {
    super(capacity, pool);
    this.maxSge = limits.maxSge;
    this.maxInlineData = limits.maxInlineData;
  }

  /** The requests that have not completed, oldest first, as plain data. @internal */
  inspect(): SendInspection[] {
    const list: SendInspection[] = [];
    for (let position = this.head; position < this.tail; position++) list.push(this.at(position).inspect());
    return list;
  }

  /** Forgets all requests, and the memory they named. */
  override clear(): void {
    for (let position = this.head; position < this.tail; position++) this.at(position).release();
    super.clear();
  }

  /** Copies a work request into the queue; throws before anything is changed. */
  post(wr: SendWr): void {
    checkSendWr(wr, this);
    if (this.full)
      throw new RoceError('ERR_ROCE_QUEUE_FULL', `all ${this.capacity} send work requests are outstanding`);
    const entry = this.push();
    entry.wrId = wr.wrId;
    entry.opcode = wr.opcode;
    entry.signaled = wr.signaled ?? true;
    entry.fence = wr.fence ?? false;
    entry.solicited = wr.solicited ?? false;
    entry.rkey = (wr.rkey ?? 0) >>> 0;
    entry.immData = (wr.immData ?? 0) >>> 0;
    entry.invalidateRkey = (wr.invalidateRkey ?? 0) >>> 0;
    entry.ah = wr.ah;
    entry.remoteSrqn = wr.xrcRemoteSrqn ?? 0;
    entry.remoteQpn = wr.remoteQpn ?? 0;
    entry.remoteQkey = wr.remoteQkey ?? PRIVILEGED_QKEY;
    entry.firstPsn = -1;
    entry.lastPsn = -1;
    entry.answered = 0;
    const traits = TRAITS[wr.opcode] ?? 0;
    entry.expectsResponse = (traits & EXPECTS_RESPONSE) !== 0;
    entry.returnsData = (traits & RETURNS_DATA) !== 0;
    entry.local = (traits & LOCAL) !== 0;
    entry.consumesReceive = (traits & CONSUMES_RECEIVE) !== 0;
    if (entry.local) takeLocal(entry, wr);
    if (wr.opcode === WrOpcode.Flush) takeFlush(entry, wr);
    takeData(entry, wr);
    take64(entry, wr);
  }
}

function takeLocal(entry: SendEntry, wr: SendWr): void {
  if (wr.opcode === WrOpcode.BindMw) entry.bind = bindTerms(wr);
  if (wr.opcode === WrOpcode.RegMr) entry.reg = fastTerms(wr);
}

function takeFlush(entry: SendEntry, wr: SendWr): void {
  entry.flushType = wr.flush?.type ?? 0;
  entry.flushLevel = wr.flush?.level ?? FlushLevel.Range;
  entry.flushLength = wr.length ?? 0;
}

function takeData(entry: SendEntry, wr: SendWr): void {
  if (wr.inline === undefined) {
    entry.inlineLength = -1;
    entry.segments.assign(wr.sges ?? []);
    entry.length = entry.segments.length;
    return;
  }
  entry.segments.assign([]);
  if (entry.inlineBytes.length < wr.inline.length) entry.inlineBytes = new Uint8Array(wr.inline.length);
  entry.inlineBytes.set(wr.inline);
  entry.inlineLength = wr.inline.length;
  entry.length = wr.inline.length;
}

/** Splits the 64-bit values once, here, so that no BigInt travels with packets. */
function take64(entry: SendEntry, wr: SendWr): void {
  const address = wr.remoteAddr ?? 0n;
  const compareAdd = wr.compareAdd ?? 0n;
  const swap = wr.swap ?? 0n;
  entry.remoteHi = high32(address);
  entry.remoteLo = low32(address);
  // FETCH ADD carries its addend in the swap field of the AtomicETH (ref:wire#6: "swap-or-add").
  const cas = wr.opcode === WrOpcode.AtomicCmpAndSwp;
  entry.compareHi = cas ? high32(compareAdd) : 0;
  entry.compareLo = cas ? low32(compareAdd) : 0;
  entry.swapHi = high32(cas ? swap : compareAdd);
  entry.swapLo = low32(cas ? swap : compareAdd);
}

const high32 = (value: bigint): number => (value === 0n ? 0 : Number((value >> 32n) & 0xff_ff_ff_ffn));
const low32 = (value: bigint): number => (value === 0n ? 0 : Number(value & 0xff_ff_ff_ffn));

/** Throws ERR_ROCE_ARGUMENT for a request that no queue pair with these limits takes. */
export function checkSendWr(wr: SendWr, limits: SendLimits): void {
  if (COMPLETION_OPCODE[wr.opcode] === undefined) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `there is no send opcode ${wr.opcode}`);
  }
  if (!isUnsigned64(wr.remoteAddr) || !isUnsigned64(wr.compareAdd) || !isUnsigned64(wr.swap)) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'remoteAddr, compareAdd and swap are unsigned 64-bit values');
  }
  if (!isUnsigned32(wr.rkey) || !isUnsigned32(wr.immData) || !isUnsigned32(wr.invalidateRkey)) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'rkey, immData and invalidateRkey are unsigned 32-bit values');
  }
  if (wr.inline !== undefined) checkInline(wr, wr.inline, limits);
  const length = checkSges(wr.sges, limits.maxSge);
  if (length > MAX_MESSAGE_BYTES)
    throw new RoceError('ERR_ROCE_ARGUMENT', `a message has at most 2^31 bytes, not ${length}`);
  const traits = TRAITS[wr.opcode] ?? 0;
  if (traits === 0 || wr.opcode === WrOpcode.RdmaRead) return;
  if ((traits & RETURNS_DATA) !== 0 && length !== 8)
    throw new RoceError('ERR_ROCE_ARGUMENT', `an atomic answers with 8 bytes; its SGEs hold ${length}`);
  if (wr.opcode === WrOpcode.AtomicWrite && (wr.inline?.length ?? length) !== 8)
    throw new RoceError('ERR_ROCE_ARGUMENT', `an ATOMIC WRITE writes 8 bytes, not ${wr.inline?.length ?? length}`);
  if (wr.opcode === WrOpcode.Flush) checkFlushWr(wr, length);
  if ((traits & LOCAL) !== 0) checkLocalWork(wr, length);
}

function checkFlushWr({ flush, length = 0 }: SendWr, data: number): void {
  if (flush === undefined || data > 0) throw new RoceError('ERR_ROCE_ARGUMENT', 'a FLUSH has `flush` and no data');
  const { type, level } = flush;
  if (type === 0 || (type & ~(FlushType.Global | FlushType.Persistent)) !== 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a FLUSH is for global visibility, persistence or both');
  if (level !== FlushLevel.Range && level !== FlushLevel.Mr)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a FLUSH is of a range or of a whole region');
  if (!Number.isInteger(length) || length < 0 || length > MAX_MESSAGE_BYTES)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a FLUSH is of 0 to 2^31 bytes');
}

function checkInline(wr: SendWr, inline: Uint8Array, limits: SendLimits): void {
  const atomicWrite = wr.opcode === WrOpcode.AtomicWrite;
  if (((TRAITS[wr.opcode] ?? 0) & ~CONSUMES_RECEIVE) !== 0 && !atomicWrite) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'inline data is for SEND and WRITE; READ and atomics need SGEs');
  }
  if (wr.sges !== undefined && wr.sges.length > 0) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a work request has inline data or SGEs, not both');
  }
  // An ATOMIC WRITE takes its eight bytes by value whatever the queue pair has room for, as ibv_wr_atomic_write(3)
  // does.
  if (inline.length > limits.maxInlineData && !atomicWrite) {
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      `${inline.length} bytes of inline data, at most ${limits.maxInlineData} are allowed`,
    );
  }
}

const TWO_POW_64 = 1n << 64n;

function isUnsigned64(value: bigint | undefined): boolean {
  return value === undefined || (value >= 0n && value < TWO_POW_64);
}

function isUnsigned32(value: number | undefined): boolean {
  return value === undefined || (Number.isInteger(value) && value >= 0 && value <= 0xff_ff_ff_ff);
}
