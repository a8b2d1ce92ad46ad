/** REQ-31: answers that do not fit the request at their PSN. */

import { readFirst, readLast, readOnly } from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { HostCompletion } from '../host-control/host-control.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { add, type PostedWork, read, responder, type ScriptedResponder, send, write } from './responder.ts';

/** Work, an answer that is none of it, and how that is called. */
type WrongAnswer = readonly [PostedWork, string, (r: ScriptedResponder) => void];

export async function refusesWrongAnswers(t: Tester): Promise<void> {
  const data = new Uint8Array(64);
  const responseOnly = (length: number) => (r: ScriptedResponder) =>
    r.peer.tx(readOnly({ psn: 0, msn: 1, payload: data.slice(0, length) }));
  const wrong: readonly WrongAnswer[] = [
    [read(1, 64), 'an ATOMIC ACKNOWLEDGE', (r) => r.answerAtomic(0, 1)],
    [send(1), 'a READ RESPONSE', responseOnly(64)],
    [write(1), 'a READ RESPONSE', responseOnly(64)],
    [send(1), 'an ATOMIC ACKNOWLEDGE', (r) => r.answerAtomic(0, 1)],
    [add(1), 'a READ RESPONSE', responseOnly(64)],
    [read(1, 60), 'a READ RESPONSE of 64 bytes', responseOnly(64)],
    [read(1, 64), 'a READ RESPONSE of 60 bytes', responseOnly(60)],
    [read(1, 64), 'a READ RESPONSE FIRST', (r) => r.peer.tx(readFirst({ psn: 0, msn: 1, payload: data }))],
    [
      read(1, 600),
      'a READ RESPONSE LAST where more has to come',
      (r) => r.peer.tx(readLast({ psn: 0, msn: 1, payload: new Uint8Array(r.peer.mtu) })),
    ],
  ];
  const atomics = t.has('atomics');
  const bad: string[] = [];
  for (const [work, name, reply] of wrong.filter(([{ opcode }]) => opcode !== 'fetch-add' || atomics)) {
    const r = await responder(t);
    await r.post(work);
    await r.sees(0, work);
    reply(r);
    const what = `a ${work.opcode} of ${work.length} bytes that was answered with ${name}`;
    const [completion] = await completions(t, r);
    if (completion !== undefined) r.peer.isSent(completion);
    if (completion === undefined) bad.push(`${what} did not complete`);
    else if (completion.status === WcStatus.Success) bad.push(`${what} completed with success`);
    else {
      t.note(`${what}: status ${completion.status}`);
      await r.peer.expectState('ERR');
    }
  }
  demand(bad.length === 0, () => bad.join('; '));
}

/** What completes while the device is patient; none may. */
async function completions(t: Tester, r: ScriptedResponder): Promise<readonly HostCompletion[]> {
  const deadline = t.now() + t.dut.patienceNs;
  for (;;) {
    const found = await t.hostControl.call('cq.poll', { cq: r.peer.sendCq, max: 1 });
    if (found.completions.length > 0 || t.now() >= deadline) return found.completions;
    await t.sleep(t.dut.pollNs);
  }
}
