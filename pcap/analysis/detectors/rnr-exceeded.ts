/**
 * Symptom: the receiver is never ready (RNR NAKs).
 *
 * Owns three findings for each pair of hosts. The requester gives up: an error. It is still refused when the capture
 * ends, for the fourth time in a row or more: a warning. RNR NAKs after which the connection went on: a note, or a
 * warning where there were ten or more and their waits take a tenth of the time of the conversation, or where they take
 * half of it and a tenth of a second. A wait that the capture cuts off counts as far as the capture goes, if the
 * requester is known to wait: one that allows no retry gives up at once. Occasional RNR NAKs are normal.
 * Rules: ref:analyzer#1 row 4, ref:wire#7 (timer codes).
 */

import { defined } from '../../../packets/defined.ts';
import { AETH_AT } from '../../../packets/opcode.ts';
import { RNR_TIMER_NS } from '../../../packets/rnr-timer.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts } from '../facts.ts';
import type { ConversationReport } from '../types.ts';
import { andOthers, byHosts, pathOf, proofOf } from './failure-words.ts';
import { type Failure, FailureWatch, groupOf, rnrRetriesOf } from './failures.ts';
import { FrameList } from './frame-list.ts';
import { counted, duration, percent, times } from './words.ts';

export const RNR_EXCEEDED: Symptom = {
  id: 'rnr-exceeded',
  row: 4,
  title: 'Receiver not ready',
  complaint: 'Completion status 13, RNR retry counter exceeded; or a program that hangs for seconds at a SEND.',
  about:
    'A SEND, or a WRITE with immediate data, found no receive posted. The responder answers with an RNR NAK and the time to wait, its ' +
    'min_rnr_timer, and the requester tries again as often as its rnr_retry allows, where 7 means infinitely. Timer code 0 is the longest wait, 655 ms, ' +
    'and the default of programs that leave the field alone: a hang without any error.',
  advice: [
    'Post receives before the peer can send, and enough of them for all that may be outstanding; watch shared receive queues too.',
    'Raise rnr_retry (7 is infinite), or flow-control the sender with messages of your own.',
    'Set min_rnr_timer to what a receive really takes to be posted, code 12 is 0.64 ms; not 0.',
  ],
  commands: ['rdma statistic show link DEV/1 | grep rnr', 'rdma resource show qp', 'ibv_devinfo -v'],
  make: () => new RnrExceeded(),
};

interface RnrTotals {
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  /** Requested by timer codes. */
  askedNs: number;
  /** When the last of these waits is over. */
  untilNs: number;
  readonly frames: FrameList;
}

class RnrExceeded implements Detector {
  readonly #failures = new FailureWatch();
  readonly #totals = new Map<number, RnrTotals>();

  get interest(): number {
    return this.#failures.interest;
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
    if ((facts.marks & Mark.RnrNak) !== 0) this.#count(facts);
  }

  finish(context: DetectorContext): void {
    const refused = this.#failures.finish(context).filter(({ kind }) => kind === 'rnr');
    const stuck = refused.filter(({ gaveUp, tries }) => gaveUp || tries >= SURE_TRIES);
    for (const group of byHosts(stuck)) reportStuck(context, group);
    for (const totals of this.#totals.values()) {
      const conversation = context.conversation(totals.conversation.id);
      if (conversation === undefined || conversation.sameAs !== 0) continue;
      const isThis = (failure: Failure): boolean => groupOf(failure.conversation) === conversation.id;
      if (!stuck.some(isThis)) reportWaits(context, totals, conversation, refused.find(isThis));
    }
  }

  #count({ conversation, requester, packet, timeNs, dissection: { frame } }: PacketFacts): void {
    if (conversation === undefined) return;
    const key = conversation.id * 2 + requester;
    let totals = this.#totals.get(key);
    if (totals === undefined) {
      if (this.#totals.size >= MOST_SPACES) return;
      totals = { conversation, requester, askedNs: 0, untilNs: 0, frames: new FrameList() };
      this.#totals.set(key, totals);
    }
    const at = AETH_AT[frame.opcode] ?? -1;
    const code = at < 0 ? 0 : frame.view.getUint8(frame.bthOffset + at) & 0x1f;
    const timerNs = RNR_TIMER_NS[code] ?? 0;
    totals.askedNs += timerNs;
    totals.untilNs = timeNs + timerNs;
    totals.frames.add(packet.number);
  }
}

function reportStuck(context: DetectorContext, group: readonly Failure[]): void {
  const [first] = group;
  if (first === undefined) return;
  const { syndrome, psn, tries, lastNs, firstNs, gaveUp } = first;
  const code = syndrome & 0x1f;
  const timerNs = RNR_TIMER_NS[code] ?? 0;
  const retries = rnrRetriesOf(first);
  const waitNs = lastNs - firstNs;
  context.report({
    severity: group.some((failure) => failure.gaveUp) ? 'error' : 'warning',
    text:
      `No receive was ready for requests from ${pathOf(first)}: PSN ${psn} was refused ${times(tries)} in ${duration(waitNs)}; ` +
      `the RNR timer is code ${code}, ${duration(timerNs)}. ` +
      `${outcome(gaveUp, retries)}.${andOthers(group)}`,
    ...proofOf(group),
    ...(retries === INFINITE_RETRIES ? { advice: INFINITE_ADVICE } : {}),
    evidence: {
      psn,
      naks: tries,
      waitTotalNs: waitNs,
      rnrTimerCode: code,
      rnrTimerNs: timerNs,
      connections: group.length,
      ...defined({ rnrRetryCount: retries }),
    },
  });
}

/** With infinitely many retries a requester has never given up (`failures.ts`). */
function outcome(gaveUp: boolean, retries: number | undefined): string {
  if (retries === INFINITE_RETRIES)
    return 'It is still refused when the capture ends, and with RNR retry count 7 the requester never gives up';
  const count = retries === undefined ? '' : ` (RNR retry count ${retries})`;
  return `${gaveUp ? 'Then the requester gave up' : 'It is still refused when the capture ends'}${count}`;
}

function reportWaits(
  context: DetectorContext,
  { frames, askedNs, untilNs }: RnrTotals,
  conversation: ConversationReport,
  pending: Failure | undefined,
): void {
  // The capture may end in the middle of a wait, which counts as far as it goes.
  const { durationNs } = context.capture;
  const isWaiting = pending !== undefined && waits(pending, conversation);
  const waitedNs = askedNs - Math.max(0, untilNs - durationNs);
  const endNs = isWaiting ? Math.min(untilNs, durationNs) : conversation.endNs;
  const lasted = Math.max(endNs, conversation.endNs) - conversation.startNs;
  const share = lasted > 0 ? Math.min(1, waitedNs / lasted) : 0;
  const long = (pending === undefined || isWaiting) && waitedNs >= LONG_WAIT_NS && share >= LONG_SHARE;
  const costly = long || (frames.count >= MANY_NAKS && share >= COSTLY_SHARE);
  const [first, second] = conversation.ends;
  context.report({
    severity: costly ? 'warning' : 'note',
    text:
      `${counted(frames.count, 'RNR NAK')} between ${first.address} and ${second.address} requested ${duration(askedNs)} of waiting ` +
      `(${percent(share)} of the time of the connection): receives are posted late` +
      `${pending !== undefined ? ', and the capture ends before the last one is' : ', but they are posted'}.`,
    frames: frames.frames,
    frameCount: frames.count,
    conversations: [conversation.id],
    evidence: { naks: frames.count, askedNs, sharePercent: Number((share * 100).toPrecision(3)) },
  });
}

/**
 * Whether the requester is known to wait: it has retries left and has not disconnected. Where its retry count is not
 * known, that it has come back before shows it.
 */
function waits(pending: Failure, { cm }: ConversationReport): boolean {
  if ((cm?.dreqFrame ?? 0) !== 0) return false;
  const retries = rnrRetriesOf(pending);
  if (retries === undefined) return pending.tries > 1;
  return retries === INFINITE_RETRIES || pending.tries <= retries;
}

/** RNR retry count without an end (ref:wire#7). */
const INFINITE_RETRIES = 7;
const INFINITE_ADVICE: readonly string[] = [
  'Post receives: with RNR retry count 7 the requester tries again until there is one, and no completion tells of it.',
  'Set rnr_retry below 7 where an error is better than a hang; or flow-control the sender with messages of your own.',
  'Set min_rnr_timer to what a receive really takes to be posted, code 12 is 0.64 ms; not 0.',
];
/** Refusals of one request after which it is stuck, even if the capture ends. */
const SURE_TRIES = 4;
const MANY_NAKS = 10;
const COSTLY_SHARE = 0.1;
const LONG_WAIT_NS = 100_000_000;
const LONG_SHARE = 0.5;
const MOST_SPACES = 4096;
