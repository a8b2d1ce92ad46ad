/**
 * One message at a time: there and back for SEND and WRITE, a round trip of their own for READ and atomics.
 *
 * Owns the loops of a latency test. Resolves with the times at which messages were posted. Never prints.
 * Follows perftest_resources.c#run_iter_lat_write, #run_iter_lat_send, #run_iter_lat. A WRITE tells nobody that it came: the
 * last byte of the message counts up, and the other side watches it. With WRITE the server begins, with SEND the client.
 */
import { QpState, RoceError } from '../../src/index.ts';
import type { PerfSession } from './session.ts';

/** Runs the test that the options ask for. */
export function measureLatency(session: PerfSession, size: number): Promise<number[]> {
  if (session.options.verb === 'write') return pingByWrite(session, size);
  return session.options.verb === 'send' ? pingBySend(session, size) : requestByRequest(session, size);
}

async function pingByWrite(session: PerfSession, size: number): Promise<number[]> {
  const { options, context, region, qps, sendCq } = session;
  const [qp] = qps;
  const request = session.request(0, size, true);
  const sendAt = session.sendOffset(0) + size - 1;
  const watchAt = session.receiveOffset(0) + size - 1;
  const run = new Run(session);
  const { posted } = run;
  let received = 0;
  while (run.goesOn(posted.length) || run.goesOn(received)) {
    const begins = options.isServer && posted.length === 0;
    if (run.goesOn(received) && !begins) {
      received += 1;
      const expected = received & 0xff;
      while (region.bytes[watchAt] !== expected && !run.over) {
        if (qp?.state === QpState.Error) session.demandSuccess(await session.next(sendCq));
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

async function pingBySend(session: PerfSession, size: number): Promise<number[]> {
  const { options, context, qps, sendCq, recvCq } = session;
  const [qp] = qps;
  const request = session.request(0, size, true);
  const run = new Run(session);
  const { posted } = run;
  let receives = Math.min(options.rxDepth, run.limit);
  let received = 0;
  while (run.goesOn(posted.length) || run.goesOn(received)) {
    const begins = !options.isServer && posted.length === 0;
    if (run.goesOn(received) && !begins) {
      const wc = await run.orSooner(session.next(recvCq));
      if (wc === undefined) break;
      received += 1;
      if (receives < run.limit) {
        receives += 1;
        session.postReceive(0, size);
      }
    }
    if (!run.goesOn(posted.length)) continue;
    posted.push(context.clock());
    qp?.postSend(request);
    if ((await run.orSooner(session.next(sendCq))) === undefined) break;
  }
  return posted;
}

/** READ and atomics: only the client works. */
async function requestByRequest(session: PerfSession, size: number): Promise<number[]> {
  const { context, qps, sendCq } = session;
  const [qp] = qps;
  const request = session.request(0, size, true);
  const run = new Run(session);
  const { posted } = run;
  while (run.goesOn(posted.length)) {
    posted.push(context.clock());
    qp?.postSend(request);
    await session.next(sendCq);
  }
  return posted;
}

/** How long a test goes on: a number of messages, or a time. */
class Run {
  readonly posted: number[] = [];
  readonly limit: number;
  over = false;
  readonly #signal: AbortSignal;
  readonly #end: Promise<undefined> | undefined;

  constructor({ options, context }: PerfSession) {
    const { iterations, durationS } = options;
    this.limit = iterations === 0 ? Number.MAX_SAFE_INTEGER : iterations;
    this.#signal = context.signal;
    if (durationS === undefined) return;
    this.#end = context.sleep(durationS * 1e9).then(() => {
      this.over = true;
      return undefined;
    });
  }

  goesOn(count: number): boolean {
    if (this.#signal.aborted) throw new RoceError('ERR_ROCE_CLOSED', 'interrupted');
    return !this.over && count < this.limit;
  }

  /** `promise`, or undefined when the time is over first. */
  orSooner<T>(promise: Promise<T>): Promise<T | undefined> {
    return this.#end === undefined ? promise : Promise.race([promise, this.#end]);
  }
}
