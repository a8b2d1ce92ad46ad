/**
 * Cases of area RSP-PSN: what a responder makes of requests that it has executed before (RSP-PSN-07, RSP-PSN-10 to
 * RSP-PSN-17).
 */
import { Op } from 'rocev2/packets';
import {
  compareSwap,
  describePacket,
  fetchAdd,
  type Packet,
  pattern,
  readRequest,
  readResponses,
  request,
  sendFirst,
  sendLast,
  sendOnly,
  sendPackets,
  writeFirst,
  writeLast,
  writeOnly,
  writeOnlyImm,
  writePackets,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive, Violation } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { add, during, holds, isAck, nothingBut, read, received, target, word } from './answers.ts';

/** Cases about duplicates. */
export const RSP_PSN_DUPLICATE_CASES: readonly Case[] = [
  {
    rules: ['RSP-PSN-07'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const first = sendOnly({ psn: 0, payload: pattern(16), ackReq: true });
      const second = writeOnly({ psn: 1, payload: pattern(16), ackReq: true, reth: target(peer, 0, 16) });
      peer.tx(first);
      await peer.expectAck(0, 1);
      peer.tx(second);
      await peer.expectAck(1, 2);
      await read(peer, 2, 0, 16);
      peer.tx(sendOnly({ psn: 4, ackReq: true }));
      await peer.expectNak(0x60, 3);
      for (const duplicate of [first, second, first]) {
        peer.tx(duplicate);
        await reacknowledged(peer, duplicate.psn, 1);
      }
      await read(peer, 2, 0, 16);
      peer.tx(sendOnly({ psn: 5, ackReq: true }));
      await peer.expectNextPsn(3, 4);
    },
  },
  {
    rules: ['RSP-PSN-10'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const { va, rkey } = peer.region;
      const messages = (seed: number): Packet[][] => [
        [writeOnly({ psn: 0, payload: pattern(64, seed), ackReq: true, reth: { va, rkey, length: 64 } })],
        writePackets({ psn: 1, data: pattern(600, seed), va: va + 256n, rkey }),
        [sendOnly({ psn: 4, payload: pattern(64, seed), ackReq: true })],
        sendPackets({ psn: 5, data: pattern(600, seed) }),
        [writeOnlyImm({ psn: 8, payload: pattern(8, seed), ackReq: true, reth: target(peer, 2048, 8), imm: seed })],
      ];
      for (const [i, packets] of messages(1).entries()) {
        peer.tx(...packets);
        await peer.expectAck(packets.at(-1)?.psn ?? 0, i + 1);
      }
      for (const packets of messages(2)) {
        for (const packet of packets) {
          peer.tx({ ...packet, ackReq: true });
          await reacknowledged(peer, packet.psn, 8);
        }
      }
      await holds(peer, 0, pattern(64, 1), 'a WRITE and its duplicate');
      await holds(peer, 256, pattern(600, 1), 'a WRITE of three packets and its duplicate');
      await holds(peer, 2048, pattern(8, 1), 'a WRITE with immediate and its duplicate');
      await peer.expectNextPsn(9, 6);
      await receivedOnce(t, peer);
    },
  },
  {
    rules: ['RSP-PSN-11'],
    psnSweep: true,
    async run(t) {
      for (const atomic of t.has('atomics') ? [false, true] : [false]) {
        for (const packets of [1, 3]) {
          const peer = await t.connect();
          const first = writeOnly({ psn: 0, payload: pattern(8), ackReq: true, reth: target(peer, 0, 8) });
          peer.tx(first);
          await peer.expectAck(0, 1);
          if (atomic) await add(peer, 1, 64, 1n);
          const newest = atomic ? 1 : 0;
          await read(peer, newest + 1, 0, packets * 256);
          peer.tx(first);
          const { packet } = await peer.rx({ opcode: Op.Acknowledge, syndrome: 0x1f });
          demand(
            packet.psn === newest,
            () => `a duplicate WRITE was to be acknowledged as psn+${newest}, and ${describePacket(packet)} came`,
          );
        }
      }
    },
  },
  {
    rules: ['RSP-PSN-12'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      const packets = [
        sendOnly({ psn: 0, payload: pattern(16), ackReq: true }),
        writeOnly({ psn: 1, payload: pattern(16), ackReq: true, reth: target(peer, 0, 16) }),
      ];
      for (const packet of packets) {
        peer.tx(packet);
        await peer.expectAck(packet.psn, packet.psn + 1);
      }
      let psn = 2;
      for (const packet of packets) {
        peer.tx({ ...packet, ackReq: false });
        const limit = psn;
        const came = await nothingBut(peer, psn, psn + 1, (answer) => isAck(answer) && answer.psn < limit);
        demand(came.length < 2, `${came.length} ACKs came for one duplicate`);
        t.note(`a duplicate that asks for nothing is ${came.length === 0 ? 'ignored' : 'acknowledged'}`);
        psn++;
      }
      await received(t, peer, [{ wrId: 1, data: pattern(16) }]);
    },
  },
  {
    rules: ['RSP-PSN-13'],
    psnSweep: true,
    run: preemption,
  },
  {
    rules: ['RSP-PSN-14'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      await read(peer, 0, 0, 600);
      const reth = target(peer, 1024, 512);
      const data = pattern(512);
      const first = writeFirst({ psn: 3, payload: data.slice(0, 256), reth });
      peer.tx(first);
      await read(peer, 0, 0, 600);
      peer.tx(first, writeLast({ psn: 4, payload: data.slice(256), ackReq: true }));
      await peer.expectAck(4, 2);
      await holds(peer, 1024, data, 'a WRITE that a repeated READ came into');
      // The same inside a SEND, and without its FIRST packet again.
      peer.tx(sendFirst({ psn: 5, payload: data.slice(0, 256) }));
      await read(peer, 0, 0, 600);
      peer.tx(sendLast({ psn: 6, payload: data.slice(256), ackReq: true }));
      await peer.expectAck(6, 3);
      await received(t, peer, [{ wrId: 1, data }]);
    },
  },
  {
    rules: ['RSP-PSN-15'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      peer.tx(writeOnly({ psn: 0, payload: pattern(8), ackReq: true, reth: target(peer, 0, 8) }));
      await peer.expectAck(0, 1);
      peer.tx(sendOnly({ psn: 1, payload: pattern(8), ackReq: true }));
      await peer.expectAck(1, 2);
      await read(peer, 2, 0, 8);
      const atomics = t.has('atomics');
      if (atomics) await add(peer, 3, 64, 1n);
      let psn = atomics ? 4 : 3;
      for (const faulty of faultyDuplicates(peer, atomics)) {
        peer.tx(faulty);
        const limit = psn;
        const harmless = ({ opcode, ...answer }: Packet): boolean =>
          (isAck({ opcode, ...answer }) && answer.psn < limit) ||
          (opcode === Op.AtomicAcknowledge && faulty.atomic !== undefined && answer.original === 0n);
        await during(`${describePacket(faulty)} repeated`, nothingBut(peer, psn, psn + 1, harmless));
        psn++;
      }
      await holds(peer, 0, pattern(8), 'faulty duplicates');
      await received(t, peer, [{ wrId: 1, data: pattern(8) }]);
    },
  },
  {
    rules: ['RSP-PSN-16'],
    psnSweep: true,
    async run(t) {
      for (const depth of [1, 2, 3]) {
        const peer = await t.connect({ maxDestRdAtomic: depth });
        for (let psn = 0; psn <= depth; psn++) await read(peer, psn, psn * 8, 8);
        await peer.orInconclusive('the newest READ is answered again', () => read(peer, depth, depth * 8, 8));
        peer.tx(readRequest({ psn: 0, reth: target(peer, 0, 8), ackReq: true }));
        const what = `READ 1 of ${depth + 1}, repeated with max_dest_rd_atomic ${depth}`;
        await during(what, peer.expectNextPsn(depth + 1, depth + 2));
      }
    },
  },
  {
    rules: ['RSP-PSN-17'],
    needs: ['atomics'],
    psnSweep: true,
    async run(t) {
      for (const depth of [1, 2]) {
        const peer = await t.connect({ maxDestRdAtomic: depth });
        let done = 0;
        for (const more of [depth + 1, 32]) {
          for (let i = 0; i < more; i++, done++) await add(peer, done, 0, 1n);
          peer.tx(fetchAdd({ psn: 0, ...word(peer, 0), add: 1n, ackReq: true }));
          const saved = ({ opcode, psn, original }: Packet): boolean =>
            opcode === Op.AtomicAcknowledge && psn === 0 && original === 0n;
          const came = await nothingBut(peer, done, done + 1, saved);
          if (came.length > 0) t.note(`the result of an ATOMIC is held while more than ${depth} come after it`);
          done++;
          const found = await add(peer, done++, 0, 0n);
          const executed = BigInt(depth + 1 + (more === 32 ? 32 : 0));
          demand(found === executed, `after ${executed} FETCH ADDs of 1 and a duplicate ${found} was found`);
        }
      }
    },
  },
];

/** An ACK has to come for a duplicate of `psn`: of that PSN or any newer one, `newest` at most. */
async function reacknowledged(peer: TesterPeer, psn: number, newest: number): Promise<void> {
  const { packet } = await peer.rx({ opcode: Op.Acknowledge, syndrome: 0x1f });
  demand(
    packet.psn >= psn && packet.psn <= newest,
    () => `an ACK of psn+${newest} was expected for a duplicate, and ${describePacket(packet)} came`,
  );
}

/** Three receives have completed in RSP-PSN-10, each once. */
async function receivedOnce(t: Tester, peer: TesterPeer): Promise<void> {
  if (t.dut.hostControl === undefined) return;
  await peer.receives(
    { wrId: 1, byteLen: 64 },
    { wrId: 2, byteLen: 600 },
    { wrId: 3, byteLen: 8, imm: 1, byWrite: true },
  );
  const more = (await t.hostControl.call('cq.poll', { cq: peer.recvCq, max: 100 })).completions;
  demand(more.length === 0, `3 receives were to complete, and ${3 + more.length} did`);
  for (const [wrId, length] of [
    [1, 64],
    [2, 600],
  ] as const) {
    const stored = await t.memory(t.need(peer.buffers), (wrId - 1) * 1024, length);
    const first = pattern(length, 1);
    demand(
      stored.every((byte, i) => byte === first[i]),
      `receive ${wrId} holds other data than that of the first SEND`,
    );
  }
}

/**
 * Each repeats something that RSP-PSN-15 has executed, and each has a fault for which a new request would be refused.
 */
function faultyDuplicates(peer: TesterPeer, atomics: boolean): Packet[] {
  const good = target(peer, 0, 8);
  const badKey = { ...good, rkey: (good.rkey ^ 0xff_ff_00) >>> 0 };
  const ackReq = true;
  const payload = pattern(8, 9);
  return [
    writeOnly({ psn: 0, payload, ackReq, reth: badKey }),
    writeOnly({ psn: 0, payload, ackReq, reth: { ...good, length: 9 } }),
    writeOnly({ psn: 0, payload, ackReq, reth: { ...good, length: 0xff_ff_ff_ff } }),
    writeOnly({ psn: 0, payload: pattern(260), ackReq, reth: { ...good, length: 260 } }),
    sendOnly({ psn: 1, payload: pattern(260), ackReq }),
    readRequest({ psn: 2, ackReq, reth: badKey }),
    readRequest({ psn: 2, ackReq, reth: { ...good, length: 0x80_00_00_01 } }),
    ...[Op.SendMiddle, Op.SendLast, Op.WriteMiddle, Op.WriteLast].flatMap((opcode) =>
      [0, 1].map((psn) => request(opcode, { psn, payload: pattern(256), ackReq })),
    ),
    ...(atomics
      ? [
          fetchAdd({ psn: 3, va: good.va + 65n, rkey: good.rkey, add: 1n, ackReq }),
          fetchAdd({ psn: 3, va: good.va + 64n, rkey: badKey.rkey, add: 1n, ackReq }),
          compareSwap({ psn: 3, va: good.va + 64n, rkey: good.rkey, compare: 1n, swap: 7n, ackReq }),
        ]
      : []),
  ];
}

/**
 * READ a, READ b; b again, and at once a again. Once the first response to a has come, all of a has to come before
 * anything of b; and the device must not first finish b, which is so long that a comes into it, whatever waits in a
 * queue of its own.
 */
async function preemption(t: Tester): Promise<void> {
  const mtu = Math.min(1024, t.dut.hostControl?.description.activeMtu ?? 1024);
  const [aPackets, bPackets] = [4, LONG_READ_BYTES / mtu];
  const peer = await t.connect({ mtu, regionBytes: mtu * bPackets });
  const a = readRequest({ psn: 0, reth: target(peer, 0, mtu * aPackets), ackReq: true });
  const b = readRequest({ psn: aPackets, reth: target(peer, 0, mtu * bPackets), ackReq: true });
  await peer.orInconclusive('both READs are answered', async () => {
    for (const { psn, reth } of [a, b]) await read(peer, psn, 0, reth?.length ?? 0);
  });
  peer.tx(b, a);
  const order = await responsesUntil(t, peer, a.psn + aPackets - 1);
  const start = order.indexOf(0);
  demand(
    start >= 0 && start <= (bPackets * 3) / 4,
    () =>
      `${start < 0 ? order.length : start} of the ${bPackets} responses of the later duplicate came before those of the earlier`,
  );
  const rest = order.slice(start, start + aPackets);
  demand(
    rest.every((psn, i) => psn === i),
    () => `once the earlier duplicate is served, its responses come without others; PSNs ${rest.join(', ')} came`,
  );
  t.note(`${start} responses of the later duplicate came before the switch`);
}

/** PSNs of READ responses up to the first with PSN `last`, in the order they came. */
async function responsesUntil(t: Tester, peer: TesterPeer, last: number): Promise<number[]> {
  const order: number[] = [];
  const shapes = readResponses({ psn: 0, msn: 0, data: new Uint8Array(1), mtu: 256 });
  const kinds = [Op.ReadResponseFirst, Op.ReadResponseMiddle, Op.ReadResponseLast, shapes[0]?.opcode ?? 0];
  for (;;) {
    const taken = await peer.take();
    if (taken === undefined) {
      if (order.length === 0) throw new Violation('two READs were repeated, and neither was answered');
      throw new Inconclusive(
        `the repeated READ with the earlier PSN was not answered whole; ${order.length} responses came`,
      );
    }
    const { packet } = taken;
    demand(kinds.includes(packet.opcode), () => `READ responses were expected, and ${describePacket(packet)} came`);
    order.push(packet.psn);
    if (packet.psn === last) break;
  }
  // What is left of the later one is not looked at, but should not be left on the way either.
  await t.sleep(t.dut.pollNs);
  return order;
}

/** Three quarters of it are more than any device commits to its queues before it looks at the next request. */
const LONG_READ_BYTES = 1_048_576;
