/**
 * A wire through a packet socket on any Ethernet interface of this machine: our own host beside the kernel's, the fast
 * path on Linux.
 *
 *   packet-ring:eth0       frames in slots of a shared ring, each at once
 *   packet-ring:eth0,v3    frames in blocks (TPACKET_V3): half the work for each, and each up to 1 ms late
 *
 * Received in place from a ring that is shared with the kernel (`packet-ring-receive.ts`), sent up to 64 with one call
 * (`packet-ring-send.ts`). The interface is promiscuous while the link is open, for our MAC is not its own. The
 * kernel's frames to and from the interface pass as before; those it sends itself are not seen here. An interface that
 * goes down or away ends the link.
 *
 * Sending goes through the queueing discipline of the interface, so that a full queue is noticed and traffic control
 * applies: PACKET_QDISC_BYPASS was measured and gains nothing on a veth. UDP checksums may be missing on frames of this
 * very machine (checksum offload); RoCE does not need them. Frames that the kernel has merged (GRO, TCP on a veth)
 * exceed the MTU and are dropped.
 */
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { WHOLE_PACKETS } from '../../ground/link.ts';
import { capabilityRequirement } from './capability.ts';
import { DescriptorLink, type DescriptorPort, isOversize } from './descriptor-link.ts';
import { IFF_UP, InterfaceRequest } from './interface-request.ts';
import type { LinkKind } from './kind.ts';
import {
  EAGAIN,
  ENETDOWN,
  ENOBUFS,
  type Libc,
  O_CLOEXEC,
  O_NONBLOCK,
  SO_ERROR,
  SO_SNDBUF,
  SO_SNDBUFFORCE,
  SOCK_RAW,
  SOL_SOCKET,
  systemError,
} from './libc.ts';
import { linuxRequirement, packageRequirement } from './native-package.ts';
import { interfaceMtu, takeInterface } from './netdev.ts';
import { BlockRing, FrameRing, type ReceiveRing, SOL_PACKET } from './packet-ring-receive.ts';
import { FrameSender } from './packet-ring-send.ts';

export interface PacketRingLinkOptions {
  /** Name of the interface, at most 15 characters. */
  readonly interface: string;
  /** Largest IP packet in bytes. Default the interface's MTU. */
  readonly mtu?: number;
  /** Whether frames come in blocks (TPACKET_V3) instead of one by one: cheaper, and later. */
  readonly blocks?: boolean;
}

export interface PacketRingCounters {
  sent: number;
  received: number;
  /** Arrived when the ring was full, and lost. */
  dropped: number;
  /** Frames over the MTU, sent or received, and dropped. */
  oversize: number;
  /** Frames that the kernel refused, and dropped. */
  sendErrors: number;
}

export const packetRingKind: LinkKind = {
  name: 'packet-ring',
  usage: 'INTERFACE[,v3][,mtu=N]',
  summary: 'packet socket with a shared ring, on any Ethernet interface; fast',
  medium: Medium.Ethernet,
  ecn: WHOLE_PACKETS,
  requirements: async () => [
    linuxRequirement(),
    await packageRequirement('koffi', 'npm install koffi'),
    capabilityRequirement('CAP_NET_RAW'),
  ],
  open: (spec) => {
    const mtu = spec.takeMtu();
    return new PacketRingLink({
      interface: takeInterface(spec),
      blocks: spec.takeFlag('v3'),
      ...defined({ mtu }),
    });
  },
};

export class PacketRingLink extends DescriptorLink {
  /** A window that lasts until the next block comes. */
  readonly maxUnacked: number | undefined;
  readonly #options: PacketRingLinkOptions;
  readonly #counters: PacketRingCounters = { sent: 0, received: 0, dropped: 0, oversize: 0, sendErrors: 0 };
  #ring: PacketRingPort | undefined;

  constructor(options: PacketRingLinkOptions) {
    const { interface: name, mtu, blocks } = options;
    super(`packet-ring:${name}${blocks === true ? ',v3' : ''}`, mtu ?? interfaceMtu(name) ?? DEFAULT_MTU);
    this.#options = options;
    this.maxUnacked = blocks === true ? BLOCKS_WINDOW : undefined;
  }

  /** The counters; reads the kernel's. */
  get counters(): Readonly<PacketRingCounters> {
    this.#ring?.countDrops();
    return this.#counters;
  }

  protected override openPort(libc: Libc): DescriptorPort {
    this.#ring = openPacketRing(libc, this.name, this.#options, this.mtu, this.#counters);
    return this.#ring;
  }
}

class PacketRingPort implements DescriptorPort {
  readonly fd: number;
  readonly #libc: Libc;
  readonly #name: string;
  readonly #mtu: number;
  readonly #ring: ReceiveRing;
  readonly #sender: FrameSender;
  readonly #counters: PacketRingCounters;
  /** For answers of getsockopt: their length, then up to three words. */
  readonly #answer = new Uint32Array(new ArrayBuffer(16));
  #closed = false;

  constructor(libc: Libc, fd: number, name: string, mtu: number, ring: ReceiveRing, counters: PacketRingCounters) {
    this.fd = fd;
    this.#libc = libc;
    this.#name = name;
    this.#mtu = mtu;
    this.#ring = ring;
    this.#sender = new FrameSender(libc, fd);
    this.#counters = counters;
  }

  send(batch: FrameBatch, from: number): number {
    let next = from;
    while (next < batch.count) {
      if (this.#isOversize(batch, next)) {
        this.#counters.oversize++;
        next++;
        continue;
      }
      let end = next + 1;
      while (end < batch.count && !this.#isOversize(batch, end)) end++;
      const sent = this.#sender.send(batch, next, end);
      if (sent >= 0) {
        this.#counters.sent += sent;
        next += sent;
      } else if (sent === -EAGAIN || sent === -ENOBUFS) {
        break;
      } else {
        this.#counters.sendErrors++;
        next++;
      }
    }
    return next - from;
  }

  receive(): FrameBatch {
    const ring = this.#ring;
    ring.take();
    this.#counters.received += ring.count;
    this.#counters.oversize += ring.oversize;
    ring.oversize = 0;
    return ring;
  }

  release(): void {
    this.#ring.release();
  }

  failure(): RoceError | undefined {
    const errno = this.#ask(SOL_SOCKET, SO_ERROR, 1) ?? this.#libc.errno();
    return errno === 0 ? undefined : systemError('ERR_ROCE_CLOSED', errno, this.#name);
  }

  close(): void {
    this.countDrops();
    this.#closed = true;
    this.#ring.close();
    this.#libc.close(this.fd);
  }

  /** Reading resets the kernel's counter. */
  countDrops(): void {
    if (!this.#closed && this.#ask(SOL_PACKET, PACKET_STATISTICS, 3) !== undefined)
      this.#counters.dropped += this.#answer[2] as number;
  }

  /** First word of the result, or undefined when the call failed. */
  #ask(level: number, option: number, words: number): number | undefined {
    this.#answer[0] = 4 * words;
    const { buffer } = this.#answer;
    const at = this.#libc.address(buffer);
    if (this.#libc.getsockopt(this.fd, level, option, at + 4, buffer) < 0) return undefined;
    return this.#answer[1];
  }

  #isOversize(batch: FrameBatch, index: number): boolean {
    return isOversize(batch.view, batch.starts[index] as number, batch.lengths[index] as number, this.#mtu);
  }
}

/** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
function openPacketRing(
  libc: Libc,
  link: string,
  options: PacketRingLinkOptions,
  mtu: number,
  counters: PacketRingCounters,
): PacketRingPort {
  // Of no protocol: nothing arrives before it is bound, from whatever interface.
  const fd = libc.socket(AF_PACKET, SOCK_RAW | O_NONBLOCK | O_CLOEXEC, 0);
  const fail = (errno: number, doing: string): RoceError => {
    if (fd >= 0) libc.close(fd);
    return systemError('ERR_ROCE_LINK_UNAVAILABLE', errno, `${link}: ${doing}`, 'CAP_NET_RAW');
  };
  if (fd < 0) throw fail(libc.errno(), 'opening a packet socket');
  const request = new InterfaceRequest(libc, options.interface);
  const index = request.index(fd);
  if (index < 0) throw fail(-index, 'looking for the interface');
  const type = request.hardwareType(fd);
  if (type !== ARPHRD_ETHER && type !== ARPHRD_LOOPBACK) {
    libc.close(fd);
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${link}: the interface is not Ethernet (hardware type ${type})`);
  }
  if ((request.flags(fd) & IFF_UP) === 0) throw fail(ENETDOWN, 'looking for the interface');
  const ring = (options.blocks === true ? BlockRing : FrameRing).open(libc, fd, mtu);
  if (ring === undefined) throw fail(libc.errno(), 'setting up the receive ring');
  setWord(libc, fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
  // Without the privilege, the limit of the system applies.
  if (!setWord(libc, fd, SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES))
    setWord(libc, fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES);
  const port = new PacketRingPort(libc, fd, link, mtu, ring, counters);
  const doing = !joinPromiscuous(libc, fd, index) ? 'receiving all frames' : !bindTo(libc, fd, index) ? 'binding' : '';
  if (doing !== '') {
    const { message } = systemError('ERR_ROCE_LINK_UNAVAILABLE', libc.errno(), `${link}: ${doing}`, 'CAP_NET_RAW');
    port.close();
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', message);
  }
  return port;
}

/** Whether the option was taken. */
function setWord(libc: Libc, fd: number, level: number, option: number, value: number): boolean {
  return libc.setsockopt(fd, level, option, Int32Array.of(value).buffer, 4) >= 0;
}

/** Membership of struct packet_mreq; ends with the socket. */
function joinPromiscuous(libc: Libc, fd: number, index: number): boolean {
  const membership = new DataView(new ArrayBuffer(16));
  membership.setInt32(0, index, true);
  membership.setUint16(4, PACKET_MR_PROMISC, true);
  return libc.setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership.buffer, membership.byteLength) >= 0;
}

/** Frames of every protocol of one interface from here on: struct sockaddr_ll. */
function bindTo(libc: Libc, fd: number, index: number): boolean {
  const address = new DataView(new ArrayBuffer(20));
  address.setUint16(0, AF_PACKET, true);
  address.setUint16(2, ETH_P_ALL);
  address.setInt32(4, index, true);
  return libc.bind(fd, address.buffer, address.byteLength) >= 0;
}

const DEFAULT_MTU = 1500;
/** Packets of 4 KiB in 1 ms at more than this link carries; a quarter of the ring. */
const BLOCKS_WINDOW = 1024;
const SEND_BUFFER_BYTES = 0x40_00_00;
const AF_PACKET = 17;
const ETH_P_ALL = 0x00_03;
const ARPHRD_ETHER = 1;
const ARPHRD_LOOPBACK = 772;
const PACKET_ADD_MEMBERSHIP = 1;
const PACKET_MR_PROMISC = 1;
const PACKET_STATISTICS = 6;
const PACKET_IGNORE_OUTGOING = 23;
