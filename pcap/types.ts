/**
 * What a capture file holds, as values: packets, interfaces, link types, directions.
 *
 * Owns the vocabulary that readers and writers share. Never touches bytes.
 * Source of the numbers: the pcap and pcapng drafts of the IETF opsawg group and the link-type registry of tcpdump.org.
 */

/** Link types this project can read a frame from; a file may hold any other, and the reader passes it on unchanged. */
export const LinkType = {
  /** BSD loopback: an address family in the byte order of the capturing host, then IP. */
  Null: 0,
  /** Ethernet II, no preamble, no FCS. */
  Ethernet: 1,
  /** As `Raw`: the number that BSDs use inside, which some writers put into files. */
  RawBsd: 12,
  /** As `Raw`, of OpenBSD. */
  RawOpenBsd: 14,
  /** An IPv4 or IPv6 packet, told apart by its first nibble. */
  Raw: 101,
  /** OpenBSD loopback: an address family in big-endian order, then IP. */
  Loop: 108,
  /**
   * Linux "cooked" capture, version 1, from a capture on all interfaces: addresses and direction without an Ethernet
   * header.
   */
  LinuxCooked: 113,
  /** An IPv4 packet. */
  Ipv4: 228,
  /** An IPv6 packet. */
  Ipv6: 229,
  /** Linux "cooked" capture, version 2: with the index of the interface. */
  LinuxCooked2: 276,
} as const;

/** Which way a packet went past the capturing interface (pcapng `epb_flags`, bits 0 and 1). */
export const Direction = {
  /** Not recorded. */
  Unknown: 0,
  /** Received by the capturing host. */
  Inbound: 1,
  /** Sent by it. */
  Outbound: 2,
} as const;
/** One of the directions. */
export type Direction = (typeof Direction)[keyof typeof Direction];

/** One interface of a capture file; a classic pcap file has exactly one, without a name. */
export interface CaptureInterface {
  /** See `LinkType`; unknown numbers are kept. */
  readonly linkType: number;
  /** Largest number of bytes kept of a packet; 0 means no limit. */
  readonly snapLength: number;
  /** Name, as Wireshark shows it; empty when the file has none. */
  readonly name: string;
  /** Description; empty when the file has none. */
  readonly description: string;
  /** Comments on it, in the order of the file. */
  readonly comments?: readonly string[];
  /** Capture filter, in the language of libpcap. */
  readonly filter?: string;
  /** Its hardware, in words. */
  readonly hardware?: string;
  /** Operating system of the machine it is in. */
  readonly operatingSystem?: string;
  /** Bits per second. */
  readonly speedBps?: number;
  /** Which of the reader's `sections` describes it. */
  readonly section?: number;
  /** The last values in the file so far; capture tools write them at the end. */
  readonly statistics?: InterfaceStatistics | undefined;
}

/** What the capturing side counted on one interface; what the file does not say is absent. */
export interface InterfaceStatistics extends CaptureTime {
  /** When counting began. */
  readonly start?: CaptureTime;
  /** When it ended. */
  readonly end?: CaptureTime;
  /** Packets that came to the interface. */
  readonly received?: number;
  /** Packets that the interface had no room for. */
  readonly dropped?: number;
  /** Packets that passed the capture filter. */
  readonly accepted?: number;
  /** Packets that the operating system dropped before they reached the capturing program. */
  readonly droppedByOs?: number;
  /** Packets given to the capturing program. */
  readonly delivered?: number;
  /** Comments, in the order of the file. */
  readonly comments?: readonly string[];
}

/** One section of a pcapng file, from its header; empty where the header has nothing. */
export interface CaptureSection {
  /** Machine that made the capture. */
  readonly hardware: string;
  /** Its operating system. */
  readonly operatingSystem: string;
  /** The program that wrote the file. */
  readonly application: string;
  /** Comments on the whole section. */
  readonly comments: readonly string[];
  /** Byte order of its numbers. */
  readonly littleEndian: boolean;
}

/**
 * One packet of a capture file.
 *
 * The time has two parts because nanoseconds since 1970 need 61 bits: `seconds` since the epoch (an integer, negative
 * before 1970) and `nanoseconds` within that second (0..999,999,999). `nanosecondsSince` gives an exact difference as
 * one number.
 */
export interface CapturedPacket extends CaptureTime {
  /** Position in the file, from 1, as Wireshark numbers frames. */
  readonly number: number;
  /** The bytes captured. They share memory with what was given to the reader. */
  readonly bytes: Uint8Array;
  /** Length on the wire; larger than `bytes.length` when the capture cut the packet. */
  readonly originalLength: number;
  /** What the bytes begin with: see `LinkType`. */
  readonly linkType: number;
  /** Index into the reader's `interfaces`. */
  readonly interfaceIndex: number;
  /** Its direction, where the file has it. */
  readonly direction: Direction;
  /** Comments on this packet, in the order of the file. */
  readonly comments: readonly string[];
  /**
   * Packets that the capture lost between the one before on this interface and this one, where the file has that
   * number.
   */
  readonly dropCount?: number | undefined;
  /** The same packet seen on several interfaces has the same number, where the file gives one (64 bits). */
  readonly packetId?: bigint | undefined;
}

/** A time in the two parts of `CapturedPacket`. */
export interface CaptureTime {
  /** Whole seconds since 1970, or since whatever the writer counted from. */
  readonly seconds: number;
  /** Within that second, 0..999,999,999. */
  readonly nanoseconds: number;
}

/** `later - earlier` in nanoseconds; exact while the two are less than 104 days apart. */
export function nanosecondsSince(earlier: CaptureTime, later: CaptureTime): number {
  return (later.seconds - earlier.seconds) * 1e9 + (later.nanoseconds - earlier.nanoseconds);
}
