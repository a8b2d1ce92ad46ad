/** ACK-22: the MSN of ACKs that stand for several messages. */
import {
  describePacket,
  type Packet,
  pattern,
  readRequest,
  sendFirst,
  sendLast,
  sendOnly,
  writeOnly,
} from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { afterAcks, isAck, target } from './answers.ts';

export const ACK_MERGED_CASES: readonly Case[] = [{ rules: ['ACK-22'], psnSweep: true, run: countsAll }];

async function countsAll(t: Tester): Promise<void> {
  const peer = await t.connect();
  let psn = 0;
  let msn = 0;
  for (const each of [false, true])
    for (const count of [1, 2, 5, 40]) {
      // Which message ends at which PSN; a packet inside a message counts those before it.
      const counted = new Map<number, number>();
      const packets: Packet[] = [];
      for (let i = 0; i < count; i++) {
        const message = messageOf(peer, i, psn);
        for (const [at, packet] of message.entries()) {
          const ends = at === message.length - 1;
          if (ends) msn++;
          counted.set(psn++, msn);
          packets.push({ ...packet, ackReq: ends && (each || i === count - 1) });
        }
      }
      peer.tx(...packets);
      await countedRight(peer, psn - 1, counted);
    }
  // Behind a long READ the ACKs of what follows wait, and can become one.
  const read = 16;
  const counted = new Map<number, number>();
  const packets: Packet[] = [readRequest({ psn, reth: target(peer, 0, read * peer.mtu) })];
  msn++;
  for (let at = 0; at < read; at++) counted.set(psn++, msn);
  for (let i = 0; i < 6; i++) {
    packets.push(writeOnly({ psn, ackReq: true, payload: pattern(8), reth: target(peer, 0, 8) }));
    counted.set(psn++, ++msn);
  }
  peer.tx(...packets);
  const last = psn - 1;
  for (let at = psn - 6 - read; at < psn - 6; at++) await afterAcks(peer, { psn: at });
  await countedRight(peer, last, counted);
}

/** WRITEs, and a SEND of two packets now and then: there are sixteen receives. */
function messageOf(peer: TesterPeer, i: number, psn: number): Packet[] {
  if (i === 1) return [sendOnly({ psn, payload: pattern(8) })];
  if (i !== 4) return [writeOnly({ psn, payload: pattern(8), reth: target(peer, 0, 8) })];
  return [sendFirst({ psn, payload: pattern(peer.mtu) }), sendLast({ psn: psn + 1, payload: pattern(8) })];
}

async function countedRight(peer: TesterPeer, last: number, counted: ReadonlyMap<number, number>): Promise<void> {
  for (;;) {
    const received = await peer.take();
    demand(received !== undefined, `nothing acknowledges psn+${last}`);
    const { packet } = received;
    demand(isAck(packet), () => `an ACK was expected, and ${describePacket(packet)} came`);
    const wanted = counted.get(packet.psn);
    demand(
      wanted === undefined || packet.msn === wanted,
      () => `${wanted} messages end up to psn+${packet.psn}, and ${describePacket(packet)} came`,
    );
    if (packet.psn === last) return;
  }
}
