/**
 * Numbers of the pcapng format that its reader, its writer and its copier share. Source: draft-ietf-opsawg-pcapng.
 */

/** Block types of pcapng. */
export const BlockType = {
  InterfaceDescription: 1,
  /** Obsolete, still found in old files. */
  Packet: 2,
  SimplePacket: 3,
  NameResolution: 4,
  InterfaceStatistics: 5,
  EnhancedPacket: 6,
  /** An entry of a log. */
  SystemdJournal: 9,
  /** Keys of TLS and the like; passed over. */
  DecryptionSecrets: 10,
  /** Of an organisation, to be kept when a file is rewritten. */
  Custom: 0x0000_0bad,
  /** Of an organisation, not to be kept. */
  CustomNotCopied: 0x4000_0bad,
  SectionHeader: 0x0a0d_0d0a,
} as const;

/** Option codes of pcapng; codes from 2 to 2,987 mean something else in each block type. */
export const Option = {
  End: 0,
  Comment: 1,
  // section header
  Hardware: 2,
  OperatingSystem: 3,
  Application: 4,
  // interface description
  InterfaceName: 2,
  InterfaceDescription: 3,
  InterfaceSpeed: 8,
  TimestampResolution: 9,
  InterfaceFilter: 11,
  InterfaceOperatingSystem: 12,
  TimestampOffset: 14,
  InterfaceHardware: 15,
  // packets
  PacketFlags: 2,
  PacketDropCount: 4,
  PacketId: 5,
  // interface statistics
  StatisticsStart: 2,
  StatisticsEnd: 3,
  StatisticsReceived: 4,
  StatisticsDropped: 5,
  StatisticsAccepted: 6,
  StatisticsDroppedByOs: 7,
  StatisticsDelivered: 8,
  // every block: custom options that a rewriter leaves out, with text and with bytes
  CustomTextNotCopied: 19_372,
  CustomBytesNotCopied: 19_373,
} as const;

/** Record types of a name resolution block. */
export const NameRecord = { End: 0, Ipv4: 1, Ipv6: 2, Eui48: 3 } as const;

/** Written in the byte order of the section. */
export const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;

/** Type and the length before and behind the body. */
export const BLOCK_OVERHEAD_BYTES = 12;
/** Byte-order magic, version and section length. */
export const SECTION_FIXED_BYTES = 16;
/** Interface, time, captured and original length of a packet block. */
export const PACKET_FIXED_BYTES = 20;
/** Code and length. */
export const OPTION_HEADER_BYTES = 4;

/** `length`, 0..2^32-1, with the padding to the next multiple of four. */
export function padded(length: number): number {
  // Not with bit operations, which would make 0 of the largest lengths that a file can claim.
  return Math.ceil(length / 4) * 4;
}
