/**
 * Frames that the kernel has written into memory we share with it, read where they lie (man 7 packet, PACKET_RX_RING).
 * Owns the ring of one packet socket: its two layouts, what is handed over and what is given back. Never calls a sink.
 *
 * `FrameRing` (TPACKET_V2) has a slot per frame, and each frame wakes us. `BlockRing` (TPACKET_V3) packs frames into
 * blocks, and a block is handed over when it is full or its timer, of 1 ms at the least, runs out: few wake-ups, but a
 * lonely frame waits for the timer. Measured between two processes on a veth: 100-byte frames go to and fro in 25 us
 * with slots, in 1,000 us with blocks (p50); 1,100-byte frames pass one way at 160,000 to 200,000 a second with slots,
 * at 280,000 to 430,000 with blocks, when nothing is done with them. With the stack on top slots win: 483 MiB/s of
 * WRITE to 264 (460 with a window of 1,024 packets instead of 128), 178,000 messages a second to 75,000. So slots are
 * the default, and blocks are for capturing and forwarding.
 *
 * Frames in a block that is still open were read early as well (a second socket rang; round trip 22 us): left out, for
 * nothing in that memory says reliably that the kernel has finished a frame before it closes the block
 * (linux:net/packet/af_packet.c#tpacket_rcv sets the status of a frame before its length).
 */
import { ETHERTYPE_AT, ETHERTYPE_VLAN } from '../../../packets/ethernet.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { isOversize } from './descriptor-link.ts';
import type { Libc } from './libc.ts';
import { Mapping } from './mapping.ts';

export abstract class ReceiveRing implements FrameBatch {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;
  /** Frames over the MTU that were passed over: what the kernel has merged for itself, or a peer with a larger MTU. */
  oversize = 0;
  /** The kernel changes status words concurrently. */
  protected readonly words: Int32Array;
  readonly #mapping: Mapping;
  readonly #mtu: number;

  constructor(mapping: Mapping, mtu: number) {
    this.#mapping = mapping;
    this.#mtu = mtu;
    this.bytes = new Uint8Array(mapping.buffer);
    this.view = new DataView(mapping.buffer);
    this.words = new Int32Array(mapping.buffer);
  }

  /** Finds the next frames, at most 64; `count` of them are in the batch then, until `release`. */
  abstract take(): void;

  /** Gives the kernel back what the last `take` has passed. */
  abstract release(): void;

  close(): void {
    this.#mapping.close();
  }

  /**
   * Adds a frame to the batch, unless it is one to pass over.
   *
   * @param address offset of its sockaddr_ll
   * @param length bytes that are there
   * @param wireLength bytes there were on the wire, without a tag that the kernel has taken out
   * @param tci offset of that tag's control and, after it, its EtherType
   */
  protected add(address: number, start: number, length: number, wireLength: number, status: number, tci: number): void {
    const { view } = this;
    if (view.getUint8(address + SLL_PKTTYPE_AT) === PACKET_OUTGOING) return;
    let from = start;
    let size = length;
    if ((status & TP_STATUS_VLAN_VALID) !== 0) {
      from -= TAG_BYTES;
      size += TAG_BYTES;
      this.#putTagBack(from, status, tci);
    }
    if (length !== wireLength || isOversize(view, from, size, this.#mtu)) {
      this.oversize++;
      return;
    }
    this.starts[this.count] = from;
    this.lengths[this.count] = size;
    this.count++;
  }

  /**
   * As it was on the wire; there is room, for the kernel leaves at least 16 bytes for a link header of 14
   * (TPACKET2_HDRLEN and up).
   */
  #putTagBack(start: number, status: number, tci: number): void {
    const { view } = this;
    const hasType = (status & TP_STATUS_VLAN_TPID_VALID) !== 0;
    for (let i = 0; i < ETHERTYPE_AT; i++) view.setUint8(start + i, view.getUint8(start + TAG_BYTES + i));
    view.setUint16(start + ETHERTYPE_AT, hasType ? view.getUint16(tci + 2 + this.tpidGap, true) : ETHERTYPE_VLAN);
    view.setUint16(start + ETHERTYPE_AT + 2, view.getUint16(tci, true));
  }

  /** Bytes between a tag's control and its EtherType, beyond the two of the control. */
  protected abstract readonly tpidGap: number;
}

/** TPACKET_V2: slots of equal size. */
export class FrameRing extends ReceiveRing {
  protected readonly tpidGap = 0;
  /** Where each slot starts; a slot never crosses from one block of kernel memory into the next. */
  readonly #slots: Int32Array;
  #first = 0;
  #next = 0;

  private constructor(mapping: Mapping, mtu: number, slots: Int32Array) {
    super(mapping, mtu);
    this.#slots = slots;
  }

  /** Sets up the ring of `fd`; undefined when that fails, and `errno` says why. */
  static open(libc: Libc, fd: number, mtu: number): FrameRing | undefined {
    const stride = Math.ceil((V2_NET_AT + TAG_BYTES + mtu) / SLOT_ALIGNMENT) * SLOT_ALIGNMENT;
    const perBlock = Math.floor(BLOCK_BYTES / stride);
    const mapping = openRing(libc, fd, TPACKET_V2, [BLOCK_BYTES, BLOCKS, stride, perBlock * BLOCKS]);
    if (mapping === undefined) return undefined;
    const slots = new Int32Array(perBlock * BLOCKS);
    for (let i = 0; i < slots.length; i++) slots[i] = Math.floor(i / perBlock) * BLOCK_BYTES + (i % perBlock) * stride;
    return new FrameRing(mapping, mtu, slots);
  }

  override take(): void {
    const { view } = this;
    this.count = 0;
    this.#first = this.#next;
    for (let seen = 0; seen < BATCH_FRAMES; seen++) {
      const at = this.#slots[this.#next] as number;
      const status = Atomics.load(this.words, at >> 2);
      if ((status & TP_STATUS_USER) === 0) return;
      this.#next = this.#after(this.#next);
      const start = at + view.getUint16(at + V2_MAC_AT, true);
      const length = view.getUint32(at + V2_SNAPLEN_AT, true);
      this.add(at + V2_SLL_AT, start, length, view.getUint32(at + V2_LEN_AT, true), status, at + V2_TCI_AT);
    }
  }

  override release(): void {
    this.count = 0;
    while (this.#first !== this.#next) {
      Atomics.store(this.words, (this.#slots[this.#first] as number) >> 2, TP_STATUS_KERNEL);
      this.#first = this.#after(this.#first);
    }
  }

  #after(slot: number): number {
    return slot + 1 === this.#slots.length ? 0 : slot + 1;
  }
}

/** TPACKET_V3: blocks of frames, one behind the other. */
export class BlockRing extends ReceiveRing {
  protected readonly tpidGap = 2;
  #block = 0;
  /** Frames of the block not yet taken; -1 while it is still the kernel's. */
  #left = -1;
  #frame = 0;

  /** Sets up the ring of `fd`; undefined when that fails, and `errno` says why. */
  static open(libc: Libc, fd: number, mtu: number): BlockRing | undefined {
    const frames = (BLOCK_BYTES / V3_FRAME_BYTES) * BLOCKS;
    const request = [BLOCK_BYTES, BLOCKS, V3_FRAME_BYTES, frames, BLOCK_TIMEOUT_MS, 0, 0];
    const mapping = openRing(libc, fd, TPACKET_V3, request);
    return mapping === undefined ? undefined : new BlockRing(mapping, mtu);
  }

  override take(): void {
    const { view } = this;
    this.count = 0;
    if (this.#left < 0 && !this.#openBlock()) return;
    for (let seen = 0; seen < BATCH_FRAMES && this.#left > 0; seen++) {
      const at = this.#frame;
      this.#left--;
      this.#frame += view.getUint32(at, true);
      const start = at + view.getUint16(at + V3_MAC_AT, true);
      const length = view.getUint32(at + V3_SNAPLEN_AT, true);
      const status = view.getUint32(at + V3_STATUS_AT, true);
      this.add(at + V3_SLL_AT, start, length, view.getUint32(at + V3_LEN_AT, true), status, at + V3_TCI_AT);
    }
  }

  override release(): void {
    this.count = 0;
    if (this.#left !== 0) return;
    this.#left = -1;
    Atomics.store(this.words, (this.#block * BLOCK_BYTES + BLOCK_STATUS_AT) >> 2, TP_STATUS_KERNEL);
    this.#block = (this.#block + 1) % BLOCKS;
  }

  #openBlock(): boolean {
    const at = this.#block * BLOCK_BYTES;
    if ((Atomics.load(this.words, (at + BLOCK_STATUS_AT) >> 2) & TP_STATUS_USER) === 0) return false;
    this.#left = this.view.getUint32(at + BLOCK_PACKETS_AT, true);
    this.#frame = at + this.view.getUint32(at + BLOCK_FIRST_AT, true);
    return true;
  }
}

function openRing(libc: Libc, fd: number, version: number, request: readonly number[]): Mapping | undefined {
  for (const [option, words] of [
    [PACKET_VERSION, [version]],
    [PACKET_RX_RING, request],
  ] as const) {
    const value = Int32Array.from(words).buffer;
    if (libc.setsockopt(fd, SOL_PACKET, option, value, value.byteLength) < 0) return undefined;
  }
  return Mapping.open(libc, fd, BLOCK_BYTES * BLOCKS);
}

/** Frames per turn of the event loop. */
const BATCH_FRAMES = 64;
/** 16 MiB: 10,000 frames of 1,500 bytes or 3,800 of 4,200, which is tens of milliseconds of a full receiver. */
const BLOCK_BYTES = 0x4_00_00;
const BLOCKS = 64;
/** A cache line. */
const SLOT_ALIGNMENT = 64;
const TAG_BYTES = 4;

export const SOL_PACKET = 263;
const PACKET_RX_RING = 5;
const PACKET_VERSION = 10;
const TPACKET_V2 = 1;
const TPACKET_V3 = 2;

const TP_STATUS_KERNEL = 0;
const TP_STATUS_USER = 0x1;
const TP_STATUS_VLAN_VALID = 0x10;
const TP_STATUS_VLAN_TPID_VALID = 0x40;

/** struct tpacket2_hdr, then sockaddr_ll; status first. */
const V2_LEN_AT = 4;
const V2_SNAPLEN_AT = 8;
const V2_MAC_AT = 12;
const V2_TCI_AT = 24;
const V2_SLL_AT = 32;
/** Where the kernel puts the IP header of an Ethernet frame in a slot. */
const V2_NET_AT = 80;

/** struct tpacket_block_desc. */
const BLOCK_STATUS_AT = 8;
const BLOCK_PACKETS_AT = 12;
const BLOCK_FIRST_AT = 16;
/** The least that the kernel takes. */
const BLOCK_TIMEOUT_MS = 1;
/** Only a measure in this layout: a frame may take as much as a block has. */
const V3_FRAME_BYTES = 2048;

/** struct tpacket3_hdr, then sockaddr_ll; the distance to the next first. */
const V3_SNAPLEN_AT = 12;
const V3_LEN_AT = 16;
const V3_STATUS_AT = 20;
const V3_MAC_AT = 24;
const V3_TCI_AT = 32;
const V3_SLL_AT = 48;

/** struct sockaddr_ll. */
const SLL_PKTTYPE_AT = 10;
const PACKET_OUTGOING = 4;
