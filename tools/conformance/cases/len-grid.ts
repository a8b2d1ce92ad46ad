/** LEN-19: messages of every size, by SEND, WRITE and READ, with the device on either side, byte for byte. */
import { type Packet, pattern, readRequest, sendPackets, writePackets } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { register } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Region, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { readAnswer, target } from './answers.ts';
import { answerRead, contents, fill, joined, sender, sizesOf, takeMessage, work } from './requests.ts';

export const LEN_GRID_CASES: readonly Case[] = [
  { rules: ['LEN-19'], title: 'SEND to the device', needs: ['host-control'], run: sendsArrive },
  { rules: ['LEN-19'], title: 'WRITE to the device', needs: ['host-control'], run: writesArrive },
  { rules: ['LEN-19'], title: 'READ of the device', needs: ['host-control'], run: readsArrive },
  { rules: ['LEN-19'], title: 'SEND of the device', needs: ['host-control'], run: (t) => messagesLeave(t, 'send') },
  { rules: ['LEN-19'], title: 'WRITE of the device', needs: ['host-control'], run: (t) => messagesLeave(t, 'write') },
  { rules: ['LEN-19'], title: 'READ by the device', needs: ['host-control'], run: readsByDevice },
];

async function sendsArrive(t: Tester): Promise<void> {
  const peer = await t.connect({ mtu: mtuOf(t), receives: 0 });
  const { mr, region } = register(t, peer.pd, LARGEST, ['local-write']);
  const buffer = await region;
  let psn = 0;
  for (const [i, length] of sizes(peer.mtu).entries()) {
    await t.hostControl.call('qp.recv', { qp: peer.qp, wrId: i + 1, pieces: [{ mr, offset: 0, length: LARGEST }] });
    psn = await acknowledged(peer, sendPackets({ psn, data: pattern(length, i + 1), mtu: peer.mtu }));
    await peer.receives({ wrId: i + 1, byteLen: length });
    await equal(t, buffer, pattern(length, i + 1), `a SEND of ${length} bytes`);
  }
}

async function writesArrive(t: Tester): Promise<void> {
  const peer = await t.connect({ mtu: mtuOf(t), regionBytes: LARGEST });
  const { va, rkey } = peer.region;
  let psn = 0;
  for (const [i, length] of sizes(peer.mtu).entries()) {
    const data = pattern(length, i + 1);
    psn = await acknowledged(peer, writePackets({ psn, data, va, rkey, mtu: peer.mtu }));
    await equal(t, peer.region, data, `a WRITE of ${length} bytes`);
  }
}

async function readsArrive(t: Tester): Promise<void> {
  const peer = await t.connect({ mtu: mtuOf(t), regionBytes: LARGEST });
  const data = pattern(LARGEST, 3);
  await fill(t, peer.region, data);
  let psn = 0;
  for (const length of sizes(peer.mtu)) {
    // In pieces, so that no queue of ours has to hold more than one of them.
    for (let at = 0; at === 0 || at < length; at += READ_BYTES) {
      const piece = Math.min(READ_BYTES, length - at);
      peer.tx(readRequest({ psn, reth: target(peer, at, piece), ackReq: true }));
      const bytes = await readAnswer(peer, psn, piece);
      const wrong = bytes.findIndex((byte, i) => byte !== data[at + i]);
      demand(wrong < 0, `byte ${at + wrong} of a READ of ${length} bytes is wrong`);
      psn += sizesOf(piece, peer.mtu).length;
    }
  }
}

async function messagesLeave(t: Tester, opcode: 'send' | 'write'): Promise<void> {
  const from = await sender(t, LARGEST, { mtu: mtuOf(t) });
  const { peer, data } = from;
  let psn = 0;
  for (const [i, length] of sizes(peer.mtu).entries()) {
    await peer.post(work(t, from, opcode, length));
    const packets = await takeMessage(peer, psn, i + 1);
    const bytes = joined(packets);
    demand(bytes.length === length, `a ${opcode} of ${length} bytes came with ${bytes.length}`);
    const wrong = bytes.findIndex((byte, at) => byte !== data[at]);
    demand(wrong < 0, `byte ${wrong} of a ${opcode} of ${length} bytes is wrong`);
    psn += packets.length;
    await succeeded(peer, `a ${opcode} of ${length} bytes`);
  }
}

async function readsByDevice(t: Tester): Promise<void> {
  const from = await sender(t, LARGEST, { mtu: mtuOf(t) });
  const { peer } = from;
  let psn = 0;
  for (const [i, length] of sizes(peer.mtu).entries()) {
    await peer.post(work(t, from, 'read', length));
    await takeMessage(peer, psn, i + 1);
    const data = pattern(length, i + 1);
    await answerRead(t, peer, psn, i + 1, data);
    await succeeded(peer, `a READ of ${length} bytes`);
    await equal(t, from.local, data, `a READ of ${length} bytes`);
    psn += sizesOf(length, peer.mtu).length;
  }
}

/** Sends a message a few packets at a time, each of them acknowledged: the PSN behind it. */
async function acknowledged(peer: TesterPeer, packets: readonly Packet[]): Promise<number> {
  for (let at = 0; at < packets.length; at += BURST) {
    const some = packets.slice(at, at + BURST);
    const last = some.at(-1);
    if (last === undefined) break;
    peer.tx(...some.slice(0, -1), { ...last, ackReq: true });
    await peer.expectAck(last.psn);
  }
  const end = packets.at(-1);
  if (end === undefined) throw new Inconclusive('a message without packets');
  return end.psn + 1;
}

async function equal(t: Tester, region: Region, wanted: Uint8Array, what: string): Promise<void> {
  const found = await contents(t, region, 0, wanted.length);
  const wrong = found.findIndex((byte, i) => byte !== wanted[i]);
  demand(wrong < 0, `byte ${wrong} of ${what} is ${found[wrong]}, and was sent as ${wanted[wrong]}`);
}

async function succeeded(peer: TesterPeer, what: string): Promise<void> {
  const [done] = await peer.sendCompletions(1);
  demand(done?.status === 0, `${what} completed with status ${done?.status}`);
}

const mtuOf = (t: Tester): number => Math.min(1024, t.hostControl.description.activeMtu);

const sizes = (mtu: number): readonly number[] => [
  ...[0, 1, 3, 4, 5, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 1],
  65_536,
  LARGEST,
];
const LARGEST = 1_048_576;
const READ_BYTES = 65_536;
const BURST = 16;
