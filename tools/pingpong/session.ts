/**
 * rc_, uc_, ud_ and srq_pingpong of libibverbs over our devices, either role: queue pairs that answer each message with
 * one. They differ in the service, in the number of queue pairs, and in where receives are posted; the rules of who
 * posts what when are the same (rdma-core:libibverbs/examples/{rc,uc,ud,srq}_pingpong.c). Owns queue pairs, buffer and
 * the count of messages; run.ts owns the exchange with the peer.
 */

import type { RdmaAh, RdmaCq, RdmaDevice, RdmaPd, RdmaQp, RdmaSrq } from 'rocev2';
import { defined, GRH_BYTES, type IpAddress, RoceError } from 'rocev2/packets';
import {
  Access,
  type MemoryRegion,
  QpState,
  QpType,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';
import type { PingpongDest } from './protocol.ts';

export type PingpongService = 'rc' | 'uc' | 'ud' | 'srq';

export interface PingpongOptions {
  readonly service: PingpongService;
  /** Bytes of a message. */
  readonly size: number;
  /** Path MTU, bytes. */
  readonly mtu: number;
  /** Receives kept posted. */
  readonly rxDepth: number;
  /** Messages each way; of srq_pingpong over all queue pairs. */
  readonly iterations: number;
  /** Queue pairs; srq_pingpong only, 1 for the others. */
  readonly queuePairs: number;
  /** Fills the buffer with what the peer's `-c` expects, and checks received messages in the same way. */
  readonly check: boolean;
}

export class PingpongSession {
  readonly qps: readonly RdmaQp[];
  readonly #device: RdmaDevice;
  readonly #options: PingpongOptions;
  readonly #pd: RdmaPd;
  readonly #cq: RdmaCq;
  readonly #srq: RdmaSrq | undefined;
  readonly #region: MemoryRegion;
  /** Where in the buffer messages begin: behind the 40 bytes that a datagram is received with. */
  readonly #offset: number;
  /** UD: the way to each peer, by position of its queue pair. */
  readonly #ways: { readonly ah: RdmaAh; readonly qpn: number }[] = [];
  /** What each queue pair still waits for before it may send: completions of its receive, of its send. */
  readonly #pending: number[];
  #receivesPosted = 0;
  #sent = 0;
  #received = 0;

  constructor(device: RdmaDevice, options: PingpongOptions) {
    const { service, size, rxDepth, queuePairs, check } = options;
    this.#device = device;
    this.#options = options;
    this.#offset = service === 'ud' ? GRH_BYTES : 0;
    this.#pd = device.allocPd();
    this.#cq = device.createCq(rxDepth + queuePairs);
    this.#region = this.#pd.regMr(Math.max(1, size + this.#offset), { access: Access.LocalWrite });
    this.#region.bytes.fill(FILLING);
    if (check) for (let at = 0; at < size; at += PAGE_BYTES) this.#region.bytes[this.#offset + at] = 0;
    this.#srq = service === 'srq' ? this.#pd.createSrq({ maxWr: rxDepth, maxSge: 1 }) : undefined;
    const queues = { sendCq: this.#cq, recvCq: this.#cq, maxSendWr: 1, maxSge: 1 };
    const receives = this.#srq === undefined ? { maxRecvWr: rxDepth } : { srq: this.#srq };
    const type = QP_TYPES[service];
    this.qps = Array.from({ length: queuePairs }, () => this.#pd.createQp({ type, ...queues, ...receives }));
    this.#pending = this.qps.map(() => RECV_WR_ID);
    for (const qp of this.qps) {
      if (service === 'ud') qp.modifyNow({ state: QpState.Init, qkey: QKEY });
      else qp.modifyNow({ state: QpState.Init, access: 0 });
    }
    this.#postReceives();
  }

  /** Brings every queue pair to RTS, towards its counterpart. Rejects with ERR_ROCE_ADDRESS where there is no way. */
  async connect(ours: readonly PingpongDest[], theirs: readonly PingpongDest[]): Promise<void> {
    for (const [i, qp] of this.qps.entries()) {
      const from = ours[i];
      const to = theirs[i];
      if (from === undefined || to?.gid === undefined)
        throw new RoceError('ERR_ROCE_ADDRESS', 'the peer has no GID: it wants a -g, the index of one in its table');
      await this.#connectOne(qp, { ...from }, { ...to, gid: to.gid });
    }
  }

  /** The client sends first, on every queue pair. */
  begin(): void {
    for (const [i] of this.qps.entries()) this.#send(i);
  }

  /** Until every message was sent and received. False, with a complaint, after a completion with an error. */
  async run(complain: (text: string) => void): Promise<boolean> {
    const { iterations } = this.#options;
    while (this.#received < iterations || this.#sent < iterations) {
      const { done, value } = await this.#cq.next();
      if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
      if (value.status !== WcStatus.Success) {
        complain(`Failed status ${wcStatusName(value.status)} (${value.status}) for wr_id ${value.wrId}`);
        return false;
      }
      this.#completed(value);
    }
    return true;
  }

  /** Pages of the message that do not begin as a peer with `-c` fills them. */
  spoiltPages(): number[] {
    const { size } = this.#options;
    const pages = Array.from({ length: Math.ceil(size / PAGE_BYTES) }, (_, page) => page);
    return pages.filter((page) => this.#region.bytes[this.#offset + page * PAGE_BYTES] !== 0);
  }

  end(): void {
    for (const qp of this.qps) qp.destroy();
    for (const { ah } of this.#ways) ah.destroy();
    this.#srq?.destroy();
    this.#pd.deregMr(this.#region);
    this.#device.destroyCq(this.#cq);
    this.#pd.dealloc();
  }

  async #connectOne(qp: RdmaQp, ours: PingpongDest, theirs: PingpongDest & { gid: IpAddress }): Promise<void> {
    const { service, mtu } = this.#options;
    const { psn: sqPsn, gid: source } = ours;
    const av = { destination: theirs.gid, ...defined({ source }) };
    if (service === 'ud') {
      await qp.modify({ state: QpState.Rtr });
      await qp.modify({ state: QpState.Rts, sqPsn });
      this.#ways.push({ ah: await this.#pd.createAh(av), qpn: theirs.qpn });
      return;
    }
    const path = { state: QpState.Rtr, av, destQpn: theirs.qpn, rqPsn: theirs.psn, mtu };
    if (service === 'uc') {
      await qp.modify(path);
      await qp.modify({ state: QpState.Rts, sqPsn });
      return;
    }
    await qp.modify({ ...path, maxDestRdAtomic: 1, minRnrTimer: 12 });
    await qp.modify({ state: QpState.Rts, sqPsn, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 });
  }

  #completed({ wrId, qpn }: WorkCompletion): void {
    if (wrId === SEND_WR_ID) this.#sent += 1;
    else {
      this.#received += 1;
      this.#receivesPosted -= 1;
      if (this.#receivesPosted <= this.qps.length) this.#postReceives();
    }
    const i = this.qps.findIndex((qp) => qp.qpn === qpn);
    this.#pending[i] = (this.#pending[i] ?? 0) & ~wrId;
    if (this.#sent < this.#options.iterations && this.#pending[i] === 0) this.#send(i);
  }

  #postReceives(): void {
    const wr = { wrId: RECV_WR_ID, sges: [{ mr: this.#region, length: this.#options.size + this.#offset }] };
    for (; this.#receivesPosted < this.#options.rxDepth; this.#receivesPosted++) {
      if (this.#srq === undefined) this.qps[0]?.postRecv(wr);
      else this.#srq.postRecv(wr);
    }
  }

  #send(i: number): void {
    const way = this.#ways[i];
    const datagram = way === undefined ? {} : { ah: way.ah, remoteQpn: way.qpn, remoteQkey: QKEY };
    const sges = [{ mr: this.#region, offset: this.#offset, length: this.#options.size }];
    this.qps[i]?.postSend({ wrId: SEND_WR_ID, opcode: WrOpcode.Send, sges, ...datagram });
    this.#pending[i] = SEND_WR_ID | RECV_WR_ID;
  }
}

/** Bits of what a queue pair waits for, as in the published programs. */
const RECV_WR_ID = 1;
const SEND_WR_ID = 2;
const QKEY = 0x11_11_11_11;
const FILLING = 0x7b;
const PAGE_BYTES = 4096;
const QP_TYPES: Readonly<Record<PingpongService, QpType>> = {
  rc: QpType.Rc,
  uc: QpType.Uc,
  ud: QpType.Ud,
  srq: QpType.Rc,
};
