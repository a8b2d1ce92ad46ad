/**
 * Writes classic pcap with nanosecond times, for tools that do not read pcapng.
 *
 * Owns the file and record headers. Never does I/O and has no clock (see `PcapngWriter`, which also keeps interface
 * names, directions and comments). Little-endian whatever the host. Source: draft-ietf-opsawg-pcap.
 */

import { ByteBuilder } from './byte-builder.ts';
import { PCAP_MAGIC_NANOSECONDS } from './pcap-format.ts';

/**
 * Writes one classic pcap file.
 *
 * @example
 * ```ts
 * import { CaptureReader, LinkType, PcapWriter } from 'rocev2/pcap';
 *
 * const file = new PcapWriter(LinkType.Ethernet);
 * file.packet(new Uint8Array(60), 0, 60, 1, 500);
 * const reader = new CaptureReader();
 * reader.push(file.take());
 * console.log(reader.next()?.bytes.length, reader.formatName); // 60 pcap
 * ```
 */
export class PcapWriter {
  private readonly out = new ByteBuilder();
  private readonly snapLength: number;

  /** `linkType`: see `LinkType`. `snapLength`: packets are cut to this many bytes. */
  constructor(linkType: number, snapLength = 262_144) {
    this.snapLength = snapLength;
    this.out.u32(PCAP_MAGIC_NANOSECONDS);
    this.out.u16(2); // major version
    this.out.u16(4); // minor version
    this.out.u32(0); // time zone, always 0
    this.out.u32(0); // accuracy, always 0
    this.out.u32(snapLength);
    this.out.u32(linkType);
  }

  /**
   * Appends the packet `bytes[start, end)` captured at `seconds` (0..2^32-1) + `nanoseconds` since the epoch.
   *
   * @param originalLength the length on the wire, when the caller has only a part of the packet
   */
  packet(
    bytes: Uint8Array,
    start: number,
    end: number,
    seconds: number,
    nanoseconds: number,
    originalLength = end - start,
  ): void {
    const length = end - start;
    const kept = Math.min(length, this.snapLength);
    this.out.u32(seconds);
    this.out.u32(nanoseconds);
    this.out.u32(kept);
    this.out.u32(originalLength);
    this.out.copy(bytes, start, start + kept);
  }

  /** Bytes that `take` would return. */
  get pendingBytes(): number {
    return this.out.length;
  }

  /** Everything written since the last call, whole records only; append it to the file. */
  take(): Uint8Array {
    return this.out.take();
  }
}
