/** REQ-39: progress restarts the ACK timer. */
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { atMost, responder, send, timeoutNs } from './responder.ts';

export const REQ_PROGRESS_CASES: readonly Case[] = [{ rules: ['REQ-39'], needs: ['host-control'], run: restartsTimer }];

async function restartsTimer(t: Tester): Promise<void> {
  const code = 15;
  const interval = timeoutNs(code);
  // Ticks of a kernel are coarse: a tenth is theirs.
  const least = 0.9 * interval;
  const r = await responder(t, { timeout: code, retryCnt: 6 });
  const works = [1, 2, 3, 4, 5, 6].map((wrId) => send(wrId));
  await r.post(...works);
  await r.sees(0, ...works);
  let progressNs = t.now();
  for (let acked = 0; acked < works.length - 1; acked++) {
    await t.sleep(0.6 * interval);
    for (const { packet, sighting } of r.peer.drain()) {
      const passed = sighting.timeNs - progressNs;
      if (passed >= least) throw new Inconclusive('the tester was late with its ACK');
      const ms = (passed / 1e6).toFixed(1);
      demand(
        false,
        `psn+${packet.psn} was sent again ${ms} ms after an ACK, and the interval is ${(interval / 1e6).toFixed(1)} ms`,
      );
    }
    progressNs = t.now();
    r.peer.ack(acked, acked + 1);
    await r.completes([acked + 1]);
  }
  const again = await r.peer.take(atMost(t, interval));
  demand(again !== undefined, 'the last SEND, which is not acknowledged, was not sent again');
  demand(again.packet.psn === works.length - 1, 'what was acknowledged was sent again');
  const passed = again.sighting.timeNs - progressNs;
  demand(passed >= least, `the last SEND was sent again ${(passed / 1e6).toFixed(1)} ms after an ACK`);
  r.peer.ack(works.length - 1, works.length);
  await r.completes([works.length]);
}
