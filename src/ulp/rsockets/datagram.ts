/**
 * Datagrams over RDMA, compatible with rsocket(7) of librdmacm (SOCK_DGRAM): the first ones to a peer go over UDP and
 * carry the sender's queue pair; from then on they go from queue pair to queue pair.
 *
 * Owns the socket: the table of peers, and waiting datagrams (rdma:rsocket.c#dsend, #udp_svc_process_rs). The caller
 * supplies UDP (`UdpPort`). Datagrams may be lost, for instance when there is no room; invalid ones are dropped and
 * counted.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { WcOpcode, WcStatus, WorkCompletion, wcStatusName } from '../../../transport/work.ts';
import type { RdmaAh, RdmaDevice } from '../../device/api.ts';
import {
  type DatagramSource,
  datagramHeaderBytes,
  readDatagramHeader,
  readUdpMessage,
  writeDatagramHeader,
  writeUdpMessage,
} from './datagram-protocol.ts';
import { DatagramQueues, SLOT_BYTES } from './datagram-queues.ts';
import { RsOp } from './protocol.ts';
import { Events } from './waiting.ts';

/** A UDP socket of the host that has the device's addresses. */
export interface UdpPort {
  /** Ours, 1..65535. */
  readonly port: number;
  /** May lose it; never throws. Copies what it keeps. */
  send(bytes: Uint8Array, address: IpAddress, port: number): void;
  /** Delivers received datagrams from now on. Bytes are valid during the call. */
  listen(handler: (bytes: Uint8Array, address: IpAddress, port: number) => void): void;
  /** May be called more than once. */
  close(): void;
}

/** Sizes of a datagram socket; absent ones take the defaults in brackets. */
export interface RDatagramOptions {
  /** Datagrams under way, 1..8192 [64]. */
  readonly sendQueue?: number;
  /** Datagrams that wait to be received, 1..8192 [64]; more are lost. */
  readonly receiveQueue?: number;
  /** Bytes up to which datagrams are copied into the work request [64]. */
  readonly inline?: number;
}

/** A datagram that was received. */
export interface Received extends DatagramSource {
  /** Bytes of the datagram. */
  readonly length: number;
}

interface Destination extends DatagramSource {
  /** Ours towards it. */
  readonly source: IpAddress;
  ah: RdmaAh | undefined;
  /** The peer's; used once there is an address handle. */
  qpn: number;
  /** The address handle is being made. */
  looking: boolean;
}

interface Waiting extends DatagramSource {
  readonly data: Uint8Array;
  /** Receive slot that `data` lies in; -1 when it is a copy. */
  readonly slot: number;
}

/**
 * Datagrams between addresses and UDP ports (rsocket(7), SOCK_DGRAM): found over UDP, carried by UD queue pairs.
 *
 * @example
 * ```ts
 * import { attachDevice, IpAddress, World } from 'rocev2';
 * import { RDatagramSocket, type UdpPort } from 'rocev2/rsockets';
 *
 * const world = new World({ seed: 1 });
 * const handlers = new Map<string, Parameters<UdpPort['listen']>[0]>();
 * function open(text: string): RDatagramSocket {
 *   // The first datagrams to a peer go over UDP: on a host a socket of the kernel, here by hand.
 *   const udp: UdpPort = {
 *     port: 7471,
 *     listen: (handler) => void handlers.set(text, handler),
 *     send(bytes, address, port) {
 *       const copy = bytes.slice();
 *       queueMicrotask(() => handlers.get(`${address}`)?.(copy, IpAddress.parse(text), port));
 *     },
 *     close() {},
 *   };
 *   return new RDatagramSocket(attachDevice(world, text, { addresses: [`${text}/24`] }), udp);
 * }
 * const [a, b] = [open('10.0.0.1'), open('10.0.0.2')];
 * await a.sendTo(new TextEncoder().encode('hello'), IpAddress.parse('10.0.0.2'), 7471);
 * const { length, address } = await world.run(b.recvFrom(new Uint8Array(64)));
 * console.log(length, `${address}`); // 5 10.0.0.1
 * ```
 */
export class RDatagramSocket {
  /** Dropped datagrams: not a message, of an unknown sender, or no room. */
  dropped = 0;
  readonly #device: RdmaDevice;
  readonly #udp: UdpPort;
  readonly #queues: DatagramQueues;
  readonly #limit: number;
  readonly #destinations = new Map<string, Destination>();
  readonly #waiting: Waiting[] = [];
  readonly #events = new Events();
  #error: RoceError | undefined;

  /** Takes ownership of `udp`. @throws RoceError ERR_ROCE_ARGUMENT (sizes), ERR_ROCE_LIMIT, ERR_ROCE_CLOSED */
  constructor(device: RdmaDevice, udp: UdpPort, options: RDatagramOptions = {}) {
    const { sendQueue = DEFAULT_QUEUE, receiveQueue = DEFAULT_QUEUE, inline = DEFAULT_INLINE } = options;
    for (const size of [sendQueue, receiveQueue]) {
      if (!Number.isInteger(size) || size < 1 || size > MAX_QUEUE)
        throw new RoceError('ERR_ROCE_ARGUMENT', `queues have 1 to ${MAX_QUEUE} entries, not ${size}`);
    }
    this.#device = device;
    this.#udp = udp;
    this.#limit = receiveQueue;
    this.#queues = new DatagramQueues(device, { sendQueue, receiveQueue, inline });
    udp.listen((bytes, address, port) => this.#udpArrived(bytes, address, port));
    void this.#run();
  }

  /** Most bytes of a datagram over IP of this version: one packet, and one slot of the peer. */
  maxBytes(version: 4 | 6): number {
    return Math.min(this.#device.activeMtu, SLOT_BYTES) - datagramHeaderBytes(version);
  }

  /** Whether `recvFrom` would not wait. */
  get readable(): boolean {
    return this.#waiting.length > 0 || this.#error !== undefined;
  }

  /**
   * Sends a datagram; resolves when it is under way, after waiting for room in the send queue. Rejects with
   * ERR_ROCE_ARGUMENT when it is too long, ERR_ROCE_ADDRESS when no address of ours is of its version, ERR_ROCE_CLOSED
   * after the end.
   */
  async sendTo(bytes: Uint8Array, address: IpAddress, port: number): Promise<void> {
    this.#demandOpen();
    const most = this.maxBytes(address.version);
    if (bytes.length > most)
      throw new RoceError('ERR_ROCE_ARGUMENT', `a datagram has at most ${most} bytes here, not ${bytes.length}`);
    this.#destinationAt(address, port);
    // Checked without a turn in between: other sends wait for the same slots, and peers may change meanwhile.
    while (!this.#queues.canSend && this.#error === undefined) await this.#events.next();
    this.#demandOpen();
    const destination = this.#destinationAt(address, port);
    const { ah, qpn, source } = destination;
    if (ah === undefined) {
      this.#say(destination, RsOp.Data, bytes);
      return;
    }
    this.#queues.send(ah, qpn, (slot) => {
      const view = new DataView(slot.buffer, slot.byteOffset, slot.byteLength);
      const header = writeDatagramHeader(view, 0, { address: source, port: this.#udp.port });
      slot.set(bytes, header);
      return header + bytes.length;
    });
  }

  /**
   * Receives a datagram, cut to what `into` holds; `length` says how much that is. Rejects with ERR_ROCE_CLOSED at the
   * end.
   */
  async recvFrom(into: Uint8Array): Promise<Received> {
    await this.whenReadable();
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#demandOpen();
      return this.recvFrom(into);
    }
    const { data, slot, address, port } = next;
    const length = Math.min(data.length, into.length);
    into.set(data.subarray(0, length));
    if (slot >= 0 && this.#error === undefined) this.#queues.postReceive(slot);
    return { length, address, port };
  }

  /** Resolves when `readable` is true. */
  whenReadable(): Promise<void> {
    return this.#events.until(() => this.readable);
  }

  /** Ends at once; datagrams under way may be lost. May be called more than once. */
  close(): void {
    this.#fail(new RoceError('ERR_ROCE_CLOSED', 'the socket is closed'));
    this.#udp.close();
    for (const { ah } of this.#destinations.values()) ah?.destroy();
    this.#destinations.clear();
    this.#queues.free();
  }

  /** Takes completions until there will be no more. */
  async #run(): Promise<void> {
    const { cq } = this.#queues;
    const wc = new WorkCompletion();
    for (;;) {
      const { done, value } = await cq.next();
      if (done === true) break;
      this.#take(value);
      while (cq.poll(wc)) this.#take(wc);
      this.#events.happened();
    }
    this.#fail(new RoceError('ERR_ROCE_CLOSED', 'the device was closed'));
  }

  #take({ opcode, wrId, status, byteLen }: WorkCompletion): void {
    if (this.#error !== undefined) return;
    if (status !== WcStatus.Success)
      this.#fail(new RoceError('ERR_ROCE_STATE', `a datagram failed: ${wcStatusName(status)}`));
    else if ((opcode & WcOpcode.Recv) === 0) this.#queues.sent(wrId);
    else this.#datagramArrived(wrId, byteLen);
  }

  #datagramArrived(slot: number, byteLen: number): void {
    const bytes = this.#queues.received(slot, byteLen);
    const header = readDatagramHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.length);
    if (header === undefined || this.#waiting.length >= this.#limit) {
      this.dropped++;
      this.#queues.postReceive(slot);
      return;
    }
    const { address, port, headerBytes } = header;
    this.#waiting.push({ address, port, data: bytes.subarray(headerBytes), slot });
  }

  #udpArrived(bytes: Uint8Array, address: IpAddress, port: number): void {
    if (this.#error !== undefined) return;
    const message = readUdpMessage(bytes, address.version);
    if (message === undefined || this.#sourceFor(address) === undefined) {
      this.dropped++;
      return;
    }
    const destination = this.#destinationAt(address, port);
    if (message.op === RsOp.Data) {
      this.#say(destination, RsOp.Ctrl, NOTHING);
      if (this.#waiting.length < this.#limit)
        this.#waiting.push({ address, port, data: message.data.slice(), slot: -1 });
      else this.dropped++;
    }
    void this.#learn(destination, message.qpn);
    this.#events.happened();
  }

  /** From now on datagrams go to that queue pair. If its host does not resolve, they continue over UDP. */
  async #learn(destination: Destination, qpn: number): Promise<void> {
    destination.qpn = qpn;
    // One resolution at a time: source addresses can be forged.
    if (destination.ah !== undefined || destination.looking) return;
    destination.looking = true;
    const { address, port, source } = destination;
    try {
      const ah = await this.#queues.pd.createAh({ destination: address, source });
      const forgotten = this.#destinations.get(keyOf(address, port)) !== destination;
      if (forgotten) ah.destroy();
      else destination.ah = ah;
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      this.dropped++;
    } finally {
      destination.looking = false;
    }
  }

  #say({ address, port, source }: Destination, op: number, data: Uint8Array): void {
    this.#udp.send(writeUdpMessage({ op, qpn: this.#queues.qp.qpn, data }, source), address, port);
  }

  #destinationAt(address: IpAddress, port: number): Destination {
    const key = keyOf(address, port);
    const known = this.#destinations.get(key);
    if (known !== undefined) return known;
    const source = this.#sourceFor(address);
    if (source === undefined) throw new RoceError('ERR_ROCE_ADDRESS', `no address of this device can reach ${address}`);
    if (this.#destinations.size >= MAX_DESTINATIONS) this.#forgetOldest();
    const destination = { address, port, source, ah: undefined, qpn: 0, looking: false };
    this.#destinations.set(key, destination);
    return destination;
  }

  /** It is resolved again when a datagram is sent to it. */
  #forgetOldest(): void {
    for (const [key, { ah }] of this.#destinations) {
      ah?.destroy();
      this.#destinations.delete(key);
      return;
    }
  }

  /** The address on the peer's subnet, or else any of its version. */
  #sourceFor(address: IpAddress): IpAddress | undefined {
    const ours = this.#device.addresses;
    const prefix = ours.find((one) => one.contains(address));
    return (prefix ?? ours.find((one) => one.address.version === address.version))?.address;
  }

  #demandOpen(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  #fail(error: RoceError): void {
    this.#error ??= error;
    this.#events.happened();
  }
}

function keyOf(address: IpAddress, port: number): string {
  return `${address} ${port}`;
}

const NOTHING = new Uint8Array(0);
const DEFAULT_QUEUE = 64;
const MAX_QUEUE = 8192;
const DEFAULT_INLINE = 64;
/** Source addresses over UDP can be forged: when the table is full, a new peer replaces the oldest. */
const MAX_DESTINATIONS = 4096;
