/**
 * One connected queue pair and its memory, either role. The server lends a region and sends every SEND back; the client
 * works. Owns queue pair, regions and the exchange of the region's address in the connection manager's private data.
 */

import type { Connection, Cq, Device, Qp } from 'rocev2';
import {
  Access,
  type MemoryRegion,
  QpState,
  WcOpcode,
  WcStatus,
  WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';
import { ExchangeServer } from './exchange.ts';
import { MESSAGE_BYTES, MESSAGE_SLOTS } from './protocol.ts';

/** Longest SEND; it goes inline, and so does its echo. */
export const MAX_SEND_BYTES = 512;
const PORT = 7471;
const RECEIVES = 64;
const QUEUE_DEPTH = 256;
/** One in so many small messages asks for a completion, as with perftest's cq-mod. */
const SIGNAL_EVERY = 16;

/** What every session has; the region is where WRITEs come from (client) or go to (server). */
export class RoceSession {
  readonly device: Device;
  readonly cq: Cq;
  readonly qp: Qp;
  readonly region: MemoryRegion;
  readonly #receives: MemoryRegion;
  readonly #polled = new WorkCompletion();
  #connection: Connection | undefined;
  #sends = 0;
  /** The server's region, known to a client that is connected. */
  remoteAddr = 0n;
  rkey = 0;

  constructor(device: Device) {
    this.device = device;
    const pd = device.allocPd();
    this.cq = device.createCq(QUEUE_DEPTH * 4);
    this.qp = pd.createQp({
      sendCq: this.cq,
      recvCq: this.cq,
      maxSendWr: QUEUE_DEPTH,
      maxRecvWr: RECEIVES,
      maxInlineData: MAX_SEND_BYTES,
    });
    this.region = pd.regMr(MESSAGE_BYTES * MESSAGE_SLOTS, {
      access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite,
    });
    this.#receives = pd.regMr(RECEIVES * MAX_SEND_BYTES, { access: Access.LocalWrite });
    this.qp.modifyNow({ state: QpState.Init, access: Access.RemoteRead | Access.RemoteWrite });
    for (let slot = 0; slot < RECEIVES; slot++) this.postReceive(slot);
  }

  async connect(address: string): Promise<void> {
    this.#connection = await this.device.cm.connect({ address, port: PORT, qp: this.qp });
    const { privateData } = this.#connection;
    const view = new DataView(privateData.buffer, privateData.byteOffset, privateData.byteLength);
    this.remoteAddr = view.getBigUint64(0);
    this.rkey = view.getUint32(8);
  }

  /** Takes one client and echoes what it SENDs, or writes what it asks for, for as long as it is connected. */
  async serve(): Promise<void> {
    const listener = this.device.cm.listen(PORT);
    const { done, value: request } = await listener.next();
    if (done === true) return;
    listener.close();
    const privateData = new Uint8Array(12);
    const view = new DataView(privateData.buffer);
    view.setBigUint64(0, this.region.iova);
    view.setUint32(8, this.region.rkey);
    await request.accept({ qp: this.qp, privateData });
    const exchange = new ExchangeServer(this);
    const answer = ({ opcode, wrId, byteLen }: WorkCompletion): void => {
      if (opcode !== WcOpcode.Recv) return;
      const message = this.received(wrId, byteLen);
      if (!exchange.takes(message)) this.send(message);
      this.postReceive(wrId);
    };
    for (;;) {
      const { done: ended, value } = await this.cq.next();
      if (ended === true) return;
      let wc: WorkCompletion = value;
      do {
        if (wc.status === WcStatus.WrFlushErr) return;
        demandSuccess(wc);
        answer(wc);
        wc = this.#polled;
      } while (this.cq.poll(wc));
      exchange.flush();
    }
  }

  /** Hands out what has completed, at least one; waits for it. @throws Error when something failed */
  async completions(each: (wc: WorkCompletion) => void): Promise<void> {
    const { done, value } = await this.cq.next();
    if (done === true) throw new Error('the device was closed');
    demandSuccess(value);
    each(value);
    while (this.cq.poll(this.#polled)) {
      demandSuccess(this.#polled);
      each(this.#polled);
    }
  }

  /** SENDs a few bytes; few ask for a completion. */
  send(inline: Uint8Array): void {
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline, signaled: this.#sends++ % SIGNAL_EVERY === 0 });
  }

  /** WRITEs a piece of our region to the same place of the server's. */
  write(wrId: number, offset: number, length: number): void {
    this.qp.postSend({
      wrId,
      opcode: WrOpcode.RdmaWrite,
      sges: [{ mr: this.region, offset, length }],
      remoteAddr: this.remoteAddr + BigInt(offset),
      rkey: this.rkey,
    });
  }

  postReceive(slot: number): void {
    const sges = [{ mr: this.#receives, offset: slot * MAX_SEND_BYTES, length: MAX_SEND_BYTES }];
    this.qp.postRecv({ wrId: slot, sges });
  }

  received(slot: number, length: number): Uint8Array {
    const at = slot * MAX_SEND_BYTES;
    return this.#receives.bytes.subarray(at, at + length);
  }

  async disconnect(): Promise<void> {
    await this.#connection?.disconnect();
  }
}

function demandSuccess({ status, wrId }: WorkCompletion): void {
  if (status !== WcStatus.Success) throw new Error(`work request ${wrId} ended with ${wcStatusName(status)}`);
}
