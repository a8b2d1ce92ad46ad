/**
 * Cases of area RSP-PSN: what a responder makes of a PSN that is expected or ahead. Duplicates are in
 * rsp-psn-duplicates.ts. All run with starting PSNs at every border of the number space.
 */
import { Op } from 'rocev2/packets';
import {
  describePacket,
  fetchAdd,
  type Packet,
  pattern,
  readRequest,
  request,
  sendOnly,
  sendPackets,
  writeOnly,
  writePackets,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { add, holds, isAck, isNak, nothingBut, read, received, target, word } from './answers.ts';
import { CONTINUATIONS } from './opcodes.ts';
import { RSP_PSN_DUPLICATE_CASES } from './rsp-psn-duplicates.ts';

const EXPECTED_CASES: readonly Case[] = [
  {
    rules: ['RSP-PSN-01'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      let psn = 0;
      let msn = 0;
      for (const length of [0, 1, 256, 257, 1000]) {
        const data = pattern(length);
        const { va, rkey } = peer.region;
        for (const packets of [
          sendPackets({ psn, data }),
          writePackets({ psn: psn + count(length), data, va, rkey }),
        ]) {
          // One by one, each asking: every packet takes one PSN, and each is the next expected.
          for (const packet of packets) {
            peer.tx({ ...packet, ackReq: true });
            if (packet === packets.at(-1)) msn++;
            await peer.expectAck(psn++, msn);
          }
        }
      }
      if (t.has('atomics')) {
        for (let i = 0; i < 3; i++, msn++) {
          const before = await add(peer, psn++, 2048, 5n);
          demand(before === BigInt(5 * i), `FETCH ADD ${i} found ${before}`);
        }
      }
      await peer.expectNextPsn(psn, msn + 1);
      peer.tx(sendOnly({ psn: psn + 2, ackReq: true }));
      await peer.expectNak(0x60, psn + 1);
    },
  },
  {
    rules: ['RSP-PSN-02'],
    psnSweep: true,
    async run(t) {
      const lengths = [1, 255, 256, 257, 512, 5 * 256, 5 * 256 + 1];
      const peer = await t.connect();
      let psn = 0;
      for (const [i, length] of lengths.entries()) {
        await read(peer, psn, 0, length);
        psn += count(length);
        await peer.expectNextPsn(psn++, 2 * i + 2);
      }
      for (const length of lengths) {
        const other = await t.connect();
        const next = count(length);
        await read(other, 0, 0, length);
        other.tx(sendOnly({ psn: next + 1, payload: pattern(8), ackReq: true }));
        await other.expectNak(0x60, next);
        await other.expectNextPsn(next, 2);
      }
    },
  },
  {
    rules: ['RSP-PSN-03'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      await read(peer, 0, 0, 0);
      peer.tx(sendOnly({ psn: 1, payload: pattern(8), ackReq: true }));
      await peer.expectAck(1, 2);
      // One behind the other, without waiting for the answer.
      peer.tx(readRequest({ psn: 2, reth: target(peer, 0, 0) }), sendOnly({ psn: 3, ackReq: true }));
      await peer.rx({ opcode: Op.ReadResponseOnly, psn: 2, payload: new Uint8Array(0) });
      await peer.expectAck(3, 4);
      await read(peer, 4, 0, 0);
      peer.tx(sendOnly({ psn: 6, ackReq: true }));
      await peer.expectNak(0x60, 5);
      await peer.expectNextPsn(5, 6);
    },
  },
  {
    rules: ['RSP-PSN-04'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      let psn = 0;
      for (const gap of [1, 2, 100, 0x10_00_00, 0x7f_ff_fe]) {
        for (const packet of requestsAt(t, 0, peer.region)) {
          peer.tx({ ...packet, psn: psn + gap });
          await peer.expectNak(0x60, psn);
          await peer.expectNextPsn(psn, psn + 1);
          psn++;
        }
      }
      await received(t, peer, []);
    },
  },
  {
    rules: ['RSP-PSN-05'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const kinds = requestsAt(t, 0, peer.region);
      for (let i = 1; i <= 101; i++) peer.tx({ ...(kinds[i % kinds.length] ?? sendOnly({ psn: 0 })), psn: i });
      await peer.expectNak(0x60, 0);
      await peer.expectNextPsn(0, 1);
      await holds(peer, 0, new Uint8Array(64), 'packets behind the gap');
    },
  },
  {
    rules: ['RSP-PSN-06'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const [lost, second, third] = sendPackets({ psn: 0, data: pattern(600) });
      if (lost === undefined || second === undefined || third === undefined) return;
      peer.tx(second, third);
      await peer.expectNak(0x60, 0);
      peer.tx(lost, third);
      await peer.expectNak(0x60, 1);
      peer.tx(second, third);
      await peer.expectAck(2, 1);
      peer.tx(sendOnly({ psn: 4, ackReq: true }));
      await peer.expectNak(0x60, 3);
      await peer.expectNextPsn(3, 2);
      await received(t, peer, [{ wrId: 1, data: pattern(600) }]);
    },
  },
  {
    rules: ['RSP-PSN-08'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const data = pattern(64);
      const late = writeOnly({ psn: 1, payload: data, ackReq: true, reth: target(peer, 512, 64) });
      peer.tx(late);
      await peer.expectNak(0x60, 0);
      await holds(peer, 512, new Uint8Array(64), 'a WRITE behind a gap');
      await peer.expectNextPsn(0, 1);
      peer.tx(late);
      await peer.expectAck(1, 2);
      await holds(peer, 512, data, 'the WRITE that was sent again');
      await sendBehindGap(t);
      if (t.has('atomics')) await atomicBehindGap(t);
    },
  },
  {
    rules: ['RSP-PSN-09'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const data = pattern(16);
      const at = (psn: number, payload: Uint8Array): Packet =>
        writeOnly({ psn, payload, ackReq: true, reth: target(peer, 0, payload.length) });
      peer.tx(at(HALF - 1, pattern(16, 2)));
      await peer.expectNak(0x60, 0);
      peer.tx(at(0, data));
      await peer.expectAck(0, 1);
      peer.tx(at(HALF, pattern(16, 3)));
      await peer.expectNak(0x60, 1);
      for (const payload of [pattern(0), pattern(16, 4)]) {
        peer.tx(at(1, payload));
        await peer.expectAck(1, 2);
      }
      peer.tx(at(2 - (HALF - 1), pattern(16, 5)));
      const old = await nothingBut(peer, 2, 3, (packet) => isAck(packet) && packet.psn < 2);
      demand(old.length > 0, 'a duplicate 2^23 - 1 behind was not acknowledged');
      peer.tx(at(3 + HALF, pattern(16, 6)));
      const half = await nothingBut(peer, 3, 4, (packet) => (isAck(packet) || isNak(packet)) && packet.psn <= 3);
      t.note(`a PSN 2^23 away draws ${half.map(describePacket).join(', ') || 'nothing'}`);
      await holds(peer, 0, data, 'the first WRITE, after others with PSNs far away');
    },
  },
  {
    rules: ['RSP-PSN-18'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      peer.tx(writeOnly({ psn: 0, payload: pattern(8), ackReq: true, reth: target(peer, 0, 8) }));
      await peer.expectAck(0, 1);
      let psn = 1;
      for (const opcode of CONTINUATIONS) {
        const out = request(opcode, { psn: psn + 3, payload: pattern(256), ackReq: true, imm: 1, inv: 1 });
        peer.tx(out);
        await peer.expectNak(0x60, psn);
        await peer.expectNextPsn(psn, psn + 1);
        psn++;
        for (const old of [0, psn - 1]) {
          peer.tx({ ...out, psn: old });
          const limit = psn;
          await nothingBut(peer, psn, psn + 1, (packet) => isAck(packet) && packet.psn < limit);
          psn++;
        }
      }
    },
  },
  {
    rules: ['RSP-PSN-19'],
    psnSweep: true,
    async run(t) {
      for (const first of [1, 2, 1000]) {
        const peer = await t.connect();
        peer.tx(sendOnly({ psn: first, payload: pattern(8), ackReq: true }));
        await peer.expectNak(0x60, 0);
        peer.tx(sendOnly({ psn: 0, payload: pattern(8, 2), ackReq: true }));
        await peer.expectAck(0, 1);
        await received(t, peer, [{ wrId: 1, data: pattern(8, 2) }]);
      }
    },
  },
  {
    rules: ['RSP-PSN-20'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect({ receives: 0 });
      peer.tx(sendOnly({ psn: 0, payload: pattern(8), ackReq: true }));
      await peer.expectNak(RNR_NAKS, 0);
      for (const packet of requestsAt(t, 1, peer.region)) peer.tx(packet, { ...packet, psn: 2 });
      const came = await nothingBut(peer, 0, 1, (packet) => packet.syndrome === 0x60 && packet.psn === 0);
      demand(came.length < 2, `${came.length} NAKs came for PSNs behind the one that drew an RNR NAK`);
      if (came.length === 1) t.variation('the packet behind one that drew an RNR NAK draws NAK 0x60');
    },
  },
];

/** A SEND behind a gap takes no receive. */
async function sendBehindGap(t: Tester): Promise<void> {
  const peer = await t.connect();
  peer.tx(sendOnly({ psn: 1, payload: pattern(32, 2), ackReq: true }));
  await peer.expectNak(0x60, 0);
  await received(t, peer, []);
  peer.tx(sendOnly({ psn: 0, payload: pattern(32, 1), ackReq: true }));
  await peer.expectAck(0, 1);
  peer.tx(sendOnly({ psn: 1, payload: pattern(32, 2), ackReq: true }));
  await peer.expectAck(1, 2);
  await received(t, peer, [
    { wrId: 1, data: pattern(32, 1) },
    { wrId: 2, data: pattern(32, 2) },
  ]);
}

/** What FETCH ADD finds counts how often the one before it was executed. */
async function atomicBehindGap(t: Tester): Promise<void> {
  const peer = await t.connect();
  peer.tx(fetchAdd({ psn: 1, ...word(peer, 0), add: 1n, ackReq: true }));
  await peer.expectNak(0x60, 0);
  await peer.expectNextPsn(0, 1);
  const first = await add(peer, 1, 0, 1n);
  const second = await add(peer, 2, 0, 1n);
  demand(
    first === 0n && second === 1n,
    `FETCH ADD of 1 behind a gap, and the same when the gap is filled: ${first}, then ${second} was found`,
  );
}

/** A request of each kind, all good but for their PSN. */
function requestsAt(t: Tester, psn: number, { va, rkey }: { readonly va: bigint; readonly rkey: number }): Packet[] {
  const reth = { va, rkey, length: 64 };
  return [
    sendOnly({ psn, payload: pattern(64), ackReq: true }),
    writeOnly({ psn, payload: pattern(64), ackReq: true, reth }),
    readRequest({ psn, reth, ackReq: true }),
    ...(t.has('atomics') ? [fetchAdd({ psn, va, rkey, add: 1n, ackReq: true })] : []),
  ];
}

/** PSNs of a message. */
const count = (length: number, mtu = 256): number => Math.max(1, Math.ceil(length / mtu));

/** All cases of area RSP-PSN. */
export const RSP_PSN_CASES: readonly Case[] = [...EXPECTED_CASES, ...RSP_PSN_DUPLICATE_CASES];

const HALF = 0x80_00_00;
const RNR_NAKS = Array.from({ length: 32 }, (_, timer) => 0x20 | timer);
