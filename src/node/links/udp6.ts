/**
 * A wire through an ordinary UDP socket on IPv6: no root, no native code, any system that Node runs on.
 *
 *   udp6:[fd00::1]    the local address to use
 *
 * Owns the socket. The kernel writes IPv6 and UDP headers; the ICRC covers only what is known of them (ref:wire#2), so
 * the link takes them off what is sent and puts them back before what arrives. Hop limit and flow label are the
 * kernel's. The traffic class of what is sent is ours where koffi is (`traffic-class.ts`); node:dgram does not report
 * that of received packets, so that no mark is seen.
 *
 * It cannot receive from rdma_rxe, which can receive from it: rxe sends UDP checksum 0 (ref:wire#2), and Linux drops
 * such a datagram over IPv6 unless the socket has UDP_NO_CHECK6_RX (linux:net/ipv6/udp.c#__udp6_lib_rcv), which Node
 * has no way to set. /proc/net/snmp6 counts them as Udp6InCsumErrors. The link `udp-offload` sets the option.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { IPV6_DESTINATION_AT } from '../../../packets/ipv6.ts';
import { ROCE_UDP_PORT } from '../../../packets/udp.ts';
import type { LinkEcn } from '../../ground/link.ts';
import type { LinkKind } from './kind.ts';
import { loadLibc } from './libc.ts';
import { LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';

import { boundSockets, datagramEcn, TrafficClass } from './traffic-class.ts';
import {
  bindRemedy,
  HEADER_BYTES,
  ipv6Requirement,
  isSendable,
  MAX_DATAGRAM_BYTES,
  receiveBufferLimit,
  takeUdpOptions,
  UDP_USAGE,
  type UdpCounters,
  UdpEndpoint,
  type UdpLinkOptions,
  UdpPeer,
  UdpPeers,
  windowFor,
} from './udp-endpoint.ts';
import { Udp6Groups } from './udp6-groups.ts';

export const udp6Kind: LinkKind = {
  name: 'udp6',
  usage: UDP_USAGE,
  summary: 'UDP socket on IPv6, no privileges; receives nothing from rdma_rxe',
  medium: Medium.Ip,
  get ecn() {
    return datagramEcn();
  },
  requirements: () => Promise.resolve([ipv6Requirement()]),
  open: (spec) => new Udp6Link(takeUdpOptions(spec)),
};

export class Udp6Link extends LifecycleLink<GroupPort> {
  readonly name: string;
  readonly medium = Medium.Ip;
  readonly mtu: number;
  readonly addresses: readonly string[];
  readonly sourcePort = ROCE_UDP_PORT;
  readonly maxUnacked: number;
  /**
   * `refused` counts the last frame of a batch only: a callback for every frame would cost an eighth of the throughput.
   */
  readonly counters: UdpCounters = { sent: 0, received: 0, oversize: 0, unsendable: 0, refused: 0 };
  readonly #endpoint: UdpEndpoint;

  /** @throws RoceError ERR_ROCE_ADDRESS */
  constructor(options: UdpLinkOptions) {
    super();
    const endpoint = new UdpEndpoint(options);
    this.#endpoint = endpoint;
    this.name = `udp6:${endpoint.label}`;
    this.mtu = endpoint.mtu;
    this.addresses = [endpoint.prefix];
    this.maxUnacked = windowFor(2 * Math.min(receiveBufferLimit(), RECEIVE_BUFFER_BYTES), endpoint.mtu);
  }

  get ecn(): LinkEcn {
    return datagramEcn(this.port?.setsTrafficClass);
  }

  /** @throws RoceError ERR_ROCE_ADDRESS, ERR_ROCE_LINK_UNAVAILABLE */
  async join(group: IpAddress): Promise<void> {
    if (this.port === undefined) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${this.name} is not started`);
    await this.port.join(group);
  }

  leave(group: IpAddress): void {
    this.port?.leave(group);
  }

  protected override async open(events: LinkEvents): Promise<GroupPort> {
    const { address, port, interfaceName } = this.#endpoint;
    // Before there is a socket: nothing that arrives waits for a package to load.
    const libc = await loadLibc().catch(() => undefined);
    const before = boundSockets(address, port);
    const socket = createSocket({ type: 'udp6', ipv6Only: true, lookup: lookUpAtOnce });
    try {
      await bind(socket, this.#endpoint);
    } catch (cause) {
      socket.close();
      throw unavailable(this.name, cause);
    }
    growReceiveBuffer(socket);
    if (interfaceName !== undefined) socket.setMulticastInterface(`::%${interfaceName}`);
    const trafficClass = libc === undefined ? undefined : TrafficClass.of(libc, address, port, before);
    // An error of an unconnected socket in libuv is its end.
    socket.on('error', (cause) =>
      events.ended(new RoceError('ERR_ROCE_CLOSED', `${this.name}: ${cause.message}`, { cause })),
    );
    return new Udp6Port(socket, this.#endpoint, trafficClass, this.counters, events);
  }
}

/** What the link asks its port; without it the port's own type would take the types of Node into the package's. */
interface GroupPort extends LinkPort {
  readonly setsTrafficClass: boolean;
  join(group: IpAddress): Promise<void>;
  leave(group: IpAddress): void;
}

class Udp6Port implements GroupPort {
  readonly #socket: Socket;
  readonly #endpoint: UdpEndpoint;
  /** Of the socket; absent where it cannot be set. */
  readonly #trafficClass: TrafficClass | undefined;
  readonly #counters: UdpCounters;
  readonly #events: LinkEvents;
  readonly #peers: UdpPeers;
  readonly #arrivals: Arrivals;
  readonly #outbox: Outbox;
  readonly #groups: Udp6Groups;
  /** Whether the socket's latest frame has a callback, called when it was sent. */
  #tracked = true;
  #closed = false;

  constructor(
    socket: Socket,
    endpoint: UdpEndpoint,
    trafficClass: TrafficClass | undefined,
    counters: UdpCounters,
    events: LinkEvents,
  ) {
    this.#socket = socket;
    this.#endpoint = endpoint;
    this.#trafficClass = trafficClass;
    this.#counters = counters;
    this.#events = events;
    this.#peers = new UdpPeers(endpoint.address);
    this.#arrivals = new Arrivals(endpoint, endpoint.address);
    this.#outbox = new Outbox(endpoint.mtu - HEADER_BYTES);
    this.#groups = new Udp6Groups(endpoint);
    socket.on('message', (message, from) => this.#receive(this.#arrivals, message, from));
  }

  get setsTrafficClass(): boolean {
    return this.#trafficClass !== undefined;
  }

  send(batch: FrameBatch, from: number): number {
    for (let i = from; i < batch.count; i++) {
      if (!this.#sendFrame(batch, i, i === batch.count - 1)) {
        if (!this.#tracked) this.#look();
        return i - from;
      }
    }
    return batch.count - from;
  }

  async join(group: IpAddress): Promise<void> {
    // What is sent to the group has its headers put back.
    const arrivals = new Arrivals(this.#endpoint, group);
    await this.#groups.join(group, (message, from) => this.#receive(arrivals, message, from));
  }

  leave(group: IpAddress): void {
    this.#groups.leave(group);
  }

  /** What waits for room in the kernel gets a second. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#groups.close();
    const deadline = performance.now() + LINGER_MS;
    while (this.#queued > 0 && performance.now() < deadline) await new Promise((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  /** Frames that libuv holds for want of room. */
  get #queued(): number {
    return this.#socket.getSendQueueCount();
  }

  /** False when there is no room. */
  #sendFrame(batch: FrameBatch, index: number, last: boolean): boolean {
    const counters = this.#counters;
    const socket = this.#socket;
    const { view } = batch;
    const start = batch.starts[index] as number;
    const length = batch.lengths[index] as number;
    if (length > this.#endpoint.mtu) {
      counters.oversize++;
    } else if (!isSendable(view, start, length, this.#endpoint.address)) {
      counters.unsendable++;
    } else {
      const queued = socket.getSendQueueCount();
      if (!this.#hasClass((view.getUint32(start) >>> 20) & 0xff, queued)) return false;
      const payload = this.#outbox.copy(batch.bytes, start + HEADER_BYTES, length - HEADER_BYTES, queued);
      if (payload === undefined) return false;
      const peer = this.#peers.at(view, start + IPV6_DESTINATION_AT);
      // `writable` follows from the callbacks of queued frames, so all of those have one.
      this.#tracked = last || queued > 0;
      if (this.#tracked) socket.send(payload, this.#endpoint.port, peer.text, this.#sent);
      else socket.send(payload, this.#endpoint.port, peer.text);
      counters.sent++;
    }
    return true;
  }

  /**
   * Sets the class of frames sent from now on; false while queued frames wait, as they leave with the class set at that
   * time.
   */
  #hasClass(trafficClass: number, queued: number): boolean {
    const ours = this.#trafficClass;
    if (ours === undefined || ours.current === trafficClass) return true;
    if (queued > 0) return false;
    ours.set(trafficClass);
    return true;
  }

  /**
   * Waits for a frame without a callback. Rare: the kernel has had no room for it, and the next is of another class.
   */
  #look(): void {
    setImmediate(() => {
      if (this.#events.blocked && this.#queued > 0) this.#look();
      else this.#sent(null);
    });
  }

  /** Bound once: a closure for every batch would be garbage. */
  readonly #sent = (error: Error | null): void => {
    // The transport retransmits it, as after any loss.
    if (error !== null) this.#counters.refused++;
    if (this.#events.blocked && this.#queued === 0) this.#events.writable();
  };

  #receive(arrivals: Arrivals, message: Uint8Array, from: RemoteInfo): void {
    if (this.#closed) return;
    this.#counters.received++;
    this.#events.receive(arrivals.put(message, from));
  }
}

/**
 * What arrived last, as a batch of one: every datagram comes in an event of its own, and to wait for more would cost
 * latency.
 */
class Arrivals implements FrameBatch {
  readonly bytes = new Uint8Array(HEADER_BYTES + MAX_DATAGRAM_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  readonly starts = Int32Array.of(0);
  readonly lengths = Int32Array.of(0);
  count = 1;
  readonly #endpoint: UdpEndpoint;
  readonly #local: IpAddress;
  readonly #byText = new Map<string, UdpPeer>();

  /** `local`: the address it was sent to. */
  constructor(endpoint: UdpEndpoint, local: IpAddress) {
    this.#endpoint = endpoint;
    this.#local = local;
  }

  put(message: Uint8Array, from: RemoteInfo): FrameBatch {
    const { length } = message;
    const sourcePort = from.port === this.#endpoint.port ? ROCE_UDP_PORT : from.port;
    this.#peer(from.address).writeHeaders(this.view, 0, length, sourcePort, 0);
    this.bytes.set(message, HEADER_BYTES);
    this.lengths[0] = HEADER_BYTES + length;
    this.count = 1;
    return this;
  }

  #peer(text: string): UdpPeer {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    if (this.#byText.size >= MAX_SENDERS) this.#byText.clear();
    const peer = new UdpPeer(IpAddress.parse(text.split('%', 1)[0] ?? ''), this.#local);
    this.#byText.set(text, peer);
    return peer;
  }
}

/** Copies of what was handed to libuv, which refers to them for as long as the kernel has no room. */
class Outbox {
  readonly #bytes: Uint8Array;
  readonly #slotBytes: number;
  #used = 0;

  constructor(slotBytes: number) {
    this.#slotBytes = slotBytes;
    this.#bytes = new Uint8Array(OUTBOX_SLOTS * slotBytes);
  }

  /**
   * @param queued how many of the copies are still referred to: all or, as a rule, none; undefined when there is no
   * slot left
   */
  copy(bytes: Uint8Array, start: number, length: number, queued: number): Uint8Array | undefined {
    if (queued === 0) this.#used = 0;
    if (this.#used === OUTBOX_SLOTS) return undefined;
    const at = this.#used * this.#slotBytes;
    this.#used++;
    const slot = this.#bytes.subarray(at, at + length);
    slot.set(bytes.subarray(start, start + length));
    return slot;
  }
}

/** Addresses are literals: nothing is to be resolved, and above all nothing a turn later. */
function lookUpAtOnce(
  address: string,
  _options: unknown,
  callback: (error: Error | null, address: string, family: number) => void,
): void {
  callback(null, address, 6);
}

function bind(socket: Socket, { bindText, port }: UdpEndpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ address: bindText, port, exclusive: true }, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}

/** Linux grants what it allows whatever is asked for; other systems refuse what is too much. */
function growReceiveBuffer(socket: Socket): void {
  for (let bytes = RECEIVE_BUFFER_BYTES; bytes > 0x1_00_00; bytes /= 2) {
    try {
      socket.setRecvBufferSize(bytes);
      return;
    } catch {
      // Half of it then.
    }
  }
}

function unavailable(name: string, cause: unknown): RoceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const remedy = bindRemedy(code);
  const sentence = remedy === undefined ? reason : `${reason}: ${remedy}`;
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${name}: ${sentence}`, { cause });
}

const RECEIVE_BUFFER_BYTES = 0x40_00_00;
const OUTBOX_SLOTS = 256;
const MAX_SENDERS = 4096;
const LINGER_MS = 1000;
