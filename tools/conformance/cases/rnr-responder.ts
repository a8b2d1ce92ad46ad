/**
 * Cases of area RNR where the device is the responder: what a message draws that finds no receive, and what draws
 * nothing of the kind.
 */
import { Op } from 'rocev2/packets';
import {
  datagram,
  describePacket,
  type Packet,
  pattern,
  readRequest,
  sendFirst,
  sendLast,
  sendOnly,
  sendOnlyImm,
  sendOnlyInv,
  uc,
  writeFirst,
  writeLastImm,
  writeMiddle,
  writeOnly,
  writeOnlyImm,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { DUT_QKEY } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { target, wordAnswer, wordRequest } from './answers.ts';
import { badKeys, demandMemory, paint, sameBytes, setWord, wordBytes } from './memory.ts';

export const RNR_RESPONDER_CASES: readonly Case[] = [
  {
    rules: ['RNR-01'],
    async run(t) {
      for (const minRnrTimer of [0, 1, 5, 12, 14, 25, 31]) {
        const peer = await t.connect({ receives: 0, minRnrTimer });
        const sends: readonly Packet[] = [
          sendOnly({ psn: 0, ackReq: true, payload: pattern(8) }),
          sendOnly({ psn: 0, ackReq: true }),
          sendFirst({ psn: 0, payload: pattern(peer.mtu) }),
          sendOnlyImm({ psn: 0, ackReq: true, payload: pattern(8), imm: 1 }),
          sendOnlyInv({ psn: 0, ackReq: true, payload: pattern(8), inv: 0x1234 }),
        ];
        for (const send of sends) {
          peer.tx(send);
          await peer.expectNak(0x20 | minRnrTimer, 0);
        }
        await peer.expectNextPsn(0, 1);
      }
    },
  },
  {
    rules: ['RNR-02'],
    async run(t) {
      for (const minRnrTimer of [1, 31]) {
        const peer = await t.connect({ receives: 0, minRnrTimer });
        const reth = target(peer, 0, 2 * peer.mtu);
        const full = pattern(peer.mtu);
        peer.tx(writeOnlyImm({ psn: 0, ackReq: true, payload: pattern(8), reth: target(peer, 0, 8), imm: 1 }));
        await peer.expectNak(0x20 | minRnrTimer, 0);
        peer.tx(writeOnlyImm({ psn: 0, ackReq: true, reth: target(peer, 0, 0), imm: 1 }));
        await peer.expectNak(0x20 | minRnrTimer, 0);
        peer.tx(
          writeFirst({ psn: 0, payload: full, reth: { ...reth, length: 3 * peer.mtu } }),
          writeMiddle({ psn: 1, ackReq: true, payload: full }),
        );
        await peer.expectAck(1, 0);
        peer.tx(writeLastImm({ psn: 2, ackReq: true, payload: full, imm: 2 }));
        await peer.expectNak(0x20 | minRnrTimer, 2);
      }
    },
  },
  {
    rules: ['RNR-03'],
    async run(t) {
      const peer = await t.connect({ receives: 0 });
      await setWord(peer, 0, 4n);
      peer.tx(writeOnly({ psn: 0, ackReq: true, payload: pattern(16), reth: target(peer, 64, 16) }));
      await peer.expectAck(0, 1);
      peer.tx(readRequest({ psn: 1, reth: target(peer, 64, 16) }));
      await peer.rx({ opcode: Op.ReadResponseOnly, psn: 1, payload: pattern(16) });
      peer.tx(wordRequest(t, peer, 2));
      const value = t.has('atomics') ? { original: 4n } : { payload: wordBytes(4n) };
      await peer.rx({ opcode: wordAnswer(t), psn: 2, ...value });
      await peer.expectNextPsn(3, 4);
    },
  },
  {
    rules: ['RNR-04'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect({ receives: 1 });
      peer.tx(sendOnly({ psn: 0, payload: pattern(8) }), sendOnly({ psn: 1, ackReq: true, payload: pattern(8) }));
      await peer.expectNak(0x20 | TIMER, 1);
      await peer.expectNextPsn(1, 2);
      peer.tx(sendFirst({ psn: 2, payload: pattern(peer.mtu) }));
      await peer.expectNak(0x20 | TIMER, 2);
    },
  },
  { rules: ['RNR-05'], needs: ['host-control'], psnSweep: true, run: refusalChangesNothing },
  {
    rules: ['RNR-06'],
    async run(t) {
      const peer = await t.connect({ receives: 0 });
      peer.tx(...[0, 1, 2].map((psn) => sendOnly({ psn, ackReq: true, payload: pattern(8) })));
      await peer.expectNak(0x20 | TIMER, 0);
      await peer.expectNextPsn(0, 1);
    },
  },
  {
    rules: ['RNR-07'],
    needs: ['host-control', 'srq'],
    async run(t) {
      const pd = t.handle();
      const srq = t.handle();
      await t.hostControl.call('pd.alloc', { pd });
      await t.hostControl.call('srq.create', { srq, pd, maxWr: 16 });
      const peer = await t.connect({ pd, srq });
      const send = sendOnly({ psn: 0, ackReq: true, payload: pattern(8) });
      peer.tx(send);
      await peer.expectNak(0x20 | TIMER, 0);
      const mr = t.need(peer.buffers?.mr);
      await t.hostControl.call('srq.recv', { srq, wrId: 5, pieces: [{ mr, offset: 0, length: 64 }] });
      peer.tx(send);
      await peer.expectAck(0, 1);
      await peer.receives({ wrId: 5, byteLen: 8 });
      peer.tx({ ...send, psn: 1 });
      await peer.expectNak(0x20 | TIMER, 1);
    },
  },
  { rules: ['RNR-16'], needs: ['host-control', 'uc'], run: unreliableDrops },
  { rules: ['RNR-17'], needs: ['host-control', 'ud'], run: datagramsDrop },
  {
    rules: ['RNR-18'],
    async run(t) {
      for (const which of [0, 1]) {
        const peer = await t.connect({ receives: 0 });
        const before = await paint(peer, pattern(64));
        const reth = { va: peer.region.va, rkey: badKeys(peer.region.rkey)[which] ?? 0, length: 8 };
        peer.tx(writeOnlyImm({ psn: 0, ackReq: true, payload: pattern(8, 9), imm: 1, reth }));
        const { packet } = await peer.expectNak([0x20 | TIMER, 0x62], 0);
        t.note(`no receive and a bad key together: ${describePacket(packet)}`);
        if (packet.syndrome === 0x62) await peer.expectDead(0);
        else await peer.expectNextPsn(0, 1);
        await demandMemory(peer, 0, before, 'a WRITE with a bad key');
      }
    },
  },
];

/** min_rnr_timer of a connection when a case does not say. */
const TIMER = 12;

/** Refused, the same PSN is taken later; MSN and memory are as before. */
async function refusalChangesNothing(t: Tester): Promise<void> {
  const peer = await t.connect({ receives: 0 });
  const requests: readonly ((psn: number) => Packet)[] = [
    (psn) => sendOnly({ psn, ackReq: true, payload: pattern(32, 7) }),
    (psn) => writeOnlyImm({ psn, ackReq: true, payload: pattern(32, 8), reth: target(peer, 0, 32), imm: 3 }),
  ];
  for (const [psn, make] of requests.entries()) {
    const request = make(psn);
    for (let i = 0; i < 3; i++) {
      peer.tx(request);
      const { packet } = await peer.expectNak(0x20 | TIMER, psn);
      demand(packet.msn === psn, () => `${psn} messages were executed, and ${describePacket(packet)} came`);
    }
    await peer.postReceive(psn + 1, 0, 64);
    peer.tx(request);
    await peer.expectAck(psn, psn + 1);
    const { imm } = request;
    await peer.receives({ wrId: psn + 1, byteLen: 32, imm, byWrite: imm !== undefined });
  }
  await peer.expectNextPsn(2, 3);
}

/** UC: a message without a receive leaves no trace, and the next one is taken. */
async function unreliableDrops(t: Tester): Promise<void> {
  const peer = await t.connect({ type: 'uc', receives: 0 });
  peer.tx(
    uc(sendOnly({ psn: 0, payload: pattern(8, 1) })),
    uc(sendFirst({ psn: 1, payload: pattern(peer.mtu, 1) })),
    uc(sendLast({ psn: 2, payload: pattern(8, 1) })),
  );
  await arrives(t, peer, uc(writeOnly({ psn: 3, payload: pattern(16, 5), reth: target(peer, 0, 16) })));
  await peer.postReceive(9, 0, 64);
  peer.tx(uc(sendOnly({ psn: 4, payload: pattern(24, 6) })));
  await peer.receives({ wrId: 9, byteLen: 24 });
  const placed = await t.memory(t.need(peer.buffers), 0, 24);
  demand(sameBytes(placed, pattern(24, 6)), 'the receive does not hold the message that came last');
  await peer.expectSilence();
}

/** Nothing acknowledges a WRITE over UC: its bytes have to show. */
async function arrives(t: Tester, peer: TesterPeer, write: Packet): Promise<void> {
  peer.tx(write);
  const deadline = t.now() + t.dut.patienceNs;
  const { payload = new Uint8Array(0) } = write;
  while (!sameBytes(await peer.memory(0, payload.length), payload)) {
    demand(t.now() < deadline, 'behind a SEND without a receive a WRITE is not executed any more');
    await t.sleep(t.dut.pollNs);
  }
}

/** UD: the same, and the sender gets no answer. */
async function datagramsDrop(t: Tester): Promise<void> {
  const peer = await t.connect({ type: 'ud', receives: 0 });
  const send = (psn: number, seed: number): Packet =>
    datagram({ psn, payload: pattern(24, seed), qkey: DUT_QKEY, srcQpn: peer.qpn });
  peer.tx(send(0, 1), send(1, 2));
  await t.sleep(t.dut.quietNs);
  await peer.postReceive(9, 0, 256);
  peer.tx(send(2, 3));
  await peer.receives({ wrId: 9, byteLen: 40 + 24, srcQp: peer.qpn });
  const placed = await t.memory(t.need(peer.buffers), 40, 24);
  demand(sameBytes(placed, pattern(24, 3)), 'the receive does not hold the datagram that came last');
  await peer.expectSilence();

  const { gidIndex, ours } = t.address();
  const ah = t.handle();
  await t.hostControl.call('ah.create', { ah, pd: peer.pd, destination: ours.toString(), sgidIndex: gidIndex });
  const mr = t.need(peer.buffers?.mr);
  const to = { ah, remoteQpn: peer.qpn, remoteQkey: DUT_QKEY };
  await peer.post({ wrId: 1, opcode: 'send', pieces: [{ mr, offset: 0, length: 24 }], ...to });
  await peer.rx({ opcode: Op.UdSendOnly });
  const [sent] = await peer.sendCompletions(1);
  demand(sent?.status === 0, `an unanswered datagram completed with status ${sent?.status}`);
}
