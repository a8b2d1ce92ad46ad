/**
 * Two hosts that send to each other with GIDs of different types, so that neither receives the other's packets.
 *
 * Owns the evidence, which two detectors use: the one that reports it, and the one that would otherwise report silence.
 * It needs positive evidence: between the same two MAC addresses one direction uses one type and the other direction
 * another, and requests went unanswered. Types are RoCE version 1 (EtherType 0x8915) against version 2, IPv4 against
 * IPv6, and link-local against global addresses (ref:analyzer#1 row 10). Memory is bounded.
 */
import { IpAddress } from '../../../packets/address.ts';
import { ETHERNET_BYTES, ETHERTYPE_AT, ETHERTYPE_ROCE_V1, VLAN_TAG_BYTES } from '../../../packets/ethernet.ts';
import type { Frame } from '../../../packets/frame.ts';
import { IPV6_BYTES } from '../../../packets/ipv6.ts';
import type { DetectorContext } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import type { ConversationReport } from '../types.ts';
import { FrameList } from './frame-list.ts';

/** What one station sent to another and never got an answer to. */
export interface UnansweredDirection {
  readonly kind: 'RoCE version 1' | 'IPv4' | 'link-local IPv6' | 'global IPv6';
  /** MAC addresses as numbers. */
  readonly from: number;
  readonly to: number;
  /** As users know GIDs: IPv4 addresses mapped into IPv6. */
  readonly sourceGid: string;
  readonly destinationGid: string;
  readonly frames: FrameList;
  /** Undefined for version 1, which is not followed. */
  readonly conversation: ConversationReport | undefined;
}

/** Both directions between two stations. */
export interface GidMismatch {
  readonly there: UnansweredDirection;
  readonly back: UnansweredDirection;
}

export class GidWatch {
  readonly #versionOne = new Map<string, UnansweredDirection>();
  readonly #repeated = new Map<number, UnansweredDirection>();

  packet(facts: PacketFacts): void {
    const { conversation } = facts;
    if (conversation !== undefined && (facts.marks & Mark.AfterTimeout) === 0) return;
    const { dissection, packet, role } = facts;
    const { frame } = dissection;
    if (conversation === undefined) {
      if (frame.etherType === ETHERTYPE_ROCE_V1) this.#noteVersionOne(frame, packet.number);
      return;
    }
    if (role !== Role.Request || frame.etherType === 0) return;
    const known = this.#repeated.get(conversation.id);
    if (known !== undefined) {
      known.frames.add(packet.number);
      return;
    }
    if (this.#repeated.size >= MOST_ENTRIES) return;
    const frames = new FrameList();
    if (facts.refersTo > 0) frames.add(facts.refersTo);
    frames.add(packet.number);
    const [source, destination] = facts.sender === 0 ? conversation.ends : [conversation.ends[1], conversation.ends[0]];
    this.#repeated.set(conversation.id, {
      kind: kindOf(source.address),
      from: stationAt(frame, SOURCE_AT),
      to: stationAt(frame, 0),
      sourceGid: gidOf(source.address),
      destinationGid: gidOf(destination.address),
      frames,
      conversation,
    });
  }

  /** All pairs of stations that missed each other. */
  finish({ conversation: final }: Pick<DetectorContext, 'conversation'>): GidMismatch[] {
    const unanswered = [...this.#repeated.values()].filter(({ conversation }) => {
      const report = final(conversation?.id ?? 0);
      return report !== undefined && isOneDirectional(report);
    });
    const versionOne = [...this.#versionOne.values()].filter(({ from, to }) => !this.#versionOne.has(`${to} ${from}`));
    const mismatches: GidMismatch[] = [];
    for (const [index, there] of [...versionOne, ...unanswered].entries()) {
      const others = unanswered.slice(Math.max(0, index + 1 - versionOne.length));
      const back = others.find(({ kind, from, to }) => kind !== there.kind && from === there.to && to === there.from);
      if (back !== undefined) mismatches.push({ there, back });
    }
    return mismatches.slice(0, MOST_FINDINGS);
  }

  #noteVersionOne(frame: Frame, number: number): void {
    const { view, start, end } = frame;
    let at = start + ETHERTYPE_AT;
    while (at + 2 <= end && view.getUint16(at) !== ETHERTYPE_ROCE_V1) at += VLAN_TAG_BYTES;
    at += ETHERNET_BYTES - ETHERTYPE_AT;
    if (at + IPV6_BYTES > end) return;
    const [from, to] = [stationAt(frame, SOURCE_AT), stationAt(frame, 0)];
    const key = `${from} ${to}`;
    const known = this.#versionOne.get(key);
    if (known !== undefined) {
      known.frames.add(number);
      return;
    }
    if (this.#versionOne.size >= MOST_ENTRIES) return;
    const frames = new FrameList();
    frames.add(number);
    this.#versionOne.set(key, {
      kind: 'RoCE version 1',
      from,
      to,
      sourceGid: IpAddress.read(view, at + GRH_SOURCE_AT, 6).toString(),
      destinationGid: IpAddress.read(view, at + GRH_DESTINATION_AT, 6).toString(),
      frames,
      conversation: undefined,
    });
  }
}

/** Ids of conversations that a mismatch explains. */
export function mismatchedConversations(mismatches: readonly GidMismatch[]): Set<number> {
  return new Set(mismatches.flatMap(({ there, back }) => [there.conversation?.id ?? 0, back.conversation?.id ?? 0]));
}

/** One end alone sent anything, and nothing of it was acknowledged. */
function isOneDirectional({ ends: [first, second] }: ConversationReport): boolean {
  return first.packets === 0 || second.packets === 0;
}

function kindOf(address: string): UnansweredDirection['kind'] {
  if (!address.includes(':')) return 'IPv4';
  // fe80::/10, written as one group.
  return /^fe[89ab][0-9a-f]:/i.test(address) ? 'link-local IPv6' : 'global IPv6';
}

function gidOf(address: string): string {
  return address.includes(':') ? address : `::ffff:${address}`;
}

function stationAt({ view, start }: Frame, offset: number): number {
  return view.getUint16(start + offset) * 0x1_00_00_00_00 + view.getUint32(start + offset + 2);
}

const SOURCE_AT = 6;
const GRH_SOURCE_AT = 8;
const GRH_DESTINATION_AT = 24;
const MOST_ENTRIES = 1024;
const MOST_FINDINGS = 20;
