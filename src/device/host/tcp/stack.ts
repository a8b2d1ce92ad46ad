/**
 * TCP for a host of our own on an Ethernet link: finds the connection of a segment, lets connections transmit, and
 * keeps listeners. On links that share the kernel's addresses the kernel's TCP is the one to use.
 *
 * A flood of SYNs keeps nobody out. Handshakes of callers are kept up to a bound for all listeners; a SYN beyond it is
 * answered with a SYN cookie (syn-cookies.ts), of which nothing is kept, and a listener's backlog counts only
 * connections whose handshake is done. What belongs to no connection is answered where it came from: to the MAC address
 * of the neighbour if it is known, else to that of the frame, and nothing is resolved for it. One SYN draws at most
 * `1 + maxSynAckRetries` SYN-ACKs of its own size, any other segment at most one RST.
 *
 * It exists for the parameters that RDMA tools exchange over TCP before their queue pairs connect. Sans I/O, driven by
 * the device. Whatever bytes arrive: no exception, and no memory beyond a fixed bound (a backlog for each listener). A
 * segment for no connection draws a reset, as RFC 9293 section 3.10.7.1 has it, once the application has used the
 * stack; until then it sends nothing, as devices without TCP do.
 */
import type { IpAddress } from '../../../../packets/address.ts';
import { RoceError } from '../../../../packets/errors.ts';
import { readEthernet } from '../../../../packets/ethernet.ts';
import { type Frame, frameDestination, frameSource } from '../../../../packets/frame.ts';
import type { FrameWriter } from '../../../../packets/frame-writer.ts';
import { TcpConnection } from './connection.ts';
import { type ReceivedSegment, readSegment, segmentFrame, TcpFlag } from './segment.ts';
import { StackListener, StackSocket, type TcpEnds, type TcpListener, type TcpSocket } from './socket.ts';
import { type AnswerEnds, routeOf, StatelessAnswers, segmentSizes } from './stateless-answers.ts';
import type { TcpHost } from './tcp-host.ts';

/** Options of `RdmaTcp.listen`. */
export interface TcpListenOptions {
  /** Takes connections to this address only; default to any of ours. */
  readonly address?: IpAddress;
  /** Connections whose handshake is done and that may wait to be taken; default 16. */
  readonly backlog?: number;
}

/** For applications: `device.tcp`. */
export interface RdmaTcp {
  /**
   * Takes connections on a port, 1 to 65,535. Throws ERR_ROCE_IN_USE when the port has a listener already,
   * ERR_ROCE_ARGUMENT.
   */
  listen(port: number, options?: TcpListenOptions): TcpListener;
  /** Rejects with ERR_ROCE_ADDRESS (no route), ERR_ROCE_REJECTED (no listener), ERR_ROCE_TIMEOUT or ERR_ROCE_LIMIT. */
  connect(address: IpAddress, port: number, source?: IpAddress): Promise<TcpSocket>;
}

export class TcpStack implements RdmaTcp {
  /** Dropped segments, by cause. */
  readonly counters = {
    badSegment: 0,
    notOurs: 0,
    noConnection: 0,
    /** SYNs, and ACKs of handshakes, for which the listener had no room. */
    backlogFull: 0,
    /** RSTs and cookies that found too many of them waiting to be sent. */
    resetsDropped: 0,
    /** SYNs answered with a cookie: as many handshakes were under way as are kept. */
    cookiesSent: 0,
    /** Connections made of a cookie. */
    cookiesTaken: 0,
    /** ACKs to a listener, while cookies count, with a number that is none of them. */
    badCookies: 0,
  };
  readonly #host: TcpHost;
  readonly #sockets = new Map<string, StackSocket>();
  readonly #listeners = new Map<number, StackListener>();
  /** Connections that may have something to send. */
  readonly #ready = new Set<StackSocket>();
  /** Answers to what belongs to no connection. */
  readonly #stateless: StatelessAnswers;
  readonly #touched = (socket: StackSocket): void => {
    this.#ready.add(socket);
    this.#host.wake();
  };
  #used = false;
  #closed = false;

  constructor(host: TcpHost) {
    this.#host = host;
    this.#stateless = new StatelessAnswers(host, this.counters);
  }

  /** Connections, those in TIME-WAIT included. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Ports that are listened on. */
  get listeners(): number {
    return this.#listeners.size;
  }

  listen(port: number, { address, backlog = DEFAULT_BACKLOG }: TcpListenOptions = {}): TcpListener {
    this.#begin();
    checkPort(port);
    if (address !== undefined && !this.#host.isOurs(address))
      throw new RoceError('ERR_ROCE_ADDRESS', `${address} is not an address of this device`);
    if (this.#listeners.has(port)) throw new RoceError('ERR_ROCE_IN_USE', `TCP port ${port} already has a listener`);
    const listener = new StackListener(port, address, backlog, () => this.#listeners.delete(port));
    this.#listeners.set(port, listener);
    return listener;
  }

  async connect(address: IpAddress, port: number, source?: IpAddress): Promise<TcpSocket> {
    this.#begin();
    checkPort(port);
    const localAddress = source ?? this.#host.sourceFor(address);
    if (!this.#host.isOurs(localAddress))
      throw new RoceError('ERR_ROCE_ADDRESS', `${localAddress} is not an address of this device`);
    await this.#host.resolve(address);
    this.#begin();
    const ends = { localAddress, remoteAddress: address, remotePort: port };
    const own = { ...ends, localPort: this.#freshPort(ends) };
    const socket = this.#makeSocket(own, this.#host.random.u32(), MAX_SYN_RETRIES);
    this.#touched(socket);
    return socket.untilConnected();
  }

  /** Ends every connection: those that are not closed are reset. `transmit` still has to be called for it. */
  close(): void {
    this.#closed = true;
    for (const listener of [...this.#listeners.values()]) listener.close();
    for (const socket of this.#sockets.values()) {
      if (!socket.connection.finAcked) socket.connection.abort();
      this.#ready.add(socket);
      socket.settle();
    }
  }

  // Driven by the device.

  /** Takes a frame that `parseFrame` found to be IP of protocol 6 and that was sent to our MAC address or a group. */
  handleFrame(now: number, frame: Frame): void {
    if (!this.#used) return;
    const localAddress = frameDestination(frame);
    const remoteAddress = frameSource(frame);
    // RFC 1122 4.2.3.10: the peer of a connection is one other host.
    const toGroup = (frame.view.getUint8(frame.start) & 1) !== 0;
    const sourceMac = readEthernet(frame.view, frame.start).sourceMac;
    const fromGroup = ((sourceMac[0] ?? 0) & 1) !== 0;
    if (toGroup || fromGroup || !this.#host.isOurs(localAddress) || !this.#host.isHost(remoteAddress)) {
      this.counters.notOurs += 1;
      return;
    }
    const segment = readSegment(frame);
    if (segment === undefined) {
      this.counters.badSegment += 1;
      return;
    }
    const ends = { localAddress, localPort: segment.destPort, remoteAddress, remotePort: segment.sourcePort };
    const known = this.#sockets.get(keyOf(ends));
    if (known !== undefined && !(known.connection.state === 'time-wait' && isFreshSyn(segment))) {
      this.#handleKnown(now, known, segment);
    } else this.#handleUnknown(now, { ...ends, sourceMac }, segment, known);
  }

  /** Appends segments that are due until none is or the writer is full; true when more would be due at once. */
  transmit(now: number, writer: FrameWriter): boolean {
    const answersLeft = this.#stateless.transmit(writer);
    if (this.#ready.size === 0) return answersLeft;
    const errors: unknown[] = [];
    for (const socket of this.#ready) {
      try {
        this.#transmitOf(now, socket, writer);
      } catch (error) {
        errors.push(error);
        this.#giveUp(socket);
      }
      if (writer.full) break;
    }
    if (errors.length > 0) throw errors[0];
    return answersLeft || writer.full;
  }

  #transmitOf(now: number, socket: StackSocket, writer: FrameWriter): void {
    const destMac = this.#host.nextHopMac(now, socket.remoteAddress, socket.listener !== undefined);
    if (destMac === undefined) {
      socket.connection.stall(now);
      // The end cannot be reported to the peer.
      if (socket.connection.end !== undefined) {
        this.#ready.delete(socket);
        this.#drop(socket);
      }
      return;
    }
    while (!writer.full) {
      const segment = socket.connection.poll(now);
      if (segment === undefined) {
        this.#ready.delete(socket);
        if (socket.connection.end !== undefined) this.#drop(socket);
        return;
      }
      const frame = segmentFrame(routeOf(this.#host, socket, destMac), segment);
      writer.appendRaw(frame, 0, frame.length);
    }
  }

  nextDeadline(): number {
    let earliest = Infinity;
    if (this.#sockets.size === 0) return earliest;
    for (const { connection } of this.#sockets.values()) earliest = Math.min(earliest, connection.deadline);
    return earliest;
  }

  handleTimeouts(now: number): void {
    const errors: unknown[] = [];
    for (const socket of this.#sockets.values()) {
      if (socket.connection.deadline > now) continue;
      try {
        socket.connection.handleTimeout(now);
        this.#ready.add(socket);
        this.#settle(socket);
      } catch (error) {
        errors.push(error);
        this.#giveUp(socket);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  #handleKnown(now: number, socket: StackSocket, segment: ReceivedSegment): void {
    // The handshake is done once somebody can take the connection; until then its SYN-ACK is repeated.
    const completes = socket.listener?.full === true && !socket.connection.connected;
    if (completes && (segment.flags & (TcpFlag.Syn | TcpFlag.Rst)) === 0) {
      this.#backlogFull(socket);
      if (segment.ack === (socket.connection.iss + 1) >>> 0) socket.connection.holdBack();
      return;
    }
    socket.connection.handleSegment(now, segment);
    this.#touched(socket);
    this.#settle(socket);
  }

  #handleUnknown(now: number, ends: AnswerEnds, segment: ReceivedSegment, old: StackSocket | undefined): void {
    const listener = this.#listeners.get(ends.localPort);
    const heard = listener?.address === undefined || listener.address.equals(ends.localAddress);
    if (listener !== undefined && heard && isFreshSyn(segment)) this.#handleSyn(now, listener, ends, segment, old);
    else if (listener === undefined || !heard || !this.#takesCookie(now, listener, ends, segment)) {
      this.counters.noConnection += 1;
      this.#stateless.refuse(ends, segment);
    }
  }

  #handleSyn(
    now: number,
    listener: StackListener,
    ends: AnswerEnds,
    segment: ReceivedSegment,
    old: StackSocket | undefined,
  ): void {
    const { maxHalfOpen, synCookies } = this.#host.limits;
    const keeps = this.#halfOpen() < maxHalfOpen && this.#sockets.size < MAX_CONNECTIONS;
    // The peer retransmits its SYN.
    if (listener.full || !(keeps || synCookies)) {
      this.#backlogFull(ends);
      return;
    }
    if (old !== undefined) this.#drop(old);
    if (keeps) {
      const socket = this.#makeSocket(ends, this.#host.random.u32());
      listener.begin(socket);
      socket.connection.accept(segment);
      this.#touched(socket);
    } else this.#stateless.sendCookie(now, ends, segment);
  }

  /** True when the segment ends a handshake of which we have kept nothing: it is a connection, or has to come again. */
  #takesCookie(now: number, listener: StackListener, ends: AnswerEnds, segment: ReceivedSegment): boolean {
    const mss = this.#stateless.cookieOf(now, ends, segment);
    if (mss === undefined) return false;
    if (listener.full || this.#sockets.size >= MAX_CONNECTIONS) {
      this.#backlogFull(ends);
      return true;
    }
    this.counters.cookiesTaken += 1;
    const socket = this.#makeSocket(ends, (segment.ack - 1) >>> 0);
    listener.begin(socket);
    socket.connection.restore({ ...segment, seq: (segment.seq - 1) >>> 0, mss });
    this.#handleKnown(now, socket, segment);
    return true;
  }

  #backlogFull({ remoteAddress, remotePort }: TcpEnds): void {
    this.counters.backlogFull += 1;
    this.#host.suspect?.('tcp-backlog-full', remoteAddress, remotePort);
  }

  #halfOpen(): number {
    let count = 0;
    for (const listener of this.#listeners.values()) count += listener.halfOpen;
    return count;
  }

  /** An error of ours: nothing is known of its state any more, and the application learns that it has ended. */
  #giveUp(socket: StackSocket): void {
    this.#ready.delete(socket);
    this.#drop(socket);
    socket.connection.abort();
    socket.settle();
  }

  #settle(socket: StackSocket): void {
    socket.settle();
    if (socket.connection.end !== undefined) this.#drop(socket);
  }

  /** Removes a connection after sending its last segments. */
  #drop(socket: StackSocket): void {
    const key = keyOf(socket);
    if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
  }

  #makeSocket(ends: TcpEnds, iss: number, maxSynRetries = this.#host.limits.maxSynAckRetries): StackSocket {
    if (this.#sockets.size >= MAX_CONNECTIONS)
      throw new RoceError('ERR_ROCE_LIMIT', `all ${MAX_CONNECTIONS} TCP connections are in use`);
    const connection = new TcpConnection({ iss, maxSynRetries, ...segmentSizes(this.#host.mtu, ends) });
    const socket = new StackSocket(ends, connection, this.#touched);
    this.#sockets.set(keyOf(ends), socket);
    return socket;
  }

  /** A random one of the dynamic ports that no connection to that peer has. */
  #freshPort(ends: Omit<TcpEnds, 'localPort'>): number {
    for (let tries = 0; tries < MAX_PORT_TRIES; tries++) {
      const localPort = FIRST_DYNAMIC_PORT + (this.#host.random.u32() % DYNAMIC_PORTS);
      if (!this.#sockets.has(keyOf({ ...ends, localPort })) && !this.#listeners.has(localPort)) return localPort;
    }
    throw new RoceError('ERR_ROCE_LIMIT', `no free TCP port to ${ends.remoteAddress}`);
  }

  #begin(): void {
    this.#used = true;
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the device is closed');
  }
}

function isFreshSyn({ flags }: ReceivedSegment): boolean {
  return (flags & (TcpFlag.Syn | TcpFlag.Ack | TcpFlag.Rst | TcpFlag.Fin)) === TcpFlag.Syn;
}

function keyOf({ localAddress, localPort, remoteAddress, remotePort }: TcpEnds): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}

function checkPort(port: number): void {
  if (!(Number.isInteger(port) && port >= 1 && port <= 0xff_ff))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${port} is not a TCP port`);
}

const DEFAULT_BACKLOG = 16;
const MAX_CONNECTIONS = 1024;
/** As Linux: 63 s for a SYN of ours. */
const MAX_SYN_RETRIES = 6;
const MAX_PORT_TRIES = 1000;
/** RFC 6335: 49152 to 65535. */
const FIRST_DYNAMIC_PORT = 49_152;
const DYNAMIC_PORTS = 16_384;
