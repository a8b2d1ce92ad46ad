/**
 * One posted send request, from post to completion: the request, its PSNs and how far its response has come. The send
 * queue fills it, the requester and the completer read and advance it. PSNs are extended (send-queue.ts).
 */
import type { AddressHandle } from './address-handle.ts';
import { type SendInspection, wirePsn } from './inspection.ts';
import type { BindTerms, FastTerms } from './key-table.ts';
import { SegmentList } from './segments.ts';
import { FlushLevel, WrOpcode } from './work.ts';

const EMPTY = new Uint8Array(0);

export class SendEntry {
  wrId = 0;
  opcode: WrOpcode = WrOpcode.Send;
  signaled = true;
  fence = false;
  solicited = false;
  remoteHi = 0;
  remoteLo = 0;
  rkey = 0;
  immData = 0;
  invalidateRkey = 0;
  /** XRC: the peer's shared receive queue. */
  remoteSrqn = 0;
  /** UD: destination, queue pair there, and its Q_Key as the caller gave it. */
  ah: AddressHandle | undefined = undefined;
  remoteQpn = 0;
  remoteQkey = 0;
  compareHi = 0;
  compareLo = 0;
  swapHi = 0;
  swapLo = 0;
  readonly segments = new SegmentList();
  /** Copied bytes of an inline request; `inlineLength` -1 when the request uses `segments`. */
  inlineBytes = EMPTY;
  inlineLength = -1;
  /** Message bytes. */
  length = 0;
  /** FLUSH: the fields of its FETH and RETH. */
  flushType = 0;
  flushLevel: FlushLevel = FlushLevel.Range;
  flushLength = 0;
  /** BIND MW and REG MR. */
  bind: BindTerms | undefined = undefined;
  reg: FastTerms | undefined = undefined;
  /** First and last extended PSN, set when the first packet is sent; -1 before. */
  firstPsn = -1;
  lastPsn = -1;
  /** PSNs whose responses have come, of a request that expects responses. */
  answered = 0;
  /** READ, atomics, FLUSH and ATOMIC WRITE complete by their response, all others by an ACK. */
  expectsResponse = false;
  /** The response carries data: READ and atomics. */
  returnsData = false;
  /** Executed here, and no packet leaves: LOCAL INV, BIND MW, REG MR. */
  local = false;
  /** Consumes a receive of the peer: SENDs and WRITE with immediate. */
  consumesReceive = false;
  /** Its number among the messages of the connection, from 1, set when the first packet is sent. */
  ssn = 0;

  get isAtomic(): boolean {
    return this.opcode === WrOpcode.AtomicCmpAndSwp || this.opcode === WrOpcode.AtomicFetchAndAdd;
  }

  get started(): boolean {
    return this.firstPsn >= 0;
  }

  /** As plain data. An entry of an unreliable service has no last PSN, and reports -1 for it. */
  inspect(): SendInspection {
    const { wrId, opcode, length, answered, expectsResponse, started, firstPsn, lastPsn } = this;
    const first = started ? wirePsn(firstPsn) : -1;
    const last = lastPsn < 0 ? -1 : wirePsn(lastPsn);
    return { wrId, opcode, length, answered, expectsResponse, firstPsn: first, lastPsn: last };
  }

  /** Forgets the memory and the address handle it names, so that a finished request keeps nothing alive. */
  release(): void {
    this.segments.release();
    this.ah = undefined;
    this.bind = undefined;
    this.reg = undefined;
  }
}
