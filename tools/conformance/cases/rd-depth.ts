/** RD-19 to RD-21: max_dest_rd_atomic, what it makes a responder hold and refuse, and 0. */
import { Op } from 'rocev2/packets';
import { compareSwap, describePacket, fetchAdd, type Packet, pattern, readRequest } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { add, during, holds, read, readAnswer, target, word } from './answers.ts';

export const RD_DEPTH_CASES: readonly Case[] = [
  { rules: ['RD-19'], psnSweep: true, run: holdsTheLast },
  { rules: ['RD-20'], needs: ['host-control'], run: noneAtAll },
  // Only there is it certain that the first READs are in progress when the last one comes.
  { rules: ['RD-21'], needs: ['host-control', 'virtual'], run: refusesOneMore },
];

async function holdsTheLast(t: Tester): Promise<void> {
  for (const depth of [1, 2, 4, 8]) {
    const peer = await t.connect({ maxDestRdAtomic: depth });
    await peer.setMemory(0, pattern(2048));
    const lengths = Array.from({ length: depth }, (_, i) => (i % 2 === 0 ? 600 : 8));
    const at: number[] = [];
    let psn = 0;
    // Others before them, which are not to be held any more.
    for (let i = 0; i < depth; i++) await read(peer, psn++, 0, 8);
    const first = psn;
    for (const length of lengths) {
      at.push(psn);
      psn += Math.ceil(length / peer.mtu);
    }
    const requests = lengths.map((length, i) => readRequest({ psn: at[i] ?? first, reth: target(peer, i, length) }));
    peer.tx(...requests);
    await peer.orInconclusive('READs in a row', () => answers(peer, requests));
    for (const round of ['once', 'twice'])
      for (const request of requests) {
        peer.tx(request);
        await during(`one of the last ${depth}, repeated ${round}`, answers(peer, [request]));
      }
    await peer.expectNextPsn(psn, 2 * depth + 1);
  }
}

async function answers(peer: TesterPeer, requests: readonly Packet[]): Promise<void> {
  for (const { psn, reth } of requests) {
    const length = reth?.length ?? 0;
    const from = Number((reth?.va ?? 0n) - peer.region.va);
    const bytes = await readAnswer(peer, psn, length);
    const wanted = pattern(2048);
    demand(
      bytes.every((byte, i) => byte === wanted[from + i]),
      `a READ of ${length} bytes brought other bytes than there are`,
    );
  }
}

/** READs so long that none has ended when the next one comes. */
async function refusesOneMore(t: Tester): Promise<void> {
  const length = 1024 * 256;
  for (const depth of [1, 2, 4]) {
    const peer = await t.connect({ maxDestRdAtomic: depth, regionBytes: length });
    const each = length / peer.mtu;
    peer.tx(
      ...Array.from({ length: depth + 1 }, (_, i) => readRequest({ psn: i * each, reth: target(peer, 0, length) })),
    );
    for (let psn = 0; ; psn++) {
      const { packet } = await peer.rx([{ psn }, { opcode: Op.Acknowledge, syndrome: 0x61 }]);
      demand(
        packet.opcode === Op.Acknowledge || psn < depth * each,
        `${depth + 1} READs at once were served, with max_dest_rd_atomic ${depth}`,
      );
      if (packet.opcode !== Op.Acknowledge) continue;
      demand(packet.psn === depth * each, () => `one READ too many is refused with ${describePacket(packet)}`);
      break;
    }
    await peer.expectSilence();
  }
}

async function noneAtAll(t: Tester): Promise<void> {
  const requests: readonly ((peer: TesterPeer) => Packet)[] = [
    (peer) => readRequest({ psn: 0, reth: target(peer, 0, 8) }),
    ...(t.has('atomics')
      ? [
          (peer: TesterPeer) => fetchAdd({ psn: 0, ...word(peer, 0), add: 1n }),
          (peer: TesterPeer) => compareSwap({ psn: 0, ...word(peer, 0), compare: 0n, swap: 1n }),
        ]
      : []),
  ];
  for (const make of requests) {
    const peer = await t.connect({ maxDestRdAtomic: 0 });
    peer.tx(make(peer));
    await peer.expectFatalNak(0x61, 0);
    await holds(peer, 0, new Uint8Array(8), 'a request beyond the limit');
  }
  const peer = await t.connect({ maxDestRdAtomic: 1 });
  await peer.orInconclusive('a READ with the limit 1', () => read(peer, 0, 0, 8));
  if (t.has('atomics')) await peer.orInconclusive('a FETCH ADD with the limit 1', () => add(peer, 1, 0, 1n));
}
