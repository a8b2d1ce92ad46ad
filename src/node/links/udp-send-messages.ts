/**
 * Frames of a batch as the messages of one sendmmsg: packets that follow each other to one destination, all of one size
 * but a shorter last, go as one message that the kernel, or the network card, cuts into datagrams again (UDP_SEGMENT,
 * udp(7); ref:platform#3). Owns the structures of the call and which frames make a run. Never calls; never copies a
 * payload: every frame is a vector of its own.
 */

import type { IpAddress } from '../../../packets/address.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { IPV6_DESTINATION_AT, IPV6_HOP_LIMIT_AT } from '../../../packets/ipv6.ts';
import {
  CMSG_DATA,
  IOVEC_BYTES,
  Mmsghdr,
  SOCKADDR_IN6_BYTES,
  writeAddress,
  writeControl,
  writeVector,
} from './socket-messages.ts';
import { AF_INET6, IPPROTO_IPV6, IPV6_HOPLIMIT, IPV6_TCLASS, SOL_UDP, UDP_SEGMENT } from './udp-constants.ts';
import { HEADER_BYTES, isSendable, MAX_DATAGRAM_BYTES } from './udp-endpoint.ts';

export interface SendRules {
  readonly local: IpAddress;
  /** Destination port on the wire. */
  readonly port: number;
  /** Zone of link-local destinations. */
  readonly scopeId: number;
  readonly mtu: number;
}

export class SendMessages {
  /** Whether runs are made; without, every frame is a message of its own. */
  segmentation = true;
  /** Whether the kernel had no room for all messages of the last `fill`. */
  waits = false;
  /** Messages of the last `fill`. */
  count = 0;
  /** For each message, the index of the frame after its last one. */
  readonly ends = new Int32Array(MAX_FRAMES);
  readonly #rules: SendRules;
  readonly #addressOf: (of: ArrayBuffer | Uint8Array) => number;
  readonly #structures = new ArrayBuffer(STRUCTURE_BYTES);
  readonly #view = new DataView(this.#structures);
  /** Address of the first mmsghdr. */
  readonly address: number;
  /** The bytes of the latest batch, and where they are. */
  #bytes: Uint8Array | undefined;
  #base = 0;

  constructor(rules: SendRules, addressOf: (of: ArrayBuffer | Uint8Array) => number) {
    this.#rules = rules;
    this.#addressOf = addressOf;
    this.address = addressOf(this.#structures);
    for (let i = 0; i < MAX_FRAMES; i++) this.#prepare(i);
  }

  /** Whether a frame can be sent by a UDP socket at all. */
  takes(batch: FrameBatch, index: number): boolean {
    const length = batch.lengths[index] as number;
    return (
      length <= this.#rules.mtu && isSendable(batch.view, batch.starts[index] as number, length, this.#rules.local)
    );
  }

  /** Makes messages of the frames from `from` on, up to the first that cannot be sent or for which there is no room. */
  fill(batch: FrameBatch, from: number): void {
    if (batch.bytes !== this.#bytes) {
      this.#bytes = batch.bytes;
      this.#base = this.#addressOf(batch.bytes);
    }
    this.count = 0;
    const to = Math.min(batch.count, from + MAX_FRAMES);
    let index = from;
    while (index < to && this.takes(batch, index)) {
      const end = this.#endOfRun(batch, index, to);
      this.#write(batch, index, end, index - from);
      this.ends[this.count++] = end;
      index = end;
    }
  }

  /** The frame after the last that can go in one message with frame `first`. */
  #endOfRun(batch: FrameBatch, first: number, to: number): number {
    if (!this.segmentation) return first + 1;
    const size = (batch.lengths[first] as number) - HEADER_BYTES;
    const limit = Math.min(to, first + MAX_SEGMENTS, first + Math.floor(MAX_DATAGRAM_BYTES / size));
    for (let index = first + 1; index < limit; index++) {
      const next = (batch.lengths[index] as number) - HEADER_BYTES;
      if (next > size || !this.takes(batch, index) || !isSameFlow(batch, first, index)) return index;
      // A shorter one is the last of its message.
      if (next < size) return index + 1;
    }
    return limit;
  }

  /** Frames `first .. end - 1` as message `count`, with the vectors from `vector` on. */
  #write(batch: FrameBatch, first: number, end: number, vector: number): void {
    const view = this.#view;
    const start = batch.starts[first] as number;
    const header = this.count * Mmsghdr.Bytes;
    const name = NAMES_AT + this.count * NAME_STRIDE;
    for (let at = 0; at < 16; at += 4)
      view.setInt32(name + 8 + at, batch.view.getInt32(start + IPV6_DESTINATION_AT + at));
    const iov = IOVECS_AT + vector * IOVEC_BYTES;
    for (let index = first; index < end; index++) {
      const payload = this.#base + (batch.starts[index] as number) + HEADER_BYTES;
      writeVector(view, iov + (index - first) * IOVEC_BYTES, payload, (batch.lengths[index] as number) - HEADER_BYTES);
    }
    writeAddress(view, header + Mmsghdr.Iov, this.address + iov);
    view.setUint32(header + Mmsghdr.IovCount, end - first, true);
    const control = CONTROLS_AT + this.count * CONTROL_STRIDE;
    view.setInt32(control + CMSG_DATA, (batch.view.getUint32(start) >>> 20) & 0xff, true);
    view.setInt32(control + CMSG_SPACE + CMSG_DATA, batch.view.getUint8(start + IPV6_HOP_LIMIT_AT), true);
    view.setUint16(control + 2 * CMSG_SPACE + CMSG_DATA, (batch.lengths[first] as number) - HEADER_BYTES, true);
    view.setUint32(header + Mmsghdr.ControlLength, (end - first > 1 ? 3 : 2) * CMSG_SPACE, true);
  }

  /** The constant fields of message `index`. */
  #prepare(index: number): void {
    const view = this.#view;
    const header = index * Mmsghdr.Bytes;
    const name = NAMES_AT + index * NAME_STRIDE;
    const control = CONTROLS_AT + index * CONTROL_STRIDE;
    view.setUint16(name, AF_INET6, true);
    view.setUint16(name + 2, this.#rules.port);
    view.setUint32(name + 24, this.#rules.scopeId, true);
    writeAddress(view, header + Mmsghdr.Name, this.address + name);
    view.setUint32(header + Mmsghdr.NameLength, SOCKADDR_IN6_BYTES, true);
    writeAddress(view, header + Mmsghdr.Control, this.address + control);
    writeControl(view, control, 4, IPPROTO_IPV6, IPV6_TCLASS);
    writeControl(view, control + CMSG_SPACE, 4, IPPROTO_IPV6, IPV6_HOPLIMIT);
    writeControl(view, control + 2 * CMSG_SPACE, 2, SOL_UDP, UDP_SEGMENT);
  }
}

/** Destination, traffic class and hop limit are of a message, not of a datagram; source and ports are the link's. */
function isSameFlow({ view, starts }: FrameBatch, a: number, b: number): boolean {
  const at = starts[a] as number;
  const other = starts[b] as number;
  if (((view.getInt32(at) ^ view.getInt32(other)) & TRAFFIC_CLASS_BITS) !== 0) return false;
  if (view.getUint8(at + IPV6_HOP_LIMIT_AT) !== view.getUint8(other + IPV6_HOP_LIMIT_AT)) return false;
  for (let i = IPV6_DESTINATION_AT; i < IPV6_DESTINATION_AT + 16; i += 4)
    if (view.getInt32(at + i) !== view.getInt32(other + i)) return false;
  return true;
}

const TRAFFIC_CLASS_BITS = 0x0f_f0_00_00;
/** Frames of one call. */
const MAX_FRAMES = 64;
/** What every kernel with UDP_SEGMENT takes; later ones take more. */
const MAX_SEGMENTS = 64;
/** The room that a control message with up to eight bytes of data takes. */
const CMSG_SPACE = 24;
const NAME_STRIDE = 32;
const CONTROL_STRIDE = 80;
const IOVECS_AT = MAX_FRAMES * Mmsghdr.Bytes;
const NAMES_AT = IOVECS_AT + MAX_FRAMES * IOVEC_BYTES;
const CONTROLS_AT = NAMES_AT + MAX_FRAMES * NAME_STRIDE;
const STRUCTURE_BYTES = CONTROLS_AT + MAX_FRAMES * CONTROL_STRIDE;
