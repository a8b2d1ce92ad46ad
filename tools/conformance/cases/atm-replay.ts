/** Cases of area ATM on atomics that come again: the saved result, and no second execution. */
import { Op } from 'rocev2/packets';
import { compareSwap, describePacket, fetchAdd, type Packet } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { nothingBut, word } from './answers.ts';
import { badKeys, readWord, setWord } from './memory.ts';

export const ATM_REPLAY_CASES: readonly Case[] = [
  {
    rules: ['ATM-05'],
    needs: ['atomics'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect({ maxDestRdAtomic: 4 });
      const add = fetchAdd({ psn: 0, ...word(peer, 0), add: 1n });
      await setWord(peer, 0, 41n);
      await twice(peer, add, 41n);
      await demandWord(peer, 42n, 'FETCH ADD 1 that came three times');
      const swap = compareSwap({ psn: 1, ...word(peer, 0), compare: 42n, swap: 7n });
      await twice(peer, swap, 42n);
      await demandWord(peer, 7n, 'COMPARE SWAP that came three times');
      // The older one is still held.
      await twice(peer, add, 41n);
      await demandWord(peer, 7n, 'an older FETCH ADD that came again');
      await peer.expectNextPsn(2, 3);
    },
  },
  { rules: ['ATM-06'], needs: ['atomics'], run: otherOperands },
  {
    rules: ['ATM-07'],
    needs: ['atomics'],
    async run(t) {
      const peer = await t.connect();
      await setWord(peer, 0, 1n);
      peer.tx(fetchAdd({ psn: 0, ...word(peer, 0), add: 1n }));
      await peer.rx(reply(0, 1n));
      peer.tx(compareSwap({ psn: 0, ...word(peer, 0), compare: 2n, swap: 50n }));
      const answers = await nothingBut(peer, 1, 2, saved(0, 1n));
      await demandWord(peer, 2n, 'a COMPARE SWAP at the PSN of a FETCH ADD');
      demand(
        answers.length === 0,
        'a COMPARE SWAP at the PSN of a FETCH ADD is answered with the value that was saved of it',
      );
    },
  },
  { rules: ['ATM-08'], needs: ['atomics'], run: replayMemory },
];

const reply = (psn: number, original: bigint) => ({ opcode: Op.AtomicAcknowledge, psn, original });

const saved =
  (psn: number, original: bigint) =>
  (packet: Packet): boolean =>
    packet.opcode === Op.AtomicAcknowledge && packet.psn === psn && packet.original === original;

async function twice(peer: TesterPeer, request: Packet, original: bigint): Promise<void> {
  for (let i = 0; i < 3; i++) {
    peer.tx(request);
    await peer.rx(reply(request.psn, original));
  }
}

async function demandWord(peer: TesterPeer, expected: bigint, what: string): Promise<void> {
  const found = await readWord(peer, 0);
  demand(found === expected, `${what}: the word is ${found} and had to be ${expected}`);
}

async function otherOperands(t: Tester): Promise<void> {
  const peer = await t.connect();
  await setWord(peer, 0, 10n);
  await setWord(peer, 8, 30n);
  peer.tx(fetchAdd({ psn: 0, ...word(peer, 0), add: 1n }));
  await peer.rx(reply(0, 10n));
  const here = word(peer, 0);
  const others: readonly Packet[] = [
    fetchAdd({ psn: 0, ...here, add: 2n }),
    fetchAdd({ psn: 0, ...word(peer, 8), add: 1n }),
    fetchAdd({ psn: 0, ...here, rkey: badKeys(here.rkey)[0] ?? 0, add: 1n }),
    fetchAdd({ psn: 0, ...here, va: here.va + 1n, add: 1n }),
  ];
  for (const [i, other] of others.entries()) {
    peer.tx(other);
    const answers = await nothingBut(peer, 1 + i, 2 + i, saved(0, 10n));
    demand(answers.length <= 1, () => `${describePacket(other)} was answered ${answers.length} times`);
    await demandWord(peer, 11n, 'a FETCH ADD that came again with another operand');
    const beside = await peer.memory(8, 8);
    demand(
      beside[0] === 30,
      `a FETCH ADD that came again with another VA was executed: ${beside[0]} is there, and 30 was`,
    );
  }
}

/** The last so many atomics are held: those are repeated rightly, and older ones are not answered. */
async function replayMemory(t: Tester): Promise<void> {
  for (const [limit, count] of [
    [4, 5],
    [4, 11],
    [3, 5],
    [1, 2],
  ] as const) {
    const peer = await t.connect({ maxDestRdAtomic: limit });
    await setWord(peer, 0, 100n);
    const request = (psn: number): Packet => fetchAdd({ psn, ...word(peer, 0), add: 1n });
    for (let psn = 0; psn < count; psn++) {
      peer.tx(request(psn));
      await peer.rx(reply(psn, 100n + BigInt(psn)));
    }
    for (let psn = count - limit; psn < count; psn++) {
      peer.tx(request(psn));
      await peer.rx(reply(psn, 100n + BigInt(psn)));
    }
    const older = count - limit - 1;
    peer.tx(request(older));
    const answers = await nothingBut(peer, count, count + 1, saved(older, 100n + BigInt(older)));
    await demandWord(peer, 100n + BigInt(count), 'after all repetitions');
    demand(answers.length === 0, `with room for ${limit} the ATOMIC before the last ${limit} is answered all the same`);
  }
}
