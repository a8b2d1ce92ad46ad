/** Cases of area ATM: what an atomic does to memory, and in which order. Repeated atomics are in atm-replay.ts. */
import { Op } from 'rocev2/packets';
import {
  compareSwap,
  describePacket,
  fetchAdd,
  type Packet,
  pattern,
  readRequest,
  sendOnly,
  writeOnly,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { afterAcks, target, word } from './answers.ts';
import { ATM_REPLAY_CASES } from './atm-replay.ts';
import { readWord, sameBytes, setWord, wordBytes } from './memory.ts';

const ATM_EXECUTION_CASES: readonly Case[] = [
  {
    rules: ['ATM-01'],
    needs: ['atomics'],
    run: (t) =>
      swaps(t, [
        { value: 1n, compare: 1n, swap: 2n },
        { value: 2n ** 64n - 1n, compare: 2n ** 64n - 1n, swap: 0n },
        { value: 0x0123_4567_89ab_cdefn, compare: 0x0123_4567_89ab_cdefn, swap: 0xfedc_ba98_7654_3210n },
      ]),
  },
  {
    rules: ['ATM-02'],
    needs: ['atomics'],
    run: (t) =>
      swaps(t, [
        { value: 1n, compare: 9n, swap: 2n },
        // The halves differ one at a time.
        { value: 0x1_0000_0001n, compare: 0x1_0000_0002n, swap: 2n },
        { value: 0x1_0000_0001n, compare: 0x2_0000_0001n, swap: 2n },
        { value: 0n, compare: 2n ** 63n, swap: 2n },
      ]),
  },
  {
    rules: ['ATM-03'],
    needs: ['atomics'],
    async run(t) {
      const peer = await t.connect();
      let psn = 0;
      for (const start of [0n, 0xff_ff_ff_ffn, 2n ** 64n - 1n]) {
        await setWord(peer, 64, start);
        let value = start;
        for (const add of [0n, 1n, 2n ** 32n, 2n ** 64n - 1n, 2n ** 63n]) {
          peer.tx(fetchAdd({ psn, ...word(peer, 64), add }));
          await replied(peer, psn, value);
          value = BigInt.asUintN(64, value + add);
          await demandWord(peer, 64, value, `after adding ${add}`);
          psn += 1;
        }
      }
    },
  },
  {
    rules: ['ATM-04'],
    needs: ['atomics'],
    async run(t) {
      for (const kind of [fetchOne, swapOne]) {
        for (const off of [1n, 2n, 3n, 4n, 5n, 6n, 7n]) {
          const peer = await t.connect();
          await setWord(peer, 0, 5n);
          await setWord(peer, 8, 6n);
          const { va, rkey } = peer.region;
          peer.tx(kind({ psn: 0, va: va + off, rkey }));
          // One queue pair in ERROR stands for all: waiting for silence takes long.
          if (off === 7n) await peer.expectFatalNak(0x61, 0);
          else await peer.expectNak(0x61, 0);
          await demandWord(peer, 0, 5n, `an ATOMIC at VA + ${off}`);
          await demandWord(peer, 8, 6n, `an ATOMIC at VA + ${off}`);
        }
      }
    },
  },
  { rules: ['ATM-09'], needs: ['atomics'], run: manyAdders },
  {
    rules: ['ATM-10'],
    needs: ['atomics'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      await setWord(peer, 0, 7n);
      for (const [psn, request] of [fetchOne, swapOne].entries()) {
        peer.tx(request({ psn, ...word(peer, 0) }));
        const { packet, sighting } = await peer.rx({ opcode: Op.AtomicAcknowledge, psn });
        const { at } = sighting;
        demand(
          at.icrc - at.bth === 12 + 4 + 8,
          () =>
            `${describePacket(packet)} has ${at.icrc - at.bth} bytes from BTH to ICRC: BTH, AETH and 8 bytes are 24`,
        );
        demand(
          (packet.syndrome ?? 0xff) < 0x20,
          () => `the syndrome of ${describePacket(packet)} is not of the ACK type`,
        );
      }
    },
  },
  {
    rules: ['ATM-11'],
    needs: ['atomics'],
    async run(t) {
      const peer = await t.connect();
      await setWord(peer, 0, 1n);
      peer.tx(
        writeOnly({ psn: 0, payload: wordBytes(5n), reth: target(peer, 0, 8) }),
        fetchAdd({ psn: 1, ...word(peer, 0), add: 1n }),
        sendOnly({ psn: 2, payload: pattern(16) }),
        compareSwap({ psn: 3, ...word(peer, 0), compare: 6n, swap: 9n }),
        writeOnly({ psn: 4, ackReq: true, payload: wordBytes(20n), reth: target(peer, 0, 8) }),
      );
      await replied(peer, 1, 5n);
      await replied(peer, 3, 6n);
      await peer.expectAck(4);
      await demandWord(peer, 0, 20n, 'a WRITE behind the ATOMICs');
    },
  },
  {
    rules: ['ATM-12'],
    needs: ['atomics'],
    async run(t) {
      const peer = await t.connect();
      await setWord(peer, 0, 3n);
      peer.tx(readRequest({ psn: 0, reth: target(peer, 0, 8) }), fetchAdd({ psn: 1, ...word(peer, 0), add: 1n }));
      const old = { opcode: Op.ReadResponseOnly, psn: 0 };
      await peer.rx([
        { ...old, payload: wordBytes(3n) },
        { ...old, payload: wordBytes(4n) },
      ]);
      await replied(peer, 1, 3n);
      await demandWord(peer, 0, 4n, 'the ATOMIC behind the READ');
    },
  },
  { rules: ['ATM-13'], needs: ['host-control', 'atomics'], run: localBuffers },
  { rules: ['ATM-14'], needs: ['atomics'], run: byteOrder },
];

export const ATM_CASES: readonly Case[] = [...ATM_EXECUTION_CASES, ...ATM_REPLAY_CASES];

type At = { readonly psn: number; readonly va: bigint; readonly rkey: number };
const fetchOne = (at: At): Packet => fetchAdd({ ...at, add: 1n });
const swapOne = (at: At): Packet => compareSwap({ ...at, compare: 5n, swap: 1n });

/** The reply to an atomic: what was there before. ACKs of what went before may come first. */
async function replied(peer: TesterPeer, psn: number, original: bigint): Promise<void> {
  const { packet } = await afterAcks(peer, { opcode: Op.AtomicAcknowledge, psn });
  demand(
    packet.original === original,
    () => `the reply at psn+${psn} says that ${packet.original} was there before, and ${original} was`,
  );
}

async function demandWord(peer: TesterPeer, offset: number, expected: bigint, what: string): Promise<void> {
  const found = await readWord(peer, offset);
  demand(found === expected, `${what}: the word is ${found} and had to be ${expected}`);
}

async function swaps(
  t: Tester,
  tries: readonly { readonly value: bigint; readonly compare: bigint; readonly swap: bigint }[],
): Promise<void> {
  const peer = await t.connect();
  for (const [psn, { value, compare, swap }] of tries.entries()) {
    await setWord(peer, 8, value);
    peer.tx(compareSwap({ psn, ...word(peer, 8), compare, swap }));
    await replied(peer, psn, value);
    await demandWord(peer, 8, value === compare ? swap : value, `COMPARE ${compare} SWAP ${swap} of ${value}`);
  }
}

/** Four queue pairs add one to the same word a thousand times each, four at a time. */
async function manyAdders(t: Tester): Promise<void> {
  const first = await t.connect();
  const others = [1, 2, 3].map(() => t.connect({ pd: first.pd, region: first.region }));
  const peers = [first, ...(await Promise.all(others))];
  await setWord(first, 0, 0n);
  const seen = new Set<bigint>();
  for (let psn = 0; psn < ADDITIONS; psn += AT_ONCE) {
    for (let i = psn; i < psn + AT_ONCE; i++)
      for (const peer of peers) peer.tx(fetchAdd({ psn: i, ...word(first, 0), add: 1n }));
    for (const peer of peers) {
      for (let i = psn; i < psn + AT_ONCE; i++) {
        const received = await peer.take();
        if (received === undefined) throw new Inconclusive(`FETCH ADD ${i} of one queue pair was not answered`);
        const { opcode, psn: at, original = 0n } = received.packet;
        demand(
          opcode === Op.AtomicAcknowledge && at === i,
          () => `a reply at psn+${i} was expected, and ${describePacket(received.packet)} came`,
        );
        demand(!seen.has(original), `two ATOMICs found the same value, ${original}`);
        seen.add(original);
      }
    }
  }
  const all = ADDITIONS * peers.length;
  for (let value = 0n; value < all; value++) demand(seen.has(value), `no ATOMIC found the value ${value}`);
  await demandWord(first, 0, BigInt(all), 'all additions');
}

const ADDITIONS = 1000;
/** As many as a queue pair has resources for unless a case says otherwise. */
const AT_ONCE = 4;

/** The device posts atomics whose local buffer is not eight bytes long. */
async function localBuffers(t: Tester): Promise<void> {
  for (const length of [4, 16]) {
    for (const opcode of ['fetch-add', 'cmp-swap'] as const) {
      const peer = await t.connect();
      const mr = t.need(peer.buffers?.mr);
      const operands = { compareAdd: 1n, swap: 2n, remoteAddr: 0x1000n, rkey: 0x1234 };
      try {
        await peer.post({ wrId: 1, opcode, pieces: [{ mr, offset: 0, length }], ...operands });
      } catch (error) {
        if (error instanceof Error && error.name === 'HostControlError') continue;
        throw error;
      }
      const sent = await peer.take(t.dut.quietNs);
      demand(
        sent === undefined,
        () =>
          `an ATOMIC with a buffer of ${length} bytes was sent: ${describePacket(sent?.packet ?? { opcode: 0, psn: 0 })}`,
      );
      const [wc] = await peer.sendCompletions(1);
      demand(wc?.status !== 0, `an ATOMIC with a buffer of ${length} bytes was never sent and completed with success`);
    }
  }
}

/** Operands by their bytes: big-endian on the wire, as the host has words in memory. */
async function byteOrder(t: Tester): Promise<void> {
  const peer = await t.connect();
  const value = 0x01_02_03_04_05_06_07_08n;
  const other = 0xf1_e2_d3_c4_b5_a6_97_88n;
  await peer.setMemory(0, new Uint8Array(8));
  peer.tx(fetchAdd({ psn: 0, ...word(peer, 0), add: value }));
  await replied(peer, 0, 0n);
  const order = await orderOf(peer, 1, value);
  if (order === 'big') t.note('words are big-endian in the memory of the device');
  const inMemory = (v: bigint) => (order === 'big' ? wordBytes(v).reverse() : wordBytes(v));
  peer.tx(compareSwap({ psn: 2, ...word(peer, 0), compare: value, swap: other }));
  await replied(peer, 2, value);
  peer.tx(readRequest({ psn: 3, reth: target(peer, 0, 8) }));
  await peer.rx({ opcode: Op.ReadResponseOnly, psn: 3, payload: inMemory(other) });
  peer.tx(writeOnly({ psn: 4, payload: inMemory(value + 1n), reth: target(peer, 0, 8) }));
  peer.tx(fetchAdd({ psn: 5, ...word(peer, 0), add: 0n }));
  await replied(peer, 5, value + 1n);
}

async function orderOf(peer: TesterPeer, psn: number, value: bigint): Promise<'little' | 'big'> {
  peer.tx(readRequest({ psn, reth: target(peer, 0, 8) }));
  const { packet } = await peer.rx({ opcode: Op.ReadResponseOnly, psn });
  const bytes = packet.payload ?? new Uint8Array(0);
  if (sameBytes(bytes, wordBytes(value))) return 'little';
  demand(
    sameBytes(bytes, wordBytes(value).reverse()),
    () => `${value.toString(16)} was added to 0, and ${describePacket(packet)} shows it`,
  );
  return 'big';
}
