/**
 * Messages of one recvmmsg as a batch of frames. With UDP_GRO a message is a run of datagrams of one size, one behind
 * the other; each needs its headers in front. So the kernel is given vectors as long as most datagrams before were,
 * with a gap between: when the next are of that size, as they are in a stream, every one of them lies where its headers
 * fit, and no byte is copied. Owns the structures of the call and the memory that frames lie in until the next. Never
 * calls, never looks into a payload. Whatever the kernel reports, nothing is read or written outside the memory.
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { ROCE_UDP_PORT } from '../../../packets/udp.ts';
import {
  controlNumber,
  IOVEC_BYTES,
  Mmsghdr,
  SOCKADDR_IN6_BYTES,
  writeAddress,
  writeVector,
} from './socket-messages.ts';
import { IPPROTO_IPV6, IPV6_TCLASS, SOL_UDP, UDP_GRO } from './udp-constants.ts';
import { HEADER_BYTES, MAX_DATAGRAM_BYTES, type UdpPeers } from './udp-endpoint.ts';

export class ReceiveMessages implements FrameBatch {
  readonly bytes = new Uint8Array(MAX_MESSAGES * MESSAGE_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  readonly starts = new Int32Array(MAX_MESSAGES * MAX_SEGMENTS);
  readonly lengths = new Int32Array(MAX_MESSAGES * MAX_SEGMENTS);
  count = 0;
  /** Address of the first mmsghdr, for `MAX_MESSAGES` of them. */
  readonly address: number;
  readonly #port: number;
  readonly #peers: UdpPeers;
  readonly #structures = new ArrayBuffer(STRUCTURE_BYTES);
  readonly #headers = new DataView(this.#structures);
  readonly #base: number;
  /**
   * Bytes of a vector, how many there are before the one for the rest, and from the start of one to that of the next.
   */
  #size = 0;
  #slots = 0;
  #stride = 0;
  /** The size of the datagrams that most bytes of runs come in; what the vectors are to be next. */
  #expected: number;
  /** Bytes that came in runs of this size, less those that came in others since; at most `MOST_LEAD`. */
  #lead = 0;

  /**
   * @param port what is 4791 on this wire
   * @param expected payload bytes of a usual datagram
   */
  constructor(peers: UdpPeers, port: number, expected: number, addressOf: (of: ArrayBuffer | Uint8Array) => number) {
    this.#peers = peers;
    this.#port = port;
    this.address = addressOf(this.#structures);
    this.#base = addressOf(this.bytes);
    this.#expected = expected;
    for (let message = 0; message < MAX_MESSAGES; message++) this.#prepare(message);
  }

  /** Before a call: everything as it has to be for it. The frames of the last batch become invalid. */
  prepare(): void {
    if (this.#expected !== this.#size) this.#layOut(this.#expected);
    for (let header = 0; header < MAX_MESSAGES * Mmsghdr.Bytes; header += Mmsghdr.Bytes) {
      this.#headers.setUint32(header + Mmsghdr.NameLength, SOCKADDR_IN6_BYTES, true);
      this.#headers.setUint32(header + Mmsghdr.ControlLength, CONTROL_BYTES, true);
    }
  }

  /** After a call that brought so many messages: their datagrams, as frames. */
  take(messages: number): FrameBatch {
    this.count = 0;
    for (let message = 0; message < messages; message++) this.#takeMessage(message);
    return this;
  }

  #takeMessage(message: number): void {
    const headers = this.#headers;
    const header = message * Mmsghdr.Bytes;
    const length = Math.min(headers.getUint32(header + Mmsghdr.Length, true), MAX_DATAGRAM_BYTES);
    const control = CONTROLS_AT + message * CONTROL_BYTES;
    const controlEnd = control + Math.min(headers.getUint32(header + Mmsghdr.ControlLength, true), CONTROL_BYTES);
    const told = controlNumber(headers, control, controlEnd, SOL_UDP, UDP_GRO);
    const size = told > 0 && told < length ? told : length;
    const trafficClass = controlNumber(headers, control, controlEnd, IPPROTO_IPV6, IPV6_TCLASS) & 0xff;
    const first = message * MESSAGE_BYTES;
    if (size === length) {
      if (length <= this.#size) this.#add(message, first + HEADROOM_BYTES, length, trafficClass);
      else if (length - this.#size <= Math.min(HEADROOM_BYTES, this.#size) && this.#slots > 1) {
        this.#closeGap(first, length - this.#size);
        this.#add(message, first + HEADROOM_BYTES, length, trafficClass);
      } else this.#gather(message, size, length, trafficClass);
      return;
    }
    this.#learn(size, length);
    if (size !== this.#size || length > this.#slots * size) {
      this.#gather(message, size, length, trafficClass);
      return;
    }
    for (let slot = 0, left = length; left > 0; slot++, left -= size)
      this.#add(message, first + slot * this.#stride + HEADROOM_BYTES, Math.min(left, size), trafficClass);
  }

  /**
   * A run has come. Acknowledgements, short responses and first packets come as runs, too, between those of data: they
   * change nothing until they are most of what comes, or the data would be copied time and again.
   */
  #learn(size: number, length: number): void {
    if (size === this.#expected) this.#lead = Math.min(MOST_LEAD, this.#lead + length);
    else if (length <= this.#lead) this.#lead -= length;
    else {
      this.#expected = size;
      this.#lead = length;
    }
  }

  /** A frame whose payload is at `at`, behind room for its headers. */
  #add(message: number, at: number, payloadBytes: number, trafficClass: number): void {
    const name = NAMES_AT + message * NAME_STRIDE;
    const port = this.#headers.getUint16(name + 2);
    const sourcePort = port === this.#port ? ROCE_UDP_PORT : port;
    this.#peers
      .at(this.#headers, name + 8)
      .writeHeaders(this.view, at - HEADER_BYTES, payloadBytes, sourcePort, trafficClass);
    this.starts[this.count] = at - HEADER_BYTES;
    this.lengths[this.count] = payloadBytes + HEADER_BYTES;
    this.count++;
  }

  /** Brings what the second vector holds, no more than the gap is long, behind the first. */
  #closeGap(first: number, spilled: number): void {
    const to = first + HEADROOM_BYTES + this.#size;
    const from = first + this.#stride + HEADROOM_BYTES;
    for (let i = 0; i < spilled; i++) this.view.setUint8(to + i, this.view.getUint8(from + i));
  }

  /** Datagrams of a size that was not expected are copied to where their headers fit. */
  #gather(message: number, size: number, length: number, trafficClass: number): void {
    const stride = strideOf(size);
    let to = message * MESSAGE_BYTES + GATHERED_AT + HEADROOM_BYTES;
    // A run longer than any kernel makes is cut off: those packets are lost.
    const end = Math.min(length, size * MAX_SEGMENTS);
    for (let from = 0; from < end; from += size, to += stride) {
      const payloadBytes = Math.min(size, end - from);
      this.#copy(message, from, payloadBytes, to);
      this.#add(message, to, payloadBytes, trafficClass);
    }
  }

  /** Copies from position `from` of a message on, through as many vectors as it takes. */
  #copy(message: number, from: number, count: number, to: number): void {
    const scattered = this.#slots * this.#size;
    const base = message * MESSAGE_BYTES;
    for (let left = count; left > 0; ) {
      const slot = Math.floor(from / this.#size);
      const within = from - slot * this.#size;
      const piece = from < scattered ? Math.min(left, this.#size - within) : left;
      const at = base + (from < scattered ? slot * this.#stride + HEADROOM_BYTES + within : REST_AT + from - scattered);
      this.bytes.copyWithin(to, at, at + piece);
      from += piece;
      to += piece;
      left -= piece;
    }
  }

  /** Vectors of `size` bytes each, and one for the rest. */
  #layOut(size: number): void {
    const view = this.#headers;
    this.#size = size;
    this.#stride = strideOf(size);
    this.#slots = Math.min(MAX_SEGMENTS, Math.floor(SLOTS_BYTES / this.#stride), Math.ceil(MAX_DATAGRAM_BYTES / size));
    for (let message = 0; message < MAX_MESSAGES; message++) {
      const memory = this.#base + message * MESSAGE_BYTES;
      const iov = IOVECS_AT + message * IOVECS_BYTES;
      for (let slot = 0; slot < this.#slots; slot++)
        writeVector(view, iov + slot * IOVEC_BYTES, memory + slot * this.#stride + HEADROOM_BYTES, size);
      writeVector(view, iov + this.#slots * IOVEC_BYTES, memory + REST_AT, REST_BYTES);
      view.setUint32(message * Mmsghdr.Bytes + Mmsghdr.IovCount, this.#slots + 1, true);
    }
  }

  #prepare(message: number): void {
    const view = this.#headers;
    const header = message * Mmsghdr.Bytes;
    writeAddress(view, header + Mmsghdr.Name, this.address + NAMES_AT + message * NAME_STRIDE);
    writeAddress(view, header + Mmsghdr.Iov, this.address + IOVECS_AT + message * IOVECS_BYTES);
    writeAddress(view, header + Mmsghdr.Control, this.address + CONTROLS_AT + message * CONTROL_BYTES);
  }
}

/** Messages of one call. */
export const MAX_MESSAGES = 8;
/** As much as one message holds: after so many bytes of another size in a row the vectors are of that one. */
const MOST_LEAD = 0x1_00_00;

/**
 * Whole cache lines, so that payloads never stand where copies of 4 KiB are slow (ref:platform#6): their offsets are 12
 * or 28 beyond one.
 */
function strideOf(size: number): number {
  return (HEADROOM_BYTES + size + LINE_BYTES - 1) & -LINE_BYTES;
}

const LINE_BYTES = 64;
/** Room for the headers, in whole lines. */
const HEADROOM_BYTES = 64;
/** What later kernels send and merge at most. */
const MAX_SEGMENTS = 128;
/** All that a message holds, wherever it is cut, with headroom before every piece and a line filled up behind. */
const SLOTS_BYTES = 0x1_00_00 + MAX_SEGMENTS * (HEADROOM_BYTES + LINE_BYTES);
const REST_BYTES = 0x1_00_00;
const REST_AT = SLOTS_BYTES;
const GATHERED_AT = REST_AT + REST_BYTES;
const MESSAGE_BYTES = GATHERED_AT + SLOTS_BYTES;

const NAME_STRIDE = 32;
const CONTROL_BYTES = 64;
const IOVECS_BYTES = (MAX_SEGMENTS + 1) * IOVEC_BYTES;
const IOVECS_AT = MAX_MESSAGES * Mmsghdr.Bytes;
const NAMES_AT = IOVECS_AT + MAX_MESSAGES * IOVECS_BYTES;
const CONTROLS_AT = NAMES_AT + MAX_MESSAGES * NAME_STRIDE;
const STRUCTURE_BYTES = CONTROLS_AT + MAX_MESSAGES * CONTROL_BYTES;
