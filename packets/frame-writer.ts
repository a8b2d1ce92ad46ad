/**
 * Frames on their way to a link: a slab of equal slots that headers and payload are written into, finished with
 * lengths, checksum and ICRC.
 *
 * Owns slots, IPv4 identification and the finishing of a frame. Never decides what to send. Allocates at construction
 * only.
 * Rules: ref:wire#2 (lengths and identification are final before the ICRC), ref:wire#3, ref:platform#6 (why slots start
 * at whole pages).
 */

import { BTH_BYTES, BTH_MASKED_BYTE } from './bth.ts';
import { crc32Update } from './crc32.ts';
import { invariant, RoceError } from './errors.ts';
import type { HeaderTemplate } from './header-template.ts';
import { ICRC_BYTES, ICRC_SEED, maskVariantFields } from './icrc.ts';
import { IPV4_CHECKSUM_AT, IPV4_ID_AT, IPV4_TOS_AT, IPV4_TOTAL_LENGTH_AT, IPV4_TTL_AT } from './ipv4.ts';
import { IPV6_BYTES, IPV6_HOP_LIMIT_AT, IPV6_PAYLOAD_LENGTH_AT } from './ipv6.ts';
import { UDP_BYTES, UDP_CHECKSUM_AT, UDP_LENGTH_AT } from './udp.ts';

/** What links carry: `count` frames, frame i in [starts[i], starts[i] + lengths[i]) of `bytes` and of `view`. */
export interface FrameBatch {
  /** Memory that all frames of the batch lie in. */
  readonly bytes: Uint8Array;
  /** The same memory. */
  readonly view: DataView;
  /** Frames there are. */
  count: number;
  /** Offset of each frame's first byte. */
  readonly starts: Int32Array;
  /** Bytes of each frame. */
  readonly lengths: Int32Array;
}

/** A traffic class of 1 in the first word of an IPv6 header. */
const IPV6_TRAFFIC_CLASS_UNIT = 0x10_00_00;

/**
 * Slots start at multiples of this, so that slot and source page offsets differ by the headers (40 bytes and more) and
 * not by 1..16, where copies of 4 KiB are ten times slower (ref:platform#6).
 */
const PAGE_BYTES = 4096;

/**
 * A batch with slots of equal size that frames are built in. Reused: `reset`, then `begin` and `end` for each frame.
 *
 * @example
 * ```ts
 * import { FrameWriter, HeaderTemplate, IpAddress, Medium, Op, parseMac, writeBth } from 'rocev2/packets';
 *
 * const path = new HeaderTemplate({
 *   medium: Medium.Ethernet,
 *   sourceMac: parseMac('02:00:00:00:00:01'),
 *   destMac: parseMac('02:00:00:00:00:02'),
 *   source: IpAddress.parse('10.0.0.1'),
 *   destination: IpAddress.parse('10.0.0.2'),
 *   trafficClass: 0,
 *   hopLimit: 64,
 *   flowLabel: 0,
 *   sourcePort: 50_000,
 * });
 * const batch = new FrameWriter(64, 2048);
 * const bth = batch.begin(path);
 * writeBth(batch.view, bth, Op.SendOnly, 0, 1, 0, 0xffff, 0x11, 1, 100);
 * batch.bytes.set(new TextEncoder().encode('four'), bth + 12);
 * // Lengths, checksum and ICRC are written at the end.
 * batch.end(path, bth + 16);
 * console.log(batch.count, batch.lengths[0]); // 1 62
 * ```
 */
export class FrameWriter implements FrameBatch {
  /** All slots. */
  readonly bytes: Uint8Array;
  /** The same memory. */
  readonly view: DataView;
  /** Offset of each frame's first byte, that of its slot. */
  readonly starts: Int32Array;
  /** Bytes of each frame. */
  readonly lengths: Int32Array;
  /** Frames finished since `reset`. */
  count = 0;
  /** IPv4 identification of the next frame, 1..65535; set it for a reproducible trace. */
  nextIpId = 1;
  /** The ICRC is left 0: the receiver of the batch computes it where it is needed. */
  icrcOffload = false;
  readonly #capacity: number;
  readonly #stride: number;

  /** Room for `capacity` frames of up to `slotBytes` bytes each, link header and ICRC included. */
  constructor(capacity: number, slotBytes: number) {
    if (!Number.isInteger(capacity) || capacity < 1 || !Number.isInteger(slotBytes) || slotBytes < 1) {
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `capacity ${capacity} and slotBytes ${slotBytes} must be positive integers`,
      );
    }
    this.#capacity = capacity;
    this.#stride = Math.ceil(slotBytes / PAGE_BYTES) * PAGE_BYTES;
    this.bytes = new Uint8Array(capacity * this.#stride);
    this.view = new DataView(this.bytes.buffer);
    this.starts = new Int32Array(capacity);
    this.lengths = new Int32Array(capacity);
  }

  /** Forgets all frames; their bytes stay until overwritten. */
  reset(): void {
    this.count = 0;
  }

  /** No slot is left. */
  get full(): boolean {
    return this.count >= this.#capacity;
  }

  /** Frames that still fit. */
  get room(): number {
    return this.#capacity - this.count;
  }

  /**
   * Copies the path's headers into the next slot and returns the offset of the BTH. A frame begun and not ended is
   * simply dropped.
   */
  begin(template: HeaderTemplate): number {
    invariant(this.count < this.#capacity, 'a frame is begun only when the writer is not full');
    const at = this.count * this.#stride;
    const { words } = template;
    // The last word may reach up to three bytes into the BTH, which is not yet written.
    for (let i = 0; i < words.length; i++) this.view.setInt32(at + 4 * i, words[i] ?? 0);
    return at + template.length;
  }

  /**
   * Finishes the frame begun last. `endOfPad` is the offset after payload and pad; the pad bytes are already there, as
   * 0.
   *
   * The variant fields are ones while the CRC runs straight over the slot, then get their values: no scratch copy.
   *
   * @param trafficClass of this one packet, 0..255; default the path's
   */
  end(template: HeaderTemplate, endOfPad: number, trafficClass = template.trafficClass): void {
    const { view, bytes } = this;
    const at = this.count * this.#stride;
    const ip = at + template.ipOffset;
    const udp = at + template.udpOffset;
    const bth = udp + UDP_BYTES;
    const end = endOfPad + ICRC_BYTES;
    invariant(
      this.count < this.#capacity && endOfPad >= bth + BTH_BYTES && end <= at + this.#stride && end - ip <= 0xff_ff,
      'a frame ends inside its slot, after its BTH, and within the lengths of IP',
    );
    const congestion = view.getUint8(bth + BTH_MASKED_BYTE);
    const identification = template.ipVersion === 4 ? this.#takeIpId() : 0;
    if (template.ipVersion === 4) {
      view.setUint16(ip + IPV4_TOTAL_LENGTH_AT, end - ip);
      view.setUint16(ip + IPV4_ID_AT, identification);
    } else {
      view.setUint16(ip + IPV6_PAYLOAD_LENGTH_AT, end - ip - IPV6_BYTES);
    }
    view.setUint16(udp + UDP_LENGTH_AT, end - udp);
    if (this.icrcOffload) view.setUint32(endOfPad, 0);
    else {
      maskVariantFields(view, ip, template.ipVersion);
      view.setUint32(endOfPad, ~crc32Update(ICRC_SEED, bytes, ip, endOfPad, view), true);
    }
    this.#unmask(template, trafficClass, ip, udp, end - ip, identification);
    view.setUint8(bth + BTH_MASKED_BYTE, congestion);
    this.#append(at, end - at);
  }

  /** Appends a whole frame that is not RoCE (ARP, ICMP), or that someone else has finished. */
  appendRaw(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    invariant(
      this.count < this.#capacity && length <= this.#stride,
      'a raw frame is appended to a free slot and fits it',
    );
    const at = this.count * this.#stride;
    this.bytes.set(bytes.subarray(start, end), at);
    this.#append(at, length);
  }

  /** Gives the masked IP and UDP fields their true values. */
  #unmask(
    template: HeaderTemplate,
    trafficClass: number,
    ip: number,
    udp: number,
    totalLength: number,
    identification: number,
  ): void {
    const { view } = this;
    if (template.ipVersion === 4) {
      view.setUint8(ip + IPV4_TOS_AT, trafficClass);
      view.setUint8(ip + IPV4_TTL_AT, template.hopLimit);
      // The traffic class is the low byte of a word of the sum, to which FFFF is nothing: what is added is never below
      // 0.
      const change = trafficClass - template.trafficClass;
      const added = change < 0 ? change + 0xff_ff : change;
      view.setUint16(ip + IPV4_CHECKSUM_AT, template.ipv4Checksum(totalLength + added, identification));
    } else {
      view.setUint32(ip, template.ipv6FirstWord + (trafficClass - template.trafficClass) * IPV6_TRAFFIC_CLASS_UNIT);
      view.setUint8(ip + IPV6_HOP_LIMIT_AT, template.hopLimit);
    }
    view.setUint16(udp + UDP_CHECKSUM_AT, 0);
  }

  /**
   * Never 0: a kernel's raw socket replaces an identification of 0 on some paths, and the ICRC covers it (ref:wire#2).
   */
  #takeIpId(): number {
    const identification = this.nextIpId;
    this.nextIpId = identification >= 0xff_ff ? 1 : identification + 1;
    return identification;
  }

  #append(start: number, length: number): void {
    this.starts[this.count] = start;
    this.lengths[this.count] = length;
    this.count++;
  }
}
