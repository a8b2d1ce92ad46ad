/**
 * What the analyzer says of the requests of a run, held against what had become of them.
 *
 * Owns the comparison: which event is the verdict on which request, and which requests a verdict is possible on.
 */
import { psnAdd, psnDiff } from 'rocev2/packets';
import { type Analysis, Analyzer, type CapturedPacket, type TransportEvent } from 'rocev2/pcap';
import type { KnownRun, Missing, MissingRequest } from './recording.ts';

/** Where a capture was taken. */
export type Vantage = 'requester' | 'middle' | 'responder';

/** What is said of a request; nothing is right for one that only stood behind another. */
export type Told = 'lost' | 'overtaken' | 'undecided' | 'nothing';

/** How often each was said. */
export type Verdicts = Record<Told, number>;

/** Verdicts by what was true; `sound`: on requests that the receiver did not miss. */
export interface Judgement extends Record<Missing | 'sound', Verdicts> {
  /** Verdicts on what was lost, as far as a verdict is possible from there. */
  readonly decidable: Verdicts;
}

export function noJudgement(): Judgement {
  const none = () => ({ lost: 0, overtaken: 0, undecided: 0, nothing: 0 });
  return { lost: none(), overtaken: none(), discarded: none(), sound: none(), decidable: none() };
}

/** What is wrong with the network beside loss, as far as it decides what can be told. */
export interface NetworkFaults {
  /** By how much packets are overtaken, nanoseconds; 0: none is. */
  readonly lateNs: number;
  readonly doubles: boolean;
  readonly losesAnswers: boolean;
}

/** Adds to `into` what an analysis of the capture of one place says of the requests. */
export function judge(
  run: KnownRun,
  { vantage, analysis, faults }: { vantage: Vantage; analysis: Analysis; faults: NetworkFaults },
  into: Judgement,
): void {
  const truth = vantage === 'responder' ? run.gaps : run.naks;
  const psns = new Set(truth.map(({ psn }) => psn));
  const verdicts = new Map<number, Told[]>();
  for (const event of analysis.events) {
    const told = event.requester === 0 && event.sender === 0 ? TOLD[event.kind] : undefined;
    if (told === undefined) continue;
    for (const psn of psnsOf(event, psns)) {
      const before = verdicts.get(psn) ?? [];
      // What comes later takes back what was said before.
      if (event.reason === 'after-retransmission' || event.reason === 'came-twice') before.pop();
      verdicts.set(psn, [...before, told]);
    }
  }
  for (const request of truth) {
    const told = verdicts.get(request.psn)?.shift() ?? 'nothing';
    // Whichever is said is true.
    if (request.both) continue;
    into[request.missing][told]++;
    if (request.missing === 'lost' && isDecidable(run, vantage, faults, request)) into.decidable[told]++;
  }
  // What the middle lacked, and no NAK asked for, is true as well.
  const others = new Set(vantage === 'middle' ? run.gaps.map(({ psn }) => psn) : []);
  for (const [psn, rest] of verdicts) if (!others.has(psn)) for (const told of rest) into.sound[told]++;
}

/** Analyzes a capture. */
export function analyze(packets: Iterable<CapturedPacket>): Analysis {
  const analyzer = new Analyzer();
  for (const packet of packets) analyzer.packet(packet);
  return analyzer.finish();
}

/**
 * Whether there is no other run of this network with the same capture in which a lost request was overtaken. Behind the
 * loss there is none. Before it there is one where packets are overtaken at all, and
 * - answers are lost, by the network or perhaps, where a timeout shows that something was: the answer to the late
 *   original may be among them;
 * - or packets are doubled: no answer to a duplicate is about this request for certain;
 * - or the responder answered another duplicate in the time in which it would have answered this one, or a READ, behind
 *   whose responses its ACKs wait. It would have answered the later one of its two sendings, which came when its
 *   retransmission came, or before the delay of the network was over.
 */
function isDecidable(run: KnownRun, vantage: Vantage, faults: NetworkFaults, request: MissingRequest): boolean {
  if (vantage === 'responder' || faults.lateNs === 0) return true;
  if (faults.doubles || faults.losesAnswers || run.timeouts > 0) return false;
  const { timeNs, arrivedNs } = request;
  const latestNs = Math.max(arrivedNs, timeNs + faults.lateNs);
  const near = (at: number): boolean => at > timeNs && at <= latestNs;
  return !run.duplicates.some((each) => near(each.timeNs)) && !run.readsAnswered.some(near);
}

/** An event may be about several packets, each of which may take many PSNs: the next ones that were missed. */
function psnsOf({ psn, count }: TransportEvent, missed: ReadonlySet<number>): number[] {
  const psns = [psn];
  for (let at = psnAdd(psn, 1); psns.length < count && psnDiff(at, psn) < MOST_PSNS; at = psnAdd(at, 1))
    if (missed.has(at)) psns.push(at);
  return psns;
}

const TOLD: Readonly<Partial<Record<TransportEvent['kind'], Told>>> = {
  loss: 'lost',
  reordering: 'overtaken',
  missing: 'undecided',
};
const MOST_PSNS = 1024;
