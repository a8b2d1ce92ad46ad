/**
 * Cases of area RD: how READs are answered. Repeated READs are in rd-replay.ts, the requester's side in
 * rd-requester.ts.
 */
import { Op } from 'rocev2/packets';
import {
  describePacket,
  type Packet,
  pattern,
  readRequest,
  readResponses,
  sendOnly,
  writeOnly,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { afterAcks, target, wordAnswer, wordRequest } from './answers.ts';
import { paint, setWord } from './memory.ts';
import { RD_REPLAY_CASES } from './rd-replay.ts';
import { RD_REQUESTER_CASES } from './rd-requester.ts';
import { readAt, readLengths } from './reads.ts';

const RD_ANSWER_CASES: readonly Case[] = [
  {
    rules: ['RD-01'],
    psnSweep: true,
    run: (t) =>
      everyRead(t, ({ packet }, expected) => {
        demand(
          packet.psn === expected.psn,
          () => `PSN psn+${expected.psn} was expected, and ${describePacket(packet)} came`,
        );
      }),
  },
  {
    rules: ['RD-02'],
    run: (t) =>
      everyRead(t, ({ packet }, { opcode, psn }) => {
        demand(
          packet.opcode === opcode,
          () => `${describePacket({ opcode, psn })} was expected, and ${describePacket(packet)} came`,
        );
      }),
  },
  {
    rules: ['RD-03'],
    run: (t) =>
      everyRead(t, ({ sighting: { at }, packet }, { opcode, payload = new Uint8Array(0) }) => {
        const aeth = opcode === Op.ReadResponseMiddle ? 0 : 4;
        const expected = 12 + aeth + payload.length + (-payload.length & 3);
        const found = at.icrc - at.bth;
        demand(
          found === expected,
          () =>
            `${describePacket(packet)} has ${found} bytes from BTH to ICRC: with ${aeth === 0 ? 'no' : 'an'} AETH it had to have ${expected}`,
        );
      }),
  },
  {
    rules: ['RD-04'],
    async run(t) {
      const peer = await t.connect();
      peer.tx(readRequest({ psn: 0, reth: target(peer, 0, 0) }));
      const { packet } = await peer.rx({ opcode: Op.ReadResponseOnly, psn: 0 });
      demand(packet.payload?.length === 0, () => `an empty answer was expected, and ${describePacket(packet)} came`);
      await peer.expectNextPsn(1, 2);
    },
  },
  {
    rules: ['RD-05'],
    run: (t) =>
      everyRead(t, ({ packet }, { opcode }) => {
        if (opcode === Op.ReadResponseMiddle) return;
        demand(
          (packet.syndrome ?? 0xff) < 0x20,
          () => `the syndrome of ${describePacket(packet)} is not of the ACK type`,
        );
      }),
  },
  {
    rules: ['RD-06'],
    async run(t) {
      const peer = await t.connect();
      await paint(peer, pattern(1024));
      let psn = 0;
      for (const ackReq of [false, true, false]) {
        await readAt(peer, { psn, offset: 0, length: 3 * peer.mtu, ackReq });
        peer.tx(wordRequest(t, peer, psn + 3, { ackReq }));
        await peer.rx({ opcode: wordAnswer(t), psn: psn + 3 });
        psn += 4;
      }
    },
  },
  { rules: ['RD-11'], run: tooManyReads },
  { rules: ['RD-12'], run: readBeforeWrite },
  { rules: ['RD-13'], psnSweep: true, run: answersKeepOrder },
  {
    rules: ['RD-15'],
    async run(t) {
      const peer = await t.connect();
      await peer.expectNextPsn(0, 1);
      await peer.expectNextPsn(1, 2);
      let psn = 2;
      for (const [i, packets] of [3, 1, 2, 5].entries()) {
        const all = await readAt(peer, { psn, offset: 0, length: packets * peer.mtu });
        for (const { packet } of all) {
          const says = packet.msn ?? 3 + i;
          demand(says === 3 + i, () => `MSN ${3 + i} was expected, and ${describePacket(packet)} came`);
        }
        psn += packets;
      }
      await peer.expectNextPsn(psn, 7);
    },
  },
];

export const RD_CASES: readonly Case[] = [...RD_ANSWER_CASES, ...RD_REPLAY_CASES, ...RD_REQUESTER_CASES];

/**
 * READs of every length that matters, one after the other; `check` sees each packet of the answers beside what any
 * responder sends.
 */
async function everyRead(t: Tester, check: (received: ReceivedPacket, expected: Packet) => void): Promise<void> {
  const peer = await t.connect();
  const data = await paint(peer, pattern(5 * peer.mtu + 64));
  let psn = 0;
  for (const length of readLengths(peer.mtu)) {
    const offset = length & 15;
    const expected = readResponses({ psn, msn: 0, data: data.slice(offset, offset + length), mtu: peer.mtu });
    peer.tx(readRequest({ psn, reth: target(peer, offset, length) }));
    for (const one of expected) {
      const received = await peer.take();
      demand(received !== undefined, () => `${describePacket(one)} was expected, and nothing came`);
      check(received, one);
    }
    psn += expected.length;
  }
  await peer.expectNextPsn(psn, readLengths(peer.mtu).length + 1);
}

/**
 * More READs at once than the queue pair was given resources for: served in order, or refused once there are too many.
 */
async function tooManyReads(t: Tester): Promise<void> {
  const limit = 4;
  for (const count of [limit + 1, limit + 2, 4 * limit]) {
    const peer = await t.connect({ maxDestRdAtomic: limit });
    const data = await paint(peer, pattern(3 * peer.mtu));
    const packets = readResponses({ psn: 0, msn: 0, data, mtu: peer.mtu });
    const each = packets.length;
    peer.tx(
      ...Array.from({ length: count }, (_, i) => readRequest({ psn: i * each, reth: target(peer, 0, data.length) })),
    );
    for (let i = 0; i < count * each; i++) {
      const payload = packets[i % each]?.payload ?? new Uint8Array(0);
      const refusal = { opcode: Op.Acknowledge, syndrome: 0x61 };
      const { packet } = await peer.rx([{ psn: i, payload }, refusal]);
      if (packet.opcode !== Op.Acknowledge) continue;
      demand(
        packet.psn >= limit * each && packet.psn % each === 0,
        () => `${describePacket(packet)} refuses one of the ${limit} READs that there are resources for`,
      );
      t.note(`NAK 0x61 for READ ${packet.psn / each + 1} of ${count} at once, ${limit} are allowed`);
      break;
    }
  }
}

/** The READ shows what was there or what came later, byte by byte, and the ACK of what came later comes behind it. */
async function readBeforeWrite(t: Tester): Promise<void> {
  for (const length of [8, 4 * 256]) {
    const peer = await t.connect();
    const before = await paint(peer, pattern(length, 1));
    const after = pattern(Math.min(length, peer.mtu), 2);
    const packets = Math.ceil(length / peer.mtu);
    peer.tx(
      readRequest({ psn: 0, reth: target(peer, 0, length) }),
      writeOnly({ psn: packets, ackReq: true, payload: after, reth: target(peer, 0, after.length) }),
    );
    for (let psn = 0; psn < packets; psn++) {
      const { packet } = await peer.rx({ psn });
      demand(
        packet.opcode !== Op.Acknowledge,
        () => `a READ response was expected, and ${describePacket(packet)} came`,
      );
      const at = psn * peer.mtu;
      const either = packet.payload?.every((byte, i) => byte === before[at + i] || byte === after[at + i]) === true;
      demand(either, () => `${describePacket(packet)} shows neither what was there nor what was written`);
    }
    await peer.rx({ opcode: Op.Acknowledge, psn: packets, syndrome: 0x1f });
  }
}

async function answersKeepOrder(t: Tester): Promise<void> {
  const peer = await t.connect();
  await setWord(peer, 0, 0n);
  const reads = (psn: number, packets: number): Packet =>
    readRequest({ psn, reth: target(peer, 1024, packets * peer.mtu) });
  const write = (psn: number): Packet =>
    writeOnly({ psn, ackReq: true, payload: pattern(16), reth: target(peer, 64, 16) });
  peer.tx(reads(0, 3), sendOnly({ psn: 3, ackReq: true, payload: pattern(32) }));
  await expectAnswers(peer, [
    [Op.ReadResponseFirst, 0],
    [Op.ReadResponseMiddle, 1],
    [Op.ReadResponseLast, 2],
    [Op.Acknowledge, 3],
  ]);
  peer.tx(wordRequest(t, peer, 4), write(5), reads(6, 2), sendOnly({ psn: 8, ackReq: true }), reads(9, 1), write(10));
  await expectAnswers(peer, [
    [wordAnswer(t), 4],
    [Op.ReadResponseFirst, 6],
    [Op.ReadResponseLast, 7],
    [Op.ReadResponseOnly, 9],
    [Op.Acknowledge, 10],
  ]);
}

/** These have to come in this order; ACKs of what went before may stand between them. */
async function expectAnswers(
  peer: TesterPeer,
  answers: readonly (readonly [opcode: number, psn: number])[],
): Promise<void> {
  for (const [opcode, psn] of answers) await afterAcks(peer, { opcode, psn });
}
