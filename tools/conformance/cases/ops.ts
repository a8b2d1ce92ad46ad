/**
 * Cases of area OPS: which opcode a responder takes behind which, and whose requests it takes at all. The whole matrix
 * is in ops-matrix.ts, what a requester sends in ops-requester.ts.
 */
import { Op, opcodeInfo } from 'rocev2/packets';
import {
  atomicAck,
  compareSwap,
  fetchAdd,
  type Packet,
  pattern,
  readFirst,
  readLast,
  readMiddle,
  readOnly,
  readRequest,
  sendLast,
  sendOnly,
  writeFirst,
  writeLast,
  writeMiddle,
  writeOnly,
  writeOnlyImm,
} from 'rocev2/packets/kit';
import type { AccessFlag } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { ALL_ACCESS } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { add, allDead, during, expectOneNak, holds, read, target, word } from './answers.ts';
import { bindWindow } from './memory.ts';
import { CONTINUATIONS, goodPacket, isRequest, isReserved, type OpenName, outcomeOf, RC_OPCODES } from './opcodes.ts';
import { everyRight, mayCrash, OPS_MATRIX_CASES } from './ops-matrix.ts';
import { OPS_REQUESTER_CASES } from './ops-requester.ts';

const OPS_RESPONDER_CASES: readonly Case[] = [
  {
    rules: ['OPS-01'],
    run: (t) => follow(t, 'SEND', (opcode) => !mayCrash(t, opcode)),
  },
  {
    rules: ['OPS-01'],
    title: 'opcodes that the device may not know',
    hazardous: true,
    run: (t) => follow(t, 'SEND', (opcode) => mayCrash(t, opcode)),
  },
  {
    rules: ['OPS-02'],
    run: (t) => follow(t, 'WRITE', (opcode) => !mayCrash(t, opcode)),
  },
  {
    rules: ['OPS-02'],
    title: 'opcodes that the device may not know',
    hazardous: true,
    run: (t) => follow(t, 'WRITE', (opcode) => mayCrash(t, opcode)),
  },
  {
    rules: ['OPS-03'],
    async run(t) {
      const dead: TesterPeer[] = [];
      for (const opcode of CONTINUATIONS) {
        const peer = await t.connect();
        peer.tx(goodPacket(peer, opcode, 0));
        await during(`${nameOf(opcode)} with nothing open`, peer.expectNak(0x61, 0));
        dead.push(peer);
        // A message that is over is not open either.
        for (const open of ['SEND', 'WRITE'] as const) {
          const other = await t.connect();
          other.tx(opening(other, open), closing(other, open));
          await other.expectAck(1, 1);
          other.tx(goodPacket(other, opcode, 2));
          await during(`${nameOf(opcode)} behind a ${open}`, other.expectNak(0x61, 2));
          dead.push(other);
        }
      }
      await allDead(t, dead, (peer) => (dead.indexOf(peer) % 3 === 0 ? 0 : 2));
    },
  },
  {
    rules: ['OPS-04'],
    async run(t) {
      const dead: TesterPeer[] = [];
      for (const open of ['WRITE', 'SEND'] as const) {
        for (const opcode of NEW_MESSAGES) {
          const peer = await t.connect();
          const middle = open === 'WRITE' ? Op.WriteMiddle : Op.SendMiddle;
          const first = open === 'WRITE' ? Op.WriteFirst : Op.SendFirst;
          peer.tx(goodPacket(peer, first, 0, { announced: 3 * peer.mtu }), goodPacket(peer, middle, 1));
          await peer.expectAck(1, 0);
          peer.tx(goodPacket(peer, opcode, 2));
          await during(`${nameOf(opcode)} inside a ${open}`, peer.expectNak(0x61, 2));
          dead.push(peer);
        }
      }
      await allDead(t, dead, () => 2);
    },
  },
  {
    rules: ['OPS-05'],
    async run(t) {
      const dead: TesterPeer[] = [];
      for (const [open, opcodes] of [
        ['WRITE', [Op.SendMiddle, Op.SendLast, Op.SendLastImm]],
        ['SEND', [Op.WriteMiddle, Op.WriteLast, Op.WriteLastImm]],
      ] as const) {
        for (const opcode of opcodes) {
          const peer = await t.connect();
          peer.tx(opening(peer, open));
          await peer.expectAck(0, 0);
          peer.tx({ ...goodPacket(peer, opcode, 1), payload: pattern(peer.mtu) });
          await during(`${nameOf(opcode)} inside a ${open}`, peer.expectNak(0x61, 1));
          dead.push(peer);
        }
      }
      await allDead(t, dead, () => 1);
    },
  },
  {
    rules: ['OPS-06'],
    async run(t) {
      for (const packets of [1, 2, 4]) {
        const peer = await t.connect();
        const length = packets * peer.mtu;
        peer.tx(writeFirst({ psn: 0, payload: pattern(peer.mtu), ackReq: true, reth: target(peer, 0, length) }));
        for (let psn = 1; psn <= packets; psn++)
          peer.tx(writeMiddle({ psn, payload: pattern(peer.mtu), ackReq: true }));
        // The packet that leaves nothing for a LAST may be refused already.
        await expectOneNak(peer, 0x61, [packets - 1, packets]);
        await peer.expectDead(packets);
        await holds(peer, length, new Uint8Array(peer.mtu), 'MIDDLE packets beyond the DMA length');
      }
    },
  },
  {
    rules: ['OPS-07'],
    async run(t) {
      for (const between of closedMessages(t)) {
        for (const opcode of CONTINUATIONS) {
          const peer = await t.connect();
          const next = await between(peer);
          peer.tx(goodPacket(peer, opcode, next));
          await during(nameOf(opcode), peer.expectNak(0x61, next));
        }
        const peer = await t.connect();
        const next = await between(peer);
        peer.tx(sendOnly({ psn: next, payload: pattern(8), ackReq: true }));
        await peer.expectAck(next, 2);
      }
    },
  },
  {
    rules: ['OPS-08'],
    needs: ['host-control'],
    run: (t) =>
      withoutRight(t, 'remote-read', (peer) => [
        readRequest({ psn: 0, reth: target(peer, 0, 64), ackReq: true }),
        readRequest({ psn: 0, reth: target(peer, 0, 600), ackReq: true }),
      ]),
  },
  {
    rules: ['OPS-09'],
    needs: ['host-control'],
    run: (t) =>
      withoutRight(t, 'remote-write', (peer) => [
        writeOnly({ psn: 0, payload: pattern(64), reth: target(peer, 0, 64), ackReq: true }),
        writeOnlyImm({ psn: 0, payload: pattern(64), reth: target(peer, 0, 64), imm: 1, ackReq: true }),
        writeFirst({ psn: 0, payload: pattern(peer.mtu), reth: target(peer, 0, 600), ackReq: true }),
      ]),
  },
  {
    rules: ['OPS-10'],
    needs: ['host-control', 'atomics'],
    run: (t) =>
      withoutRight(t, 'remote-atomic', (peer) => [
        fetchAdd({ psn: 0, ...word(peer, 0), add: 1n, ackReq: true }),
        compareSwap({ psn: 0, ...word(peer, 0), compare: 0n, swap: 1n, ackReq: true }),
      ]),
  },
  {
    rules: ['OPS-11'],
    run: idleRequester,
  },
];

/** One message is open; each opcode comes next, on a queue pair of its own. */
async function follow(t: Tester, open: OpenMessage, chosen: (opcode: number) => boolean): Promise<void> {
  const dead: TesterPeer[] = [];
  for (const opcode of RC_OPCODES.filter(chosen)) {
    const invalidates = opcode === Op.SendLastInvalidate && open === 'SEND';
    if (invalidates && !t.has('mw2')) {
      t.note('SEND LAST with invalidate was not tried: the device has no memory windows');
      continue;
    }
    const peer = await t.connect(everyRight(t));
    const inv = invalidates ? (await bindWindow(t, peer, 2048, 64)).rkey : 0;
    const refused = during(`${nameOf(opcode)} behind ${open} FIRST`, follows(t, peer, open, opcode, inv));
    if (await refused) dead.push(peer);
  }
  await allDead(t, dead, () => 1);
}

/** One opcode in an open message: whether it was refused. */
async function follows(t: Tester, peer: TesterPeer, open: OpenMessage, opcode: number, inv: number): Promise<boolean> {
  const outcome = outcomeOf(open, opcode);
  peer.tx(opening(peer, open, outcome === 'stay' ? 3 : 2));
  await peer.expectAck(0, 0);
  const packet = goodPacket(peer, opcode, 1, { inv });
  peer.tx(outcome === 'close' ? { ...packet, payload: pattern(peer.mtu) } : packet);
  if (outcome === 'close') await peer.expectAck(1, 1);
  else if (outcome === 'stay') {
    await peer.expectAck(1, 0);
    peer.tx(closing(peer, open, 2));
    await peer.expectAck(2, 1);
  } else if (outcome === 'ignore') {
    peer.tx(closing(peer, open, 1));
    await peer.rx({ opcode: Op.Acknowledge, psn: 1, msn: 1, syndrome: 0x1f });
  } else if (!mayDrop(opcode)) {
    await peer.expectNak(0x61, 1);
    return true;
  } else return isRefused(t, peer, open, opcode);
  return false;
}

/**
 * What a device does not know it may drop inside a message, where NAK 0x61 would be due: known of devices, and
 * reported.
 */
async function isRefused(t: Tester, peer: TesterPeer, open: OpenMessage, opcode: number): Promise<boolean> {
  peer.tx(closing(peer, open, 1));
  const { packet } = await peer.rx([
    { opcode: Op.Acknowledge, psn: 1, syndrome: 0x61 },
    { opcode: Op.Acknowledge, psn: 1, msn: 1, syndrome: 0x1f },
  ]);
  if (packet.syndrome !== 0x61) t.note(`${nameOf(opcode)} inside a message is dropped`);
  return packet.syndrome === 0x61;
}

/** Ways to a responder that has finished one message: each returns the PSN that is expected then. */
function closedMessages(t: Tester): ((peer: TesterPeer) => Promise<number>)[] {
  const reads = [0, 64, 600].map((length) => async (peer: TesterPeer): Promise<number> => {
    await read(peer, 0, 0, length);
    return Math.max(1, Math.ceil(length / peer.mtu));
  });
  if (!t.has('atomics')) return reads;
  const fetches = async (peer: TesterPeer): Promise<number> => {
    await add(peer, 0, 0, 1n);
    return 1;
  };
  const compares = async (peer: TesterPeer): Promise<number> => {
    peer.tx(compareSwap({ psn: 0, ...word(peer, 0), compare: 0n, swap: 1n, ackReq: true }));
    await peer.rx({ opcode: Op.AtomicAcknowledge, psn: 0 });
    return 1;
  };
  return [...reads, fetches, compares];
}

/** Requests that a queue pair without this right refuses, each on one of its own; the key has all rights. */
async function withoutRight(t: Tester, right: AccessFlag, stimuli: (peer: TesterPeer) => Packet[]): Promise<void> {
  const access = ALL_ACCESS.filter((flag) => flag !== right);
  const dead: TesterPeer[] = [];
  for (let i = 0, count = 1; i < count; i++) {
    const peer = await t.connect({ access });
    const packets = stimuli(peer);
    count = packets.length;
    peer.tx(...packets.slice(i, i + 1));
    await peer.expectNak(0x61, 0);
    await holds(peer, 0, new Uint8Array(peer.mtu), `a request without the right to ${right}`);
    dead.push(peer);
  }
  await allDead(t, dead, () => 0);
}

/** The device has no open request: every response is unsolicited. */
async function idleRequester(t: Tester): Promise<void> {
  const peer = await t.connect();
  let done = 0;
  for (const psn of [-1, 0, 1, 1000]) {
    const data = { psn, msn: 1, payload: pattern(peer.mtu) };
    for (const response of [
      readFirst(data),
      readMiddle({ psn, payload: pattern(peer.mtu) }),
      readLast(data),
      readOnly(data),
      atomicAck({ psn, msn: 1, original: 7n }),
      { opcode: Op.Acknowledge, psn, msn: 1, syndrome: 0x1f },
    ]) {
      peer.tx(response);
      await peer.expectNextPsn(done, done + 1);
      done++;
    }
  }
  if (t.dut.hostControl === undefined) return;
  const state = await peer.state();
  demand(state === 'RTS', `unsolicited responses have moved the queue pair to ${state}`);
  const mr = t.need(peer.buffers?.mr);
  await peer.post({ wrId: 1, opcode: 'send', pieces: [{ mr, offset: 0, length: 8 }] });
  await peer.rx({ opcode: Op.SendOnly, psn: 0 });
  peer.ack(0, 1);
  const [done1] = await peer.sendCompletions(1);
  demand(done1?.status === 0 && done1.wrId === 1, `a SEND after them completed with status ${done1?.status}`);
}

const nameOf = (opcode: number): string => opcodeInfo(opcode).name;

/**
 * Reserved opcodes, and those of the memory placement extensions: rdma_rxe has an ICRC of its own for its FLUSH, and
 * drops others'.
 */
const mayDrop = (opcode: number): boolean => isReserved(opcode) || opcode === Op.Flush || opcode === Op.AtomicWrite;

type OpenMessage = Exclude<OpenName, 'none'>;

/** The packet that opens a message of so many packets, at PSN 0. */
function opening(peer: TesterPeer, open: OpenMessage, packets = 2): Packet {
  const opcode = open === 'SEND' ? Op.SendFirst : Op.WriteFirst;
  return goodPacket(peer, opcode, 0, { announced: packets * peer.mtu });
}

/** The packet that closes it. */
function closing(peer: TesterPeer, open: OpenMessage, psn = 1): Packet {
  const fields = { psn, payload: pattern(peer.mtu), ackReq: true };
  return open === 'SEND' ? sendLast(fields) : writeLast(fields);
}

/** Requests that begin a message, of every device. */
const NEW_MESSAGES: readonly number[] = RC_OPCODES.filter(
  (opcode) => isRequest(opcode) && !CONTINUATIONS.includes(opcode) && opcode !== Op.Flush && opcode !== Op.AtomicWrite,
);

/** All cases of area OPS. */
export const OPS_CASES: readonly Case[] = [...OPS_RESPONDER_CASES, ...OPS_MATRIX_CASES, ...OPS_REQUESTER_CASES];
