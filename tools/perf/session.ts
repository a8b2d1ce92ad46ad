/**
 * The verbs objects of a run: one region, two completion queues, the queue pairs, and the requests they post.
 *
 * Owns what exists and where in the region things are. Never measures (bandwidth.ts, latency.ts) and never connects
 * (bring-up.ts). The region has two halves as perftest's buffer has: what we send from, and where the peer's messages
 * go, each with one piece per queue pair (perftest_communication.c#set_up_connection).
 */

import type { AddressVector, RdmaAh, RdmaCq, RdmaDevice, RdmaPd, RdmaQp, RdmaSrq } from 'rocev2';
import { defined, GRH_BYTES, type IpAddress, RoceError } from 'rocev2/packets';
import {
  Access,
  type MemoryRegion,
  QpType,
  type SendWr,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';
import type { ToolOutput } from '../output.ts';
import type { PerfDest } from './dest.ts';
import type { PerfAgreement } from './introductions.ts';
import { ATOMIC_BYTES, type PerfOptions, type PerfService } from './options.ts';

/** What a run happens in. */
export interface PerfContext {
  readonly device: RdmaDevice;
  readonly output: ToolOutput;
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

/** Where the datagrams of one queue pair go. */
export interface DatagramPeer {
  readonly ah: RdmaAh;
  readonly qpn: number;
  readonly qkey: number;
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
  readonly pd: RdmaPd;
  /** Of each queue pair, with UD. */
  readonly datagramPeers: (DatagramPeer | undefined)[] = [];
  /** --use-srq: all queue pairs receive from it. */
  readonly srq: RdmaSrq | undefined;
  /** Completions that were asked for and not yet taken. */
  readonly #waiting = new Map<RdmaCq, Promise<IteratorResult<WorkCompletion>>>();
  /** Bytes of one queue pair's piece. */
  readonly #pieceBytes: number;

  constructor(context: PerfContext, options: PerfOptions, terms: PerfAgreement, gid: IpAddress, largest: number) {
    const { device, randomPsn } = context;
    const { queuePairs, txDepth, rxDepth, inlineBytes, outstandingReads } = options;
    this.context = context;
    this.options = options;
    this.gid = gid;
    this.#pieceBytes = roundUp(Math.max(terms.cycleBytes, largest + GRH_BYTES), PIECE_ALIGNMENT);
    this.pd = device.allocPd();
    this.sendCq = device.createCq(txDepth * queuePairs + 1);
    this.recvCq = device.createCq(rxDepth * queuePairs + 1);
    this.region = this.pd.regMr(this.#pieceBytes * 2 * queuePairs, { access: ACCESS });
    const { sendCq, recvCq } = this;
    this.srq = options.useSrq === true ? this.pd.createSrq({ maxWr: rxDepth * queuePairs, maxSge: 1 }) : undefined;
    const capabilities = { maxSendWr: txDepth, maxRecvWr: rxDepth, maxSge: 1, maxInlineData: inlineBytes };
    const srq = this.srq === undefined ? {} : { srq: this.srq };
    const type = QP_TYPES[options.service];
    this.qps = Array.from({ length: queuePairs }, () =>
      this.pd.createQp({ type, sendCq, recvCq, ...srq, ...capabilities }),
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
    if (verb === 'send') return { ...base, opcode: WrOpcode.Send, ...content, ...this.#datagramTo(i) };
    if (verb === 'write') return { ...base, opcode: WrOpcode.RdmaWrite, ...content, ...where };
    if (verb === 'read') return { ...base, opcode: WrOpcode.RdmaRead, sges, ...where };
    return atomic === 'FETCH_AND_ADD'
      ? { ...base, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...where, compareAdd: 1n }
      : { ...base, opcode: WrOpcode.AtomicCmpAndSwp, sges, ...where, compareAdd: 0n, swap: 0n };
  }

  /** A receive for a message of any size to queue pair `i`; to whichever with a shared queue. */
  postReceive(i: number): void {
    const wr = { wrId: i, sges: [{ mr: this.region, offset: this.receiveOffset(i), length: this.#pieceBytes }] };
    if (this.srq === undefined) this.qps[i]?.postRecv(wr);
    else this.srq.postRecv(wr);
  }

  /**
   * The next completion, or undefined when `over` resolves first; then it is there for who asks next. Throws with
   * perftest's words when it failed.
   */
  async next(cq: RdmaCq, over?: Promise<undefined>): Promise<WorkCompletion | undefined> {
    const waiting = this.#waiting.get(cq) ?? cq.next();
    this.#waiting.set(cq, waiting);
    const result = await (over === undefined ? waiting : Promise.race([waiting, over]));
    if (result === undefined) return undefined;
    this.#waiting.delete(cq);
    if (result.done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    this.demandSuccess(result.value);
    return result.value;
  }

  demandSuccess({ status, wrId }: WorkCompletion): void {
    if (status === WcStatus.Success) return;
    this.context.output.complaint(` Completion with error at ${this.options.isServer ? 'server' : 'client'}`);
    throw new RoceError('ERR_ROCE_STATE', ` Failed status ${status}: wr_id ${wrId} (${wcStatusName(status)})`);
  }

  /** Frees everything. */
  end(): void {
    for (const qp of this.qps) qp.destroy();
    this.srq?.destroy();
    for (const peer of this.datagramPeers) peer?.ah.destroy();
    this.pd.deregMr(this.region);
    this.context.device.destroyCq(this.sendCq);
    this.context.device.destroyCq(this.recvCq);
    this.pd.dealloc();
  }

  /** The way to a queue pair of the peer. */
  vectorTo({ gid }: PerfDest): AddressVector {
    const { trafficClass } = this.options;
    return { destination: gid, source: this.gid, ...defined({ trafficClass }) };
  }

  #datagramTo(i: number): Pick<SendWr, 'ah' | 'remoteQpn' | 'remoteQkey'> {
    const peer = this.datagramPeers[i];
    return peer === undefined ? {} : { ah: peer.ah, remoteQpn: peer.qpn, remoteQkey: peer.qkey };
  }
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

/** What queue pairs and the region allow. */
export const ACCESS = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
const PIECE_ALIGNMENT = 64;
const QP_TYPES: Readonly<Record<PerfService, QpType>> = { RC: QpType.Rc, UC: QpType.Uc, UD: QpType.Ud };
