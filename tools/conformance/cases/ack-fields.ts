/** Cases of area ACK on what a responder's answers say: opcode, MSN, credits, and the headers around them. */
import { Op } from 'rocev2/packets';
import {
  describePacket,
  fetchAdd,
  type Packet,
  pattern,
  readRequest,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  sendPackets,
  writeOnly,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, NotApplicable } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { target, wordAnswer, wordRequest } from './answers.ts';
import { established, listen } from './cm-parts.ts';
import { badKeys, paint } from './memory.ts';

export const ACK_FIELD_CASES: readonly Case[] = [
  {
    rules: ['ACK-04'],
    async run(t) {
      for (const [syndrome, make] of refusalsOf(t)) {
        const peer = await t.connect({ receives: 0 });
        peer.tx(make(peer));
        const { packet, sighting } = await peer.expectNak(syndrome, 0);
        const bytes = sighting.at.icrc - sighting.at.bth;
        demand(
          bytes === 16,
          () => `${describePacket(packet)} has ${bytes} bytes from BTH to ICRC: BTH and AETH are 16`,
        );
      }
    },
  },
  {
    rules: ['ACK-06'],
    psnSweep: true,
    async run(t) {
      const peer = await t.connect();
      for (const message of [0, 1]) {
        peer.tx(...sendPackets({ psn: 3 * message, data: pattern(3 * peer.mtu) }));
        await peer.expectAck(3 * message + 2, message + 1);
      }
    },
  },
  {
    rules: ['ACK-06'],
    title: 'merged ACKs',
    async run(t) {
      // So long a READ that the device still answers it when the SENDs come: it may merge what it owes them.
      const responses = 1024;
      const mtu = 256;
      const peer = await t.connect({ mtu, regionBytes: responses * mtu });
      const sends = [0, 1, 2, 3].map((i) => sendOnly({ psn: responses + i, ackReq: true, payload: pattern(8) }));
      peer.tx(readRequest({ psn: 0, reth: target(peer, 0, responses * mtu) }), ...sends);
      for (let psn = 0; psn < responses; psn++) await peer.rx({ psn });
      for (let acknowledged = 0; acknowledged < sends.length; ) {
        const { packet } = await peer.rx({ opcode: Op.Acknowledge });
        acknowledged = packet.psn - responses + 1;
        // The READ is a message as well.
        demand(packet.msn === acknowledged + 1, () => `${describePacket(packet)} is for ${acknowledged + 1} messages`);
      }
    },
  },
  {
    rules: ['ACK-07'],
    async run(t) {
      const peer = await t.connect();
      const payload = pattern(peer.mtu);
      peer.tx(sendFirst({ psn: 0, payload }), sendMiddle({ psn: 1, ackReq: true, payload }));
      await peer.expectAck(1, 0);
      peer.tx(sendLast({ psn: 2, ackReq: true, payload }));
      await peer.expectAck(2, 1);
    },
  },
  {
    rules: ['ACK-08'],
    async run(t) {
      for (const [syndrome, make] of refusalsOf(t)) {
        const peer = await t.connect({ receives: 2 });
        peer.tx(sendOnly({ psn: 0, payload: pattern(8) }), sendOnly({ psn: 1, ackReq: true, payload: pattern(8) }));
        await peer.expectAck(1, 2);
        const request = make(peer);
        peer.tx({ ...request, psn: request.psn + 2 });
        const { packet } = await peer.expectNak(syndrome, 2);
        demand(packet.msn === 2, () => `two messages were executed, and ${describePacket(packet)} came`);
      }
    },
  },
  {
    rules: ['ACK-09'],
    needs: ['host-control', 'preset-msn'],
    async run(t) {
      // The next message has the number before the last.
      const peer = await t.connect({ msn: 0xff_ff_fe });
      for (const [psn, msn] of [0xff_ff_fe, 0xff_ff_ff, 0, 1].entries()) {
        peer.tx(sendOnly({ psn, ackReq: true, payload: pattern(8) }));
        await peer.expectAck(psn, msn);
      }
      peer.tx(readRequest({ psn: 4, reth: target(peer, 0, 8) }));
      await peer.rx({ opcode: Op.ReadResponseOnly, psn: 4, msn: 2 });
    },
  },
  { rules: ['ACK-10'], needs: ['host-control', 'srq', 'credits'], run: noCreditsOfShared },
  { rules: ['ACK-11'], needs: ['host-control', 'credits'], run: creditsFollowReceives },
  { rules: ['ACK-23'], needs: ['host-control', 'credits'], run: announcesReceives },
  { rules: ['ACK-11'], title: 'agreed on by CM', needs: ['host-control', 'cm'], run: creditsOfConnections },
  { rules: ['ACK-20'], run: headersOfAnswers },
];

type Refusal = readonly [syndrome: number, request: (peer: TesterPeer) => Packet];

const refusalsOf = (t: Tester): readonly Refusal[] => (t.has('atomics') ? [...refusals, ...atomicRefusals] : refusals);

/** One request for every NAK there is, at PSN 0 of a connection without receives; the first one skips a PSN. */
const refusals: readonly Refusal[] = [
  [0x60, () => sendOnly({ psn: 1, ackReq: true, payload: pattern(8) })],
  [0x61, (peer) => sendMiddle({ psn: 0, ackReq: true, payload: pattern(peer.mtu) })],
  [0x62, ({ region }) => writeOnly({ psn: 0, payload: pattern(8), reth: { ...foreign(region), length: 8 } })],
  [0x62, ({ region }) => readRequest({ psn: 0, reth: { ...foreign(region), length: 2000 } })],
  // min_rnr_timer of a connection when a case does not say.
  [0x20 | 12, () => sendOnly({ psn: 0, ackReq: true, payload: pattern(8) })],
];

const atomicRefusals: readonly Refusal[] = [
  [0x61, ({ region }) => fetchAdd({ psn: 0, va: region.va + 1n, rkey: region.rkey, add: 1n })],
  [0x62, ({ region }) => fetchAdd({ psn: 0, ...foreign(region), add: 1n })],
];

const foreign = ({ va, rkey }: { va: bigint; rkey: number }) => ({ va, rkey: badKeys(rkey)[0] ?? 0 });

/** Answers of every kind of a connection that has room for `receives` SENDs. */
async function everyAnswer(t: Tester, peer: TesterPeer): Promise<ReceivedPacket[]> {
  await paint(peer, pattern(2048));
  const all: ReceivedPacket[] = [];
  peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(8) }));
  all.push(await peer.expectAck(0));
  peer.tx(readRequest({ psn: 1, reth: target(peer, 0, 3 * peer.mtu) }));
  for (const psn of [1, 2, 3]) all.push(await peer.rx({ psn }));
  peer.tx(readRequest({ psn: 4, reth: target(peer, 0, 8) }));
  all.push(await peer.rx({ opcode: Op.ReadResponseOnly, psn: 4 }));
  peer.tx(wordRequest(t, peer, 5));
  all.push(await peer.rx({ opcode: wordAnswer(t), psn: 5 }));
  return all;
}

async function noCreditsOfShared(t: Tester): Promise<void> {
  const pd = t.handle();
  const srq = t.handle();
  await t.hostControl.call('pd.alloc', { pd });
  await t.hostControl.call('srq.create', { srq, pd, maxWr: 16 });
  const peer = await t.connect({ pd, srq, flowControl: true });
  const mr = t.need(peer.buffers?.mr);
  for (let i = 0; i < 8; i++) {
    await t.hostControl.call('srq.recv', { srq, wrId: i + 1, pieces: [{ mr, offset: 256 * i, length: 256 }] });
  }
  const all = await everyAnswer(t, peer);
  for (let psn = 6; psn < 10; psn++) {
    peer.tx(sendOnly({ psn, ackReq: true, payload: pattern(8) }));
    all.push(await peer.expectAck(psn));
  }
  for (const { packet } of all) {
    const { syndrome = NO_CREDITS } = packet;
    demand(
      syndrome === NO_CREDITS,
      () => `a queue pair on a shared receive queue gives credits: ${describePacket(packet)}`,
    );
  }
}

/** The code says the largest number of the table that is not above the receives that there are. */
async function creditsFollowReceives(t: Tester): Promise<void> {
  const used = t.premise('the device gives credits');
  const peer = await t.connect({ receives: 0, maxRecvWr: 256, flowControl: true });
  let posted = 0;
  for (const [psn, receives] of [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 24, 31, 32, 48, 100].entries()) {
    for (; posted < receives; posted++) await peer.postReceive(posted + 1, 0, 64);
    peer.tx(writeOnly({ psn, ackReq: true, reth: target(peer, 0, 0) }));
    const { packet } = await peer.expectAck(psn);
    if (givesCredits(packet, receives)) used();
  }
}

async function announcesReceives(t: Tester): Promise<void> {
  const none = t.premise('the device gives credits for no receive');
  const peer = await t.connect({ receives: 0, flowControl: true });
  peer.tx(writeOnly({ psn: 0, ackReq: true, reth: target(peer, 0, 0) }));
  const { packet } = await peer.expectAck(0);
  if (!givesCredits(packet, 0)) return;
  none();
  await peer.postReceive(1, 0, 64);
  const { packet: again } = await peer.rx({ opcode: Op.Acknowledge, psn: 0 });
  demand(givesCredits(again, 1), 'the ACK that announces a receive gives no credits');
  await peer.expectNextPsn(1, 2);
}

/** What a listener of the device has agreed on, with as many receives as it has posted. */
async function creditsOfConnections(t: Tester): Promise<void> {
  const cm = await t.cm();
  let given = 0;
  for (const receives of [1, 2, 5, 8, 16]) {
    const port = await listen(t, { receives });
    const { one, peer } = await established(t, cm, port, { endToEndFlowControl: 1 });
    if (one.rep.body.endToEndFlowControl !== 1)
      throw new NotApplicable('the device does not agree on end-to-end flow control');
    peer.tx(writeOnly({ psn: 0, ackReq: true, reth: target(peer, 0, 0) }));
    const { packet } = await peer.expectAck(0);
    if (givesCredits(packet, receives)) given++;
  }
  if (given === 0) throw new NotApplicable('the device agrees on end-to-end flow control, and gives no credits');
}

/** Whether an ACK gives credits. @throws Violation when it gives others than there are receives */
function givesCredits({ syndrome: code = NO_CREDITS }: Packet, receives: number): boolean {
  if (code === NO_CREDITS) return false;
  const expected = CREDITS.filter((credits) => credits <= receives).length - 1;
  demand(code === expected, `with ${receives} receives credit code ${expected} was expected, and ${code} came`);
  return true;
}

/** Everything a responder says goes to our queue pair, in its partition, and is no congestion notification. */
async function headersOfAnswers(t: Tester): Promise<void> {
  const pkey = t.dut.hostControl === undefined ? 0xff_ff : (await t.hostControl.call('port.query', {})).pkeys[0];
  const peer = await t.connect({ receives: 1 });
  const all = await everyAnswer(t, peer);
  peer.tx(sendOnly({ psn: 6, ackReq: true, payload: pattern(8) }));
  all.push(await peer.expectNak(0x20 | 12, 6));
  // What was refused has changed nothing, so that this one is too early.
  const ahead = await t.connect();
  ahead.tx(writeOnly({ psn: 3, ackReq: true, reth: target(ahead, 0, 0) }));
  const early = await ahead.expectNak(0x60, 0);
  demand(early.sighting.destQpn === ahead.qpn, 'a NAK goes to another queue pair than that of the request');
  for (const { packet, sighting } of all) {
    const { destQpn, fecn, becn } = sighting;
    const says = () =>
      `${describePacket(packet)} has QPN 0x${destQpn.toString(16)}, P_Key 0x${sighting.pkey.toString(16)}, FECN ${fecn}, BECN ${becn}`;
    demand(destQpn === peer.qpn && sighting.pkey === pkey && fecn === 0 && becn === 0, says);
  }
}

const NO_CREDITS = 0x1f;
/** What codes 0 to 30 stand for (ref:conformance#C.4): 0 to 4, then 2^(c/2) and 3 * 2^((c-3)/2). */
const CREDITS: readonly number[] = Array.from({ length: 31 }, (_, code) => {
  if (code < 4) return code;
  return code % 2 === 0 ? 2 ** (code / 2) : 3 * 2 ** ((code - 3) / 2);
});
