/**
 * The verbs objects of a run: one region, two completion queues, the queue pairs, and how they are connected.
 *
 * Owns what exists and where in the region things are. Never measures: bandwidth.ts and latency.ts do.
 * The region has two halves as perftest's buffer has: what we send from, and where the peer's messages go, each with one
 * piece per queue pair (perftest_communication.c#set_up_connection).
 */
import {
  Access,
  type AddressVector,
  type IpAddress,
  type MemoryRegion,
  QpState,
  type RdmaCq,
  type RdmaDevice,
  type RdmaPd,
  type RdmaQp,
  RoceError,
  type SendWr,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
  wcStatusName,
} from '../../src/index.ts';
import type { PerfDest } from './dest.ts';
import type { Terms } from './introductions.ts';
import { ATOMIC_BYTES, type PerfOptions } from './options.ts';

/** Where lines go. */
export interface PerfOutput {
  line(text: string): void;
  complaint(text: string): void;
}

/** What a run happens in. */
export interface PerfContext {
  readonly device: RdmaDevice;
  readonly output: PerfOutput;
  /** Ends the run. */
  readonly signal: AbortSignal;
  /** Monotonic nanoseconds. */
  readonly clock: () => number;
  /** Lets everything else have its turn, while memory is watched. */
  readonly turn: () => Promise<void>;
  readonly sleep: (ns: number) => Promise<void>;
  /** A number in [0, 2^24): starting PSNs. */
  readonly randomPsn: () => number;
}

export class PerfSession {
  readonly context: PerfContext;
  readonly options: PerfOptions;
  readonly qps: readonly RdmaQp[];
  readonly sendCq: RdmaCq;
  readonly recvCq: RdmaCq;
  readonly region: MemoryRegion;
  /** Address of ours that queue pairs speak from. */
  readonly gid: IpAddress;
  readonly local: readonly PerfDest[];
  remote: readonly PerfDest[] = [];
  /** Bytes of one queue pair's piece. */
  readonly #pieceBytes: number;
  readonly #pd: RdmaPd;

  constructor(context: PerfContext, options: PerfOptions, terms: Terms, gid: IpAddress, largest: number) {
    const { device, randomPsn } = context;
    const { queuePairs, txDepth, rxDepth, inlineBytes, outstandingReads } = options;
    this.context = context;
    this.options = options;
    this.gid = gid;
    this.#pieceBytes = roundUp(Math.max(terms.cycleBytes, largest + GRH_BYTES), PIECE_ALIGNMENT);
    this.#pd = device.allocPd();
    this.sendCq = device.createCq(txDepth * queuePairs + 1);
    this.recvCq = device.createCq(rxDepth * queuePairs + 1);
    this.region = this.#pd.regMr(this.#pieceBytes * 2 * queuePairs, { access: ACCESS });
    const { sendCq, recvCq } = this;
    this.qps = Array.from({ length: queuePairs }, () =>
      this.#pd.createQp({
        sendCq,
        recvCq,
        maxSendWr: txDepth,
        maxRecvWr: rxDepth,
        maxSge: 1,
        maxInlineData: inlineBytes,
      }),
    );
    const gidIndex = device.addresses.findIndex(({ address }) => address.equals(gid));
    this.local = this.qps.map(({ qpn }, i) => ({
      lid: 0,
      outReads: outstandingReads,
      qpn,
      psn: randomPsn(),
      rkey: this.region.rkey,
      vaddr: this.region.iova + BigInt(this.receiveOffset(i)),
      gid,
      srqn: 0,
      gidIndex,
    }));
  }

  /** Where queue pair `i` sends from. */
  sendOffset(i: number): number {
    return i * this.#pieceBytes;
  }

  /** Where messages to queue pair `i` go. */
  receiveOffset(i: number): number {
    return (this.options.queuePairs + i) * this.#pieceBytes;
  }

  /** From RESET to INIT, with everything allowed. */
  initialize(qp: RdmaQp): void {
    qp.modifyNow({ state: QpState.Init, access: ACCESS });
  }

  /** Brings the queue pairs to RTS with what both sides told (ctx_connect). */
  async connect(remote: readonly PerfDest[], mtu: number): Promise<void> {
    for (const [i, qp] of this.qps.entries()) {
      this.initialize(qp);
      const theirs = remote[i];
      const ours = this.local[i];
      if (theirs === undefined || ours === undefined) throw new RoceError('ERR_ROCE_STATE', 'a peer is missing');
      await this.#connectRc(qp, ours, theirs, mtu);
    }
  }

  /** A request for queue pair `i`, to be posted any number of times. */
  request(i: number, size: number, signaled: boolean): SendWr {
    const { verb, atomic, inlineBytes } = this.options;
    const remote = this.remote[i];
    const offset = this.sendOffset(i);
    const sges = [{ mr: this.region, offset, length: verb === 'atomic' ? ATOMIC_BYTES : size }];
    const inline = this.region.bytes.subarray(offset, offset + size);
    const content = size <= inlineBytes ? { inline } : { sges };
    const base = { wrId: i, signaled };
    const where = { remoteAddr: remote?.vaddr ?? 0n, rkey: remote?.rkey ?? 0 };
    if (verb === 'send') return { ...base, opcode: WrOpcode.Send, ...content };
    if (verb === 'write') return { ...base, opcode: WrOpcode.RdmaWrite, ...content, ...where };
    if (verb === 'read') return { ...base, opcode: WrOpcode.RdmaRead, sges, ...where };
    return atomic === 'FETCH_AND_ADD'
      ? { ...base, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...where, compareAdd: 1n }
      : { ...base, opcode: WrOpcode.AtomicCmpAndSwp, sges, ...where, compareAdd: 0n, swap: 0n };
  }

  postReceive(i: number, size: number): void {
    const sge = { mr: this.region, offset: this.receiveOffset(i), length: size };
    this.qps[i]?.postRecv({ wrId: i, sges: [sge] });
  }

  /** The next completion; throws with perftest's words when it failed. */
  async next(cq: RdmaCq): Promise<WorkCompletion> {
    const { value, done } = await cq.next();
    if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    this.demandSuccess(value);
    return value;
  }

  demandSuccess({ status, wrId }: WorkCompletion): void {
    if (status === WcStatus.Success) return;
    this.context.output.complaint(` Completion with error at ${this.options.isServer ? 'server' : 'client'}`);
    throw new RoceError('ERR_ROCE_STATE', ` Failed status ${status}: wr_id ${wrId} (${wcStatusName(status)})`);
  }

  /** Frees everything. */
  end(): void {
    for (const qp of this.qps) qp.destroy();
    this.#pd.deregMr(this.region);
    this.context.device.destroyCq(this.sendCq);
    this.context.device.destroyCq(this.recvCq);
    this.#pd.dealloc();
  }

  async #connectRc(qp: RdmaQp, ours: PerfDest, theirs: PerfDest, mtu: number): Promise<void> {
    const { ackTimeout, retryCount } = this.options;
    await qp.modify({
      state: QpState.Rtr,
      av: this.vectorTo(theirs),
      destQpn: theirs.qpn,
      rqPsn: theirs.psn,
      mtu,
      maxDestRdAtomic: ours.outReads,
      minRnrTimer: MIN_RNR_TIMER,
    });
    qp.modifyNow({
      state: QpState.Rts,
      sqPsn: ours.psn,
      timeout: ackTimeout,
      retryCnt: retryCount,
      rnrRetry: INFINITE_RETRY,
      maxRdAtomic: Math.min(theirs.outReads, 255),
    });
  }

  /** The way to a queue pair of the peer. */
  vectorTo({ gid }: PerfDest): AddressVector {
    const { trafficClass } = this.options;
    return { destination: gid, source: this.gid, ...(trafficClass === undefined ? {} : { trafficClass }) };
  }
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

const ACCESS = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
const PIECE_ALIGNMENT = 64;
/** What a datagram's headers take at the beginning of its receive. */
export const GRH_BYTES = 40;
const MIN_RNR_TIMER = 12;
const INFINITE_RETRY = 7;
