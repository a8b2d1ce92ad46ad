/**
 * Symptom: a connection that worked gets no responses any more, and its requester gives up.
 *
 * Owns one finding for each pair of hosts. It is an error when the requester has given up after two tries or more, a
 * warning when the capture ends after four tries (three timeouts in a row), and a note when it ends after three.
 * Timeouts after which the connection went on are a note, and a warning where they are many and cost a quarter of the
 * time or more: nothing else may show that the last packets of messages get lost. Two waits or more of a millisecond
 * at least that are shorter than the agreed ACK timeout are a note as well: adapters may choose shorter ones. There is
 * no finding where an earlier failure is the cause (`first-error`). Rules: ref:analyzer#1 row 2.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { TIMEOUT_UNIT_NS } from '../tracker/ack-waits.ts';
import type { TransportEvent } from '../types.ts';
import {
  ackTimeoutOf,
  andOthers,
  byHosts,
  describeTimeout,
  distances,
  pathOf,
  proofWith,
  tryEvidence,
} from './failure-words.ts';
import { consequences, endsOf, type Failure, FailureWatch, groupOf, wasAnswered } from './failures.ts';
import { FrameList } from './frame-list.ts';
import { IcmpWatch, icmpAdvice, icmpEvidence, icmpWords } from './icmp-watch.ts';
import { counted, duration, grouped, percent, times } from './words.ts';

export const RETRY_EXCEEDED: Symptom = {
  id: 'retry-exceeded',
  row: 2,
  title: 'ACK timeouts after traffic',
  complaint: 'Completion status 12, transport retry counter exceeded, after traffic had flowed.',
  about:
    'A request, or what answers it, was lost again and again, or the other end has gone. After each ACK timeout the requester sends it again, at most ' +
    'retry count times without progress; then the queue pair goes to ERROR and everything outstanding is flushed. The whole wait is about ' +
    '(retry count + 1) times the timeout, which the sender may stretch up to four times.',
  advice: [
    'See whether the other end was still there: link, host, its queue pair in ERROR for a reason of its own.',
    'Find where packets are lost: drops and errors of NICs and switch ports, priorities that are not lossless.',
    'Give more time (local ACK timeout 4.096 us * 2^n) or more retries (7) where pauses of the path are longer than timeout times retries.',
  ],
  commands: [
    'ethtool -S DEV | grep -iE "discard|drop|err|pause"',
    'rdma statistic show link DEV/1',
    'ip -s link show DEV',
    'ibv_devinfo -v',
  ],
  make: () => new RetryExceeded(),
};

/** Timeouts of a PSN space. */
interface RetryWaits {
  readonly frames: FrameList;
  totalNs: number;
  shortestNs: number;
  longestNs: number;
}

class RetryExceeded implements Detector {
  readonly #failures = new FailureWatch();
  readonly #icmp = new IcmpWatch();
  readonly #waits = new Map<number, RetryWaits>();
  /** Those that ended before the ACK timeout. */
  readonly #short = new Map<number, RetryWaits>();

  get interest(): number {
    return this.#failures.interest;
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
    this.#icmp.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#failures.event(event);
    const { kind, cause, durationNs, conversation, requester, sender } = event;
    if (conversation === 0) return;
    if (kind === 'timeout') note(this.#waits, event);
    else if (kind === 'retransmission' && cause === 'unknown' && sender === requester && durationNs >= SHORT_NS)
      note(this.#short, event);
  }

  finish(context: DetectorContext): void {
    const failures = this.#failures.finish(context);
    this.#reportWaits(context, failures);
    this.#reportShort(context);
    const explained = consequences(failures);
    const silent = failures.filter((failure) => {
      if (failure.kind !== 'silence' || explained.has(failure)) return false;
      return (failure.gaveUp || failure.tries >= FEWEST_TRIES) && wasAnswered(failure, context);
    });
    for (const group of byHosts(silent)) report(context, group, this.#icmp);
  }

  /** What ended well, in spaces where nothing is stuck now. */
  #reportWaits(context: DetectorContext, failures: readonly Failure[]): void {
    const stuck = new Set(failures.map(({ conversation }) => groupOf(conversation)));
    let told = 0;
    for (const [key, { frames, totalNs, longestNs }] of this.#waits) {
      const conversation = context.conversation(Math.floor(key / 2));
      if (conversation === undefined || conversation.sameAs !== 0 || stuck.has(conversation.id)) continue;
      if (++told > MOST_NOTES) return;
      const { address, requester } = conversation.ends[key % 2 === 0 ? 0 : 1];
      if (requester.impliedNaks >= frames.count) continue;
      const share = totalNs / Math.max(1, conversation.endNs - conversation.startNs);
      const costly = frames.count >= MANY && share >= COSTLY_SHARE;
      context.report({
        severity: costly ? 'warning' : 'note',
        text:
          `${address} got no answer within its ACK timeout ${times(frames.count)}, waited ${duration(totalNs)} in all, ` +
          `at most ${duration(longestNs)}${costly ? `, which is ${percent(Math.min(1, share))} of the time of the connection` : ''}, ${outcome(requester.unansweredPsn, conversation.cm?.dreqFrame ?? 0)}.`,
        frames: frames.frames,
        frameCount: frames.count,
        conversations: [conversation.id],
        evidence: { timeouts: frames.count, waitTotalNs: totalNs, longestWaitNs: longestNs },
      });
    }
  }

  /** Sent again for no NAK, and before the time that was agreed on. */
  #reportShort(context: DetectorContext): void {
    let told = 0;
    for (const [key, { frames, totalNs, shortestNs, longestNs }] of this.#short) {
      const conversation = context.conversation(Math.floor(key / 2));
      const exponent = conversation?.cm?.ackTimeoutExponent ?? 0;
      if (conversation === undefined || conversation.sameAs !== 0 || exponent === 0) continue;
      // Once, a host may just have been slow.
      if (frames.count < FEWEST_SHORT) continue;
      if (++told > MOST_NOTES) return;
      const { address } = conversation.ends[key % 2 === 0 ? 0 : 1];
      const agreedNs = TIMEOUT_UNIT_NS * 2 ** exponent;
      context.report({
        severity: 'note',
        text:
          `${address} sent requests again ${times(frames.count)} for no NAK, when it had waited ` +
          `${shortestNs === longestNs ? '' : `${duration(shortestNs)} to `}${duration(longestNs)}, ${duration(totalNs)} in all, ` +
          `and not ${duration(agreedNs)}, the ACK timeout that was agreed on: adapters with adaptive retransmission choose shorter ones.`,
        frames: frames.frames,
        frameCount: frames.count,
        conversations: [conversation.id],
        evidence: { shortWaits: frames.count, waitTotalNs: totalNs, longestWaitNs: longestNs, agreedNs },
      });
    }
  }
}

/** How it ended; what is open then is no failure of its own, or it would be told as that. */
function outcome(unansweredPsn: number, dreqFrame: number): string {
  if (unansweredPsn < 0) return 'and was answered when it had sent again';
  return dreqFrame > 0
    ? `and got none at last: the connection was closed in packet ${dreqFrame}`
    : 'and the last request has no answer here';
}

/** Adds a wait of a PSN space, as long as there are not too many of these. */
function note(all: Map<number, RetryWaits>, { conversation, requester, frame, durationNs }: TransportEvent): void {
  const key = conversation * 2 + requester;
  let waits = all.get(key);
  if (waits === undefined) {
    if (all.size >= MOST_SPACES) return;
    waits = { frames: new FrameList(), totalNs: 0, shortestNs: Number.POSITIVE_INFINITY, longestNs: 0 };
    all.set(key, waits);
  }
  waits.frames.add(frame);
  waits.totalNs += Math.max(0, durationNs);
  waits.shortestNs = Math.min(waits.shortestNs, durationNs);
  waits.longestNs = Math.max(waits.longestNs, durationNs);
}

function report(context: DetectorContext, group: readonly Failure[], icmp: IcmpWatch): void {
  const [first] = group;
  if (first === undefined) return;
  const [requesterEnd, responderEnd] = endsOf(first);
  const reports = icmp.about(requesterEnd.address, responderEnd.address);
  const { lostPackets, packets, retransmittedPackets, timeouts } = requesterEnd.requester;
  const timeout = ackTimeoutOf(first);
  const span = duration(first.lastNs - first.firstNs);
  const loss = packets === 0 ? 0 : lostPackets / packets;
  const gaveUp = group.some((failure) => failure.gaveUp);
  context.report({
    severity: gaveUp ? 'error' : group.some(({ tries }) => tries >= SURE_TRIES) ? 'warning' : 'note',
    text:
      `Requests from ${pathOf(first)} are not answered any more: that with PSN ${first.psn} was sent ${times(first.tries)} in ${span}, ` +
      `${distances(first.waits)}, ` +
      `${first.gaveUp ? 'and then the requester gave up' : 'and the capture ends while it is still tried'}` +
      `${timeout === undefined ? '' : `; ${describeTimeout(timeout)}`}.` +
      (lostPackets === 0
        ? ''
        : ` ${counted(lostPackets, 'packet')} of ${grouped(packets)} got lost (${percent(loss)}).`) +
      andOthers(group) +
      icmpWords(reports),
    ...proofWith(group, reports),
    evidence: {
      ...tryEvidence(first),
      connections: group.length,
      lossPercent: Number((loss * 100).toPrecision(3)),
      retransmittedPackets,
      timeouts,
      ...icmpEvidence(reports),
    },
    ...(reports.length === 0 ? {} : { advice: [...icmpAdvice(reports), ...RETRY_EXCEEDED.advice] }),
  });
}

/** Far above every round trip within a data centre. */
const SHORT_NS = 1_000_000;
const FEWEST_SHORT = 2;
/** Tries after which a silence is one even if the capture ends. */
const SURE_TRIES = 4;
/** One retransmission at the end of a capture is nothing particular. */
const FEWEST_TRIES = 3;
/** Timeouts, and their share of the time of a connection, that are worth a warning. */
const MANY = 10;
const COSTLY_SHARE = 0.25;
const MOST_SPACES = 4096;
const MOST_NOTES = 20;
