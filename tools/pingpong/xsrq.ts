/**
 * xsrq_pingpong of libibverbs over our devices, either role: the server sends to each client in turn through XRC queue
 * pairs, and every message lands in the one shared receive queue of its side
 * (rdma-core:libibverbs/examples/xsrq_pingpong.c). Each side sends END over TCP before it ends, so that no side waits
 * for a peer that has left.
 */

import type { RdmaCq, RdmaDevice, RdmaPd, RdmaQp, RdmaSrq, RdmaXrcd } from 'rocev2';
import type { TcpSocket } from 'rocev2/host';
import { type IpAddress, PSN_MASK, RoceError } from 'rocev2/packets';
import { Access, type MemoryRegion, QpState, QpType, WcStatus, WrOpcode } from 'rocev2/transport';
import { hex } from '../hex.ts';
import type { ToolOutput } from '../output.ts';
import { ownAddressFor } from '../own-address.ts';
import { END, gidName, readXsrqDest, writeXsrqDest, XSRQ_DEST_BYTES, type XsrqDest } from './protocol.ts';
import { nextClient, type PingpongStart } from './run.ts';

export interface XsrqOptions {
  readonly size: number;
  readonly mtu: number;
  /** Clients the server waits for; a client has one server. */
  readonly clients: number;
  /** Messages each way and client. */
  readonly tests: number;
  /**
   * XRC domain of several clients on one device: the server sends to each through the queue pairs of all, as the stock
   * clients of one host share a domain through a file. Default: one of its own.
   */
  readonly domain?: RdmaXrcd;
}

/** What a side has for one peer. */
interface Peer {
  readonly recvQp: RdmaQp;
  readonly sendQp: RdmaQp;
  readonly psn: number;
  dest: XsrqDest | undefined;
  socket: TcpSocket | undefined;
  sent: number;
}

/** Resolves with the exit code. Rejects with RoceError for what the device, the wire or the peer refuses. */
export async function runXsrqPingpong(
  device: RdmaDevice,
  options: XsrqOptions,
  start: PingpongStart,
  output: ToolOutput,
): Promise<number> {
  const side = new XsrqSide(device, options, start, output);
  try {
    await side.meet();
    if (!(await side.play())) return 1;
    await side.part();
  } finally {
    await side.end();
  }
  output.line('success');
  return 0;
}

class XsrqSide {
  readonly #device: RdmaDevice;
  readonly #options: XsrqOptions;
  readonly #start: PingpongStart;
  readonly #output: ToolOutput;
  readonly #gid: IpAddress;
  readonly #pd: RdmaPd;
  readonly #region: MemoryRegion;
  readonly #xrcd: RdmaXrcd;
  readonly #sendCq: RdmaCq;
  readonly #recvCq: RdmaCq;
  readonly #srq: RdmaSrq;
  readonly #peers: readonly Peer[];

  constructor(device: RdmaDevice, options: XsrqOptions, start: PingpongStart, output: ToolOutput) {
    const { clients, size, tests } = options;
    this.#device = device;
    this.#options = options;
    this.#start = start;
    this.#output = output;
    this.#gid = start.gid ?? ownAddressFor(device, start.server);
    this.#pd = device.allocPd();
    this.#region = this.#pd.regMr(Math.max(1, size), { access: Access.LocalWrite });
    this.#xrcd = options.domain ?? device.openXrcd();
    this.#sendCq = device.createCq(clients);
    this.#recvCq = device.createCq(clients);
    this.#srq = this.#pd.createSrq({ maxWr: clients, maxSge: 1, xrcd: this.#xrcd, cq: this.#recvCq });
    this.#peers = Array.from({ length: clients }, () => {
      const recvQp = this.#xrcd.createQp();
      recvQp.modifyNow({ state: QpState.Init, access: Access.RemoteRead | Access.RemoteWrite });
      const queues = { sendCq: this.#sendCq, recvCq: this.#sendCq, maxSendWr: clients * tests, maxSge: 1 };
      const sendQp = this.#pd.createQp({ type: QpType.XrcSend, ...queues });
      sendQp.modifyNow({ state: QpState.Init, access: 0 });
      return { recvQp, sendQp, psn: start.random() & PSN_MASK, dest: undefined, socket: undefined, sent: 0 };
    });
    for (let i = 0; i < clients; i++) this.#postReceive();
  }

  /** Exchanges addresses with every peer, in order, and connects. The client speaks first. */
  async meet(): Promise<void> {
    const { server, port, tcp, signal } = this.#start;
    if (server !== undefined) {
      for (const peer of this.#peers) {
        peer.socket = await tcp.connect(server, port);
        await this.#tell(peer);
        await this.#hear(peer);
        await this.#connect(peer);
      }
      return;
    }
    const listener = tcp.listen(port);
    try {
      for (const peer of this.#peers) {
        peer.socket = await nextClient(listener, signal);
        await this.#hear(peer);
        await this.#tell(peer);
        await this.#connect(peer);
      }
    } finally {
      listener.close();
    }
  }

  /** Until every message was received and the last of each peer's was sent. */
  async play(): Promise<boolean> {
    const { clients, tests } = this.#options;
    if (this.#start.server === undefined) for (const [i] of this.#peers.entries()) this.#send(i);
    const sent = this.#sendsComplete();
    // A send that failed ends the wait.
    const broken = new Promise<undefined>(
      (resolve) => void sent.then((good) => (good ? undefined : resolve(undefined))),
    );
    for (let received = 0; received < clients * tests; received++) {
      const result = await Promise.race([this.#recvCq.next(), broken]);
      if (result === undefined) return false;
      const { done, value } = result;
      if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
      if (value.status !== WcStatus.Success) return this.#failed(value.status);
      this.#postReceive();
      // What a client receives may have come through the queue pair of another.
      const i = clients === 1 ? 0 : this.#peers.findIndex(({ recvQp }) => recvQp.qpn === value.qpn);
      if ((this.#peers[i]?.sent ?? tests) < tests) this.#send(i);
    }
    return sent;
  }

  /** Both have said that they need nothing more of each other. */
  async part(): Promise<void> {
    const say = (peer: Peer) => peer.socket?.write(END);
    const hear = (peer: Peer) => peer.socket?.read(END.length);
    const order = this.#start.server === undefined ? [hear, say] : [say, hear];
    for (const step of order) for (const peer of this.#peers) await step(peer);
  }

  async end(): Promise<void> {
    for (const { recvQp, sendQp, socket } of this.#peers) {
      sendQp.destroy();
      recvQp.destroy();
      await socket?.close();
    }
    this.#srq.destroy();
    if (this.#options.domain === undefined) this.#xrcd.close();
    this.#device.destroyCq(this.#sendCq);
    this.#device.destroyCq(this.#recvCq);
    this.#pd.deregMr(this.#region);
    this.#pd.dealloc();
  }

  /** Until the last message to every peer has completed, or one has failed. */
  async #sendsComplete(): Promise<boolean> {
    for (const _ of this.#peers) {
      const { value } = await this.#sendCq.next();
      if (value !== undefined && value.status !== WcStatus.Success) return this.#failed(value.status);
    }
    return true;
  }

  #failed(status: number): boolean {
    this.#output.complaint(`Work completion error ${status}`);
    return false;
  }

  async #tell({ recvQp, sendQp, psn, socket }: Peer): Promise<void> {
    const { srqn } = this.#srq;
    const dest = { lid: 0, recvQpn: recvQp.qpn, sendQpn: sendQp.qpn, psn, srqn, gid: this.#gid };
    this.#output.line(destText('local', dest));
    await socket?.write(writeXsrqDest(dest));
  }

  async #hear(peer: Peer): Promise<void> {
    if (peer.socket === undefined) return;
    peer.dest = readXsrqDest(await peer.socket.read(XSRQ_DEST_BYTES));
    this.#output.line(destText('remote', peer.dest));
  }

  async #connect({ recvQp, sendQp, psn, dest }: Peer): Promise<void> {
    if (dest?.gid === undefined)
      throw new RoceError('ERR_ROCE_ADDRESS', 'the peer has no GID: it wants a -g, the index of one in its table');
    const av = { destination: dest.gid, source: this.#gid };
    const path = { state: QpState.Rtr, av, rqPsn: dest.psn, mtu: this.#options.mtu };
    await recvQp.modify({ ...path, destQpn: dest.sendQpn, maxDestRdAtomic: 0, minRnrTimer: 12 });
    await recvQp.modify({ state: QpState.Rts, sqPsn: psn, timeout: 14 });
    await sendQp.modify({ ...path, destQpn: dest.recvQpn });
    await sendQp.modify({ state: QpState.Rts, sqPsn: psn, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 0 });
  }

  #postReceive(): void {
    this.#srq.postRecv({ wrId: 0, sges: [{ mr: this.#region, length: this.#options.size }] });
  }

  /** To peer `i`, through the queue pairs in turn; the last message asks for a completion. */
  #send(i: number): void {
    const peer = this.#peers[i];
    if (peer?.dest === undefined) return;
    const { clients, tests, size } = this.#options;
    const through = this.#peers[(i + peer.sent) % clients];
    peer.sent += 1;
    through?.sendQp.postSend({
      wrId: i,
      opcode: WrOpcode.Send,
      sges: [{ mr: this.#region, length: size }],
      xrcRemoteSrqn: peer.dest.srqn,
      signaled: peer.sent >= tests,
    });
  }
}

function destText(side: string, { lid, recvQpn, sendQpn, psn, srqn, gid }: XsrqDest): string {
  const [lidText, recv, send, psnText, srq] = [
    hex(lid, 4),
    hex(recvQpn, 6),
    hex(sendQpn, 6),
    hex(psn, 6),
    hex(srqn, 6),
  ];
  return `${side.padStart(8)}: LID ${lidText}, QPN RECV ${recv} SEND ${send}, PSN ${psnText}, SRQN ${srq}, GID ${gidName(gid)}`;
}
