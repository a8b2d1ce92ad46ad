/** Cases of area MPE about ATOMIC WRITE: eight bytes, at a multiple of eight, stored once. */
import { Op } from 'rocev2/packets';
import { atomicWrite, describePacket, type Packet, pattern, sendOnly } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { ALL_ACCESS } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import { target } from './answers.ts';
import { demandMemory, paint } from './memory.ts';

export const MPE_ATOMIC_WRITE_CASES: readonly Case[] = [
  {
    rules: ['MPE-02'],
    title: 'ATOMIC WRITE',
    needs: ['atomic-write'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      for (const psn of [0, 1]) {
        peer.tx(store(peer, psn, 8 * psn));
        const { packet } = await peer.rx(answered(psn));
        demand(packet.payload?.length === 0, () => `an empty answer was expected, and ${describePacket(packet)} came`);
        await demandMemory(peer, 8 * psn, pattern(8, psn + 20), 'an ATOMIC WRITE');
      }
    },
  },
  {
    rules: ['MPE-09'],
    needs: ['atomic-write'],
    hazardous: true,
    async run(t) {
      const wrong = [0, 4, 7, 9, 16];
      const tries = [
        ...wrong.map((bytes) => ({ bytes, length: 8 })),
        ...wrong.map((length) => ({ bytes: 8, length })),
        ...wrong.map((bytes) => ({ bytes, length: bytes })),
      ];
      for (const { bytes, length } of tries) {
        const peer = await t.connect();
        const before = await paint(peer, pattern(64));
        peer.tx(atomicWrite({ psn: 0, payload: pattern(bytes, 9), reth: target(peer, 0, length) }));
        await peer.expectNak(0x61, 0);
        await demandMemory(peer, 0, before, `an ATOMIC WRITE of ${bytes} bytes and DMA length ${length}`);
      }
    },
  },
  {
    rules: ['MPE-10'],
    needs: ['atomic-write'],
    async run(t) {
      for (const off of [1, 2, 3, 4, 5, 6, 7]) {
        const peer = await t.connect();
        const before = await paint(peer, pattern(64));
        peer.tx(store(peer, 0, off));
        if (off === 7) await peer.expectFatalNak(0x61, 0);
        else await peer.expectNak(0x61, 0);
        await demandMemory(peer, 0, before, `an ATOMIC WRITE at VA + ${off}`);
      }
    },
  },
  {
    rules: ['MPE-11'],
    needs: ['host-control', 'atomic-write'],
    async run(t) {
      const without = ALL_ACCESS.filter((flag) => flag !== 'remote-write');
      for (const [syndrome, options] of [
        [0x61, { access: without }],
        [0x62, { regionAccess: without }],
      ] as const) {
        const peer = await t.connect(options);
        const before = await paint(peer, pattern(64));
        peer.tx(store(peer, 0, 0));
        await peer.expectNak(syndrome, 0);
        await demandMemory(peer, 0, before, 'an ATOMIC WRITE without the right to write');
      }
    },
  },
  {
    rules: ['MPE-12'],
    needs: ['atomic-write'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      peer.tx(store(peer, 0, 0));
      await peer.rx(answered(0));
      peer.tx(sendOnly({ psn: 1, ackReq: true, payload: pattern(8) }));
      await peer.expectAck(1);
      for (let i = 0; i < 3; i++) {
        peer.tx(atomicWrite({ psn: 0, payload: pattern(8, 90 + i), reth: target(peer, 0, 8) }));
        await peer.rx(answered(0));
        await demandMemory(peer, 0, pattern(8, 20), 'an ATOMIC WRITE that came again with other data');
      }
      await peer.expectNextPsn(2, 3);
    },
  },
  {
    rules: ['MPE-14'],
    title: 'ATOMIC WRITE',
    needs: ['atomic-write'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      await peer.expectNextPsn(0, 1);
      for (const psn of [1, 2, 3]) {
        peer.tx(store(peer, psn, 8));
        await peer.rx({ ...answered(psn), msn: psn + 1 });
      }
      await peer.expectNextPsn(4, 5);
    },
  },
];

const answered = (psn: number) => ({ opcode: Op.ReadResponseOnly, psn });

/** Eight bytes that go with the PSN. */
const store = (peer: TesterPeer, psn: number, offset: number): Packet =>
  atomicWrite({ psn, payload: pattern(8, psn + 20), reth: target(peer, offset, 8) });
