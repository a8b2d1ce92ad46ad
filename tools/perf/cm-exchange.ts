/**
 * The exchange of perftest over a queue pair of its own, connected by the connection manager: every message is a SEND.
 *
 * Owns that queue pair and its receives. Does not interpret the messages. As perftest_communication.c#rdma_write_data
 * and #rdma_read_data have it: port space TCP, no private data, one receive of 56 bytes at least, always posted before
 * the answer.
 */

import type { RdmaConnection, RdmaCq, RdmaPd, RdmaQp } from 'rocev2';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { Access, type MemoryRegion, QpState, WcStatus, WrOpcode, wcStatusName } from 'rocev2/transport';
import { ownAddressFor } from '../own-address.ts';
import { DEST_RECORD_BYTES, type PerfDest, readDestRecord, writeDestRecord } from './dest.ts';
import type { Exchange, PerfRole } from './exchange.ts';
import type { PerfContext } from './session.ts';

export class CmExchange implements Exchange {
  localAddress: IpAddress;
  readonly #context: PerfContext;
  readonly #role: PerfRole;
  readonly #pd: RdmaPd;
  readonly #sendCq: RdmaCq;
  readonly #recvCq: RdmaCq;
  readonly #qp: RdmaQp;
  readonly #region: MemoryRegion;
  #connection: RdmaConnection | undefined;
  #ended = false;

  private constructor(context: PerfContext, role: PerfRole, localAddress: IpAddress) {
    const { device } = context;
    this.#context = context;
    this.#role = role;
    this.localAddress = localAddress;
    this.#pd = device.allocPd();
    this.#sendCq = device.createCq(RECEIVES + 1);
    this.#recvCq = device.createCq(RECEIVES + 1);
    const queues = { sendCq: this.#sendCq, recvCq: this.#recvCq };
    this.#qp = this.#pd.createQp({ ...queues, maxSendWr: 1, maxRecvWr: RECEIVES, maxInlineData: DEST_RECORD_BYTES });
    this.#region = this.#pd.regMr(RECEIVES * DEST_RECORD_BYTES, { access: Access.LocalWrite });
    this.#qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite });
    for (let i = 0; i < RECEIVES; i++) this.#postReceive(i);
  }

  /** Connects to the server, or waits for one client. */
  static async meet(context: PerfContext, server: IpAddress | undefined, port: number): Promise<CmExchange> {
    const { device } = context;
    const role = server === undefined ? 'server' : 'client';
    const exchange = new CmExchange(context, role, ownAddressFor(device, server));
    try {
      exchange.#connection =
        server === undefined
          ? await exchange.#accept(port)
          : await device.cm.connect({ address: server, port, qp: exchange.#qp, ...NO_READS });
      return exchange;
    } catch (error) {
      exchange.abort();
      throw error;
    }
  }

  async swap(ours: Uint8Array): Promise<Uint8Array> {
    if (this.#role === 'client') {
      await this.#say(ours);
      return this.#hear(ours.length);
    }
    const theirs = await this.#hear(ours.length);
    await this.#say(ours);
    return theirs;
  }

  async swapDest(ours: PerfDest): Promise<PerfDest> {
    return readDestRecord(await this.swap(writeDestRecord(ours)));
  }

  async end(): Promise<void> {
    // The stock program has destroyed its side by now, or will: both ways our disconnect is answered.
    await this.#connection?.disconnect();
    this.#free();
  }

  abort(): void {
    if (this.#ended) return;
    void this.#connection?.disconnect().catch(() => undefined);
    this.#free();
  }

  async #accept(port: number): Promise<RdmaConnection> {
    const { device, signal } = this.#context;
    const listener = device.cm.listen(port);
    const stop = (): void => listener.close();
    signal.addEventListener('abort', stop);
    try {
      const { value, done } = await listener.next();
      if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'no peer connected before the end');
      this.localAddress = value.localAddress;
      return await value.accept({ qp: this.#qp, ...NO_READS });
    } finally {
      signal.removeEventListener('abort', stop);
      listener.close();
    }
  }

  async #say(bytes: Uint8Array): Promise<void> {
    this.#qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline: bytes });
    await this.#completion(this.#sendCq);
  }

  async #hear(length: number): Promise<Uint8Array> {
    const { wrId, byteLen } = await this.#completion(this.#recvCq);
    const at = wrId * DEST_RECORD_BYTES;
    const bytes = this.#region.bytes.slice(at, at + byteLen);
    this.#postReceive(wrId);
    if (byteLen !== length)
      throw new RoceError('ERR_ROCE_REJECTED', `the peer says ${byteLen} bytes where perftest says ${length}`);
    return bytes;
  }

  async #completion(cq: RdmaCq) {
    const { value, done } = await cq.next();
    if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    if (value.status === WcStatus.WrFlushErr) throw new RoceError('ERR_ROCE_CLOSED', 'the peer has disconnected');
    if (value.status !== WcStatus.Success)
      throw new RoceError('ERR_ROCE_STATE', ` Bad wc status ${value.status} (${wcStatusName(value.status)})`);
    return value;
  }

  #postReceive(i: number): void {
    const sge = { mr: this.#region, offset: i * DEST_RECORD_BYTES, length: DEST_RECORD_BYTES };
    this.#qp.postRecv({ wrId: i, sges: [sge] });
  }

  #free(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { device } = this.#context;
    this.#qp.destroy();
    this.#pd.deregMr(this.#region);
    device.destroyCq(this.#sendCq);
    device.destroyCq(this.#recvCq);
    this.#pd.dealloc();
  }
}

const RECEIVES = 4;
const NO_READS = { initiatorDepth: 0, responderResources: 0 };
