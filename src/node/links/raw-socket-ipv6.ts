/**
 * IPv6 packets from a raw socket of our own, with the fields of the header that the kernel removes (RFC 3542; man 7
 * ipv6): first word (traffic class and flow label), hop limit and destination come as control messages, the source with
 * the packet.
 *
 * Owns the socket, its place in the event loop and the slab that packets are read into. The package raw-socket reads
 * with recvfrom(2), which has no room for any of this: without koffi, `raw-socket-receiver.ts` receives in its place
 * and the traffic class is lost.
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { IP_PROTOCOL_UDP } from '../../../packets/ipv4.ts';
import {
  IPV6_BYTES,
  IPV6_DESTINATION_AT,
  IPV6_HOP_LIMIT_AT,
  IPV6_NEXT_HEADER_AT,
  IPV6_PAYLOAD_LENGTH_AT,
  IPV6_SOURCE_AT,
} from '../../../packets/ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES, UDP_DEST_PORT_AT } from '../../../packets/udp.ts';
import {
  AF_INET6,
  type Libc,
  MSG_DONTWAIT,
  O_CLOEXEC,
  O_NONBLOCK,
  READABLE,
  SO_ERROR,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SOCK_RAW,
  SOL_SOCKET,
  systemError,
} from './libc.ts';
import { DescriptorWatch } from './poller.ts';
import {
  controlNumber,
  findControl,
  IOVEC_BYTES,
  Mmsghdr,
  SIN6_ADDR,
  SOCKADDR_IN6_BYTES,
  writeAddress,
  writeVector,
} from './socket-messages.ts';
import { IPPROTO_IPV6, IPV6_HOPLIMIT } from './udp-constants.ts';

export interface Ipv6ReceiverOptions {
  /** For errors. */
  readonly link: string;
  readonly device: string;
  /** Largest IP packet in bytes; longer ones (the kernel has put fragments together) are dropped and counted. */
  readonly mtu: number;
  readonly bufferBytes: number;
  /** The batch is ours again when it returns. */
  readonly deliver: (batch: FrameBatch) => void;
}

export class Ipv6Receiver {
  /** Packets beyond the MTU. */
  oversize = 0;
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #messages: Ipv6Messages;
  readonly #deliver: (batch: FrameBatch) => void;
  readonly #watch: DescriptorWatch;
  #stopped = false;

  /** In the network namespace of the calling thread. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
  constructor(libc: Libc, options: Ipv6ReceiverOptions) {
    this.#libc = libc;
    this.#deliver = options.deliver;
    this.#messages = new Ipv6Messages(options.mtu, (of) => libc.address(of));
    this.#fd = openSocket(libc, options);
    this.#watch = new DescriptorWatch(libc, this.#fd, (bits) => this.#ready(bits));
  }

  /** Packets that the kernel had no room for; 0 once stopped. */
  get drops(): number {
    const words = new Uint32Array(MEMINFO_WORDS);
    const length = Uint32Array.of(words.byteLength);
    if (this.#stopped || this.#libc.getsockopt(this.#fd, SOL_SOCKET, SO_MEMINFO, words.buffer, length.buffer) < 0)
      return 0;
    return words[MEMINFO_DROPS] ?? 0;
  }

  /** Stops reading and delivering. May be called more than once. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#watch.stop();
    this.#libc.close(this.#fd);
  }

  #ready(bits: number): void {
    // A pending error is that of an earlier packet and is cleared; the removal of the interface is detected elsewhere.
    if ((bits & READABLE) === 0) {
      this.#libc.getsockopt(this.#fd, SOL_SOCKET, SO_ERROR, new Uint8Array(4), Uint8Array.of(4, 0, 0, 0));
      return;
    }
    const messages = this.#messages;
    for (let call = 0; call < CALLS_PER_TURN && !this.#stopped; call++) {
      messages.prepare();
      const count = this.#libc.recvmmsg(this.#fd, messages.address, MAX_MESSAGES, MSG_DONTWAIT, null);
      if (count <= 0) return;
      messages.take(count);
      this.oversize += messages.oversize;
      if (messages.count > 0) this.#deliver(messages);
      if (count < MAX_MESSAGES) return;
    }
  }
}

/** The structures of a call, and the packets that came with it. */
export class Ipv6Messages implements FrameBatch {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly starts = new Int32Array(MAX_MESSAGES);
  readonly lengths = new Int32Array(MAX_MESSAGES);
  count = 0;
  /** Packets of the last call that were beyond the MTU. */
  oversize = 0;
  /** Address of the first mmsghdr, for `MAX_MESSAGES` of them. */
  readonly address: number;
  readonly #mtu: number;
  readonly #stride: number;
  readonly #structures = new ArrayBuffer(STRUCTURE_BYTES);
  readonly #headers = new DataView(this.#structures);

  constructor(mtu: number, addressOf: (of: ArrayBuffer | Uint8Array) => number) {
    this.#mtu = mtu;
    // A byte more than any that is not oversize.
    this.#stride = Math.ceil((mtu + 1) / PAGE_BYTES) * PAGE_BYTES;
    this.bytes = new Uint8Array(MAX_MESSAGES * this.#stride);
    this.view = new DataView(this.bytes.buffer);
    this.address = addressOf(this.#structures);
    const slab = addressOf(this.bytes);
    for (let message = 0; message < MAX_MESSAGES; message++) {
      const header = message * Mmsghdr.Bytes;
      const iov = IOVECS_AT + message * IOVEC_BYTES;
      const payload = slab + message * this.#stride + IPV6_BYTES;
      writeVector(this.#headers, iov, payload, Math.max(mtu + 1 - IPV6_BYTES, UDP_BYTES));
      writeAddress(this.#headers, header + Mmsghdr.Name, this.address + NAMES_AT + message * NAME_STRIDE);
      writeAddress(this.#headers, header + Mmsghdr.Iov, this.address + iov);
      this.#headers.setUint32(header + Mmsghdr.IovCount, 1, true);
      writeAddress(this.#headers, header + Mmsghdr.Control, this.address + CONTROLS_AT + message * CONTROL_BYTES);
    }
  }

  /** Before a call. The packets of the last call become invalid. */
  prepare(): void {
    for (let header = 0; header < MAX_MESSAGES * Mmsghdr.Bytes; header += Mmsghdr.Bytes) {
      this.#headers.setUint32(header + Mmsghdr.NameLength, SOCKADDR_IN6_BYTES, true);
      this.#headers.setUint32(header + Mmsghdr.ControlLength, CONTROL_BYTES, true);
    }
  }

  /** After a call that brought so many messages: those to port 4791, as packets. */
  take(messages: number): void {
    this.count = 0;
    this.oversize = 0;
    for (let message = 0; message < messages; message++) {
      const start = message * this.#stride;
      const length = this.#headers.getUint32(message * Mmsghdr.Bytes + Mmsghdr.Length, true);
      if (length < UDP_BYTES || this.view.getUint16(start + IPV6_BYTES + UDP_DEST_PORT_AT) !== ROCE_UDP_PORT) continue;
      if (IPV6_BYTES + length > this.#mtu) this.oversize++;
      else this.#add(message, start, length);
    }
  }

  /** Puts the header back in front of `length` bytes. */
  #add(message: number, start: number, length: number): void {
    const { view } = this;
    const headers = this.#headers;
    const control = CONTROLS_AT + message * CONTROL_BYTES;
    const told = headers.getUint32(message * Mmsghdr.Bytes + Mmsghdr.ControlLength, true);
    const end = control + Math.min(told, CONTROL_BYTES);
    // Absent when it is 0.
    const flow = findControl(headers, control, end, IPPROTO_IPV6, IPV6_FLOWINFO, 4);
    const destination = findControl(headers, control, end, IPPROTO_IPV6, IPV6_PKTINFO, 16);
    const source = NAMES_AT + message * NAME_STRIDE + SIN6_ADDR;
    view.setInt32(start, VERSION_6 | (flow < 0 ? 0 : headers.getInt32(flow) & FLOWINFO_BITS));
    view.setUint16(start + IPV6_PAYLOAD_LENGTH_AT, length);
    view.setUint8(start + IPV6_NEXT_HEADER_AT, IP_PROTOCOL_UDP);
    view.setUint8(start + IPV6_HOP_LIMIT_AT, controlNumber(headers, control, end, IPPROTO_IPV6, IPV6_HOPLIMIT));
    for (let at = 0; at < 16; at += 4) {
      view.setInt32(start + IPV6_SOURCE_AT + at, headers.getInt32(source + at));
      view.setInt32(start + IPV6_DESTINATION_AT + at, destination < 0 ? 0 : headers.getInt32(destination + at));
    }
    this.starts[this.count] = start;
    this.lengths[this.count] = IPV6_BYTES + length;
    this.count++;
  }
}

/** Messages of one call. */
export const MAX_MESSAGES = 64;

/** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
function openSocket(libc: Libc, { link, device, bufferBytes }: Ipv6ReceiverOptions): number {
  const fd = libc.socket(AF_INET6, SOCK_RAW | O_NONBLOCK | O_CLOEXEC, IP_PROTOCOL_UDP);
  const fail = (doing: string): Error => {
    const error = systemError('ERR_ROCE_LINK_UNAVAILABLE', libc.errno(), `${link}: ${doing}`, 'CAP_NET_RAW');
    if (fd >= 0) libc.close(fd);
    return error;
  };
  if (fd < 0) throw fail('no raw IPv6 socket can be made');
  const name = new TextEncoder().encode(`${device}\0`);
  if (libc.setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, name.length) < 0) throw fail(`binding to ${device}`);
  for (const option of [IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_FLOWINFO])
    if (!setWord(libc, fd, IPPROTO_IPV6, option, 1)) throw fail('headers cannot be set');
  // Without CAP_NET_ADMIN the kernel gives what its limit allows.
  if (!setWord(libc, fd, SOL_SOCKET, SO_RCVBUFFORCE, bufferBytes))
    setWord(libc, fd, SOL_SOCKET, SO_RCVBUF, bufferBytes);
  return fd;
}

function setWord(libc: Libc, fd: number, level: number, option: number, value: number): boolean {
  return libc.setsockopt(fd, level, option, Int32Array.of(value).buffer, 4) >= 0;
}

/** A bound, so that the rest of the process can run. */
const CALLS_PER_TURN = 2;
const PAGE_BYTES = 4096;
const VERSION_6 = 0x60_00_00_00;
const FLOWINFO_BITS = 0x0f_ff_ff_ff;

const SO_BINDTODEVICE = 25;
const SO_MEMINFO = 55;
/** SK_MEMINFO_VARS and SK_MEMINFO_DROPS of linux/sock_diag.h. */
const MEMINFO_WORDS = 9;
const MEMINFO_DROPS = 8;
/**
 * Both the option and the type of the control message: the first word of the header but for the version, in network
 * order.
 */
const IPV6_FLOWINFO = 11;
const IPV6_RECVPKTINFO = 49;
const IPV6_PKTINFO = 50;
const IPV6_RECVHOPLIMIT = 51;

const NAME_STRIDE = 32;
/** Three control messages of 24, 24 and 40 bytes. */
const CONTROL_BYTES = 96;
const IOVECS_AT = MAX_MESSAGES * Mmsghdr.Bytes;
const NAMES_AT = IOVECS_AT + MAX_MESSAGES * IOVEC_BYTES;
const CONTROLS_AT = NAMES_AT + MAX_MESSAGES * NAME_STRIDE;
const STRUCTURE_BYTES = CONTROLS_AT + MAX_MESSAGES * CONTROL_BYTES;
