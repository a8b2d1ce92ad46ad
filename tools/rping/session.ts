/**
 * One connection of rping, either role: its queue pair, its buffers, and the state that completions move.
 *
 * Owns what both roles share, and its messages. Never decides what to do next: server.ts and client.ts do.
 * States have the names and numbers of the published rping, because its messages print the numbers.
 */

import type { RdmaConnection, RdmaCq, RdmaDevice, RdmaPd, RdmaQp } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import {
  Access,
  type MemoryRegion,
  QpState,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';
import type { ToolOutput } from '../output.ts';
import {
  ADVERTISEMENT_BYTES,
  advertisementOf,
  pingTextBytes,
  type RemoteBuffer,
  readAdvertisement,
  writeAdvertisement,
} from './protocol.ts';

export interface RpingOptions {
  readonly port: number;
  /** Bytes of a ping; a server reads at most as many. */
  readonly size: number;
  /** -v: prints each ping. */
  readonly verbose?: boolean;
  /** -d: prints every step. */
  readonly debug?: boolean;
  /** -q: moves the queue pair to ERROR itself before it disconnects. */
  readonly ownQp?: boolean;
  /** Ends the run in good order: connections are disconnected. */
  readonly signal?: AbortSignal;
}

export const PingState = {
  Connected: 5,
  RdmaReadAdv: 6,
  RdmaReadComplete: 7,
  RdmaWriteAdv: 8,
  RdmaWriteComplete: 9,
  Disconnected: 10,
  Error: 11,
} as const;
export type PingState = (typeof PingState)[keyof typeof PingState];

export type PingRole = 'server' | 'client';

export class PingSession {
  readonly qp: RdmaQp;
  /** Where pings arrive: by the server's own READ, or by its WRITE on the client. */
  readonly pingRegion: MemoryRegion;
  /** The client's original, which the server reads. */
  readonly startRegion: MemoryRegion | undefined;
  state: PingState = PingState.Connected;
  /** What the client has advertised last. */
  peerBuffer: RemoteBuffer = { address: 0n, rkey: 0, size: 0 };
  readonly #device: RdmaDevice;
  readonly #role: PingRole;
  readonly #options: RpingOptions;
  readonly #output: ToolOutput;
  readonly #pd: RdmaPd;
  readonly #cq: RdmaCq;
  readonly #recvRegion: MemoryRegion;
  readonly #sendRegion: MemoryRegion;
  readonly #stop = (): void => this.#disconnect();
  #connection: RdmaConnection | undefined;
  /** Set when the connection is over or we have begun to end it: what is flushed then is no failure. */
  #ending = false;
  #disconnected: Promise<unknown> | undefined;

  constructor(device: RdmaDevice, role: PingRole, options: RpingOptions, output: ToolOutput) {
    this.#device = device;
    this.#role = role;
    this.#options = options;
    this.#output = output;
    this.#pd = device.allocPd();
    this.debug('created pd');
    this.#cq = device.createCq(QUEUE_DEPTH * 2);
    this.debug('created cq');
    this.qp = this.#pd.createQp({
      sendCq: this.#cq,
      recvCq: this.#cq,
      maxSendWr: QUEUE_DEPTH,
      maxRecvWr: 2,
      maxSge: 1,
    });
    this.debug(`created qp 0x${this.qp.qpn.toString(16).padStart(6, '0')}`);
    const { size } = options;
    this.#recvRegion = this.#pd.regMr(ADVERTISEMENT_BYTES, { access: Access.LocalWrite });
    this.#sendRegion = this.#pd.regMr(ADVERTISEMENT_BYTES, { access: 0 });
    this.pingRegion = this.#pd.regMr(size, { access: BUFFER_ACCESS });
    this.startRegion = role === 'client' ? this.#pd.regMr(size, { access: BUFFER_ACCESS }) : undefined;
    this.debug('allocated & registered buffers...');
    // As rdma_create_qp leaves it: in INIT, so that the receive is there before the peer can send.
    this.qp.modifyNow({ state: QpState.Init, access: BUFFER_ACCESS });
    this.#postReceive();
  }

  /** Takes the finished connection. */
  connected(connection: RdmaConnection): void {
    this.#connection = connection;
    void connection.closed.then(() => {
      this.#ending = true;
      this.complain(`${this.#role} DISCONNECT EVENT...`);
    });
    const { signal } = this.#options;
    if (signal?.aborted === true) this.#stop();
    else signal?.addEventListener('abort', this.#stop);
  }

  /** Client: tells the server of a buffer. */
  advertise(region: MemoryRegion): void {
    const buffer = advertisementOf(region);
    writeAdvertisement(this.#sendRegion.view, buffer);
    this.debug(`RDMA addr ${buffer.address.toString(16)} rkey ${buffer.rkey.toString(16)} len ${buffer.size}`);
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.Send, sges: [{ mr: this.#sendRegion }] });
  }

  /** Server: tells the client to go on; its content means nothing. */
  goAhead(): void {
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.Send, sges: [{ mr: this.#sendRegion }] });
    this.debug('server posted go ahead');
  }

  /** Server: reads the client's buffer. False when it is larger than ours. */
  readPing(): boolean {
    const { address, rkey, size } = this.peerBuffer;
    const mr = this.pingRegion;
    if (size > mr.length) {
      this.complain(
        `the client pings with ${size} bytes, more than the ${mr.length} of this server: give it -S ${size}`,
      );
      return false;
    }
    this.qp.postSend({
      wrId: 0,
      opcode: WrOpcode.RdmaRead,
      sges: [{ mr, length: size }],
      remoteAddr: address,
      rkey,
    });
    this.debug('server posted rdma read req ');
    return true;
  }

  /** Server: writes the text back. */
  writePong(): void {
    const { address, rkey } = this.peerBuffer;
    const mr = this.pingRegion;
    const length = pingTextBytes(mr.bytes);
    this.debug(`rdma write from lkey ${mr.lkey.toString(16)} laddr ${mr.iova.toString(16)} len ${length}`);
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.RdmaWrite, sges: [{ mr, length }], remoteAddr: address, rkey });
  }

  /** Waits for the next step of the exchange; false, with a complaint, when it is not the one expected. */
  async reaches(expected: PingState): Promise<boolean> {
    this.state = await this.#nextState();
    if (this.state === expected) return true;
    if (!(this.#ending && this.#options.signal?.aborted === true)) {
      this.complain(`wait for ${STATE_NAMES[expected] ?? expected} state ${this.state}`);
    }
    return false;
  }

  /** Disconnects, when the peer has not, and frees everything. */
  async end(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#stop);
    this.#disconnect();
    await this.#disconnected;
    for (const region of [this.#recvRegion, this.#sendRegion, this.pingRegion, this.startRegion]) {
      if (region !== undefined) this.#pd.deregMr(region);
    }
    this.qp.destroy();
    this.#device.destroyCq(this.#cq);
    this.#pd.dealloc();
  }

  debug(text: string): void {
    if (this.#options.debug === true) this.#output.line(text);
  }

  complain(text: string): void {
    this.#output.complaint(text);
  }

  #disconnect(): void {
    if (this.#connection === undefined || this.#ending) return;
    this.#ending = true;
    if (this.#options.ownQp === true && this.qp.state !== QpState.Error) this.qp.modifyNow({ state: QpState.Error });
    this.#disconnected = this.#connection.disconnect();
  }

  #postReceive(): void {
    this.qp.postRecv({ wrId: 0, sges: [{ mr: this.#recvRegion }] });
  }

  /** The state after the next completion that changes it. Completions of SENDs only say that they arrived. */
  async #nextState(): Promise<PingState> {
    for (;;) {
      const { done, value } = await this.#cq.next();
      if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
      if (value.status !== WcStatus.Success) return this.#afterFailure(value);
      switch (value.opcode) {
        case WcOpcode.Send:
          this.debug('send completion');
          break;
        case WcOpcode.RdmaRead:
          this.debug('rdma read completion');
          return PingState.RdmaReadComplete;
        case WcOpcode.RdmaWrite:
          this.debug('rdma write completion');
          return PingState.RdmaWriteComplete;
        default:
          this.debug('recv completion');
          return this.#afterReceive(value);
      }
    }
  }

  async #afterFailure(wc: WorkCompletion): Promise<PingState> {
    if (wc.status === WcStatus.WrFlushErr) {
      // The connection manager flushes the queue pair in the same turn in which it reports the end: let it finish.
      for (let turn = 0; turn < SETTLING_TURNS && !this.#ending; turn++) await null;
      if (this.#ending) return PingState.Disconnected;
    }
    this.complain(`cq completion failed status ${wc.status} (${wcStatusName(wc.status)})`);
    return PingState.Error;
  }

  #afterReceive(wc: WorkCompletion): PingState {
    if (wc.byteLen !== ADVERTISEMENT_BYTES) {
      this.complain(`Received bogus data, size ${wc.byteLen}`);
      return PingState.Error;
    }
    const { state } = this;
    if (this.#role === 'client') {
      this.#postReceive();
      return state === PingState.RdmaReadAdv ? PingState.RdmaWriteAdv : PingState.RdmaWriteComplete;
    }
    const buffer = readAdvertisement(this.#recvRegion.view);
    this.#postReceive();
    this.peerBuffer = buffer;
    const text = `rkey ${buffer.rkey.toString(16)} addr ${buffer.address.toString(16)} len ${buffer.size}`;
    this.debug(`Received ${text} from peer`);
    const isPing = state === PingState.Connected || state === PingState.RdmaWriteComplete;
    return isPing ? PingState.RdmaReadAdv : PingState.RdmaWriteAdv;
  }
}

/** READs outstanding either way: what rping asks for and grants. */
export const RDMA_DEPTH = 1;

const QUEUE_DEPTH = 16;
/** Turns of the promise queue. */
const SETTLING_TURNS = 8;
const BUFFER_ACCESS = Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite;

const STATE_NAMES: Readonly<Partial<Record<PingState, string>>> = {
  [PingState.RdmaReadAdv]: 'RDMA_READ_ADV',
  [PingState.RdmaReadComplete]: 'RDMA_READ_COMPLETE',
  [PingState.RdmaWriteAdv]: 'RDMA_WRITE_ADV',
  [PingState.RdmaWriteComplete]: 'RDMA_WRITE_COMPLETE',
};
