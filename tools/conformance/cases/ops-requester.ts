/** Cases of area OPS: in which order a requester sends, and which packets it makes of a message (OPS-12 to OPS-17). */
import { Op, opcodeInfo } from 'rocev2/packets';
import { atomicAck, describePacket, type Packet } from 'rocev2/packets/kit';
import type { SendRequest } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { answerRead, joined, OUR_RKEY, OUR_VA, type Sender, sender, sizesOf, takeMessage, work } from './requests.ts';

export const OPS_REQUESTER_CASES: readonly Case[] = [
  { rules: ['OPS-12'], needs: ['host-control'], run: (t) => notInterrupted(t, 'send') },
  { rules: ['OPS-13'], needs: ['host-control'], run: (t) => notInterrupted(t, 'write') },
  {
    rules: ['OPS-14'],
    needs: ['host-control'],
    async run(t) {
      const from = await sender(t);
      const { mtu } = from.peer;
      let psn = 0;
      let msn = 0;
      for (const length of [0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1, 3 * mtu, 5 * mtu + 1]) {
        for (const opcode of ['send', 'write'] as const) {
          await from.peer.post(work(t, from, opcode, length));
          const packets = await takeMessage(from.peer, psn, ++msn);
          isShaped(packets, opcode === 'send' ? SEND : WRITE, length, mtu);
          psn += packets.length;
          await done(from, 1);
        }
      }
    },
  },
  {
    rules: ['OPS-15'],
    needs: ['host-control'],
    async run(t) {
      const from = await sender(t);
      const { mtu } = from.peer;
      let psn = 0;
      let msn = 0;
      for (const [opcode, extra, shape] of EXTRAS) {
        for (const length of [3 * mtu, 3 * mtu - 3, mtu, 1, 0]) {
          await from.peer.post(work(t, from, opcode, length, extra));
          const packets = await takeMessage(from.peer, psn, ++msn);
          isShaped(packets, shape, length, mtu);
          const last = packets.at(-1);
          demand(
            last?.imm === extra.imm && last?.inv === extra.invalidateRkey,
            () => `${opcode} came with ${describePacket(last ?? NO_PACKET)}`,
          );
          psn += packets.length;
          await done(from, 1);
        }
      }
    },
  },
  {
    rules: ['OPS-16'],
    needs: ['host-control'],
    async run(t) {
      const from = await sender(t);
      const { mtu } = from.peer;
      let psn = 0;
      let msn = 0;
      for (let count = 1; count <= 5; count++) {
        for (const opcode of ['write', 'write-imm'] as const) {
          const length = count * mtu - 1;
          await from.peer.post(work(t, from, opcode, length, { imm: 7 }));
          const packets = await takeMessage(from.peer, psn, ++msn);
          hasOneReth(packets, length);
          // A RETH that did not belong there would have been taken for data.
          const bytes = joined(packets);
          demand(
            bytes.length === length && bytes.every((byte, i) => byte === from.data[i]),
            `a WRITE of ${count} packets does not carry ${length} bytes as they are in memory`,
          );
          psn += packets.length;
          await done(from, 1);
        }
      }
    },
  },
  {
    rules: ['OPS-17'],
    needs: ['host-control'],
    run: postingOrder,
  },
];

/**
 * A long message and a READ posted at once: the READ waits for its end. The message is more than a requester has under
 * way without an ACK, and there is none before the READ is posted: it is there while the message is open.
 */
async function notInterrupted(t: Tester, opcode: 'send' | 'write'): Promise<void> {
  const packetCount = 320;
  const from = await sender(t, packetCount * 256);
  const { peer, data } = from;
  const length = packetCount * peer.mtu;
  for (let round = 0; round < 2; round++) {
    const psn = round * (packetCount + 1);
    const msn = round * 2;
    await Promise.all([
      peer.post(work(t, from, opcode, length, { wrId: 1 })),
      peer.post(work(t, from, 'read', 8, { wrId: 2 })),
    ]);
    const packets = await takeMessage(peer, psn, msn + 1);
    isShaped(packets, opcode === 'send' ? SEND : WRITE, length, peer.mtu);
    const [request] = await takeMessage(peer, psn + packetCount, msn + 2);
    demand(
      request?.opcode === Op.ReadRequest,
      () => `READ REQUEST was expected behind the message, and ${describePacket(request ?? NO_PACKET)} came`,
    );
    await answerRead(t, peer, psn + packetCount, msn + 2, data.slice(0, 8));
    await done(from, 1, 2);
  }
}

/** All kinds of work in a list: the wire has them as they were posted. */
async function postingOrder(t: Tester): Promise<void> {
  const from = await sender(t);
  const { peer, data } = from;
  const atomics = t.has('atomics');
  const kinds = MIXED.filter((kind) => atomics || (kind !== 'fetch-add' && kind !== 'cmp-swap'));
  const { mtu } = peer;
  const lengthOf = (kind: (typeof kinds)[number], i: number): number =>
    kind === 'fetch-add' || kind === 'cmp-swap' ? 8 : i % 2 === 0 ? 2 * mtu + 1 : 8;
  const posts = kinds.map((opcode, i) =>
    peer.post(work(t, from, opcode, lengthOf(opcode, i), { wrId: i + 1, imm: i, compareAdd: 1n, swap: 2n })),
  );
  await Promise.all(posts);
  let psn = 0;
  for (const [i, kind] of kinds.entries()) {
    const length = lengthOf(kind, i);
    const packets = await takeMessage(peer, psn, i + 1);
    const last = packets.at(-1);
    const name = opcodeInfo(last?.opcode ?? 0).name;
    demand(
      FAMILIES[kind].includes(last?.opcode ?? -1) && (last?.imm === undefined || last.imm === i),
      () => `work ${i + 1} of the list is ${kind}, and ${name} came in its place`,
    );
    if (kind === 'read') await answerRead(t, peer, psn, i + 1, data.slice(0, length));
    else if (packets[0]?.atomic !== undefined) peer.tx(atomicAck({ psn, msn: i + 1, original: 0n }));
    psn += kind === 'read' ? sizesOf(length, mtu).length : packets.length;
  }
  await done(from, ...kinds.map((_, i) => i + 1));
}

/** These complete next, well and in this order. */
async function done({ peer }: Sender, ...wrIds: readonly number[]): Promise<void> {
  const found = await peer.sendCompletions(wrIds.length);
  const words = found.map(({ wrId, status }) => `${wrId} with status ${status}`).join(', ');
  demand(
    found.every(({ wrId, status }, i) => wrId === wrIds[i] && status === 0),
    () => `work ${wrIds.join(', ')} was to complete, and ${words} did`,
  );
}

/** ONLY for what fits into a packet, else FIRST, any MIDDLE, LAST. */
function isShaped(packets: readonly Packet[], shape: Shape, length: number, mtu: number): void {
  const count = Math.max(1, Math.ceil(length / mtu));
  const wanted = Array.from({ length: count }, (_, i) => {
    if (count === 1) return shape.only;
    return i === 0 ? shape.first : i === count - 1 ? shape.last : shape.middle;
  });
  const names = (opcodes: readonly number[]): string => opcodes.map((opcode) => opcodeInfo(opcode).name).join(', ');
  const came = packets.map(({ opcode }) => opcode);
  demand(
    came.length === count && came.every((opcode, i) => opcode === wanted[i]),
    () => `${length} bytes were to go as ${names(wanted)}, and went as ${names(came)}`,
  );
}

/** In the first packet alone, and it says all. */
function hasOneReth(packets: readonly Packet[], length: number): void {
  for (const [i, packet] of packets.entries()) {
    const { reth } = packet;
    if (i === 0)
      demand(
        reth?.va === OUR_VA && reth.rkey === OUR_RKEY && reth.length === length,
        () => `the RETH of a WRITE of ${length} bytes is wrong: ${describePacket(packet)}`,
      );
    else demand(reth === undefined, () => `packet ${i + 1} of a WRITE has a RETH: ${describePacket(packet)}`);
  }
}

/** The opcodes of a message. */
interface Shape {
  readonly first: number;
  readonly middle: number;
  readonly last: number;
  readonly only: number;
}

const SEND: Shape = { first: Op.SendFirst, middle: Op.SendMiddle, last: Op.SendLast, only: Op.SendOnly };
const WRITE: Shape = { first: Op.WriteFirst, middle: Op.WriteMiddle, last: Op.WriteLast, only: Op.WriteOnly };
const EXTRAS: readonly (readonly [SendRequest['opcode'], Pick<SendRequest, 'imm' | 'invalidateRkey'>, Shape])[] = [
  ['send-imm', { imm: 0xa1_b2_c3_d4 }, { ...SEND, last: Op.SendLastImm, only: Op.SendOnlyImm }],
  ['write-imm', { imm: 0x01_02_03_04 }, { ...WRITE, last: Op.WriteLastImm, only: Op.WriteOnlyImm }],
  ['send-inv', { invalidateRkey: 0x1234_5601 }, { ...SEND, last: Op.SendLastInvalidate, only: Op.SendOnlyInvalidate }],
];
const MIXED = [
  'send',
  'read',
  'write',
  'fetch-add',
  'cmp-swap',
  'send-imm',
  'write',
  'read',
  'write-imm',
  'send',
] as const;
/** Opcodes that end a message of some work. */
const FAMILIES: Readonly<Record<(typeof MIXED)[number], readonly number[]>> = {
  send: [Op.SendLast, Op.SendOnly],
  'send-imm': [Op.SendLastImm, Op.SendOnlyImm],
  write: [Op.WriteLast, Op.WriteOnly],
  'write-imm': [Op.WriteLastImm, Op.WriteOnlyImm],
  read: [Op.ReadRequest],
  'fetch-add': [Op.FetchAdd],
  'cmp-swap': [Op.CompareSwap],
};
const NO_PACKET: Packet = { opcode: 0, psn: 0 };
