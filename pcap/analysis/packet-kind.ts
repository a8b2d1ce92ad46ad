/**
 * Kinds of packets, so that each detector gets only those that it needs: nearly all packets of a capture are plain
 * data, and few detectors need them.
 *
 * Owns the division. Each packet is of exactly one kind. A packet with anything out of the ordinary is `Other`,
 * whatever else it is.
 */
import { FrameStatus } from '../../packets/frame.ts';
import { OpFlag } from '../../packets/opcode.ts';
import { type PacketFacts, Role } from './facts.ts';

/** Bits, one for each kind. */
export const PacketKind = {
  /** Any mark, no RoCEv2, cannot be read, or belongs to no conversation. */
  Other: 1 << 0,
  /** Management datagrams. */
  Management: 1 << 1,
  /** Datagrams of UD. */
  Datagram: 1 << 2,
  /** Congestion notifications. */
  Cnp: 1 << 3,
  /** Requests that carry the data of a SEND or WRITE, but those over UC. */
  Data: 1 << 4,
  /** All other requests: READs, atomics, FLUSH. */
  Fetch: 1 << 5,
  /** Responses with data: of READs and atomics. */
  Answer: 1 << 6,
  /** ACKs; a NAK has a mark. */
  Ack: 1 << 7,
  /** As `Data`, over UC: nearly no capture has any. */
  UcData: 1 << 8,
} as const;

/** What a detector sees that names no kinds. */
export const ALL_KINDS = (1 << 9) - 1;
/** All requests that a conversation is known of. */
export const REQUEST_KINDS = PacketKind.Data | PacketKind.UcData | PacketKind.Fetch;

/** The one kind of this packet. */
export function packetKind({ marks, conversation, role, dissection: { status, frame } }: PacketFacts): number {
  if (role === Role.Management) return marks === 0 ? PacketKind.Management : PacketKind.Other;
  if (marks !== 0 || conversation === undefined || status !== FrameStatus.Ok) return PacketKind.Other;
  const { flags } = frame;
  switch (role) {
    case Role.Request:
      if ((flags & (OpFlag.Send | OpFlag.Write)) === 0) return PacketKind.Fetch;
      return conversation.service === 'UC' ? PacketKind.UcData : PacketKind.Data;
    case Role.Response:
      return (flags & OpFlag.Ack) === 0 ? PacketKind.Answer : PacketKind.Ack;
    case Role.Datagram:
      return PacketKind.Datagram;
    case Role.Cnp:
      return PacketKind.Cnp;
    default:
      return PacketKind.Other;
  }
}
