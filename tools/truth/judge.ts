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
  /**
   * All that is not late takes the same time, and every duplicate is answered: when an answer comes tells what it is
   * about.
   */
  readonly steady: boolean;
}

/** What is said of one request, and what is true of it. */
export interface JudgedRequest {
  readonly psn: number;
  /** 'sound': its receiver did not miss it. */
  readonly was: Missing | 'sound';
  readonly told: Told;
  /** A verdict is possible from there. */
  readonly decidable: boolean;
  /** The event that says so; undefined: none does. */
  readonly event: TransportEvent | undefined;
  /** When the receiver missed it, nanoseconds; -1: it did not. */
  readonly timeNs: number;
  /** The account of it; undefined: the receiver did not miss it. */
  readonly request: MissingRequest | undefined;
}

/** What is judged, and from where. */
interface Seen {
  readonly vantage: Vantage;
  readonly analysis: Pick<Analysis, 'events'>;
  readonly faults: NetworkFaults;
  /** Requests that cannot be told, where that is known from other courses of events (`oracle.ts`); default: by rule. */
  readonly cannot?: Pick<ReadonlySet<MissingRequest>, 'has'> | undefined;
}

/** Adds to `into` what an analysis of the capture of one place says of the requests. Returns all that is said. */
export function judge(run: KnownRun, seen: Seen, into: Judgement): JudgedRequest[] {
  const judged = judgeRequests(run, seen);
  for (const { was, told, decidable } of judged) {
    into[was][told]++;
    if (was === 'lost' && decidable) into.decidable[told]++;
  }
  return judged;
}

/** Every request that the receiver missed, and every one that something is said of. */
export function judgeRequests(run: KnownRun, { vantage, analysis, faults, cannot }: Seen): JudgedRequest[] {
  const truth = vantage === 'responder' ? run.gaps : run.naks;
  const claims = claimsOf(analysis.events, new Set(truth.map(({ psn }) => psn)), run.serials[vantage]);
  const judged: JudgedRequest[] = [];
  for (const [request, claim] of byCount(paired(truth, claims))) {
    // Whichever is said is true.
    if (request.both) continue;
    const { psn, missing: was, timeNs } = request;
    const can = cannot === undefined ? isDecidable(run, vantage, faults, request) : !cannot.has(request);
    const decidable = was !== 'discarded' && can;
    judged.push({ psn, was, told: claim?.told ?? 'nothing', decidable, event: claim?.event, timeNs, request });
  }
  // What the middle lacked, and no NAK asked for, is true as well.
  const others = new Set(vantage === 'middle' ? run.gaps.map(({ psn }) => psn) : []);
  for (const [psn, rest] of claims)
    if (!others.has(psn))
      for (const { told, event } of rest)
        judged.push({ psn, was: 'sound', told, decidable: false, event, timeNs: -1, request: undefined });
  return judged;
}

/** What is said of a request once, and the packets that this is about. */
interface Claim {
  readonly told: Told;
  readonly event: TransportEvent;
  readonly serials: readonly (number | undefined)[];
}

/** What is said of each PSN, in order. */
function claimsOf(
  events: readonly TransportEvent[],
  missed: ReadonlySet<number>,
  serials: readonly number[],
): Map<number, Claim[]> {
  const claims = new Map<number, Claim[]>();
  for (const event of events) {
    const told = event.requester === 0 && event.sender === 0 ? TOLD[event.kind] : undefined;
    if (told === undefined) continue;
    for (const psn of psnsOf(event, missed)) {
      const before = claims.get(psn) ?? [];
      // What comes later takes back what was said before.
      const instead = TAKES_BACK.has(event.reason ?? '') ? before.pop() : undefined;
      const about = [serials[event.frame - 1], serials[event.refersTo - 1], ...(instead?.serials ?? [])];
      claims.set(psn, [...before, { told, event, serials: about }]);
    }
  }
  return claims;
}

/**
 * Each request with what is said of it: what names the packet that showed it to be missing, or else the next that is
 * said of its PSN. Takes them out of `claims`.
 */
function paired(
  truth: readonly MissingRequest[],
  claims: ReadonlyMap<number, Claim[]>,
): [MissingRequest, Claim | undefined][] {
  const pairs = new Map<MissingRequest, Claim | undefined>(truth.map((request) => [request, undefined]));
  const take = (request: MissingRequest, fits: (claim: Claim) => boolean): void => {
    const own = claims.get(request.psn) ?? [];
    const at = own.findIndex(fits);
    if (at >= 0) pairs.set(request, own.splice(at, 1)[0]);
  };
  for (const request of truth) take(request, ({ serials }) => serials.includes(request.shownBy));
  for (const request of truth) if (pairs.get(request) === undefined) take(request, () => true);
  return [...pairs];
}

/**
 * Where it is told how many of some requests were lost, and not which, the claims are compared by their number: what
 * is told too often is wrong.
 */
function byCount(pairs: [MissingRequest, Claim | undefined][]): [MissingRequest, Claim | undefined][] {
  const groups = new Map<string, [MissingRequest, Claim | undefined][]>();
  for (const pair of pairs) {
    const among = pair[1]?.event.among?.join();
    if (among !== undefined) groups.set(among, [...(groups.get(among) ?? []), pair]);
  }
  for (const group of groups.values()) {
    const claims = group.map(([, claim]) => claim);
    const take = (fits: (claim: Claim | undefined) => boolean): Claim | undefined => {
      const at = claims.findIndex(fits);
      return at < 0 ? undefined : claims.splice(at, 1)[0];
    };
    const right = group.map(([{ missing }]) => take((claim) => claim?.told === missing));
    for (const [at, pair] of group.entries()) pair[1] = right[at] ?? take(() => true);
  }
  return pairs;
}

/** Analyzes a capture. */
export function analyze(packets: Iterable<CapturedPacket>): Analysis {
  const analyzer = new Analyzer();
  for (const packet of packets) analyzer.packet(packet);
  return analyzer.finish();
}

/**
 * Whether there is no other course of events with the same capture in which a lost request was overtaken, or one that
 * was overtaken was lost, as far as a rule can say that: for runs that cannot be played again. `oracle.ts` plays such
 * courses of those that can. Behind the place where it happened there is none. Before it there is one, for a request
 * that was lost, where packets are overtaken at all, and
 * - answers are lost by the network: the answer to the late original may be among them;
 * - or packets are doubled, and the responder answered a second copy in the time in which it would have answered this
 *   one. It would have answered the later one of its two sendings, which came when its retransmission came, or before
 *   twice the delay of the network was over.
 * On a network that is not steady, an answer is also missing for what a timeout shows to be lost, it may be any other
 * that came in that time, and READ responses may stand for it. For a request that was overtaken there is another course
 * where packets are doubled: the answer may be to a second copy of its retransmission; and where another one was lost
 * shortly before or after: that one may have come late instead.
 */
function isDecidable(run: KnownRun, vantage: Vantage, faults: NetworkFaults, request: MissingRequest): boolean {
  const { lateNs, doubles, losesAnswers, steady } = faults;
  if (vantage === 'responder' || lateNs === 0) return true;
  const { timeNs, arrivedNs } = request;
  const latestNs = Math.max(arrivedNs, timeNs + LATER * lateNs);
  if (request.missing === 'overtaken') {
    const spanNs = latestNs - timeNs;
    const isLostNear = (each: MissingRequest) => each.missing === 'lost' && Math.abs(each.timeNs - timeNs) <= spanNs;
    return vantage === 'middle' || !(doubles || run.naks.some(isLostNear));
  }
  if (losesAnswers) return false;
  if (!steady && (doubles || run.timeouts > 0)) return false;
  const near = (at: number): boolean => at > timeNs && at <= latestNs;
  if (run.duplicates.some(({ timeNs: at, copy }) => (copy || !steady) && near(at))) return false;
  return steady || !run.readsAnswered.some(near);
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
/** Reasons of events that are about a packet of which something was said before. */
const TAKES_BACK: ReadonlySet<string> = new Set(['after-retransmission', 'came-twice']);
const MOST_PSNS = 1024;
/** A packet may be later than others are, by as much again. */
export const LATER = 2;
