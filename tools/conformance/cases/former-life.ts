/** RSP-PSN-21: what a queue pair that went through RESET still knows of the requests that it answered before. */
import { compareSwap, fetchAdd, pattern, readRequest, sendOnly, writeOnly } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { ALL_ACCESS } from '../tester/connect.ts';
import type { Tester } from '../tester/tester.ts';
import { add, during, holds, isAck, nothingBut, read, target, word } from './answers.ts';
import { attributesOf, MOVES } from './qp-moves.ts';

export const FORMER_LIFE_CASES: readonly Case[] = [
  { rules: ['RSP-PSN-21'], needs: ['host-control'], psnSweep: true, run: forgets },
];

async function forgets(t: Tester): Promise<void> {
  const answered = t.premise('a READ of the former life was answered');
  const atomics = t.has('atomics');
  const peer = await t.connect({ receives: 1 });
  await peer.setMemory(0, pattern(600, 1));
  await peer.setMemory(1024, new Uint8Array(8));
  await peer.orInconclusive('a READ', () => read(peer, 0, 0, 600));
  answered();
  peer.tx(sendOnly({ psn: 3, ackReq: true, payload: pattern(8) }));
  await peer.orInconclusive('a SEND', () => peer.expectAck(3, 2));
  if (atomics) await peer.orInconclusive('a FETCH ADD', () => add(peer, 4, 1024, 5n));
  const next = atomics ? 5 : 4;
  // Up again, and its first PSN is right behind those of the former life: all of them are old now.
  await peer.modify({ state: 'ERR' });
  await peer.modify({ state: 'RESET' });
  const moves = attributesOf(t, peer, next);
  for (const state of MOVES) {
    const access = state === 'INIT' ? { access: ALL_ACCESS } : {};
    await peer.modify({ state, ...moves[state], ...access });
  }
  await peer.setMemory(0, pattern(600, 2));
  peer.drain();
  const ofBefore = [
    readRequest({ psn: 0, ackReq: true, reth: target(peer, 0, 600) }),
    readRequest({ psn: 1, ackReq: true, reth: target(peer, 256, 344) }),
    ...(atomics ? [fetchAdd({ psn: 4, ackReq: true, ...word(peer, 1024), add: 5n })] : []),
    ...(atomics ? [compareSwap({ psn: 4, ackReq: true, ...word(peer, 1024), compare: 5n, swap: 9n })] : []),
  ];
  let msn = 0;
  for (const packet of ofBefore) {
    peer.tx(packet);
    await during('a request of the former life', peer.expectNextPsn(next + msn, msn + 1));
    msn++;
  }
  // Duplicates of SEND and WRITE may be acknowledged, and nothing of them is done.
  for (const packet of [
    sendOnly({ psn: 3, ackReq: true, payload: pattern(8, 9) }),
    writeOnly({ psn: 3, ackReq: true, payload: pattern(8, 9), reth: target(peer, 0, 8) }),
  ]) {
    peer.tx(packet);
    await during('a duplicate of the former life', nothingBut(peer, next + msn, msn + 1, isAck));
    msn++;
  }
  await holds(peer, 0, pattern(600, 2), 'requests of the former life');
  await holds(peer, 1024, Uint8Array.of(atomics ? 5 : 0, 0, 0, 0, 0, 0, 0, 0), 'an ATOMIC of the former life');
}
