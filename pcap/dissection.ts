/**
 * From a captured packet to a parsed frame: link layer, addresses of the capture, what snap length took away, ICRC.
 *
 * Owns the way from `CapturedPacket` to `Frame` for everything that reads captures. Never throws, whatever the bytes.
 */
import { Frame, FrameStatus, Medium, parseFrame } from '../packets/frame.ts';
import { icrcMatches } from '../packets/icrc.ts';
import { type CapturedPacket, Direction, LinkType } from './types.ts';

/** What is known of the ICRC of a packet. */
export const IcrcState = {
  /** Not a whole RoCEv2 packet, or the capture cut it. */
  Unknown: 0,
  /** Right. */
  Good: 1,
  /** Wrong: a receiver drops the packet in silence. */
  Bad: 2,
} as const;
/** One of the states. */
export type IcrcState = (typeof IcrcState)[keyof typeof IcrcState];

/** A dissected packet; made once and filled again by each `dissect`. */
export class Dissection {
  /** Where things are. Its memory is the packet's, or scratch memory when the capture cut the packet: read it before the next `dissect`. */
  readonly frame: Frame = new Frame();
  /** What `parseFrame` said; NotIp where the link type is not known. */
  status: FrameStatus = FrameStatus.NotIp;
  /** Whether the link type is one this project reads. */
  linkKnown = false;
  /** The capture kept fewer bytes than were on the wire: when `status` is Ok all headers are there, but not the payload, pad and ICRC. */
  cut = false;
  /** Which way it went, by the file or by its cooked header. */
  direction: Direction = Direction.Unknown;
  /** Index of the interface of the capturing host in a Linux cooked v2 header; 0 elsewhere. */
  cookedInterface = 0;
}

/** Dissects `packet`; returns `into.status`. The ICRC is a question of its own: `icrcState`. */
export function dissect(packet: CapturedPacket, into: Dissection): FrameStatus {
  const { bytes, linkType, direction, originalLength } = packet;
  into.cut = bytes.length < originalLength;
  into.direction = direction;
  into.cookedInterface = 0;
  const medium = mediumOf(linkType);
  into.linkKnown = medium !== undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  into.status = parseFrame(bytes, view, 0, bytes.length, medium ?? Medium.Ethernet, into.frame);
  return into.status;
}

/** Computes and compares the ICRC of a dissected packet: the costly part. */
export function icrcState({ status, cut, frame }: Dissection): IcrcState {
  if (status !== FrameStatus.Ok || cut) return IcrcState.Unknown;
  return icrcMatches(frame) ? IcrcState.Good : IcrcState.Bad;
}

function mediumOf(linkType: number): Medium | undefined {
  if (linkType === LinkType.Ethernet) return Medium.Ethernet;
  return linkType === LinkType.Raw || linkType === LinkType.Ipv4 || linkType === LinkType.Ipv6 ? Medium.Ip : undefined;
}
