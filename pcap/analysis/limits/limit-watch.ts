/**
 * What a capture cannot know, found while it is read: `CaptureLimit` and `Vantage` at the end.
 *
 * Owns the sentences and their order. The estimators beside it own what counts. Bounded memory, and per packet no
 * allocation.
 */
import type { DetectorContext } from '../detector.ts';
import { counted, duration, grouped, listed, percent, times } from '../detectors/words.ts';
import type { PacketFacts } from '../facts.ts';
import {
  type CaptureLimit,
  type ConversationReport,
  MOST_FRAMES,
  type TransportEvent,
  type Vantage,
} from '../types.ts';
import { type ClockSteps, ClockWatch } from './clock-watch.ts';
import { Coverage } from './coverage.ts';
import { Directions, type OneDirection } from './directions.ts';
import { FrameEchoes } from './frame-echoes.ts';
import { DirectionCounts, type Turnaround, vantagesOf } from './places.ts';
import { RewritingWatch } from './rewriting.ts';

/** What the watch asks the tracker. */
export interface LimitSource {
  /** The conversation of this number, or the one that it turned out to be a part of. */
  byId(id: number): ConversationReport | undefined;
  /** When the request that this response answers was captured; NaN: unknown. */
  askedNs(facts: PacketFacts): number;
  readonly turnaround: Turnaround;
  /** Conversations that are not followed. */
  omitted(): number;
}

/** What is known at the end. */
export interface FoundLimits {
  readonly limits: readonly CaptureLimit[];
  readonly vantages: readonly Vantage[];
  /** How much of its traffic an interface has. */
  readonly coverage: ReadonlyMap<number, Coverage>;
}

export class LimitWatch {
  readonly #source: LimitSource;
  readonly #clocks: ClockWatch;
  readonly #directions = new Directions();
  readonly #capturedDirections = new DirectionCounts();
  readonly #rewriting = new RewritingWatch();
  readonly #echoes: (FrameEchoes | undefined)[] = [];
  readonly #coverage = new Map<number, Coverage>();

  constructor(source: LimitSource) {
    this.#source = source;
    this.#clocks = new ClockWatch((facts) => source.askedNs(facts));
  }

  packet(facts: PacketFacts): void {
    this.#clocks.packet(facts);
    const { conversation, packet, dissection, sender } = facts;
    if (conversation === undefined || packet.interfaceIndex >= MOST_INTERFACES) return;
    let echoes = this.#echoes[packet.interfaceIndex];
    if (echoes === undefined) {
      echoes = new FrameEchoes();
      this.#echoes[packet.interfaceIndex] = echoes;
    }
    echoes.packet(facts);
    this.#rewriting.packet(facts);
    this.#capturedDirections.packet(dissection.direction, conversation.id, sender);
  }

  event(event: TransportEvent): void {
    this.#directions.event(event);
    const missing = event.kind === 'unseen' || (event.kind === 'loss' && event.reason === 'service-without-acks');
    const conversation = missing ? this.#source.byId(event.conversation) : undefined;
    if (conversation !== undefined) this.#coverageOf(conversation).event(event, conversation);
  }

  finish({
    capture,
    conversations,
    seenElsewhere,
  }: Pick<DetectorContext, 'capture' | 'conversations' | 'seenElsewhere'>): FoundLimits {
    const single = conversations.filter(({ sameAs }) => sameAs === 0);
    for (const each of conversations) this.#coverageOf(each).conversation(each);
    // In a sample the other direction may be missing by chance.
    const isSample = (index: number): boolean => this.#coverage.get(index)?.isSample === true;
    const oneSided = this.#directions
      .finish(conversations, seenElsewhere)
      .filter(({ interfaceIndex }) => !isSample(interfaceIndex));
    const unread = Object.entries(capture.unread);
    const hidden = unread.reduce((sum, [, count]) => sum + count, 0);
    const members = membersOf(this.#coverage, conversations);
    const limits: CaptureLimit[] = [
      ...oneDirectionLimits(oneSided, single.length, capture),
      ...[...this.#coverage]
        .sort(([a], [b]) => a - b)
        .flatMap(([index, coverage]) => coverageLimits(index, coverage, capture, members.has(index))),
      ...this.#echoes.flatMap((echoes, index) => (echoes === undefined ? [] : doubledLimits(index, echoes))),
      ...this.#clocks.finish().map(clockLimit),
      ...this.#rewriting.finish(conversations, (id) => this.#source.byId(id)?.id ?? id),
    ];
    if (capture.cutPackets > 0) limits.push(cutLimit(capture));
    if (hidden > 0)
      limits.push(
        wholeCapture(
          'unread',
          `${counted(hidden, 'packet')} cannot be read: ${listed(unread.map(([name, count]) => `${grouped(count)} ${name}`))}.`,
          {
            packets: hidden,
          },
        ),
      );
    const omitted = this.#source.omitted();
    if (omitted > 0)
      limits.push(
        wholeCapture(
          'conversations-omitted',
          `${counted(omitted, 'conversation was', 'conversations were')} not followed: there are more than fit.`,
          {
            conversations: omitted,
          },
        ),
      );
    const vantages = vantagesOf(conversations, this.#source.turnaround, this.#capturedDirections);
    return { limits, vantages, coverage: this.#coverage };
  }

  #coverageOf({ interfaceIndex }: ConversationReport): Coverage {
    let coverage = this.#coverage.get(interfaceIndex);
    if (coverage === undefined) {
      coverage = new Coverage();
      this.#coverage.set(interfaceIndex, coverage);
    }
    return coverage;
  }
}

function oneDirectionLimits(
  found: readonly OneDirection[],
  total: number,
  { badIcrc }: DetectorContext['capture'],
): CaptureLimit[] {
  const good = badIcrc > 0 ? ' with a right ICRC' : '';
  return found.map(({ interfaceIndex, from, to, conversations, packets, frames }) => ({
    kind: 'one-direction',
    text:
      `Of ${conversations.size === 1 && total === 1 ? 'the only conversation' : counted(conversations.size, 'conversation')} ` +
      `this capture has only what ${from} sent (${counted(packets, 'packet')}), and nothing${good} of what ${to} sent.`,
    interfaces: [interfaceIndex],
    conversations: [...conversations],
    frames,
    evidence: { from, to, packets },
  }));
}

function coverageLimits(
  index: number,
  coverage: Coverage,
  { captureDrops, others }: DetectorContext['capture'],
  isMember: boolean,
): CaptureLimit[] {
  const { oneIn, unseen, runs, longestRun, frames, unseenShare } = coverage;
  const common = { interfaces: [index], conversations: [], frames: frames.slice(0, MOST_FRAMES) };
  if (coverage.isSample) {
    const n = oneIn < 4 ? Number(oneIn.toPrecision(2)) : Math.round(oneIn);
    return [
      {
        kind: 'sampled',
        text:
          `About one in ${grouped(n)} packets is here, evenly spread: a sample, or packets spread over several links. ` +
          `What is not in it was not necessarily missing.${isMember ? MEMBER : ''}`,
        ...common,
        evidence: { oneIn: Number(oneIn.toPrecision(3)), unseenPackets: unseen, gaps: runs },
      },
    ];
  }
  if (unseen === 0) return [];
  const bursts = longestRun > LONG_RUN ? `, up to ${grouped(longestRun)} in a row` : '';
  const headless = others['Truncated'] ?? 0;
  const where =
    headless > 0
      ? `the capture lost them, or has cut their headers (of ${counted(headless, 'packet')})`
      : 'the capture lost them';
  const told = captureDrops > 0 ? ` The capture itself reports ${grouped(captureDrops)} dropped.` : '';
  return [
    {
      kind: 'capture-loss',
      text:
        `The capture lacks at least ${counted(unseen, 'packet')} (${percent(unseenShare)}${bursts}) that the receiver had: ` +
        `${where}, not the network.${told}${isMember ? MEMBER : ''}`,
      ...common,
      evidence: {
        unseenPackets: unseen,
        unseenPercent: Number((unseenShare * 100).toPrecision(3)),
        gaps: runs,
        longestRun,
      },
    },
  ];
}

/** Interfaces that each lack packets of the same queue pairs, and together have about all of them. */
function membersOf(
  coverage: ReadonlyMap<number, Coverage>,
  conversations: readonly ConversationReport[],
): ReadonlySet<number> {
  const lacking = new Map([...coverage].filter(([, { isIncomplete }]) => isIncomplete));
  const members = new Set<number>();
  const interfaces = new Map<string, Set<number>>();
  for (const { ends, interfaceIndex } of conversations) {
    const key = ends
      .map(({ network, address, qpn }) => `${network} ${address} ${qpn}`)
      .sort()
      .join(' ');
    if (lacking.has(interfaceIndex)) interfaces.set(key, (interfaces.get(key) ?? new Set()).add(interfaceIndex));
  }
  for (const shared of interfaces.values()) {
    const all = [...shared].reduce((sum, index) => sum + 1 - (lacking.get(index)?.unseenShare ?? 0), 0);
    if (shared.size > 1 && all <= MOST_OF_MEMBERS) for (const index of shared) members.add(index);
  }
  return members;
}

/** Nearly all frames come again, once, after the same time: requests that are sent again are fewer, or come thrice. */
function lateLimits(index: number, echoes: FrameEchoes): CaptureLimit[] {
  const { frames, lateEchoes, lateCopies, thirds, shortestLateNs, longestLateNs, lateExamples } = echoes;
  const alike = longestLateNs - shortestLateNs <= Math.max(ALIKE_NS, shortestLateNs * ALIKE_SHARE);
  if (!alike || lateEchoes < FEWEST_LATE || lateEchoes < frames * LEAST_LATE || thirds > lateEchoes * MOST_THIRDS) {
    return [];
  }
  const known = lateCopies > lateEchoes / 2;
  const again = `${grouped(lateEchoes)} of ${counted(frames, 'frame')} with data come again byte for byte, up to ${duration(longestLateNs)} later: `;
  return [
    {
      kind: known ? 'doubled' : 'doubled-late',
      text: `${again}${known ? 'a mirror shows them twice, and each is counted once.' : 'a mirror shows them twice, or each was sent again. Nothing in them tells which.'}`,
      interfaces: [index],
      conversations: [],
      frames: lateExamples,
      evidence: { doubledFrames: lateEchoes, frames, longestNs: longestLateNs },
    },
  ];
}

function doubledLimits(index: number, seen: FrameEchoes): CaptureLimit[] {
  const { frames, echoes, longestNs, examples } = seen;
  if (echoes < FEWEST_ECHOES || echoes < frames * LEAST_ECHOES) return lateLimits(index, seen);
  return [
    {
      kind: 'doubled',
      text:
        `${grouped(echoes)} of ${counted(frames, 'frame')} with data are here twice, at most ${duration(longestNs)} apart: ` +
        'a mirror shows them both on their way in and on their way out, and each is counted once.',
      interfaces: [index],
      conversations: [],
      frames: examples,
      evidence: { doubledFrames: echoes, frames, longestNs },
    },
  ];
}

function clockLimit({ interfaceIndex, steps, largestNs, frames }: ClockSteps): CaptureLimit {
  const way = largestNs < 0 ? 'went back' : 'jumped ahead';
  return {
    kind: 'clock-step',
    text:
      `The clock ${way} by ${duration(Math.abs(largestNs))} at packet ${frames[0] ?? 0}` +
      `${steps === 1 ? '' : `, and it stepped ${times(steps)} in all`}: durations and rates across that are wrong.`,
    interfaces: [interfaceIndex],
    conversations: [],
    frames,
    evidence: { steps, largestNs },
  };
}

function cutLimit({ cutPackets, rocePackets }: DetectorContext['capture']): CaptureLimit {
  const text =
    `${grouped(cutPackets)} of ${counted(rocePackets, 'packet')} are cut to their beginning: whether their ICRC is right, ` +
    'and what is behind the cut, cannot be told.';
  return wholeCapture('cut', text, { cutPackets, rocePackets });
}

function wholeCapture(kind: CaptureLimit['kind'], text: string, evidence: CaptureLimit['evidence']): CaptureLimit {
  return { kind, text, interfaces: [], conversations: [], frames: [], evidence };
}

const MOST_INTERFACES = 256;
const MEMBER = ' Another interface has such packets: the members of a LAG are analyzed with --interfaces-together.';
/** What is missing at the ends of a capture is not known to be. */
const MOST_OF_MEMBERS = 1.3;
const LONG_RUN = 3;
/** A network that doubles frames doubles a few. */
const FEWEST_ECHOES = 8;
const LEAST_ECHOES = 0.2;
/** Of all frames: half of them where each comes twice. */
const FEWEST_LATE = 32;
const LEAST_LATE = 0.4;
const MOST_THIRDS = 0.02;
const ALIKE_NS = 100_000;
const ALIKE_SHARE = 0.25;
