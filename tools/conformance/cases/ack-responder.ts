/**
 * Cases of area ACK where the device is the responder: when ACKs are sent, and in which order. Their fields are in
 * ack-fields.ts.
 */
import { Op } from 'rocev2/packets';
import {
  ack,
  cnp,
  describePacket,
  nak,
  type Packet,
  pattern,
  readMiddle,
  readOnly,
  readRequest,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  writeFirst,
  writeLast,
  writeMiddle,
  writeOnly,
  writeOnlyImm,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { ACK_FIELD_CASES } from './ack-fields.ts';
import { isAck, nothingBut, target, wordRequest } from './answers.ts';
import { badKeys, setWord } from './memory.ts';
import { readAt } from './reads.ts';

const ACK_RESPONSE_CASES: readonly Case[] = [
  { rules: ['ACK-01'], psnSweep: true, run: askedAcknowledges },
  {
    rules: ['ACK-02'],
    async run(t) {
      const peer = await t.connect();
      const write = target(peer, 0, 2 * peer.mtu);
      const full = pattern(peer.mtu);
      peer.tx(
        sendOnly({ psn: 0, payload: pattern(8) }),
        sendFirst({ psn: 1, payload: full }),
        sendLast({ psn: 2, payload: full }),
        writeFirst({ psn: 3, payload: full, reth: write }),
        writeLast({ psn: 4, payload: full }),
        writeOnly({ psn: 5, payload: pattern(8), reth: target(peer, 0, 8) }),
      );
      const came = await nothingBut(peer, 6, 5, (packet) => isAck(packet) && packet.psn <= 5);
      t.note(`six packets without AckReq draw ${came.length} ACKs`);
    },
  },
  { rules: ['ACK-03'], psnSweep: true, run: burst },
  { rules: ['ACK-05'], psnSweep: true, run: orderOfAcknowledges },
  {
    rules: ['ACK-14'],
    async run(t) {
      const peer = await t.connect();
      let next = 0;
      for (const ahead of [1, 5, 100]) {
        for (let i = 0; i < 20; i++) peer.tx(sendOnly({ psn: next + ahead + i, ackReq: true, payload: pattern(8) }));
        await peer.expectNak(0x60, next);
        // One NAK for the whole gap: the next thing to come is the ACK of the packet that ends it.
        await peer.expectNextPsn(next, next + 1);
        next += 1;
      }
    },
  },
  {
    rules: ['ACK-15'],
    async run(t) {
      const peer = await t.connect();
      let psn = 0;
      for (const length of [1, 8, peer.mtu, 3 * peer.mtu + 5]) {
        const data = pattern(length, length);
        for (let at = 0; at < length; at += peer.mtu) {
          const payload = data.slice(at, at + peer.mtu);
          const ackReq = at + peer.mtu >= length;
          peer.tx(writeOnly({ psn, ackReq, payload, reth: target(peer, at, payload.length) }));
          psn += 1;
        }
        await peer.expectAck(psn - 1);
        peer.tx(readRequest({ psn, reth: target(peer, 0, length) }));
        for (let at = 0; at < length; at += peer.mtu) {
          await peer.rx({ psn, payload: data.slice(at, at + peer.mtu) });
          psn += 1;
        }
      }
    },
  },
  { rules: ['ACK-18'], run: silentAfterFatal },
  { rules: ['ACK-19'], needs: ['host-control'], run: receivesInOrder },
  { rules: ['ACK-21'], run: answersAreNotAnswered },
];

export const ACK_RESPONDER_CASES: readonly Case[] = [...ACK_RESPONSE_CASES, ...ACK_FIELD_CASES];

async function askedAcknowledges(t: Tester): Promise<void> {
  const peer = await t.connect();
  const full = pattern(peer.mtu);
  const reth = target(peer, 0, 3 * peer.mtu);
  const asking: readonly ((psn: number) => Packet)[] = [
    (psn) => sendFirst({ psn, ackReq: true, payload: full }),
    (psn) => sendMiddle({ psn, ackReq: true, payload: full }),
    (psn) => sendLast({ psn, ackReq: true, payload: full }),
    (psn) => writeFirst({ psn, ackReq: true, payload: full, reth }),
    (psn) => writeMiddle({ psn, ackReq: true, payload: full }),
    (psn) => writeLast({ psn, ackReq: true, payload: full }),
    (psn) => sendOnly({ psn, ackReq: true }),
    (psn) => writeOnlyImm({ psn, ackReq: true, payload: pattern(4), reth: target(peer, 0, 4), imm: 1 }),
  ];
  for (const [psn, packet] of asking.entries()) {
    peer.tx(packet(psn));
    await peer.expectAck(psn);
  }
  // Only the one in the middle asks.
  peer.tx(sendFirst({ psn: 8, payload: full }), sendMiddle({ psn: 9, ackReq: true, payload: full }));
  await peer.expectAck(9);
  peer.tx(sendLast({ psn: 10, ackReq: true, payload: full }));
  await peer.expectAck(10);
}

/** 64 packets that all request an ACK: PSNs of ACKs rise, and the last one names the last packet. */
async function burst(t: Tester): Promise<void> {
  const peer = await t.connect();
  const reth = target(peer, 0, 8);
  peer.tx(...Array.from({ length: 64 }, (_, psn) => writeOnly({ psn, ackReq: true, payload: pattern(8, psn), reth })));
  let newest = -1;
  let count = 0;
  while (newest < 63) {
    const received = await peer.take();
    demand(received !== undefined, `64 packets were sent, and nothing acknowledges those behind ${newest}`);
    const { packet } = received;
    demand(
      isAck(packet) && packet.psn >= newest && packet.psn >= 0 && packet.psn < 64,
      () => `behind an ACK of psn+${newest} came ${describePacket(packet)}`,
    );
    newest = packet.psn;
    count += 1;
  }
  t.note(`64 packets with AckReq draw ${count} ACKs`);
  await peer.expectNextPsn(64, 65);
}

/** A pipeline of everything: what comes back never goes back. */
async function orderOfAcknowledges(t: Tester): Promise<void> {
  const peer = await t.connect();
  await setWord(peer, 0, 0n);
  let psn = 0;
  const next = (packets = 1): number => {
    const first = psn;
    psn += packets;
    return first;
  };
  for (let round = 0; round < 4; round++) {
    peer.tx(
      sendOnly({ psn: next(), ackReq: true, payload: pattern(8) }),
      writeOnly({ psn: next(), ackReq: true, payload: pattern(8), reth: target(peer, 64, 8) }),
      readRequest({ psn: next(3), reth: target(peer, 1024, 3 * peer.mtu) }),
      sendOnly({ psn: next(), ackReq: round % 2 === 0, payload: pattern(8) }),
      wordRequest(t, peer, next()),
      writeOnly({ psn: next(), ackReq: true, payload: pattern(8), reth: target(peer, 64, 8) }),
    );
    for (let newest = psn - 9; newest < psn - 1; ) {
      const received = await peer.take();
      demand(received !== undefined, `nothing acknowledges psn+${psn - 1}`);
      const { packet } = received;
      // A responder may repeat its last ACK at any time (ACK-13).
      const again = isAck(packet) && packet.psn === newest;
      demand(packet.psn > newest || again, () => `behind the answer to psn+${newest} came ${describePacket(packet)}`);
      newest = packet.psn;
    }
  }
  await peer.expectNextPsn(psn, 25);
}

async function silentAfterFatal(t: Tester): Promise<void> {
  const faults: readonly (readonly [number, (peer: TesterPeer) => Packet])[] = [
    [0x61, (peer) => sendMiddle({ psn: 2, ackReq: true, payload: pattern(peer.mtu) })],
    [
      0x62,
      ({ region }) =>
        writeOnly({
          psn: 2,
          payload: pattern(8),
          reth: { va: region.va, rkey: badKeys(region.rkey)[0] ?? 0, length: 8 },
        }),
    ],
  ];
  for (const [syndrome, fault] of faults) {
    const peer = await t.connect();
    await peer.expectNextPsn(0, 1);
    peer.tx(readRequest({ psn: 1, reth: target(peer, 0, 8) }));
    await peer.rx({ opcode: Op.ReadResponseOnly, psn: 1 });
    peer.tx(fault(peer));
    await peer.expectNak(syndrome, 2);
    peer.tx(
      fault(peer),
      sendOnly({ psn: 2, ackReq: true, payload: pattern(8) }),
      sendOnly({ psn: 3, ackReq: true, payload: pattern(8) }),
      sendOnly({ psn: 9, ackReq: true, payload: pattern(8) }),
      writeOnly({ psn: 0, ackReq: true, reth: target(peer, 0, 0) }),
      readRequest({ psn: 1, reth: target(peer, 0, 8) }),
      readRequest({ psn: 2, reth: target(peer, 0, 8) }),
      wordRequest(t, peer, 2),
    );
    await peer.expectSilence();
  }
}

/** SENDs and WRITEs with immediate, mixed: receives complete in the order of the messages. */
async function receivesInOrder(t: Tester): Promise<void> {
  const peer = await t.connect();
  const reth = target(peer, 0, 8);
  const kinds = [1, 2, 1, 3, 2, 2, 1, 3, 1, 1, 2, 3];
  let psn = 0;
  for (const [i, kind] of kinds.entries()) {
    const ackReq = i === kinds.length - 1;
    if (kind === 1) peer.tx(sendOnly({ psn, ackReq, payload: pattern(i + 1) }));
    if (kind === 2) peer.tx(writeOnlyImm({ psn, ackReq, payload: pattern(8), reth, imm: 100 + i }));
    if (kind === 3) {
      peer.tx(
        sendFirst({ psn, payload: pattern(peer.mtu) }),
        sendLast({ psn: psn + 1, ackReq, payload: pattern(i + 1) }),
      );
      psn += 1;
    }
    psn += 1;
  }
  await peer.expectAck(psn - 1, kinds.length);
  const all = await peer.recvCompletions(kinds.length);
  for (const [i, wc] of all.entries()) {
    const kind = kinds[i] ?? 0;
    const imm = kind === 2 ? 100 + i : undefined;
    const byteLen = kind === 1 ? i + 1 : kind === 2 ? 8 : peer.mtu + i + 1;
    peer.isReceived(wc, { wrId: i + 1, byteLen, imm, byWrite: kind === 2 });
  }
}

/** 10,000 answers of each kind to a queue pair that has asked for nothing, with a sentinel behind every 250. */
async function answersAreNotAnswered(t: Tester): Promise<void> {
  const peer = await t.connect();
  await readAt(peer, { psn: 0, offset: 0, length: 8 });
  const kinds: readonly (readonly [string, (psn: number) => Packet])[] = [
    ['ACK', (psn) => ack({ psn, msn: 0 })],
    ['NAK', (psn) => nak(0x60 + (psn & 3), { psn, msn: 0 })],
    [
      'READ RESPONSE',
      (psn) =>
        psn % 2 === 0
          ? readOnly({ psn, msn: 0, payload: pattern(8) })
          : readMiddle({ psn, payload: pattern(peer.mtu) }),
    ],
    ['CNP', () => cnp()],
  ];
  let next = 1;
  for (const [name, make] of kinds) {
    for (let sent = 0; sent < 10_000; sent += EVERY) {
      // Of packets that were never sent, on both sides of what the device would send next.
      for (let i = 0; i < EVERY; i++) peer.txFrame(peer.frame(make((i % 16) - 8)), name);
      await peer.expectNextPsn(next, next + 1);
      next += 1;
    }
  }
}

/** A burst that no queue on the way drops. */
const EVERY = 250;
