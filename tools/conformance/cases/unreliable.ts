/**
 * What a responder did that never answers: messages that have arrived or not, and the sentinel of a service without
 * ACKs.
 */

import { pattern, sendOnly, uc, writeOnly } from 'rocev2/packets/kit';
import type { HostCompletion } from '../host-control/host-control.ts';
import type { Reception } from '../tester/completion.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { RECEIVE_BYTES, target } from './answers.ts';

/**
 * The sentinel of UC: a good WRITE with bytes that nothing else has, awaited in memory, so that all before it has been
 * looked at.
 */
export async function stored(t: Tester, peer: TesterPeer, psn: number): Promise<void> {
  const offset = peer.region.length - 64;
  const mark = pattern(16, 0x100 + (psn & 0xff_ff) + 1);
  peer.tx(uc(writeOnly({ psn, payload: mark, reth: target(peer, offset, 16), note: 'sentinel' })));
  const deadline = t.now() + t.dut.patienceNs;
  for (;;) {
    const found = await peer.memory(offset, 16);
    if (found.every((byte, i) => byte === mark[i])) return;
    demand(t.now() < deadline, 'a good WRITE behind what was sent was not stored');
    await t.sleep(t.dut.pollNs);
  }
}

/** These receives complete next, with these bytes, and no others. */
export async function delivered(
  t: Tester,
  peer: TesterPeer,
  wanted: readonly { readonly wrId: number; readonly data: Uint8Array }[],
): Promise<void> {
  const done = wanted.length === 0 ? [] : await peer.recvCompletions(wanted.length);
  await none(t, peer);
  for (const [i, { wrId, data }] of wanted.entries()) {
    peer.isReceived(done[i], { wrId, byteLen: data.length });
    const found = await t.memory(t.need(peer.buffers), (wrId - 1) * RECEIVE_BYTES, data.length);
    demand(
      found.every((byte, k) => byte === data[k]),
      `receive ${wrId} does not hold what was sent`,
    );
  }
}

/**
 * What was sent before is not delivered, and a good message is: the first behind a broken one, which UC-03 and UC-05
 * check, or one of the next. Returns the PSN behind them.
 */
export async function recovers(t: Tester, peer: TesterPeer, psn: number, wrId: number): Promise<number> {
  for (let tried = 0; tried < TRIES; tried++) {
    peer.tx(uc(sendOnly({ psn: psn + tried, payload: pattern(16, 40 + tried) })));
    const done = await arrival(t, peer, tried === TRIES - 1 ? t.dut.patienceNs : t.dut.quietNs);
    if (done === undefined) continue;
    peer.isReceived(done, { wrId, byteLen: 16 });
    await none(t, peer);
    if (tried > 0) t.note(`behind a broken message ${tried} good ones were lost as well`);
    return psn + tried + 1;
  }
  demand(false, `after a broken message ${TRIES} good ones were sent, and none was delivered`);
}

/** The next receive that completes, waited for. */
export async function arrival(t: Tester, peer: TesterPeer, withinNs: number): Promise<HostCompletion | undefined> {
  for (const deadline = t.now() + withinNs; ; await t.sleep(t.dut.pollNs)) {
    const [done] = (await t.hostControl.call('cq.poll', { cq: peer.recvCq, max: 1 })).completions;
    if (done !== undefined || t.now() >= deadline) return done;
  }
}

/** Nothing more has completed. */
export async function none(t: Tester, peer: TesterPeer): Promise<void> {
  const { completions } = await t.hostControl.call('cq.poll', { cq: peer.recvCq, max: 100 });
  const words = completions.map(({ wrId, status, byteLen }) => `${wrId} with status ${status}, ${byteLen} bytes`);
  demand(words.length === 0, () => `a message was delivered that should not have been: receive ${words.join(', ')}`);
}

/** One receive completes next, and no other. */
export async function completesWith(t: Tester, peer: TesterPeer, wanted: Reception): Promise<void> {
  await peer.receives(wanted);
  await none(t, peer);
}

/** Good messages behind a broken one. */
const TRIES = 3;
