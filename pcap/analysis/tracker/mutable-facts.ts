/**
 * The facts of the packet at hand, as the tracker fills them in.
 *
 * Owns the one object that all packets share, and the fields that distinguish a frame from its retransmission. Decides
 * nothing.
 */
import { Dissection, IcrcState } from '../../dissection.ts';
import type { CapturedPacket } from '../../types.ts';
import { type PacketFacts, Role } from '../facts.ts';
import type { ConversationReport } from '../types.ts';

/** `PacketFacts` that can be written; made once. */
export class MutableFacts implements PacketFacts {
  packet: CapturedPacket = NO_PACKET;
  dissection = new Dissection();
  icrc: IcrcState = IcrcState.Unknown;
  timeNs = 0;
  conversation: ConversationReport | undefined;
  sender: 0 | 1 = 0;
  requester: 0 | 1 = 0;
  role: Role = Role.None;
  relativePsn = Number.NaN;
  psnCount = 1;
  marks = 0;
  missing = 0;
  earlierShape = -1;
  refersTo = -1;
  /** IPv4 identification; -1 over IPv6. */
  ipId = -1;
  /** The ICRC in the frame, for comparison only; 0 where the capture has cut it off. */
  icrcValue = 0;

  /** Forgets the packet before; `dissection` is filled already. */
  begin(packet: CapturedPacket, timeNs: number, icrc: IcrcState): void {
    this.packet = packet;
    this.timeNs = timeNs;
    this.icrc = icrc;
    this.conversation = undefined;
    this.sender = 0;
    this.requester = 0;
    this.role = Role.None;
    this.relativePsn = Number.NaN;
    this.psnCount = 1;
    this.marks = 0;
    this.missing = 0;
    this.earlierShape = -1;
    this.refersTo = -1;
    this.ipId = -1;
    this.icrcValue = 0;
  }

  /** Runs what places the packet, and forgets where it has placed it. */
  asIf(place: (facts: MutableFacts) => void): void {
    const { conversation, sender, requester, relativePsn, psnCount, marks, missing, earlierShape, refersTo } = this;
    place(this);
    Object.assign(this, {
      conversation,
      sender,
      requester,
      relativePsn,
      psnCount,
      marks,
      missing,
      earlierShape,
      refersTo,
    });
  }

  /** For a frame that was parsed well. */
  readIdentity(): void {
    this.ipId = this.dissection.ipId;
    this.icrcValue = this.dissection.icrcValue >>> 0;
  }
}

const NO_PACKET: CapturedPacket = {
  number: 0,
  seconds: 0,
  nanoseconds: 0,
  bytes: new Uint8Array(0),
  originalLength: 0,
  linkType: 1,
  interfaceIndex: 0,
  direction: 0,
  comments: [],
};
