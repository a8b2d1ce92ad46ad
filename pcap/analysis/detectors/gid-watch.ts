/**
 * Two hosts that send to each other with GIDs that do not go together, so that neither receives the other's packets.
 *
 * Owns the evidence, which the detector that reports it shares with those that would otherwise report silence. It needs
 * positive evidence: requests between the same two MAC addresses went unanswered in both directions, and
 * - one direction uses one type and the other direction another. Types are RoCE version 1 (EtherType 0x8915) against
 *   version 2, IPv4 against IPv6, and link-local against global addresses; or
 * - the types are the same, but one end does not send from the address that the other sends to. A router has the
 *   packets of many hosts: both hop limits have to be those of packets that no router has seen, and requests between
 *   these addresses are never answered.
 * What has a counterpart with the same two addresses is a silence of another cause. Memory is bounded. Rules:
 * ref:analyzer#1 row 10.
 */
import { IpAddress } from '../../../packets/address.ts';
import { ETHERNET_BYTES, ETHERTYPE_AT, ETHERTYPE_ROCE_V1, VLAN_TAG_BYTES } from '../../../packets/ethernet.ts';
import type { Frame } from '../../../packets/frame.ts';
import { IPV6_BYTES } from '../../../packets/ipv6.ts';
import type { DetectorContext } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import type { ConversationReport } from '../types.ts';
import { answersTo } from './failures.ts';
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
  readonly hopLimit: number;
  readonly frames: FrameList;
  /** Undefined for version 1, which is not followed. */
  readonly conversation: ConversationReport | undefined;
}

/** Both directions between two stations: what misses something of the other direction, the first with the first. */
export interface GidMismatch {
  readonly there: UnansweredDirection;
  readonly back: UnansweredDirection;
  /** All of both, `there` and `back` included. */
  readonly all: readonly UnansweredDirection[];
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
      hopLimit: frame.hopLimit,
      frames,
      conversation,
    });
  }

  /** All pairs of stations that missed each other. */
  finish({
    conversation: final,
    conversations,
  }: Pick<DetectorContext, 'conversation' | 'conversations'>): GidMismatch[] {
    const unanswered = [...this.#repeated.values()].filter(({ conversation }) => {
      const report = final(conversation?.id ?? 0);
      return report !== undefined && isOneDirectional(report);
    });
    const versionOne = [...this.#versionOne.values()].filter(({ from, to }) => !this.#versionOne.has(`${to} ${from}`));
    const gidPairs = new Set(unanswered.map(({ sourceGid, destinationGid }) => `${sourceGid} ${destinationGid}`));
    const directions = new Map<string, UnansweredDirection[]>();
    for (const each of [...versionOne, ...unanswered]) {
      if (each.kind !== 'RoCE version 1' && gidPairs.has(`${each.destinationGid} ${each.sourceGid}`)) continue;
      const key = `${each.from} ${each.to}`;
      const list = directions.get(key);
      if (list === undefined) directions.set(key, [each]);
      else list.push(each);
    }
    const working = new WorkingGids(conversations);
    const mismatches: GidMismatch[] = [];
    for (const [key, there] of directions) {
      const back = directions.get(key.split(' ').reverse().join(' ')) ?? [];
      directions.delete(key);
      const mismatch = mismatchOf(there, back, working);
      if (mismatch !== undefined) mismatches.push(mismatch);
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
      hopLimit: 0,
      frames,
      conversation: undefined,
    });
  }
}

/** Ids of conversations that a mismatch explains. */
export function mismatchedConversations(mismatches: readonly GidMismatch[]): Set<number> {
  return new Set(mismatches.flatMap(({ all }) => all.map(({ conversation }) => conversation?.id ?? 0)));
}

/** Pairs of addresses between which requests are answered; made on the first question. */
class WorkingGids {
  readonly #conversations: readonly ConversationReport[];
  #pairs: Set<string> | undefined;

  constructor(conversations: readonly ConversationReport[]) {
    this.#conversations = conversations;
  }

  has({ sourceGid, destinationGid }: UnansweredDirection): boolean {
    this.#pairs ??= new Set(
      this.#conversations
        .filter(({ ends }) => ends.some((end) => answersTo(end) > 0))
        .map(({ ends: [first, second] }) => gidPair(gidOf(first.address), gidOf(second.address))),
    );
    return this.#pairs.has(gidPair(sourceGid, destinationGid));
  }
}

function mismatchOf(
  there: readonly UnansweredDirection[],
  back: readonly UnansweredDirection[],
  working: WorkingGids,
): GidMismatch | undefined {
  // Of thousands of connections between two hosts the first say enough.
  const [some, others] = [there.slice(0, MOST_COMPARED), back.slice(0, MOST_COMPARED)];
  const missed = (one: UnansweredDirection, across: readonly UnansweredDirection[]) =>
    across.some((other) => miss(one, other, working));
  const [mine, theirs] = [some.filter((one) => missed(one, others)), others.filter((one) => missed(one, some))];
  const [first] = mine;
  const second = theirs.find((other) => first !== undefined && miss(first, other, working));
  if (first === undefined || second === undefined) return undefined;
  return { there: first, back: second, all: [...mine, ...theirs] };
}

function miss(one: UnansweredDirection, other: UnansweredDirection, working: WorkingGids): boolean {
  if (one.kind !== other.kind) return true;
  return [one, other].every((each) => UNROUTED.has(each.hopLimit) && !working.has(each));
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

function gidPair(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

function stationAt({ view, start }: Frame, offset: number): number {
  return view.getUint16(start + offset) * 0x1_00_00_00_00 + view.getUint32(start + offset + 2);
}

const SOURCE_AT = 6;
const GRH_SOURCE_AT = 8;
const GRH_DESTINATION_AT = 24;
/** Hop limits that hosts begin with; a router makes them less by one. */
const UNROUTED: ReadonlySet<number> = new Set([1, 64, 128, 255]);
const MOST_ENTRIES = 1024;
const MOST_COMPARED = 64;
const MOST_FINDINGS = 20;
