/**
 * Messages as fast as they go: keeps send queues full, or receives.
 *
 * Owns the loops of a bandwidth test and the times they note. Never prints: report.ts does.
 * Follows perftest_resources.c#run_iter_bw, #run_iter_bw_server: a completion for every `cqModeration` messages and for
 * the last one; the peak is the best stretch between a posting and a completion
 * (perftest_parameters.c#print_report_bw).
 */
import type { RdmaCq } from 'rocev2';
import { WorkCompletion } from 'rocev2/transport';
import type { BwReport } from './introductions.ts';
import type { PerfSession } from './session.ts';

/** Times of one run, in nanoseconds. */
export interface BwTimes {
  /** When each message was posted; only the first where no peak is wanted. */
  readonly posted: readonly number[];
  /** Completions: how many messages were done, and when. */
  readonly completed: readonly { readonly count: number; readonly at: number }[];
}

/** Posts all messages of all queue pairs, or for as long as the run lasts, and waits for their completions. */
export async function sendAll(session: PerfSession, size: number): Promise<BwTimes> {
  const { options, context, qps, sendCq } = session;
  const { txDepth, cqModeration, iterations, noPeak } = options;
  const lanes = qps.map((qp, i) => ({
    qp,
    silent: session.request(i, size, false),
    signaled: session.request(i, size, true),
    posted: 0,
    completed: 0,
    /** Messages that each completion on its way stands for. */
    pending: [] as number[],
    sinceSignal: 0,
  }));
  const limit = iterations === 0 ? Number.MAX_SAFE_INTEGER : iterations;
  const ends = new RunEnd(session);
  const posted: number[] = [];
  const completed: { count: number; at: number }[] = [];
  let done = 0;
  const take = (wc: WorkCompletion): void => {
    const lane = lanes[wc.wrId];
    const messages = lane?.pending.shift() ?? 0;
    if (lane !== undefined) lane.completed += messages;
    done += messages;
    completed.push({ count: done, at: context.clock() });
  };
  while (!ends.reached && done < limit * lanes.length) {
    for (const lane of lanes) {
      while (lane.posted < limit && lane.posted - lane.completed < txDepth) {
        lane.posted += 1;
        lane.sinceSignal += 1;
        const asks = lane.sinceSignal >= cqModeration || lane.posted === limit;
        if (!noPeak || posted.length === 0) posted.push(context.clock());
        lane.qp.postSend(asks ? lane.signaled : lane.silent);
        if (!asks) continue;
        lane.pending.push(lane.sinceSignal);
        lane.sinceSignal = 0;
      }
    }
    await drain(session, sendCq, ends, take);
  }
  return { posted, completed };
}

/**
 * Takes all messages of all queue pairs, or those that come before the run ends, or `over` says that no more will come.
 * Receives for them are posted already.
 */
export async function receiveAll(session: PerfSession, over?: Promise<unknown>): Promise<BwTimes> {
  const { options, context, qps, recvCq } = session;
  const limit = options.iterations === 0 ? Number.MAX_SAFE_INTEGER : options.iterations;
  const posted = qps.map(() => Math.min(options.rxDepth, limit));
  const ends = new RunEnd(session, over);
  const completed: { count: number; at: number }[] = [];
  let first: number | undefined;
  let last = 0;
  let done = 0;
  const take = (wc: WorkCompletion): void => {
    last = context.clock();
    first ??= last;
    done += 1;
    const soFar = posted[wc.wrId] ?? limit;
    if (soFar < limit) {
      posted[wc.wrId] = soFar + 1;
      session.postReceive(wc.wrId);
    }
  };
  while (!ends.reached && done < limit * qps.length) await drain(session, recvCq, ends, take);
  completed.push({ count: done, at: last });
  return { posted: [first ?? last], completed };
}

/** Posts what receiveAll expects to be posted. */
export function postReceives(session: PerfSession): void {
  const { rxDepth, iterations } = session.options;
  const count = iterations === 0 ? rxDepth : Math.min(rxDepth, iterations);
  for (let n = 0; n < count; n++) for (const i of session.qps.keys()) session.postReceive(i);
}

/** The result of a run. */
export function reportOf(session: PerfSession, size: number, { posted, completed }: BwTimes): BwReport {
  const { noPeak, gigabits } = session.options;
  const unit = gigabits === true ? GIGABIT_BYTES : MEBIBYTE;
  const last = completed.at(-1);
  const elapsedNs = Math.max(1, (last?.at ?? 0) - (posted[0] ?? 0));
  const iterations = last?.count ?? 0;
  const perSecond = (iterations * 1e9) / elapsedNs;
  const peakNs = noPeak ? Infinity : bestNsPerMessage(posted, completed, elapsedNs);
  return {
    size,
    iterations,
    peak: (size * 1e9) / (peakNs * unit),
    average: (size * perSecond) / unit,
    messageRate: perSecond / 1e6,
  };
}

/** The best stretch, as time for one message. */
function bestNsPerMessage(posted: readonly number[], completed: BwTimes['completed'], worst: number): number {
  let best = worst;
  for (const [i, start] of posted.entries()) {
    for (const { count, at } of completed) {
      if (count > i) best = Math.min(best, (at - start) / (count - i));
    }
  }
  return Math.max(best, 1e-3);
}

/** Takes what has completed, waiting for the first unless the run ends before. */
async function drain(session: PerfSession, cq: RdmaCq, ends: RunEnd, take: (wc: WorkCompletion) => void) {
  const first = await session.next(cq, ends.promise);
  if (first === undefined) return;
  take(first);
  const wc = new WorkCompletion();
  while (cq.poll(wc)) {
    session.demandSuccess(wc);
    take(wc);
  }
}

/** The end of a run: after `durationS`, or when `over` settles. */
class RunEnd {
  reached = false;
  /** Resolves then; absent where only the number of messages counts. */
  readonly promise: Promise<undefined> | undefined;

  constructor({ options: { durationS }, context: { sleep } }: PerfSession, over?: Promise<unknown>) {
    const ends: Promise<unknown>[] = [];
    if (durationS !== undefined) ends.push(sleep(durationS * 1e9));
    if (over !== undefined) ends.push(over);
    if (ends.length === 0) return;
    this.promise = Promise.race(ends).then(() => {
      this.reached = true;
      return undefined;
    });
  }
}

const MEBIBYTE = 0x10_00_00;
const GIGABIT_BYTES = 125_000_000;
