/**
 * Cases of area UC: a responder that never answers. What it did is seen in memory and in receives; that it did nothing,
 * in what comes after: good traffic is delivered, and what was sent before it was not. Writes that only the wire would
 * show are awaited in memory.
 */
import { Op } from 'rocev2/packets';
import {
  type Packet,
  pattern,
  request,
  sendFirst,
  sendLast,
  sendLastImm,
  sendMiddle,
  sendOnly,
  sendPackets,
  uc,
  writeFirst,
  writeLast,
  writeLastImm,
  writeMiddle,
  writeOnly,
  writeOnlyImm,
  writePackets,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import type { TesterConnectOptions } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { during, holds, target } from './answers.ts';
import { arrival, completesWith, delivered, none, recovers, stored } from './unreliable.ts';

export const UC_CASES: readonly Case[] = [
  {
    rules: ['UC-01'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      const { va, rkey } = peer.region;
      const asking = (packet: Packet): Packet => ({ ...uc(packet), ackReq: true });
      // Good, in several packets and requesting ACKs; lost and repeated; faulty in every way.
      peer.tx(...sendPackets({ psn: 0, data: pattern(600) }).map(asking));
      peer.tx(...writePackets({ psn: 3, data: pattern(600), va, rkey }).map(asking));
      peer.tx(asking(sendOnly({ psn: 100, payload: pattern(8) })), asking(sendOnly({ psn: 100, payload: pattern(8) })));
      peer.tx(
        asking(sendOnly({ psn: 50, payload: pattern(8) })),
        asking(sendMiddle({ psn: 60, payload: pattern(256) })),
      );
      for (const packet of faulty(peer, 200)) peer.tx(asking(packet));
      // On a queue pair of its own: what else the faults do to this one is no matter here.
      const other = await connect(t);
      await stored(t, other, 0);
      await peer.expectSilence();
      await peer.receives({ wrId: 1, byteLen: 600 });
    },
  },
  {
    rules: ['UC-02'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      const full = pattern(MTU);
      const reth = target(peer, 0, 2 * MTU);
      const broken: Packet[][] = [
        [sendFirst({ psn: 0, payload: full }), sendLast({ psn: 2, payload: full })],
        [
          sendFirst({ psn: 10, payload: full }),
          sendMiddle({ psn: 12, payload: full }),
          sendLast({ psn: 13, payload: full }),
        ],
        [
          sendFirst({ psn: 20, payload: full }),
          sendMiddle({ psn: 21, payload: full }),
          sendLastImm({ psn: 23, payload: full, imm: 1 }),
        ],
        [writeFirst({ psn: 30, payload: full, reth }), writeLastImm({ psn: 32, payload: full, imm: 2 })],
        // What was missing comes late, with the PSN that would have gone on.
        [
          sendFirst({ psn: 34, payload: full }),
          sendLast({ psn: 36, payload: full }),
          sendLast({ psn: 35, payload: full }),
        ],
      ];
      for (const packets of broken) peer.tx(...packets.map(uc));
      await recovers(t, peer, 40, 1);
    },
  },
  {
    rules: ['UC-03'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      let wrId = 0;
      let psn = 0;
      for (const jump of [1000, 1, 0x7f_ff_f0, 0x80_00_00, -5]) {
        psn += jump;
        peer.tx(uc(sendOnly({ psn, payload: pattern(16, ++wrId) })));
        await delivered(t, peer, [{ wrId, data: pattern(16, wrId) }]);
        psn += jump;
        const data = pattern(600, ++wrId);
        peer.tx(...sendPackets({ psn, data }).map(uc));
        await delivered(t, peer, [{ wrId, data }]);
        // The jump breaks a message in progress as well, and a WRITE may be what comes.
        peer.tx(uc(sendFirst({ psn: psn + 3, payload: pattern(MTU) })));
        await during('WRITE ONLY behind SEND FIRST', stored(t, peer, psn + 1003));
        psn += 1004;
      }
    },
  },
  {
    rules: ['UC-03'],
    title: 'behind a WRITE that breaks off',
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      peer.tx(uc(writeFirst({ psn: 0, payload: pattern(MTU), reth: target(peer, 0, 3 * MTU) })));
      let lost = 0;
      for (let i = 1; i <= 10; i++) {
        peer.tx(uc(sendOnly({ psn: 10 * i, payload: pattern(16, i) })));
        if ((await arrival(t, peer, t.dut.quietNs)) === undefined) lost++;
      }
      demand(lost === 0, `${lost} of 10 messages behind a WRITE that broke off were lost`);
    },
  },
  {
    rules: ['UC-04'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      let psn = 0;
      let wrId = 0;
      for (const opcode of [
        ...[Op.SendMiddle, Op.SendLast, Op.SendLastImm],
        ...[Op.WriteMiddle, Op.WriteLast, Op.WriteLastImm],
      ]) {
        peer.tx(uc(request(opcode, { psn: psn++, payload: pattern(MTU), imm: 1 })));
        peer.tx(uc(sendOnly({ psn: psn++, payload: pattern(16, ++wrId) })));
        await delivered(t, peer, [{ wrId, data: pattern(16, wrId) }]);
      }
      await holds(peer, 0, new Uint8Array(MTU), 'WRITE MIDDLE and LAST without a FIRST');
    },
  },
  {
    rules: ['UC-05'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t, { receives: 2 });
      const full = pattern(MTU, 9);
      // Three messages that end early, in three ways, and two receives in all.
      peer.tx(uc(sendFirst({ psn: 0, payload: full })), uc(sendLast({ psn: 2, payload: full })));
      peer.tx(uc(sendFirst({ psn: 5, payload: full })), uc(sendMiddle({ psn: 6, payload: full })));
      peer.tx(uc(sendFirst({ psn: 10, payload: full })));
      peer.tx(uc(sendOnly({ psn: 12, payload: pattern(16, 1) })));
      await during('ONLY behind three broken SENDs', delivered(t, peer, [{ wrId: 1, data: pattern(16, 1) }]));
      peer.tx(uc(sendFirst({ psn: 13, payload: full })));
      const data = pattern(600, 2);
      peer.tx(...sendPackets({ psn: 20, data }).map(uc));
      await delivered(t, peer, [{ wrId: 2, data }]);
    },
  },
  { rules: ['UC-06'], needs: ['uc', 'srq'], run: brokenOnSrq },
  {
    rules: ['UC-07'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      let psn = 0;
      for (const reth of [
        { ...target(peer, 0, 16), rkey: (peer.region.rkey ^ 0xff_ff_00) >>> 0 },
        target(peer, -1, 16),
        target(peer, peer.region.length - 15, 16),
        target(peer, 0, peer.region.length + 1),
      ]) {
        const payload = pattern(16, 3);
        peer.tx(
          reth.length === 16
            ? uc(writeOnly({ psn, payload, reth }))
            : uc(writeFirst({ psn, payload: pattern(MTU, 3), reth })),
        );
        await stored(t, peer, ++psn);
        psn++;
      }
      await holds(peer, 0, new Uint8Array(MTU), 'WRITEs that their key does not allow');
      await peer.expectState('RTS');
      await peer.expectSilence();
    },
  },
  {
    rules: ['UC-08'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      let psn = 0;
      let wrId = 0;
      for (const packets of wrongSizes(peer)) {
        for (const packet of packets) peer.tx(uc({ ...packet, psn: psn++ }));
        psn = await recovers(t, peer, psn, ++wrId);
      }
      await peer.expectState('RTS');
      await peer.expectSilence();
    },
  },
  {
    rules: ['UC-09'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t, { access: ['local-write'] });
      const reth = target(peer, 0, 64);
      peer.tx(
        uc(writeOnly({ psn: 0, payload: pattern(64), reth })),
        uc(writeOnlyImm({ psn: 1, payload: pattern(64), reth, imm: 1 })),
        uc(writeFirst({ psn: 2, payload: pattern(MTU), reth: target(peer, 0, 2 * MTU) })),
        uc(writeLast({ psn: 3, payload: pattern(MTU) })),
        uc(sendOnly({ psn: 4, payload: pattern(16) })),
      );
      await delivered(t, peer, [{ wrId: 1, data: pattern(16) }]);
      await holds(peer, 0, new Uint8Array(2 * MTU), 'WRITEs without the right of the queue pair');
      await peer.expectState('RTS');
      await peer.expectSilence();
    },
  },
  {
    rules: ['UC-10'],
    // None of them is in the tables of an unpatched kernel (CVE-2026-46133).
    needs: ['uc'],
    hazardous: true,
    async run(t) {
      const peer = await connect(t);
      await peer.setMemory(MTU, pattern(MTU, 4));
      const before = await peer.memory(MTU, MTU);
      let psn = 0;
      for (let opcode = 0x2c; opcode <= 0x3f; opcode++) {
        for (const headers of [16, 28]) {
          // Where a READ or an ATOMIC would have its RETH or AtomicETH, and good ones.
          peer.tx(request(opcode, { psn: psn++, payload: headersOf(peer, headers) }));
        }
        await stored(t, peer, psn++);
      }
      await holds(peer, MTU, before, 'opcodes that UC does not have');
      await delivered(t, peer, []);
      await peer.expectState('RTS');
      await peer.expectSilence();
    },
  },
  {
    rules: ['UC-11'],
    needs: ['uc'],
    async run(t) {
      const peer = await connect(t);
      const packet = uc(sendOnly({ psn: 0, payload: pattern(16) }));
      peer.tx(packet, packet);
      await delivered(t, peer, [
        { wrId: 1, data: pattern(16) },
        { wrId: 2, data: pattern(16) },
      ]);
      const reth = target(peer, 0, 8);
      peer.tx(uc(writeOnly({ psn: 1, payload: pattern(8, 2), reth })));
      peer.tx(uc(writeOnly({ psn: 1, payload: pattern(8, 3), reth })));
      await stored(t, peer, 2);
      await holds(peer, 0, pattern(8, 3), 'a WRITE and another with its PSN');
    },
  },
  { rules: ['UC-12'], needs: ['uc'], run: immediates },
];

const connect = (t: Tester, options: TesterConnectOptions = {}): Promise<TesterPeer> =>
  t.connect({ type: 'uc', ...options });

/** On a shared receive queue the receive of a broken message cannot be used again: it completes in error. */
async function brokenOnSrq(t: Tester): Promise<void> {
  const [pd, srq, mr] = [t.handle(), t.handle(), t.handle()];
  const calls = [
    t.hostControl.call('pd.alloc', { pd }),
    t.hostControl.call('srq.create', { srq, pd, maxWr: 8 }),
    t.hostControl.call('mr.reg', { mr, pd, length: 8192, access: ['local-write'] }),
  ];
  for (let i = 0; i < 4; i++)
    calls.push(
      t.hostControl.call('srq.recv', { srq, wrId: 101 + i, pieces: [{ mr, offset: i * 1024, length: 1024 }] }),
    );
  await Promise.all(calls);
  const peer = await connect(t, { pd, srq });
  peer.tx(uc(sendFirst({ psn: 0, payload: pattern(MTU, 9) })), uc(sendOnly({ psn: 2, payload: pattern(16) })));
  await peer.receives({ wrId: 101, failed: 'any' }, { wrId: 102, byteLen: 16 });
  const { hex } = await t.hostControl.call('mem.read', { mr, offset: 1024, length: 16 });
  const wanted = Array.from(pattern(16), (byte) => byte.toString(16).padStart(2, '0')).join('');
  demand(hex === wanted, 'the receive behind that of a broken message does not hold the next message');
}

/** WRITE with immediate, without a receive and with one; then in several packets. */
async function immediates(t: Tester): Promise<void> {
  const peer = await connect(t, { receives: 0 });
  const reth = target(peer, 64, 16);
  peer.tx(uc(writeOnlyImm({ psn: 0, payload: pattern(16), reth, imm: 1 })));
  await stored(t, peer, 1);
  // Had it been kept, this receive would complete now.
  await peer.postReceive(1);
  await stored(t, peer, 2);
  await none(t, peer);
  peer.tx(uc(writeOnlyImm({ psn: 3, payload: pattern(16, 2), reth, imm: 2 })));
  await completesWith(t, peer, { wrId: 1, imm: 2, byteLen: 16, byWrite: true });
  await holds(peer, 64, pattern(16, 2), 'a WRITE with immediate');
  await peer.postReceive(2);
  peer.tx(
    uc(writeFirst({ psn: 4, payload: pattern(MTU, 3), reth: target(peer, 1024, 2 * MTU) })),
    uc(writeLastImm({ psn: 5, payload: pattern(MTU, 4), imm: 3 })),
  );
  await completesWith(t, peer, { wrId: 2, imm: 3, byteLen: 2 * MTU, byWrite: true });
  await holds(peer, 1024 + MTU, pattern(MTU, 4), 'a WRITE with immediate of two packets');
  peer.tx(
    uc(writeFirst({ psn: 6, payload: pattern(MTU), reth: target(peer, 1024, 2 * MTU) })),
    uc(writeLastImm({ psn: 7, payload: pattern(MTU), imm: 4 })),
  );
  const other = await connect(t);
  await stored(t, other, 0);
  await peer.postReceive(3);
  await t.sleep(t.dut.quietNs);
  await none(t, peer);
}

/** Messages with one packet of the wrong size each, and what would complete them. PSNs are the caller's. */
function wrongSizes(peer: TesterPeer): Packet[][] {
  const psn = 0;
  const full = pattern(MTU);
  const last = sendLast({ psn, payload: pattern(8) });
  const reth = target(peer, 0, 2 * MTU);
  return [
    [sendFirst({ psn, payload: pattern(MTU - 4) }), last],
    [sendFirst({ psn, payload: pattern(MTU + 4) }), last],
    [sendFirst({ psn, payload: pattern(0) }), last],
    [sendFirst({ psn, payload: full }), sendMiddle({ psn, payload: pattern(MTU - 4) }), last],
    [sendFirst({ psn, payload: full }), sendLast({ psn, payload: pattern(0) })],
    [sendFirst({ psn, payload: full }), sendLast({ psn, payload: pattern(MTU + 4) })],
    [sendOnly({ psn, payload: pattern(MTU + 4) })],
    [writeOnlyImm({ psn, payload: pattern(7), reth: target(peer, 0, 8), imm: 1 })],
    [writeOnlyImm({ psn, payload: pattern(9), reth: target(peer, 0, 8), imm: 1 })],
    [writeFirst({ psn, payload: pattern(MTU - 4), reth }), writeLastImm({ psn, payload: full, imm: 1 })],
    [writeFirst({ psn, payload: full, reth }), writeLastImm({ psn, payload: pattern(8), imm: 1 })],
  ];
}

/** Packets that RC would refuse, each for another reason. */
function faulty(peer: TesterPeer, psn: number): Packet[] {
  const payload = pattern(16, 3);
  const good = target(peer, 0, 16);
  return [
    writeOnly({ psn, payload, reth: { ...good, rkey: (good.rkey ^ 0xff_ff_00) >>> 0 } }),
    writeOnly({ psn: psn + 1, payload, reth: { ...good, length: 0xff_ff_ff_ff } }),
    writeOnly({ psn: psn + 2, payload, reth: target(peer, peer.region.length, 16) }),
    writeMiddle({ psn: psn + 3, payload }),
    sendLast({ psn: psn + 4, payload }),
    sendFirst({ psn: psn + 5, payload }),
    sendOnly({ psn: psn + 6, payload: pattern(MTU + 4) }),
    ...wrongSizes(peer).flatMap((packets, i) => packets.map((packet, k) => ({ ...packet, psn: psn + 10 + 4 * i + k }))),
  ];
}

/** A RETH or an AtomicETH of the connection's region, as plain bytes. */
function headersOf(peer: TesterPeer, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, peer.region.va + BigInt(MTU));
  view.setUint32(8, peer.region.rkey);
  if (length === 16) view.setUint32(12, 64);
  else view.setBigUint64(12, 1n);
  return bytes;
}

const MTU = 256;
