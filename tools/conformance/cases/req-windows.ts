/** Cases of area REQ: long streams, what is sent after a loss, and how much may be open (REQ-27 to REQ-30). */
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { takeStream } from './lossy-responder.ts';
import {
  add,
  atMost,
  LONG_BYTES,
  NO_TIMER,
  type PostedWork,
  psnsOf,
  read,
  responder,
  type ScriptedResponder,
  send,
  timeoutNs,
  write,
} from './responder.ts';

export const REQ_WINDOW_CASES: readonly Case[] = [
  { rules: ['REQ-27'], psnSweep: true, run: goesBack },
  { rules: ['REQ-28'], run: keepsOrder },
  { rules: ['REQ-29'], run: limitsReads },
  { rules: ['REQ-30'], run: fences },
];

const CODE = 14;

/** A stream of 100 packets, as one message or as messages of one packet. */
const STREAMS: readonly (readonly PostedWork[])[] = [
  [write(8, 100 * 256)],
  [send(8, 100 * 256)],
  Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? send(i + 1) : write(i + 1, 3 * 256))),
];

/** More packets than most devices leave unacknowledged. */
const LONG_STREAM: readonly PostedWork[] = Array.from({ length: 50 }, (_, i) => write(i + 1, 7 * 256));

/**
 * Posts a stream and takes it, losing the given packets; all of it completes. Returns the PSNs in the order of the
 * wire.
 */
async function streamed(t: Tester, works: readonly PostedWork[], lost: readonly number[]): Promise<readonly number[]> {
  // Only the loss of the last packet takes a timer: nothing behind it can draw a NAK.
  const r = await responder(t, { timeout: lost.includes(99) ? CODE : NO_TIMER, retryCnt: 6 }, LONG_BYTES);
  const ends: number[] = [];
  for (const work of works) ends.push((ends.at(-1) ?? 0) + psnsOf(work));
  const packets = r.packetsOf(0, ...works);
  await r.post(...works);
  const withinNs = atMost(t, timeoutNs(CODE));
  const seen = await takeStream(r, { packets, lost, withinNs }, (taken) => ends.filter((end) => end <= taken).length);
  demand(
    seen.expected === packets.length,
    `of ${packets.length} packets, those from ${seen.expected} on did not come again`,
  );
  await r.completes(...works.map(({ wrId }) => [wrId] as const));
  return seen.order;
}

async function goesBack(t: Tester): Promise<void> {
  for (const works of STREAMS)
    for (const lost of [[0], [50], [99], [10, 11, 60]]) {
      const order = await streamed(t, works, lost);
      let newest = -1;
      let before = -1;
      for (const psn of order) {
        if (psn < 0) continue;
        demand(psn <= before + 1, `after packet ${before} came ${psn}: packets were skipped`);
        before = psn;
        newest = Math.max(newest, psn);
      }
      for (const psn of lost)
        demand(order.filter((one) => one === psn).length > 1, `packet ${psn} was lost and not sent again`);
    }
}

async function keepsOrder(t: Tester): Promise<void> {
  for (const works of [...STREAMS, LONG_STREAM]) {
    const order = await streamed(t, works, []);
    const wrong = order.findIndex((psn, i) => psn !== i);
    demand(wrong < 0, () => `without any fault packet ${order[wrong]} came in the place of ${wrong}`);
  }
  // A gap and its NAK are the only cause there is to go back: one go for one NAK.
  for (const works of STREAMS) {
    const order = await streamed(t, works, [40]);
    let back = 0;
    let naks = 0;
    let before = -1;
    for (const psn of order) {
      if (psn < 0) naks++;
      else {
        if (psn <= before) back++;
        before = psn;
      }
    }
    demand(naks === 1, `a single loss made ${naks} gaps`);
    demand(back === 1, `it went back ${back} times for a single loss`);
  }
}

async function limitsReads(t: Tester): Promise<void> {
  const atomics = t.has('atomics');
  for (const maxRdAtomic of [1, 2, 4]) {
    const r = await responder(t, { maxRdAtomic });
    const works = [1, 2, 3, 4, 5, 6, 7].map((wrId) => (atomics && wrId % 3 === 0 ? add(wrId) : read(wrId, 300)));
    await r.post(...works);
    const at: number[] = [];
    let psn = 0;
    for (const work of works) {
      at.push(psn);
      psn += psnsOf(work);
    }
    let open = 0;
    let next = 0;
    for (const [i, work] of works.entries()) {
      while (next < works.length && open < maxRdAtomic) {
        const [request] = await r.sees(at[next] ?? 0, works[next] ?? work);
        if (request === undefined) throw new Inconclusive('there is no request');
        next++;
        open++;
      }
      // One more than the limit would come before the answer to the sentinel.
      await r.undisturbed();
      answer(r, work, at[i] ?? 0, i + 1);
      open--;
      await r.completes([work.wrId]);
    }
  }
}

/** The answer to a READ or an ATOMIC, without its request at hand. */
function answer(r: ScriptedResponder, work: PostedWork, psn: number, msn: number): void {
  const [request] = r.packetsOf(psn, work);
  if (request?.atomic !== undefined) r.answerAtomic(psn, msn);
  else if (request !== undefined) r.peer.tx(...r.responsesTo(request, msn));
}

async function fences(t: Tester): Promise<void> {
  const atomics = t.has('atomics') ? [add(1)] : [];
  for (const first of [read(1, 700), ...atomics])
    for (const kind of [send, write]) {
      const r = await responder(t);
      const fenced = kind(3, 64, { fence: true });
      await r.post(first, send(2), fenced);
      const [request] = await r.sees(0, first, send(2));
      if (request === undefined) throw new Inconclusive('there is no request');
      await r.undisturbed();
      const psn = psnsOf(first);
      if (first.opcode === 'read') {
        const [one, two, three] = r.responsesTo(request.packet, 1);
        for (const part of [one, two]) {
          if (part !== undefined) r.peer.tx(part);
          await r.undisturbed();
        }
        if (three !== undefined) r.peer.tx(three);
      } else r.answerAtomic(0, 1);
      await r.sees(psn + 1, fenced);
      r.peer.ack(psn + 1, 3);
      await r.completes([1], [2], [3]);
    }
}
