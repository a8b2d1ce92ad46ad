/**
 * Two hosts that both send requests to each other, and neither ever gets a response: what each of them puts into its
 * packets can be compared.
 *
 * Owns the pairs, one for each two hosts, whatever the number of their connections. The two directions belong together
 * by their addresses or, where those do not match (`gid-watch.ts`), by their MAC addresses. Reports nothing itself.
 */
import type { DetectorContext } from '../detector.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { byHosts } from './failure-words.ts';
import { answersTo, endsOf, type Failure, groupOf } from './failures.ts';
import { mergedFrames } from './frame-list.ts';
import type { GidMismatch, UnansweredDirection } from './gid-watch.ts';
import { counted } from './words.ts';

/** What one host sent to the other. */
export interface MissedSide {
  /** Its ends, as each vantage point shows them. */
  readonly sightings: readonly Sighting[];
  readonly frames: readonly number[];
  readonly frameCount: number;
}

/** An end at a vantage point. */
export interface Sighting {
  readonly conversation: ConversationReport;
  readonly end: EndReport;
}

/** Both of them. */
export interface MissedPair {
  readonly there: MissedSide;
  readonly back: MissedSide;
}

/** @param silences requests without a response; @param gids those of stations whose addresses do not match */
export function missedPairs(
  silences: readonly Failure[],
  gids: readonly GidMismatch[],
  { conversations }: DetectorContext,
): MissedPair[] {
  const groups = new Map<number, ConversationReport[]>();
  for (const conversation of silences.length === 0 ? [] : conversations) {
    const group = groups.get(groupOf(conversation));
    if (group === undefined) groups.set(groupOf(conversation), [conversation]);
    else group.push(conversation);
  }
  const pairs: MissedPair[] = [];
  for (const group of byHosts(silences)) {
    const host = group[0] === undefined ? '' : endsOf(group[0])[0].address;
    const [there, back] = [true, false].map((mine) =>
      sideOfFailures(
        group.filter((failure) => (endsOf(failure)[0].address === host) === mine),
        groups,
      ),
    );
    if (there !== undefined && back !== undefined && back.frameCount > 0) pairs.push({ there, back });
  }
  for (const { there, all } of gids) {
    const [mine, theirs] = [true, false].map((same) =>
      sideOfGids(all.filter((each) => (each.from === there.from) === same)),
    );
    if (mine === undefined || theirs === undefined) continue;
    if (mine.sightings.length > 0 && theirs.sightings.length > 0) pairs.push({ there: mine, back: theirs });
  }
  return pairs;
}

/** What all ends of a side, or those that one interface has seen, put into their packets. */
export function valuesOf(
  { sightings }: MissedSide,
  value: (end: EndReport) => readonly number[],
  interfaceIndex?: number,
): number[] {
  const ofInterface = sightings.filter(
    ({ conversation }) => interfaceIndex === undefined || conversation.interfaceIndex === interfaceIndex,
  );
  return [...new Set(ofInterface.flatMap(({ end }) => value(end)))];
}

/**
 * Whether other requests between the same two hosts, by address or by MAC address, were answered though their ends
 * differ in the same way.
 */
export function worksElsewhere(
  { there, back }: MissedPair,
  conversations: readonly ConversationReport[],
  differs: (one: EndReport, other: EndReport, conversation: ConversationReport) => boolean,
): boolean {
  const [mine, theirs] = [there, back].map(({ sightings }) => namesOf(sightings));
  const belongs = (names: ReadonlySet<string> | undefined, { address, mac }: EndReport) =>
    names?.has(address) === true || (mac !== '' && names?.has(mac) === true);
  return conversations.some((conversation) => {
    if (!conversation.ends.some((end) => answersTo(end) > 0)) return false;
    const [one, other] = conversation.ends;
    if (belongs(mine, one) && belongs(theirs, other)) return differs(one, other, conversation);
    return belongs(mine, other) && belongs(theirs, one) && differs(other, one, conversation);
  });
}

/** What every finding about a pair has. */
export function pairProof({ there, back }: MissedPair): {
  readonly frames: readonly number[];
  readonly frameCount: number;
  readonly conversations: readonly number[];
} {
  return {
    frames: mergedFrames([there.frames.slice(0, FRAMES_OF_EACH), back.frames.slice(0, FRAMES_OF_EACH)]),
    frameCount: there.frameCount + back.frameCount,
    conversations: [there, back].flatMap(({ sightings }) => sightings.map(({ conversation }) => conversation.id)),
  };
}

/** "Neither 10.0.0.1 (8 packets) nor 10.0.0.2 (4 packets) gets a response to requests to the other". */
export function pairWords({ there, back }: MissedPair): string {
  const side = (each: MissedSide) => `${addressOf(each)} (${counted(each.frameCount, 'packet')})`;
  return `Neither ${side(there)} nor ${side(back)} gets a response to requests to the other`;
}

/** The first address that a side sent from. */
export function addressOf({ sightings }: MissedSide): string {
  return sightings[0]?.end.address ?? '';
}

/** The MAC address of a side, empty where it is not known. */
export function macOf({ sightings }: MissedSide): string {
  return sightings[0]?.end.mac ?? '';
}

function namesOf(sightings: readonly Sighting[]): Set<string> {
  return new Set(sightings.flatMap(({ end: { address, mac } }) => (mac === '' ? [address] : [address, mac])));
}

function sideOfFailures(failures: readonly Failure[], groups: ReadonlyMap<number, ConversationReport[]>): MissedSide {
  const sightings = failures.flatMap((failure) => {
    const { address } = endsOf(failure)[0];
    return (groups.get(groupOf(failure.conversation)) ?? []).flatMap((conversation) => {
      const end = conversation.ends.find((each) => each.address === address && each.packets > 0);
      return end === undefined ? [] : [{ conversation, end }];
    });
  });
  return {
    sightings,
    frames: mergedFrames(failures.map(({ frames }) => frames.frames)),
    frameCount: failures.reduce((sum, { frames }) => sum + frames.count, 0),
  };
}

function sideOfGids(directions: readonly UnansweredDirection[]): MissedSide {
  const sightings = directions.flatMap(({ conversation }) => {
    const end = conversation?.ends.find(({ packets }) => packets > 0);
    return conversation === undefined || end === undefined ? [] : [{ conversation, end }];
  });
  return {
    sightings,
    frames: mergedFrames(directions.map(({ frames }) => frames.frames)),
    frameCount: directions.reduce((sum, { frames }) => sum + frames.count, 0),
  };
}

const FRAMES_OF_EACH = 10;
