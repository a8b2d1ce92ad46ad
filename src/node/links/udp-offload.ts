/**
 * A wire through a UDP socket on IPv6 that lets the kernel cut and join datagrams: the fastest way between two rocev2
 * processes, and without privileges. Linux only, through koffi.
 *
 *   udp-offload:[fd00::1]    the local address to use
 *
 * Owns the socket. As `udp6`, it takes IPv6 and UDP headers off and puts them back; in addition it sets and reads the
 * traffic class, so that ECN works, sets the hop limit, and receives from rdma_rxe, whose UDP checksum is 0
 * (UDP_NO_CHECK6_RX, udp(7)). Runs: `udp-send-messages.ts` and `udp-receive-messages.ts`; UDP_SEGMENT and UDP_GRO:
 * udp(7), ref:platform#3.
 */
import { getSystemErrorName } from 'node:util';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { ROCE_UDP_PORT } from '../../../packets/udp.ts';
import type { LinkEcn, LinkPoller } from '../../ground/link.ts';
import type { LinkKind } from './kind.ts';
import {
  EAGAIN,
  EBADF,
  EINTR,
  EINVAL,
  EIO,
  FAILED,
  type Libc,
  loadLibc,
  MSG_DONTWAIT,
  O_CLOEXEC,
  O_NONBLOCK,
  READABLE,
  SO_ERROR,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SO_SNDBUF,
  SO_SNDBUFFORCE,
  SOCK_DGRAM,
  SOL_SOCKET,
  systemError,
  WRITABLE,
} from './libc.ts';
import { type Abandonment, LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';

import { linuxRequirement, packageRequirement } from './native-package.ts';
import { DescriptorWatch } from './poller.ts';
import { Mmsghdr, SOCKADDR_IN6_BYTES } from './socket-messages.ts';
import {
  AF_INET6,
  IPPROTO_IPV6,
  IPV6_MTU_DISCOVER,
  IPV6_PMTUDISC_PROBE,
  IPV6_RECVTCLASS,
  IPV6_V6ONLY,
  SOL_UDP,
  UDP_GRO,
  UDP_NO_CHECK6_RX,
} from './udp-constants.ts';
import {
  bindRemedy,
  ipv6Requirement,
  receiveBufferLimit,
  takeUdpOptions,
  UDP_USAGE,
  type UdpCounters,
  UdpEndpoint,
  type UdpLinkOptions,
  UdpPeers,
  windowFor,
} from './udp-endpoint.ts';
import { MAX_MESSAGES, ReceiveMessages } from './udp-receive-messages.ts';
import { SendMessages } from './udp-send-messages.ts';

/** The one version there is. */
const ECN: LinkEcn = { set: [6], read: [6] };

export const udpOffloadKind: LinkKind = {
  name: 'udp-offload',
  usage: UDP_USAGE,
  summary: 'UDP socket on IPv6 with segmentation offload, through koffi',
  medium: Medium.Ip,
  ecn: ECN,
  requirements: async () => [
    linuxRequirement(),
    await packageRequirement('koffi', 'npm install koffi'),
    ipv6Requirement(),
  ],
  open: (spec) => new UdpOffloadLink(takeUdpOptions(spec)),
};

export class UdpOffloadLink extends LifecycleLink<OffloadPort> {
  readonly name: string;
  readonly medium = Medium.Ip;
  readonly ecn = ECN;
  readonly mtu: number;
  readonly addresses: readonly string[];
  readonly sourcePort = ROCE_UDP_PORT;
  readonly maxUnacked: number;
  readonly counters: UdpCounters = { sent: 0, received: 0, oversize: 0, unsendable: 0, refused: 0 };
  readonly #endpoint: UdpEndpoint;

  /** @throws RoceError ERR_ROCE_ADDRESS */
  constructor(options: UdpLinkOptions) {
    super();
    const endpoint = new UdpEndpoint(options);
    this.#endpoint = endpoint;
    this.name = `udp-offload:${endpoint.label}`;
    this.mtu = endpoint.mtu;
    this.addresses = [endpoint.prefix];
    this.maxUnacked = windowFor(2 * Math.min(receiveBufferLimit(), BUFFER_BYTES), endpoint.mtu);
  }

  /** Whether runs of packets are handed to the kernel as one. Off once the system has refused it. */
  get segmentation(): boolean {
    return this.port?.segmentation ?? true;
  }

  protected override async open(events: LinkEvents, abandoned: Abandonment): Promise<OffloadPort> {
    const libc = await loadLibc();
    abandoned.throwIfAborted();
    const fd = openSocket(libc, this.#endpoint, this.name);
    return new OffloadPort(libc, fd, this.#endpoint, { name: this.name, counters: this.counters, events });
  }
}

interface OffloadOwner {
  /** For errors. */
  readonly name: string;
  readonly counters: UdpCounters;
  readonly events: LinkEvents;
}

class OffloadPort implements LinkPort {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #mtu: number;
  readonly #owner: OffloadOwner;
  readonly #outgoing: SendMessages;
  readonly #incoming: ReceiveMessages;
  readonly #watch: DescriptorWatch;
  readonly poller: LinkPoller = { begin: () => {}, poll: () => this.#receive(), end: () => {} };
  #closed = false;

  constructor(libc: Libc, fd: number, { address: local, port, scopeId, mtu }: UdpEndpoint, owner: OffloadOwner) {
    const addressOf = (of: ArrayBuffer | Uint8Array): number => libc.address(of);
    this.#libc = libc;
    this.#fd = fd;
    this.#mtu = mtu;
    this.#owner = owner;
    this.#outgoing = new SendMessages({ local, port, scopeId, mtu }, addressOf);
    this.#incoming = new ReceiveMessages(new UdpPeers(local), port, USUAL_PAYLOAD_BYTES, addressOf);
    this.#watch = new DescriptorWatch(libc, fd, (bits) => this.#ready(bits));
  }

  get segmentation(): boolean {
    return this.#outgoing.segmentation;
  }

  send(batch: FrameBatch, from: number): number {
    const outgoing = this.#outgoing;
    const { counters, events } = this.#owner;
    if (events.blocked) return 0;
    outgoing.waits = false;
    let next = from;
    while (next < batch.count && !outgoing.waits) {
      if (outgoing.takes(batch, next)) {
        outgoing.fill(batch, next);
        next = sendMessages(this.#libc, this.#fd, outgoing, next, counters);
      } else {
        if ((batch.lengths[next] as number) > this.#mtu) counters.oversize++;
        else counters.unsendable++;
        next++;
      }
    }
    if (outgoing.waits) this.#watch.wantWritable(true);
    return next - from;
  }

  close(): void {
    this.#closed = true;
    this.#watch.stop();
    this.#libc.close(this.#fd);
  }

  #ready(bits: number): void {
    if (bits === FAILED) this.#takeError();
    if ((bits & WRITABLE) !== 0) {
      this.#watch.wantWritable(false);
      this.#owner.events.writable();
    }
    if ((bits & READABLE) !== 0) this.#receive();
  }

  /** A bounded number of messages; the event loop calls again for the rest. Whether there was one. */
  #receive(): boolean {
    const incoming = this.#incoming;
    const { counters, events } = this.#owner;
    for (let call = 0; call < CALLS_PER_TURN && !this.#closed; call++) {
      incoming.prepare();
      const messages = this.#libc.recvmmsg(this.#fd, incoming.address, MAX_MESSAGES, MSG_DONTWAIT, null);
      if (messages <= 0) return call > 0;
      const batch = incoming.take(messages);
      counters.received += batch.count;
      events.receive(batch);
      if (messages < MAX_MESSAGES) return true;
    }
    return true;
  }

  /** A pending socket error is that of an earlier, lost packet; an invalid descriptor ends the link. */
  #takeError(): void {
    const value = new Uint8Array(4);
    if (this.#libc.getsockopt(this.#fd, SOL_SOCKET, SO_ERROR, value, Uint8Array.of(4, 0, 0, 0)) === 0) return;
    const errno = this.#libc.errno();
    if (errno === EBADF) this.#owner.events.ended(systemError('ERR_ROCE_CLOSED', errno, this.#owner.name));
  }
}

/**
 * Sends the messages made of the frames from `first` on. Returns the frame to go on with: the first that waits for room
 * (`waits` is set then), or that has to go in another message, now that the system has refused runs.
 */
export function sendMessages(
  libc: Pick<Libc, 'sendmmsg' | 'errno'>,
  fd: number,
  outgoing: SendMessages,
  first: number,
  counters: UdpCounters,
): number {
  let next = first;
  outgoing.waits = false;
  for (let done = 0; done < outgoing.count; ) {
    const sent = libc.sendmmsg(fd, outgoing.address + done * Mmsghdr.Bytes, outgoing.count - done, MSG_DONTWAIT);
    const errno = sent > 0 ? 0 : libc.errno();
    if (errno === EINTR) continue;
    if (errno === EAGAIN) {
      outgoing.waits = true;
      return next;
    }
    const isRun = (outgoing.ends[done] as number) - next > 1;
    if (isRun && (errno === EIO || errno === EINVAL)) {
      // No checksum offload on the way there, or a kernel without the option.
      outgoing.segmentation = false;
      return next;
    }
    done += Math.max(sent, 1);
    const end = outgoing.ends[done - 1] as number;
    // A refused packet is lost, as any packet can be: the transport retransmits it.
    if (errno === 0) counters.sent += end - next;
    else counters.refused += end - next;
    next = end;
  }
  return next;
}

/** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
function openSocket(libc: Libc, endpoint: UdpEndpoint, name: string): number {
  const fail = (doing: string): RoceError => {
    const errno = libc.errno();
    const remedy = bindRemedy(getSystemErrorName(-errno));
    const error = systemError('ERR_ROCE_LINK_UNAVAILABLE', errno, `${name}: ${doing}`);
    return remedy === undefined ? error : new RoceError(error.code, `${error.message}: ${remedy}`);
  };
  const fd = libc.socket(AF_INET6, SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0) throw fail('no IPv6 socket can be made');
  const demand = (level: number, option: number, value: number, doing: string): void => {
    if (setOption(libc, fd, level, option, value)) return;
    const error = fail(doing);
    libc.close(fd);
    throw error;
  };
  demand(IPPROTO_IPV6, IPV6_V6ONLY, 1, 'IPv4 cannot be kept out');
  demand(SOL_UDP, UDP_NO_CHECK6_RX, 1, 'the socket cannot take datagrams without a checksum');
  demand(IPPROTO_IPV6, IPV6_RECVTCLASS, 1, 'the traffic class cannot be read');
  demand(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, 'fragmentation cannot be turned off');
  // Older kernels bring every datagram by itself.
  setOption(libc, fd, SOL_UDP, UDP_GRO, 1);
  growBuffer(libc, fd, SO_RCVBUFFORCE, SO_RCVBUF);
  growBuffer(libc, fd, SO_SNDBUFFORCE, SO_SNDBUF);
  if (libc.bind(fd, sockaddrOf(endpoint), SOCKADDR_IN6_BYTES) !== 0) {
    const error = fail('this address and port cannot be had');
    libc.close(fd);
    throw error;
  }
  return fd;
}

function setOption(libc: Libc, fd: number, level: number, option: number, value: number): boolean {
  const word = new Uint8Array(4);
  new DataView(word.buffer).setInt32(0, value, true);
  return libc.setsockopt(fd, level, option, word, word.length) === 0;
}

/** Beyond the limit of the system where this process may, up to the limit otherwise. */
function growBuffer(libc: Libc, fd: number, force: number, ask: number): void {
  if (!setOption(libc, fd, SOL_SOCKET, force, BUFFER_BYTES)) setOption(libc, fd, SOL_SOCKET, ask, BUFFER_BYTES);
}

function sockaddrOf({ address, port, scopeId }: UdpEndpoint): Uint8Array {
  const bytes = new Uint8Array(SOCKADDR_IN6_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, AF_INET6, true);
  view.setUint16(2, port);
  address.writeGid(view, 8);
  view.setUint32(24, scopeId, true);
  return bytes;
}

const BUFFER_BYTES = 0x40_00_00;
const CALLS_PER_TURN = 4;
/** A MIDDLE packet of the largest path MTU: BTH, payload, ICRC. */
const USUAL_PAYLOAD_BYTES = 12 + 4096 + 4;
