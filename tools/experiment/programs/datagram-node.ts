/**
 * A datagram queue pair with its buffers, as udaddy and mckey of rdmacm-utils have one for each of their connections:
 * receives posted for all messages, sends from the same memory, the number of the queue pair as immediate data.
 * Sources: rdma-core:librdmacm/examples/udaddy.c, mckey.c.
 */

import type { Cq, Device, Pd, Qp, RdmaAh } from 'rocev2';
import { GRH_BYTES, RoceError } from 'rocev2/packets';
import { RDMA_UDP_QKEY } from 'rocev2/packets/management';
import { Access, type MemoryRegion, QpState, QpType, type WorkCompletion, WrOpcode } from 'rocev2/transport';
import { drain, nextCompletion } from './ucmatose.ts';

export interface DatagramOptions {
  /** Messages each way. */
  readonly messages: number;
  readonly messageBytes: number;
}

/** Where a node's messages go. */
export interface DatagramTarget {
  readonly ah: RdmaAh;
  readonly remoteQpn: number;
  readonly remoteQkey: number;
}

export class DatagramNode {
  readonly pd: Pd;
  readonly qp: Qp;
  target: DatagramTarget | undefined;
  readonly #cq: Cq;
  readonly #region: MemoryRegion;
  readonly #options: DatagramOptions;

  /** Throws ERR_ROCE_ARGUMENT for messages that no datagram of this device carries. */
  constructor(device: Device, options: DatagramOptions) {
    const { messages, messageBytes } = options;
    if (messageBytes > device.activeMtu)
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `message_size ${messageBytes} is larger than active mtu ${device.activeMtu}`,
      );
    this.#options = options;
    this.pd = device.allocPd();
    this.#cq = device.createCq(Math.max(2, messages * 2));
    this.#region = this.pd.regMr(messageBytes + GRH_BYTES, { access: Access.LocalWrite });
    const depth = Math.max(1, messages);
    const queues = { sendCq: this.#cq, recvCq: this.#cq, maxSendWr: depth, maxRecvWr: depth, maxSge: 1 };
    this.qp = this.pd.createQp({ type: QpType.Ud, ...queues });
    this.qp.modifyNow({ state: QpState.Init, qkey: RDMA_UDP_QKEY });
    this.qp.modifyNow({ state: QpState.Rtr });
    this.qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
  }

  postReceives(): void {
    const { messages } = this.#options;
    for (let i = 0; i < messages; i++) this.qp.postRecv({ wrId: i, sges: [{ mr: this.#region }] });
  }

  /** Sends every message; with `signaled` each of them completes. */
  send(signaled: boolean): void {
    if (this.target === undefined) throw new RoceError('ERR_ROCE_STATE', 'no destination is known');
    const { messages, messageBytes } = this.#options;
    const sges = [{ mr: this.#region, length: messageBytes }];
    const common = { opcode: WrOpcode.SendWithImm, sges, immData: this.qp.qpn, signaled, ...this.target };
    for (let i = 0; i < messages; i++) this.qp.postSend({ wrId: i, ...common });
  }

  /** Ends all waits for completions, with an error. */
  stop(): void {
    if (!this.qp.destroyed && this.qp.state !== QpState.Error) this.qp.modifyNow({ state: QpState.Error });
  }

  /** Waits for as many completions as there are messages. */
  complete(): Promise<void> {
    return drain(this.#cq, this.#options.messages);
  }

  /** As `complete`; the first message tells where answers go. */
  async receiveAndLearn(): Promise<void> {
    const { messages } = this.#options;
    if (messages === 0) return;
    const first = await nextCompletion(this.#cq);
    this.target ??= await this.#sender(first);
    await drain(this.#cq, messages - 1);
  }

  async #sender(wc: WorkCompletion): Promise<DatagramTarget> {
    const ah = await this.pd.createAhFromWc(wc, this.#region.bytes.subarray(0, GRH_BYTES));
    return { ah, remoteQpn: wc.immData, remoteQkey: RDMA_UDP_QKEY };
  }
}
