/**
 * TCP for a host of our own on an Ethernet link: finds the connection of a segment, lets connections transmit, and
 * keeps listeners. On links that share the kernel's addresses the kernel's TCP is the one to use.
 *
 * It exists for the parameters that RDMA tools exchange over TCP before their queue pairs connect. Sans I/O, driven by
 * the device. Whatever bytes arrive: no exception, and no memory beyond a fixed bound (a backlog for each listener). A
 * segment for no connection draws a reset, as RFC 9293 section 3.10.7.1 has it, once the application has used the
 * stack; until then it sends nothing, as devices without TCP do.
 */
import type { IpAddress, MacAddress } from '../../../../packets/address.ts';
import { RoceError } from '../../../../packets/errors.ts';
import { type Frame, frameDestination, frameSource } from '../../../../packets/frame.ts';
import type { FrameWriter } from '../../../../packets/frame-writer.ts';
import { IPV4_BYTES } from '../../../../packets/ipv4.ts';
import { IPV6_BYTES } from '../../../../packets/ipv6.ts';
import type { Random } from '../../../../transport/random.ts';
import { TcpConnection } from './connection.ts';
import { type ReceivedSegment, readSegment, segmentFrame, sequenceLength, TCP_BYTES, TcpFlag } from './segment.ts';
import { StackListener, StackSocket, type TcpEnds, type TcpListener, type TcpSocket } from './socket.ts';

/** What the stack needs of the host it is part of. */
export interface TcpHost {
  readonly mac: MacAddress;
  /** Tag of the frames we send; absent: none. */
  readonly vlanTci?: number | undefined;
  /** Largest IP packet of the link, in bytes. */
  readonly mtu: number;
  readonly random: Random;
  now(): number;
  /** The stack has something to send. */
  wake(): void;
  isOurs(address: IpAddress): boolean;
  /** Whether it can be the address of another host. */
  isHost(address: IpAddress): boolean;
  /** Our address for a destination. Throws ERR_ROCE_ADDRESS. */
  sourceFor(destination: IpAddress): IpAddress;
  /** MAC address of the next hop, or undefined after starting its resolution. */
  nextHopMac(now: number, destination: IpAddress): MacAddress | undefined;
  /** Resolves when the next hop is known; rejects with ERR_ROCE_ADDRESS. */
  resolve(destination: IpAddress): Promise<void>;
}

/** Options of `RdmaTcp.listen`. */
export interface TcpListenOptions {
  /** Takes connections to this address only; default to any of ours. */
  readonly address?: IpAddress;
  /** Connections that may wait to be taken, handshakes under way included; default 16. */
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
  readonly counters = { badSegment: 0, notOurs: 0, noConnection: 0, backlogFull: 0, resetsDropped: 0 };
  readonly #host: TcpHost;
  readonly #sockets = new Map<string, StackSocket>();
  readonly #listeners = new Map<number, StackListener>();
  /** Connections that may have something to send. */
  readonly #ready = new Set<StackSocket>();
  /** Whole frames that belong to no connection. */
  readonly #resets: Uint8Array[] = [];
  readonly #touched = (socket: StackSocket): void => {
    this.#ready.add(socket);
    this.#host.wake();
  };
  #used = false;
  #closed = false;

  constructor(host: TcpHost) {
    this.#host = host;
  }

  /** Connections, those in TIME-WAIT included. */
  get size(): number {
    return this.#sockets.size;
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
    const socket = this.#makeSocket({ ...ends, localPort: this.#freshPort(ends) });
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
    if (toGroup || !this.#host.isOurs(localAddress) || !this.#host.isHost(remoteAddress)) {
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
      known.connection.handleSegment(now, segment);
      this.#touched(known);
      this.#settle(known);
    } else this.#handleUnknown(ends, segment, known);
  }

  /** Appends segments that are due until none is or the writer is full; true when more would be due at once. */
  transmit(now: number, writer: FrameWriter): boolean {
    while (!writer.full && this.#resets.length > 0) {
      const frame = this.#resets.shift();
      if (frame !== undefined) writer.appendRaw(frame, 0, frame.length);
    }
    if (this.#ready.size === 0) return this.#resets.length > 0;
    for (const socket of this.#ready) {
      const destMac = this.#host.nextHopMac(now, socket.remoteAddress);
      if (destMac === undefined) {
        socket.connection.stall(now);
        // The end cannot be reported to the peer.
        if (socket.connection.end !== undefined) {
          this.#ready.delete(socket);
          this.#drop(socket);
        }
        continue;
      }
      while (!writer.full) {
        const segment = socket.connection.poll(now);
        if (segment === undefined) {
          this.#ready.delete(socket);
          if (socket.connection.end !== undefined) this.#drop(socket);
          break;
        }
        const frame = segmentFrame(this.#route(socket, destMac), segment);
        writer.appendRaw(frame, 0, frame.length);
      }
      if (writer.full) return true;
    }
    return this.#resets.length > 0;
  }

  nextDeadline(): number {
    let earliest = Infinity;
    if (this.#sockets.size === 0) return earliest;
    for (const { connection } of this.#sockets.values()) earliest = Math.min(earliest, connection.deadline);
    return earliest;
  }

  handleTimeouts(now: number): void {
    for (const socket of this.#sockets.values()) {
      if (socket.connection.deadline > now) continue;
      socket.connection.handleTimeout(now);
      this.#ready.add(socket);
      this.#settle(socket);
    }
  }

  #handleUnknown(ends: TcpEnds, segment: ReceivedSegment, old: StackSocket | undefined): void {
    const listener = this.#listeners.get(ends.localPort);
    const heard = listener?.address === undefined || listener.address.equals(ends.localAddress);
    if (listener === undefined || !heard || !isFreshSyn(segment)) {
      this.counters.noConnection += 1;
      this.#refuse(ends, segment);
      return;
    }
    // The peer retransmits its SYN.
    if (listener.full || this.#sockets.size >= MAX_CONNECTIONS) {
      this.counters.backlogFull += 1;
      return;
    }
    if (old !== undefined) this.#drop(old);
    const socket = this.#makeSocket(ends);
    listener.begin(socket);
    socket.connection.accept(segment);
    this.#touched(socket);
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

  #makeSocket(ends: TcpEnds): StackSocket {
    if (this.#sockets.size >= MAX_CONNECTIONS)
      throw new RoceError('ERR_ROCE_LIMIT', `all ${MAX_CONNECTIONS} TCP connections are in use`);
    const { version } = ends.remoteAddress;
    const headerBytes = TCP_BYTES + (version === 4 ? IPV4_BYTES : IPV6_BYTES);
    const connection = new TcpConnection({
      iss: this.#host.random.u32(),
      mss: this.#host.mtu - headerBytes,
      defaultMss: version === 4 ? 536 : 1220,
    });
    const socket = new StackSocket(ends, connection, this.#touched);
    this.#sockets.set(keyOf(ends), socket);
    return socket;
  }

  /** RFC 9293 3.10.7.1: a reset that the sender of `segment` accepts. */
  #refuse(ends: TcpEnds, segment: ReceivedSegment): void {
    if ((segment.flags & TcpFlag.Rst) !== 0) return;
    const destMac = this.#host.nextHopMac(this.#host.now(), ends.remoteAddress);
    if (destMac === undefined || this.#resets.length >= MAX_RESETS) {
      this.counters.resetsDropped += 1;
      return;
    }
    const answersAck = (segment.flags & TcpFlag.Ack) !== 0;
    const reset = {
      seq: answersAck ? segment.ack : 0,
      ack: answersAck ? 0 : (segment.seq + sequenceLength(segment)) >>> 0,
      flags: answersAck ? TcpFlag.Rst : TcpFlag.Rst | TcpFlag.Ack,
      window: 0,
      data: new Uint8Array(0),
    };
    this.#resets.push(segmentFrame(this.#route(ends, destMac), reset));
  }

  #route({ localAddress, localPort, remoteAddress, remotePort }: TcpEnds, destMac: MacAddress) {
    const { mac, vlanTci } = this.#host;
    return {
      sourceMac: mac,
      destMac,
      vlanTci,
      source: localAddress,
      destination: remoteAddress,
      sourcePort: localPort,
      destPort: remotePort,
    };
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
const MAX_RESETS = 64;
const MAX_PORT_TRIES = 1000;
/** RFC 6335: 49152 to 65535. */
const FIRST_DYNAMIC_PORT = 49_152;
const DYNAMIC_PORTS = 16_384;
