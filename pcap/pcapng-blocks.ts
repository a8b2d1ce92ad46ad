/**
 * Numbers of the pcapng format that its reader and its writer share. Source: draft-ietf-opsawg-pcapng.
 */

/** Block types of pcapng. */
export const BlockType = {
  InterfaceDescription: 1,
  /** Obsolete, still found in old files. */
  Packet: 2,
  SimplePacket: 3,
  EnhancedPacket: 6,
  SectionHeader: 0x0a0d_0d0a,
} as const;

/** Option codes of pcapng; codes from 2 upwards mean something else in each block type. */
export const Option = {
  End: 0,
  Comment: 1,
  Hardware: 2,
  OperatingSystem: 3,
  Application: 4,
  InterfaceName: 2,
  InterfaceDescription: 3,
  TimestampResolution: 9,
  TimestampOffset: 14,
  PacketFlags: 2,
} as const;

/** Written in the byte order of the section. */
export const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;

/** Type and the length before and behind the body. */
export const BLOCK_OVERHEAD_BYTES = 12;
