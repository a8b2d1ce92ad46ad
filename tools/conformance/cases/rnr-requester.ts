/**
 * Cases of area RNR whose device is the requester: how long it waits after an RNR NAK, and how often it tries again
 * (RNR-08 to RNR-15). A wait is measured from the moment the tester sends the NAK: neither link nor tester can make it
 * look shorter.
 */
import { Syndrome } from 'rocev2/packets';
import { rnrNak } from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { Case } from '../tester/case.ts';
import { Inconclusive } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import {
  atMost,
  type PostedWork,
  responder,
  type ScriptedResponder,
  send,
  sendImm,
  timeoutNs,
  waitedAtLeast,
  writeImm,
} from './responder.ts';

export const RNR_REQUESTER_CASES: readonly Case[] = [
  { rules: ['RNR-08'], run: waitsTheLongInterval },
  { rules: ['RNR-09'], run: givesUp },
  { rules: ['RNR-10'], run: triesForEver },
  { rules: ['RNR-11'], run: knowsTheTable },
  { rules: ['RNR-12'], run: refillsTheCounter },
  { rules: ['RNR-13'], run: countsApart },
  { rules: ['RNR-14'], psnSweep: true, run: takesItAsAckOfEarlier },
  { rules: ['RNR-15'], run: ignoresMoreDuringTheWait },
];

/** Intervals of the 32 codes in units of 10 us (ref:wire#7). */
const INTERVALS_10US: readonly number[] = [
  65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
  6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
];
const intervalNs = (code: number): number => (INTERVALS_10US[code] ?? 0) * 10_000;

/** Refuses what was sent, and waits for it to come again: not before the interval, and within a limit. */
async function refuseOnce(
  t: Tester,
  r: ScriptedResponder,
  code: number,
  psn: number,
  ...works: readonly PostedWork[]
): Promise<void> {
  // What a timer sent again before the NAK is there is no retry after it.
  if (!t.dut.virtual) r.peer.drain();
  const from = t.now();
  r.peer.tx(rnrNak(code, { psn, msn: 0 }));
  const [again] = await r.seesWithin(atMost(t, intervalNs(code)), psn, ...works);
  if (again === undefined) throw new Inconclusive('nothing was sent');
  waitedAtLeast(intervalNs(code), from, again.sighting.timeNs, `a retry after an RNR NAK of code ${code}`);
}

async function waitsTheLongInterval(t: Tester): Promise<void> {
  // With the ACK timer out of the way, and with one that ends during the wait; not so short that it ends before the NAK
  // is there.
  for (const timeout of t.dut.virtual ? [21, 14, 10] : [21, 16, 14]) {
    const r = await responder(t, { timeout, retryCnt: 6 });
    await r.post(send(1));
    await r.sees(0, send(1));
    await refuseOnce(t, r, 31, 0, send(1));
    r.peer.ack(0, 1);
    await r.completes([1]);
  }
}

async function givesUp(t: Tester): Promise<void> {
  for (const rnrRetry of [0, 1, 3, 6])
    for (const work of [send(1), writeImm(1)]) {
      const r = await responder(t, { rnrRetry });
      await r.post(work, send(2));
      await r.sees(0, work, send(2));
      for (let i = 0; i < rnrRetry; i++) await refuseOnce(t, r, 1, 0, work, send(2));
      r.peer.tx(rnrNak(1, { psn: 0, msn: 0 }));
      await r.completes([1, WcStatus.RnrRetryExcErr], [2, WcStatus.WrFlushErr]);
      await r.isOver();
    }
}

async function triesForEver(t: Tester): Promise<void> {
  const r = await responder(t, { rnrRetry: 7 });
  await r.post(send(1, 300));
  await r.sees(0, send(1, 300));
  for (let i = 0; i < 100; i++) await refuseOnce(t, r, 1, 0, send(1, 300));
  r.peer.ack(1, 1);
  await r.completes([1]);
}

async function knowsTheTable(t: Tester): Promise<void> {
  const codes = t.dut.virtual ? INTERVALS_10US.map((_, code) => code) : [1, 5, 12, 20, 25, 28, 0];
  if (!t.dut.virtual) t.note(`codes ${codes.join(', ')}`);
  for (const code of codes) {
    const r = await responder(t);
    await r.post(sendImm(1, 300));
    await r.sees(0, sendImm(1, 300));
    await refuseOnce(t, r, code, 0, sendImm(1, 300));
    r.peer.ack(1, 1);
    await r.completes([1]);
  }
}

async function refillsTheCounter(t: Tester): Promise<void> {
  const r = await responder(t, { rnrRetry: 2 });
  const works = [send(1), send(2), send(3)];
  await r.post(...works);
  await r.sees(0, ...works);
  for (const [i] of works.entries()) {
    const open = works.slice(i);
    for (let n = 0; n < 2; n++) await refuseOnce(t, r, 1, i, ...open);
    r.peer.ack(i, i + 1);
    await r.completes([i + 1]);
  }
  await r.undisturbed();
}

async function countsApart(t: Tester): Promise<void> {
  const code = 16;
  const r = await responder(t, { timeout: code, retryCnt: 2, rnrRetry: 2 });
  await r.post(send(1));
  await r.sees(0, send(1));
  const timedOut = () => r.seesWithin(atMost(t, timeoutNs(code)), 0, send(1));
  await refuseOnce(t, r, 1, 0, send(1));
  await timedOut();
  await refuseOnce(t, r, 1, 0, send(1));
  await timedOut();
  r.peer.ack(0, 1);
  await r.completes([1]);
  // And the other way round: sequence NAKs take nothing from RNR retries.
  const other = await responder(t, { retryCnt: 2, rnrRetry: 1 });
  await other.post(send(1, 700));
  await other.sees(0, send(1, 700));
  other.peer.nak(Syndrome.NakSequence, 0, 0);
  await other.sees(0, send(1, 700));
  await refuseOnce(t, other, 1, 0, send(1, 700));
  other.peer.ack(2, 1);
  await other.completes([1]);
}

async function takesItAsAckOfEarlier(t: Tester): Promise<void> {
  const r = await responder(t);
  const works = [send(1, 300), send(2), send(3)];
  await r.post(...works);
  await r.sees(0, ...works);
  await refuseOnce(t, r, 1, 2, ...works.slice(1));
  await r.completes([1]);
  await r.undisturbed();
  r.peer.ack(3, 3);
  await r.completes([2], [3]);
}

async function ignoresMoreDuringTheWait(t: Tester): Promise<void> {
  const code = 26;
  const r = await responder(t, { rnrRetry: 1 });
  await r.post(send(1));
  await r.sees(0, send(1));
  const from = t.now();
  r.peer.tx(rnrNak(code, { psn: 0, msn: 0 }));
  for (let i = 0; i < 3; i++) {
    await t.sleep(1e6);
    r.peer.tx(rnrNak(code, { psn: 0, msn: 0 }));
  }
  await t.sleep(t.dut.pollNs);
  await r.completesNothing();
  if (t.now() - from >= intervalNs(code)) throw new Inconclusive('the tester was too slow: the wait was over');
  const [again] = await r.seesWithin(atMost(t, intervalNs(code)), 0, send(1));
  if (again === undefined) throw new Inconclusive('nothing was sent');
  waitedAtLeast(intervalNs(code), from, again.sighting.timeNs, 'the retry');
  await r.completesNothing();
  r.peer.ack(0, 1);
  await r.completes([1]);
}
