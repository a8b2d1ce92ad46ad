/**
 * What the analyzer says of the requests of a run, held against what had become of them.
 *
 * Owns the comparison: which event is the verdict on which request.
 */
import { psnAdd, psnDiff } from 'rocev2/packets';
import { Analyzer, type TransportEvent } from 'rocev2/pcap';
import type { KnownRun, Missing } from './recording.ts';

/** Where a capture was taken. */
export type Vantage = 'requester' | 'responder';

/** What is said of a request; nothing is right for one that only stood behind another. */
export type Told = 'lost' | 'overtaken' | 'undecided' | 'nothing';

/** How often each was said, by what was true; `sound`: of requests that the receiver did not miss. */
export type Judgement = Record<Missing | 'sound', Record<Told, number>>;

export function noJudgement(): Judgement {
  const none = () => ({ lost: 0, overtaken: 0, undecided: 0, nothing: 0 });
  return { lost: none(), overtaken: none(), discarded: none(), sound: none() };
}

/** Analyzes the capture of one host, and adds to `into` what is said of the requests. */
export function judge(run: KnownRun, vantage: Vantage, into: Judgement): void {
  const truth = vantage === 'requester' ? run.naks : run.gaps;
  const psns = new Set(truth.map(({ psn }) => psn));
  const verdicts = new Map<number, Told[]>();
  for (const event of eventsOf(run, vantage)) {
    const told = TOLD[event.kind];
    if (told === undefined) continue;
    for (const psn of psnsOf(event, psns)) {
      const before = verdicts.get(psn) ?? [];
      // The original after its retransmission: what was said before is taken back.
      if (event.reason === 'after-retransmission' || event.reason === 'came-twice') before.pop();
      verdicts.set(psn, [...before, told]);
    }
  }
  for (const { psn, missing } of truth) into[missing][verdicts.get(psn)?.shift() ?? 'nothing']++;
  for (const rest of verdicts.values()) for (const told of rest) into.sound[told]++;
}

function eventsOf(run: KnownRun, vantage: Vantage): TransportEvent[] {
  const analyzer = new Analyzer();
  for (const packet of run[vantage]) analyzer.packet(packet);
  return analyzer.finish().events.filter(({ requester, sender }) => requester === 0 && sender === 0);
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
