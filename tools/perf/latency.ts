/**
 * One message at a time: there and back for SEND and WRITE, a round trip of their own for READ and atomics.
 *
 * Owns the loops of a latency test. Resolves with the times at which messages were posted. Never prints. Follows
 * perftest_resources.c#run_iter_lat_write, #run_iter_lat_send, #run_iter_lat. A WRITE completes nothing at its target:
 * the last byte of the message counts up, and the target polls it. With WRITE the server begins, with SEND the client.
 */

import { RoceError } from 'rocev2/packets';
import { QpState } from 'rocev2/transport';
import type { PerfContext, PerfSession } from './session.ts';

/** Runs the test that the options select. */
export function measureLatency(session: PerfSession, size: number): Promise<number[]> {
  const { verb } = session.options;
  const run = new Run(session);
  const test = verb === 'write' ? pingByWrite : verb === 'send' ? pingBySend : requestByRequest;
  return test(session, size, run).finally(() => run.end());
}

async function pingByWrite(session: PerfSession, size: number, run: Run): Promise<number[]> {
  const { options, context, region, qps, sendCq } = session;
  const [qp] = qps;
  const request = session.request(0, size, true);
  const sendAt = session.sendOffset(0) + size - 1;
  const watchAt = session.receiveOffset(0) + size - 1;
  const { posted } = run;
  let received = 0;
  while (run.goesOn(posted.length) || run.goesOn(received)) {
    const begins = options.isServer && posted.length === 0;
    if (run.goesOn(received) && !begins) {
      received += 1;
      const expected = received & 0xff;
      while (region.bytes[watchAt] !== expected && run.goesOn(received - 1)) {
        if (qp?.state === QpState.Error) await session.next(sendCq);
        await context.turn();
      }
    }
    if (run.over || !run.goesOn(posted.length)) continue;
    posted.push(context.clock());
    region.bytes[sendAt] = posted.length & 0xff;
    qp?.postSend(request);
    await session.next(sendCq);
  }
  return posted;
}

async function pingBySend(session: PerfSession, size: number, run: Run): Promise<number[]> {
  const { options, context, qps, sendCq, recvCq } = session;
  const [qp] = qps;
  const request = session.request(0, size, true);
  const { posted } = run;
  let receives = Math.min(options.rxDepth, run.limit);
  let received = 0;
  while (run.goesOn(posted.length) || run.goesOn(received)) {
    const begins = !options.isServer && posted.length === 0;
    if (run.goesOn(received) && !begins) {
      if ((await session.next(recvCq, run.promise)) === undefined) break;
      received += 1;
      if (receives < run.limit) {
        receives += 1;
        session.postReceive(0);
      }
    }
    if (!run.goesOn(posted.length)) continue;
    // A stock program that sleeps for events misses one when our answer overtakes the ACK of what it answers.
    if (options.events === true) await context.turn();
    posted.push(context.clock());
    qp?.postSend(request);
    if ((await session.next(sendCq, run.promise)) === undefined) break;
  }
  return posted;
}

/** READ and atomics: only the client works. */
async function requestByRequest(session: PerfSession, size: number, run: Run): Promise<number[]> {
  const { context, qps, sendCq } = session;
  const [qp] = qps;
  const request = session.request(0, size, true);
  const { posted } = run;
  while (run.goesOn(posted.length)) {
    posted.push(context.clock());
    qp?.postSend(request);
    await session.next(sendCq);
  }
  return posted;
}

/** How long a test goes on: a number of messages, or a time; and no longer than a lost message lets it. */
class Run {
  readonly posted: number[] = [];
  readonly limit: number;
  over = false;
  /** Resolves when the time is over, rejects when a message was lost; absent where neither can be. */
  readonly promise: Promise<undefined> | undefined;
  readonly #context: PerfContext;
  #lost: RoceError | undefined;

  constructor({ options, context }: PerfSession) {
    const { iterations, durationS, service } = options;
    this.limit = iterations === 0 ? Number.MAX_SAFE_INTEGER : iterations;
    this.#context = context;
    const ends: Promise<undefined>[] = [];
    if (durationS !== undefined) ends.push(this.#after(durationS * 1e9));
    if (service !== 'RC') ends.push(this.#watch());
    if (ends.length === 0) return;
    this.promise = Promise.race(ends);
    this.promise.catch(() => undefined);
  }

  /** Throws when no message can come any more. */
  goesOn(count: number): boolean {
    if (this.#context.signal.aborted) throw new RoceError('ERR_ROCE_CLOSED', 'interrupted');
    if (this.#lost !== undefined) throw this.#lost;
    return !this.over && count < this.limit;
  }

  end(): void {
    this.over = true;
  }

  async #after(ns: number): Promise<undefined> {
    await this.#context.sleep(ns);
    this.over = true;
  }

  /** UC and UD have no retransmission: after one lost message both sides would wait infinitely. */
  async #watch(): Promise<undefined> {
    let seen = -1;
    while (!this.over && seen !== this.posted.length) {
      seen = this.posted.length;
      await this.#context.sleep(PATIENCE_NS);
    }
    if (this.over) return;
    const seconds = PATIENCE_NS / 1e9;
    this.#lost = new RoceError('ERR_ROCE_TIMEOUT', `no message for ${seconds} s: one was lost, and ${LOSSY}`);
    throw this.#lost;
  }
}

const PATIENCE_NS = 10e9;
const LOSSY = 'UC and UD repeat none';
