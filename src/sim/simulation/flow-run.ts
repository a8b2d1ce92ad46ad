/**
 * A flow while it runs: a pair of queue pairs, connected without a connection manager, and the work requests that carry
 * its bytes. It posts ahead, so that the wire never waits for it, and each completion lets it post one more. Owns its
 * progress and its end.
 */
import { Ecn, trafficClassOf } from '../../../packets/traffic-class.ts';
import { Access } from '../../../transport/memory.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { WcOpcode, WrOpcode, wcStatusName } from '../../../transport/work.ts';
import type { Qp } from '../../device/verbs/index.ts';
import type { Prng } from '../../ground/prng.ts';
import { hostAddress } from '../topology/index.ts';
import type { Flow } from '../traffic/index.ts';
import type { SimulatedHost } from './host.ts';
import { DEFAULT_PRIORITY, type HostSettings } from './options.ts';

/** What all flows of a simulation have in common. */
export interface FlowSetup {
  readonly host: HostSettings;
  readonly mtu: number;
  /** Whether packets are ECN-capable. */
  readonly ecnCapable: boolean;
  /** Of starting PSNs. */
  readonly random: Prng;
  /** Called once when the flow is over, successful or not. */
  readonly ended: (flow: FlowRun) => void;
}

/** One flow. */
export class FlowRun {
  readonly flow: Flow;
  readonly index: number;
  /** Bytes of a work request. */
  readonly messageBytes: number;
  /** Bytes acknowledged, in whole work requests. */
  deliveredBytes = 0;
  /** When it was over; undefined while it is not. */
  endNs: number | undefined = undefined;
  /** As in `FlowResult`. */
  status = 'waiting';
  readonly #setup: FlowSetup;
  #src: SimulatedHost | undefined;
  #dst: SimulatedHost | undefined;
  /** Sends the data: the one whose rate is the flow's. */
  #sender: Qp | undefined;
  #receiver: Qp | undefined;
  #postedBytes = 0;
  /** Messages posted and not acknowledged. */
  #underWay = 0;
  /** Messages that have arrived; counted of SENDs. */
  #arrived = 0;
  /** The flow whose messages this one passes on, and the one that passes on its own. */
  #before: FlowRun | undefined;
  #after: FlowRun | undefined;

  constructor(flow: Flow, index: number, setup: FlowSetup) {
    this.flow = flow;
    this.index = index;
    this.#setup = setup;
    const usual = flow.bytes === Infinity ? ENDLESS_MESSAGE_BYTES : MESSAGE_BYTES;
    this.messageBytes = Math.min(flow.messageBytes ?? setup.host.messageBytes ?? usual, flow.bytes);
  }

  /** From now on it passes on what `before` brings to its source. */
  relays(before: FlowRun): void {
    this.#before = before;
    before.#after = this;
  }

  /** Whether it has begun and is not over. */
  get running(): boolean {
    return this.status === 'running';
  }

  /** The queue pair whose packets carry the data, while the flow runs. */
  get sender(): Qp | undefined {
    return this.#sender;
  }

  /** Work requests that are posted ahead. */
  get ahead(): number {
    const { aheadBytes } = this.#setup.host;
    return Math.max(2, Math.min(MAX_AHEAD, Math.ceil(aheadBytes / this.messageBytes)));
  }

  start(src: SimulatedHost, dst: SimulatedHost): void {
    this.#src = src;
    this.#dst = dst;
    this.status = 'running';
    const caps = { maxSendWr: this.ahead, maxRecvWr: this.ahead, maxSge: 1 };
    this.#sender = src.pd.createQp({ ...caps, sendCq: src.cq, recvCq: src.cq });
    this.#receiver = dst.pd.createQp({ ...caps, sendCq: dst.cq, recvCq: dst.cq });
    const [psn, replyPsn] = [this.#psn(), this.#psn()];
    this.#connect(this.#sender, this.flow.dst, this.#receiver.qpn, psn, replyPsn);
    this.#connect(this.#receiver, this.flow.src, this.#sender.qpn, replyPsn, psn);
    if (this.flow.operation === 'send') for (let i = 0; i < this.ahead; i++) this.#postRecv();
    this.#postAhead();
  }

  /** A work request of either queue pair is done. */
  completed(now: number, opcode: number, status: number): void {
    if (!this.running) return;
    if (status !== 0) this.end(now, wcStatusName(status));
    else if (opcode === WcOpcode.Recv) {
      this.#postRecv();
      this.#arrived++;
      if (this.#after !== undefined) this.#after.#postAhead();
    } else {
      this.#underWay--;
      this.deliveredBytes += Math.min(this.messageBytes, this.flow.bytes - this.deliveredBytes);
      if (this.deliveredBytes === this.flow.bytes) this.end(now, 'done');
      else this.#postAhead();
    }
  }

  /** The flow is over. */
  end(now: number, status: string): void {
    this.status = status;
    this.endNs = now;
    this.#sender?.destroy();
    this.#receiver?.destroy();
    this.#sender = undefined;
    this.#receiver = undefined;
    this.#setup.ended(this);
  }

  #psn(): number {
    return this.#setup.random.u32() >>> 8;
  }

  #connect(qp: Qp, peer: number, destQpn: number, sqPsn: number, rqPsn: number): void {
    const { mtu, host, ecnCapable } = this.#setup;
    const dscp = ((this.flow.priority ?? DEFAULT_PRIORITY) << 3) | DSCP_OF_CLASS;
    const av = {
      destination: hostAddress(peer),
      trafficClass: trafficClassOf(dscp, ecnCapable ? Ecn.Ect0 : Ecn.NotEct),
    };
    qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead });
    qp.modifyNow({ state: QpState.Rtr, av, destQpn, rqPsn, mtu, maxDestRdAtomic: READS, minRnrTimer: RNR_TIMER });
    const retries = { timeout: host.ackTimeout, retryCnt: host.retryCount, rnrRetry: 7 };
    qp.modifyNow({ state: QpState.Rts, sqPsn, ...retries, maxRdAtomic: READS });
    qp.core.setAckInterval(host.ackEveryPackets);
  }

  /** Posts what may be posted: so much ahead, and nothing that is still to come to a flow that relays. */
  #postAhead(): void {
    if (!this.running) return;
    const { ahead, messageBytes, flow } = this;
    const known = this.#before === undefined ? Infinity : (this.#before.#arrived + 1) * messageBytes;
    const until = Math.min(flow.bytes, known);
    while (this.#underWay < ahead && this.#postedBytes < until)
      this.#post(Math.min(messageBytes, until - this.#postedBytes));
  }

  #post(length: number): void {
    const { operation = 'write' } = this.flow;
    if (this.#src === undefined || this.#dst === undefined) return;
    this.#postedBytes += length;
    this.#underWay++;
    const wrId = this.index;
    if (operation === 'read') {
      const { iova, rkey } = this.#src.source;
      const sges = [{ mr: this.#dst.sink, length }];
      this.#receiver?.postSend({ wrId, opcode: WrOpcode.RdmaRead, sges, remoteAddr: iova, rkey });
      return;
    }
    const sges = [{ mr: this.#src.source, length }];
    const { iova, rkey } = this.#dst.sink;
    if (operation === 'send') this.#sender?.postSend({ wrId, opcode: WrOpcode.Send, sges });
    else this.#sender?.postSend({ wrId, opcode: WrOpcode.RdmaWrite, sges, remoteAddr: iova, rkey });
  }

  #postRecv(): void {
    if (this.#dst === undefined) return;
    this.#receiver?.postRecv({ wrId: this.index, sges: [{ mr: this.#dst.sink, length: this.messageBytes }] });
  }
}

/** Bytes of the memories: no work request is longer. */
export const MEMORY_BYTES = 1 << 20;
const MESSAGE_BYTES = MEMORY_BYTES;
/** Of flows that are looked at while they run: their progress is counted in work requests. */
const ENDLESS_MESSAGE_BYTES = 1 << 16;
const MAX_AHEAD = 256;
/** READs outstanding. */
const READS = 16;
/** 0.64 ms (ref:wire#7). */
const RNR_TIMER = 12;
/** DSCP 26 of priority 3, and its like of the others. */
const DSCP_OF_CLASS = 2;
