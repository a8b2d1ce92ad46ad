/** Cases of area RD on READs that come again: whole, in part, or as something else. */
import { Op } from 'rocev2/packets';
import {
  describePacket,
  type Packet,
  pattern,
  type RethFields,
  readRequest,
  readResponses,
  sendOnly,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { ALL_ACCESS } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { refusedOrDropped, target } from './answers.ts';
import { badKeys, paint, regionBeside } from './memory.ts';
import { readAt, rxResponses } from './reads.ts';

export const RD_REPLAY_CASES: readonly Case[] = [
  {
    rules: ['RD-07'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect({ maxDestRdAtomic: 4 });
      await paint(peer, pattern(1024, 1));
      await readAt(peer, { psn: 0, offset: 0, length: 600 });
      await readAt(peer, { psn: 3, offset: 600, length: 8 });
      await paint(peer, pattern(1024, 2));
      await readAt(peer, { psn: 0, offset: 0, length: 600 });
      await readAt(peer, { psn: 3, offset: 600, length: 8 });
      await paint(peer, pattern(1024, 3));
      await readAt(peer, { psn: 0, offset: 0, length: 600 });
      await peer.expectNextPsn(4, 3);
    },
  },
  {
    rules: ['RD-08'],
    psnSweep: true,
    async run(t) {
      const { peer, data } = await longRead(t);
      for (const k of TAILS) {
        for (const [i, { packet }] of (await tail(peer, data, k)).entries()) {
          const payload = data.slice((k + i) * peer.mtu, (k + i + 1) * peer.mtu);
          const exact = packet.psn === k + i && packet.payload?.every((byte, at) => byte === payload[at]) === true;
          demand(
            exact && packet.payload?.length === payload.length,
            () => `packet ${k + i} of the READ was expected, and ${describePacket(packet)} came`,
          );
        }
      }
      await peer.expectNextPsn(PACKETS, 2);
    },
  },
  {
    rules: ['RD-09'],
    async run(t) {
      const { peer, data } = await longRead(t);
      for (const k of TAILS) {
        const expected = readResponses({ psn: k, msn: 0, data: data.slice(k * peer.mtu), mtu: peer.mtu });
        for (const [i, { packet }] of (await tail(peer, data, k)).entries()) {
          const opcode = expected[i]?.opcode ?? -1;
          demand(
            packet.opcode === opcode,
            () =>
              `of the tail from packet ${k}, ${describePacket({ opcode, psn: k + i })} was expected, and ${describePacket(packet)} came`,
          );
        }
      }
    },
  },
  { rules: ['RD-10'], hazardous: true, run: foreignReplays },
  {
    rules: ['RD-16'],
    async run(t) {
      const peer = await t.connect();
      const data = await paint(peer, pattern(700));
      const again = readRequest({ psn: 1, reth: target(peer, 0, data.length) });
      peer.tx(sendOnly({ psn: 0, payload: pattern(8) }), again);
      await peer.orInconclusive('the READ itself', () => afterEarlier(peer, data));
      for (let i = 0; i < 10; i++) {
        peer.tx(again);
        await rxResponses(peer, 1, data);
      }
      peer.tx(sendOnly({ psn: 4, ackReq: true, payload: pattern(8) }));
      await peer.expectAck(4, 3);
    },
  },
];

const PACKETS = 5;
/** Whole packets that are skipped. */
const TAILS: readonly number[] = [1, 2, 3, 4];

/** A READ of five packets, the last not full, that was answered. */
async function longRead(t: Tester): Promise<{ peer: TesterPeer; data: Uint8Array }> {
  const peer = await t.connect();
  const data = await paint(peer, pattern((PACKETS - 1) * peer.mtu + 10));
  await peer.orInconclusive('the READ itself', () => readAt(peer, { psn: 0, offset: 0, length: data.length }));
  return { peer, data };
}

/** Asks for the tail from packet `k` on, and takes as many packets as it has. */
async function tail(peer: TesterPeer, data: Uint8Array, k: number): Promise<ReceivedPacket[]> {
  const skipped = k * peer.mtu;
  peer.tx(readRequest({ psn: k, reth: target(peer, skipped, data.length - skipped) }));
  const all: ReceivedPacket[] = [];
  for (let psn = k; psn < PACKETS; psn++) {
    const received = await peer.take();
    demand(received !== undefined, `of the tail from packet ${k}, packet ${psn} did not come`);
    all.push(received);
  }
  return all;
}

/** The answer at psn+1, behind an ACK of psn+0 or without one. */
async function afterEarlier(peer: TesterPeer, data: Uint8Array): Promise<void> {
  const [first, ...rest] = readResponses({ psn: 1, msn: 0, data, mtu: peer.mtu });
  const wants = [first, ...rest].map((one) => ({ opcode: one?.opcode ?? 0, psn: one?.psn ?? 0 }));
  const { packet } = await peer.rx([{ opcode: Op.Acknowledge, psn: 0 }, wants[0] ?? {}]);
  await peer.rxAll(packet.opcode === Op.Acknowledge ? wants : wants.slice(1));
}

/** What a READ may turn into when it comes again, and must not be served. */
const foreign: readonly (readonly [string, (original: RethFields, other: number) => RethFields])[] = [
  ['one byte more', (reth) => ({ ...reth, length: reth.length + 1 })],
  ['a packet more', (reth) => ({ ...reth, length: reth.length + 256 })],
  ['a byte behind', (reth) => ({ ...reth, va: reth.va + 1n })],
  ['a byte before', (reth) => ({ ...reth, va: reth.va - 1n })],
  ['a packet behind', (reth) => ({ ...reth, va: reth.va + 256n })],
  ['far away', (reth) => ({ ...reth, va: reth.va + (1n << 40n) })],
  ['with an unknown key', (reth) => ({ ...reth, rkey: badKeys(reth.rkey)[0] ?? 0 })],
  ['with the good key of another region', (reth, other) => ({ ...reth, rkey: other })],
];

async function foreignReplays(t: Tester): Promise<void> {
  for (const [what, change] of foreign) {
    const peer = await t.connect();
    const other = await regionBeside(t, peer, 4096, ALL_ACCESS);
    await paint(peer, pattern(4096));
    const reth = target(peer, 1024, 2 * peer.mtu);
    await peer.orInconclusive('the READ itself', () => readAt(peer, { psn: 0, offset: 1024, length: reth.length }));
    const again: Packet = readRequest({ psn: 0, reth: change(reth, other.rkey), note: what });
    peer.tx(again);
    const outcome = await refusedOrDropped(peer, 2, 2);
    if (outcome === 'refused') t.note(`a READ that comes again ${what} is refused with NAK 0x61, not dropped`);
  }
}
