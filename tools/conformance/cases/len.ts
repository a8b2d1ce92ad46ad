/**
 * Cases of area LEN: sizes of packets, pads and messages that a responder has to take or to refuse. Sizes that a
 * requester sends or is answered with are in len-requester.ts.
 */

import { Op, opcodeInfo } from 'rocev2/packets';
import {
  compareSwap,
  fetchAdd,
  type Packet,
  pattern,
  readRequest,
  request,
  sendFirst,
  sendMiddle,
  sendOnly,
  sendOnlyImm,
  sendPackets,
  writeFirst,
  writeLast,
  writeLastImm,
  writeMiddle,
  writeOnly,
  writeOnlyImm,
} from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { allDead, during, expectOneNak, holds, received, refusedOrDropped, target, word } from './answers.ts';
import { LEN_REQUESTER_CASES } from './len-requester.ts';

const LEN_RESPONDER_CASES: readonly Case[] = [
  {
    rules: ['LEN-01'],
    async run(t) {
      const dead: TesterPeer[] = [];
      for (const difference of [-4, 4, -MTU]) {
        const payload = pattern(MTU + difference);
        for (const opcode of [Op.SendFirst, Op.WriteFirst]) {
          const peer = await t.connect();
          peer.tx(request(opcode, { psn: 0, payload, ackReq: true, reth: target(peer, 0, 4 * MTU) }));
          await during(sized(opcode, payload), peer.expectNak(0x61, 0));
          dead.push(peer);
        }
        for (const opcode of [Op.SendMiddle, Op.WriteMiddle]) {
          const peer = await t.connect();
          const first = opcode === Op.SendMiddle ? Op.SendFirst : Op.WriteFirst;
          peer.tx(
            request(first, { psn: 0, payload: pattern(MTU), ackReq: true, reth: target(peer, 0, 4 * MTU) }),
            request(opcode, { psn: 1, payload, ackReq: true }),
          );
          await during(sized(opcode, payload), peer.expectNak(0x61, 1));
          dead.push(peer);
        }
      }
      await allDead(t, dead, (peer) => (dead.indexOf(peer) % 4) >> 1);
    },
  },
  {
    rules: ['LEN-02'],
    async run(t) {
      for (const length of [0, MTU + 4]) {
        const payload = pattern(length);
        for (const opcode of [Op.SendLast, Op.SendLastImm, Op.WriteLast, Op.WriteLastImm]) {
          const write = opcode === Op.WriteLast || opcode === Op.WriteLastImm;
          const peer = await t.connect();
          const reth = target(peer, 0, MTU + length);
          const first = request(write ? Op.WriteFirst : Op.SendFirst, { psn: 0, payload: pattern(MTU), reth });
          peer.tx(first, request(opcode, { psn: 1, payload, ackReq: true, imm: 1 }));
          // A FIRST that leaves nothing for the LAST may be refused already.
          await during(sized(opcode, payload), expectOneNak(peer, 0x61, write && length === 0 ? [0, 1] : [1]));
          await peer.expectDead(1);
        }
      }
    },
  },
  {
    rules: ['LEN-03'],
    async run(t) {
      const good = await t.connect();
      let psn = 0;
      for (const length of [0, 1, MTU]) {
        for (const packet of onlyPackets(good, psn, length)) {
          good.tx({ ...packet, psn });
          await good.expectAck(psn, psn + 1);
          psn++;
        }
      }
      for (let i = 0; i < 4; i++) {
        const peer = await t.connect();
        const [packet] = onlyPackets(peer, 0, MTU + 4).slice(i, i + 1);
        if (packet === undefined) continue;
        peer.tx(packet);
        await during(sized(packet.opcode, packet.payload), peer.expectFatalNak(0x61, 0));
      }
    },
  },
  {
    rules: ['LEN-04'],
    async run(t) {
      const dead: TesterPeer[] = [];
      for (const brought of [7, 9]) {
        for (const imm of [false, true]) {
          const only = await t.connect();
          const payload = pattern(brought);
          const reth = target(only, 0, 8);
          only.tx(
            imm
              ? writeOnlyImm({ psn: 0, payload, reth, ackReq: true, imm: 1 })
              : writeOnly({ psn: 0, payload, reth, ackReq: true }),
          );
          await only.expectNak(0x61, 0);
          const several = await t.connect();
          several.tx(
            writeFirst({ psn: 0, payload: pattern(MTU), reth: target(several, 0, MTU + 8) }),
            imm
              ? writeLastImm({ psn: 1, payload, ackReq: true, imm: 1 })
              : writeLast({ psn: 1, payload, ackReq: true }),
          );
          await several.expectNak(0x61, 1);
          dead.push(only, several);
        }
      }
      await allDead(t, dead, (peer) => dead.indexOf(peer) % 2);
    },
  },
  {
    rules: ['LEN-05'],
    async run(t) {
      const untouched = new Uint8Array(4 * MTU).fill(0xee);
      const three = await t.connect();
      await three.setMemory(0, untouched);
      const payload = pattern(MTU);
      three.tx(
        writeFirst({ psn: 0, payload, reth: target(three, 0, MTU + 1) }),
        writeMiddle({ psn: 1, payload }),
        writeLast({ psn: 2, payload, ackReq: true }),
      );
      await expectOneNak(three, 0x61, [1, 2]);
      await holds(three, MTU + 1, untouched.slice(MTU + 1), 'three packets for a DMA length of a packet and a byte');
      const last = await t.connect();
      await last.setMemory(0, untouched);
      last.tx(
        writeFirst({ psn: 0, payload, reth: target(last, 0, MTU + 1) }),
        writeLast({ psn: 1, payload, ackReq: true }),
      );
      await last.expectNak(0x61, 1);
      await holds(last, MTU + 1, untouched.slice(MTU + 1), 'a LAST that brings more than is left');
      for (const first of [true, false]) {
        const peer = await t.connect();
        await peer.setMemory(0, untouched);
        const fields = { psn: 0, payload, reth: target(peer, 0, 5), ackReq: true };
        peer.tx(first ? writeFirst(fields) : writeOnly(fields));
        await peer.expectNak(0x61, 0);
        await holds(peer, 5, untouched.slice(5), 'a packet that brings more than the DMA length');
      }
    },
  },
  {
    rules: ['LEN-06'],
    async run(t) {
      for (const length of [0x80_00_00_00, 0x80_00_00_01, 0xff_ff_ff_ff]) {
        for (const write of [true, false]) {
          const peer = await t.connect();
          const reth = target(peer, 0, length);
          const fields = { psn: 0, ackReq: true, reth };
          peer.tx(write ? writeFirst({ ...fields, payload: pattern(MTU) }) : readRequest(fields));
          const { packet } = await peer.expectNak([0x61, 0x62], 0);
          // Too long for its region is a second fault, so that its answer is legal as well (PKT-21).
          const legal = length === 0x80_00_00_00;
          demand(!(legal && packet.syndrome === 0x61), 'a DMA length of 2^31 bytes is refused for its length');
          if (!legal && packet.syndrome === 0x62)
            t.note(`a DMA length of 0x${length.toString(16)} is refused for its range, not for its length`);
          await holds(peer, 0, new Uint8Array(MTU), 'a DMA length that is refused');
        }
      }
    },
  },
  { rules: ['LEN-07'], run: padOfLastPackets },
  {
    rules: ['LEN-08'],
    async run(t) {
      for (const pad of [1, 2, 3]) {
        for (const middle of [false, true]) {
          for (const write of [true, false]) {
            const name = `${write ? 'WRITE' : 'SEND'} ${middle ? 'MIDDLE' : 'FIRST'} with pad ${pad}`;
            await during(name, padded(t, write, middle, { payload: pattern(MTU - pad), pad }, ['refused']));
            // Whole data, and pad behind it: the packet is no multiple of four bytes, and need not be looked at.
            await during(name, padded(t, write, middle, { payload: pattern(MTU), pad }, ['refused', 'dropped']));
          }
        }
      }
    },
  },
  {
    rules: ['LEN-09'],
    async run(t) {
      const kinds: ((peer: TesterPeer, payload: Uint8Array) => Packet)[] = [
        (peer, payload) => readRequest({ psn: 0, reth: target(peer, 0, 8), ackReq: true, payload }),
      ];
      if (t.has('atomics'))
        kinds.push(
          (peer, payload) => fetchAdd({ psn: 0, ...word(peer, 0), add: 1n, ackReq: true, payload }),
          (peer, payload) => compareSwap({ psn: 0, ...word(peer, 0), compare: 0n, swap: 1n, ackReq: true, payload }),
        );
      for (const make of kinds) {
        for (const length of [4, 8, 64, MTU]) {
          const peer = await t.connect();
          const packet = make(peer, pattern(length));
          peer.tx(packet);
          const ending = await during(sized(packet.opcode, packet.payload), refusedOrDropped(peer, 0, 1));
          t.note(`a request that carries payload it should not have is ${ending}`);
          await holds(peer, 0, new Uint8Array(8), 'an ATOMIC with payload');
        }
      }
    },
  },
  {
    rules: ['LEN-10'],
    needs: ['host-control'],
    async run(t) {
      const small = await t.connect({ receives: 2, receiveBytes: 8 });
      small.tx(sendOnly({ psn: 0, payload: pattern(9), ackReq: true }));
      await during('9 bytes into 8', small.expectFatalNak(0x61, 0));
      await endsTooShort(t, small, 8);
      const two = await t.connect({ receives: 1, receiveBytes: 2 * MTU });
      const [first, second, third] = sendPackets({ psn: 0, data: pattern(3 * MTU) });
      if (first === undefined || second === undefined || third === undefined) return;
      two.tx(first, { ...second, ackReq: true });
      await two.expectAck(1, 0);
      two.tx(third);
      await during('three packets into two', two.expectFatalNak(0x61, 2));
      await endsTooShort(t, two, 2 * MTU);
    },
  },
  {
    rules: ['LEN-11'],
    needs: ['host-control'],
    async run(t) {
      const peer = await t.connect();
      const lengths = [1, 2, 3, 4, 5, 6, 7, 8, MTU + 1, MTU + 2, MTU + 3];
      const buffers = t.need(peer.buffers);
      await t.setMemory(buffers, 0, new Uint8Array(1024 * lengths.length).fill(0xee));
      let psn = 0;
      for (const [i, length] of lengths.entries()) {
        const packets = sendPackets({ psn, data: pattern(length) });
        peer.tx(...packets);
        psn += packets.length;
        await peer.expectAck(psn - 1, i + 1);
      }
      await received(
        t,
        peer,
        lengths.map((length, i) => ({ wrId: i + 1, data: pattern(length) })),
      );
      for (const [i, length] of lengths.entries()) {
        const behind = await t.memory(buffers, 1024 * i + length, 8);
        demand(
          behind.every((byte) => byte === 0xee),
          `a SEND of ${length} bytes has changed bytes behind them: ${behind.join(' ')}`,
        );
      }
    },
  },
  {
    rules: ['LEN-12'],
    needs: ['host-control'],
    async run(t) {
      const peer = await t.connect();
      peer.tx(sendOnly({ psn: 0, ackReq: true }));
      await peer.expectAck(0, 1);
      peer.tx(sendOnlyImm({ psn: 1, ackReq: true, imm: 5 }));
      await peer.expectAck(1, 2);
      peer.tx(sendOnly({ psn: 2, payload: pattern(8), ackReq: true }));
      await peer.expectAck(2, 3);
      await received(t, peer, [
        { wrId: 1, data: new Uint8Array(0) },
        { wrId: 2, data: new Uint8Array(0), imm: 5 },
        { wrId: 3, data: pattern(8) },
      ]);
    },
  },
];

/** What a stimulus is called in a violation. */
const sized = (opcode: number, payload = pattern(0)): string =>
  `${opcodeInfo(opcode).name} with ${payload.length} bytes`;

/** Five bytes in eight: the pad has to be three. */
async function padOfLastPackets(t: Tester): Promise<void> {
  for (const several of [false, true]) {
    const psn = several ? 1 : 0;
    const stimulus = (peer: TesterPeer, payload: Uint8Array, pad: number): Packet[] =>
      several
        ? [
            writeFirst({ psn: 0, payload: pattern(MTU), reth: target(peer, 0, MTU + 5) }),
            writeLast({ psn: 1, payload, pad, ackReq: true }),
          ]
        : [writeOnly({ psn: 0, payload, pad, ackReq: true, reth: target(peer, 0, 5) })];
    for (const pad of [0, 1, 2]) {
      // Eight bytes on the wire, and a pad that claims other than five of them to be data.
      const lying = await t.connect();
      lying.tx(...stimulus(lying, pattern(8 - pad), pad));
      await during(`8 bytes with pad ${pad} for 5`, lying.expectNak(0x61, psn));
      // Five bytes of data, and a packet that is no multiple of four bytes: it may be dropped for that.
      const short = await t.connect();
      short.tx(...stimulus(short, pattern(5), pad));
      if (several) await refusedOrOpen(t, short, writeLast({ psn: 1, payload: pattern(5, MARK) }));
      else await during(`5 bytes with pad ${pad}`, refusedOrDropped(short, 0, 1));
    }
    const good = await t.connect();
    good.tx(...stimulus(good, pattern(5), 3));
    await good.expectAck(psn, 1);
    await holds(good, several ? MTU : 0, pattern(5), 'a WRITE with the pad that goes with its length');
  }
}

/** FIRST or MIDDLE with a pad, on a queue pair of its own. */
async function padded(
  t: Tester,
  write: boolean,
  middle: boolean,
  fields: Pick<Packet, 'payload' | 'pad'>,
  allowed: readonly ('refused' | 'dropped')[],
): Promise<void> {
  const peer = await t.connect();
  const psn = middle ? 1 : 0;
  const reth = target(peer, 0, 3 * MTU);
  const first = { psn: 0, payload: pattern(MTU) };
  if (middle) peer.tx(write ? writeFirst({ ...first, reth }) : sendFirst(first));
  const bad = { psn, ackReq: true, ...fields };
  if (middle) peer.tx(write ? writeMiddle(bad) : sendMiddle(bad));
  else peer.tx(write ? writeFirst({ ...bad, reth }) : sendFirst(bad));
  if (!allowed.includes('dropped')) await peer.expectNak(0x61, psn);
  else if (middle) {
    const good = { psn, payload: pattern(MTU, MARK) };
    await refusedOrOpen(t, peer, write ? writeMiddle(good) : sendMiddle(good));
  } else await refusedOrDropped(peer, psn, 1);
}

/**
 * The packet with PSN 1 inside a message was refused, or dropped: then a good one in its place is taken, which its
 * bytes show.
 */
async function refusedOrOpen(t: Tester, peer: TesterPeer, good: Packet): Promise<void> {
  const { payload = pattern(0), opcode } = good;
  peer.tx({ ...good, ackReq: true, note: 'sentinel' });
  const { packet } = await peer.rx([
    { opcode: Op.Acknowledge, psn: 1, syndrome: 0x61 },
    { opcode: Op.Acknowledge, psn: 1, syndrome: 0x1f },
  ]);
  if (packet.syndrome === 0x61) return;
  if (opcode !== Op.SendMiddle) return holds(peer, MTU, payload, 'a good packet in the place of a malformed one');
  if (t.dut.hostControl === undefined) return;
  const stored = await t.memory(t.need(peer.buffers), MTU, payload.length);
  demand(
    stored.every((byte, i) => byte === payload[i]),
    'a SEND packet with a pad that it must not have was stored',
  );
}

/** ONLY packets with so much data, of every kind. */
function onlyPackets(peer: TesterPeer, psn: number, length: number): Packet[] {
  const fields = { psn, payload: pattern(length), ackReq: true };
  const reth = target(peer, 0, length);
  return [
    sendOnly(fields),
    sendOnlyImm({ ...fields, imm: 1 }),
    writeOnly({ ...fields, reth }),
    writeOnlyImm({ ...fields, reth, imm: 1 }),
  ];
}

/** The receive that was too small says so, and nothing was stored behind it. */
async function endsTooShort(t: Tester, peer: TesterPeer, length: number): Promise<void> {
  const behind = await t.memory(t.need(peer.buffers), length, 16);
  demand(
    behind.every((byte) => byte === 0),
    `a SEND of more than ${length} bytes was stored behind the receive of ${length} bytes`,
  );
  await peer.receives({ wrId: 1, failed: WcStatus.LocLenErr });
}

/** Seed of bytes that nothing else has. */
const MARK = 77;
/** Path MTU of all connections here. */
const MTU = 256;

/** All cases of area LEN. */
export const LEN_CASES: readonly Case[] = [...LEN_RESPONDER_CASES, ...LEN_REQUESTER_CASES];
