/**
 * Cases of area LEN about what the device sends: sizes of its packets and pads, what it makes of READ responses of the
 * wrong size, and messages of every size, both ways (LEN-13 to LEN-19).
 */

import {
  describePacket,
  type Packet,
  pattern,
  readFirst,
  readLast,
  readMiddle,
  readOnly,
  readRequest,
  type Sighting,
  sendPackets,
} from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import { HostControlError, type SendRequest } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { during, target } from './answers.ts';
import { LEN_GRID_CASES } from './len-grid.ts';
import { joined, piece, sender, sizesOf, takeMessage, work } from './requests.ts';

const SIZE_CASES: readonly Case[] = [
  {
    rules: ['LEN-13'],
    needs: ['host-control'],
    async run(t) {
      const from = await sender(t);
      const { peer, data } = from;
      const { mtu } = peer;
      const some = Array.from({ length: 12 }, () => t.random.below(5 * mtu + 4));
      let psn = 0;
      let msn = 0;
      for (const length of [0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 5, 5 * mtu, 5 * mtu + 3, ...some]) {
        for (const opcode of ['send', 'write'] as const) {
          await peer.post(work(t, from, opcode, length));
          const packets = await takeMessage(peer, psn, ++msn);
          const sizes = packets.map(({ payload }) => payload?.length ?? 0);
          demand(
            sizes.join() === sizesOf(length, mtu).join(),
            () => `a ${opcode} of ${length} bytes came in packets of ${sizes.join(', ')} bytes`,
          );
          const bytes = joined(packets);
          demand(
            bytes.every((byte, i) => byte === data[i]),
            () => `a ${opcode} of ${length} bytes carries other bytes than memory has`,
          );
          psn += packets.length;
          await peer.sendCompletions(1);
        }
      }
    },
  },
  {
    rules: ['LEN-14'],
    async run(t) {
      const peer = await t.connect();
      let psn = 0;
      for (const length of LENGTHS) {
        peer.tx(readRequest({ psn, reth: target(peer, 0, length), ackReq: true }));
        const packets = sizesOf(length, peer.mtu).length;
        for (let i = 0; i < packets; i++) await paddedWell(peer);
        psn += packets;
        peer.tx(...sendPackets({ psn, data: pattern(8) }));
        await paddedWell(peer);
        psn++;
      }
    },
  },
  {
    rules: ['LEN-14'],
    title: 'requests of the device',
    needs: ['host-control'],
    async run(t) {
      const from = await sender(t);
      const { peer } = from;
      let psn = 0;
      let msn = 0;
      for (const length of LENGTHS) {
        for (const opcode of ['send', 'write', 'send-imm', 'write-imm'] as const) {
          await peer.post(work(t, from, opcode, length, { imm: 1 }));
          const packets = sizesOf(length, peer.mtu).length;
          for (let i = 0; i < packets; i++) await paddedWell(peer);
          psn += packets;
          peer.ack(psn - 1, ++msn);
          await peer.sendCompletions(1);
        }
      }
    },
  },
  {
    rules: ['LEN-15'],
    needs: ['host-control'],
    async run(t) {
      for (const opcode of ['send', 'write', 'read'] as const) {
        const from = await sender(t, 8192);
        const { peer } = from;
        const request = work(t, from, opcode, 0, { pieces: piece(t, from, 0x80_00_00_01) });
        const outcome = await during(`a ${opcode} of 2^31 + 1 bytes`, attempt(peer, request));
        demand(outcome !== 'success', `a ${opcode} of 2^31 + 1 bytes completed with success`);
        t.note(`a ${opcode} of 2^31 + 1 bytes: ${outcome}`);
      }
    },
  },
  {
    rules: ['LEN-16'],
    needs: ['host-control'],
    async run(t) {
      for (const [what, packets] of WRONG_RESPONSES) {
        const from = await sender(t);
        const { peer } = from;
        await peer.post(work(t, from, 'read', 3 * MTU));
        await takeMessage(peer, 0, 1);
        peer.tx(...packets);
        const [done] = await during(what, peer.sendCompletions(1));
        demand(
          done?.status === WcStatus.LocLenErr || done?.status === WcStatus.BadRespErr,
          () => `${what}: the READ was to complete with a local length error, and did with status ${done?.status}`,
        );
        if (done.status === WcStatus.BadRespErr) t.note(`${what}: bad response instead of local length error`);
        await peer.expectState('ERR');
      }
    },
  },
  {
    rules: ['LEN-17'],
    needs: ['host-control'],
    async run(t) {
      for (const [what, length, packets] of EXCESSIVE_RESPONSES) {
        const from = await sender(t);
        const { peer, local, data } = from;
        await peer.post(work(t, from, 'read', length));
        await takeMessage(peer, 0, 1);
        peer.tx(...packets);
        const done = await t.completionsWithin(peer.sendCq);
        for (const one of done) peer.isSent(one);
        t.note(`${what}: ${done.map(({ status }) => `status ${status}`).join(', ') || 'no completion'}`);
        const behind = await t.memory(local, length, data.length - length);
        const wrong = behind.findIndex((byte, i) => byte !== data[length + i]);
        demand(wrong < 0, `${what}: byte ${wrong} behind what was asked for has changed`);
      }
    },
  },
  {
    rules: ['LEN-18'],
    needs: ['host-control', 'ud'],
    run: longDatagram,
  },
];

/** The next packet, whatever it is, and its pad. @throws Violation when nothing comes */
async function paddedWell(peer: TesterPeer): Promise<void> {
  const received = await peer.take();
  demand(received !== undefined, 'a packet of the device was expected, and nothing came');
  const { sighting, packet } = received;
  const { padCount, at, bytes } = sighting;
  demand(sighting.wellFormed, () => `${describePacket(packet)} is malformed`);
  const length = packet.payload?.length ?? 0;
  demand(
    at.icrc - at.payload === length + padCount && (length + padCount) % 4 === 0 && padCount === (-length & 3),
    () => `${describePacket(packet)} has ${length} bytes, and its pad is ${padCount}`,
  );
  demand(
    bytes.subarray(at.payload + length, at.icrc).every((byte) => byte === 0),
    () => `the pad of ${describePacket(packet)} is not zero`,
  );
  demand(isWhole(sighting), () => `${describePacket(packet)} does not end with its ICRC`);
}

/** UDP length and frame agree on where the packet ends. */
const isWhole = ({ at, bytes }: Sighting): boolean =>
  at.udp + ((bytes[at.udp + 4] ?? 0) * 256 + (bytes[at.udp + 5] ?? 0)) === at.icrc + 4;

/** Posts work that must leave nothing on the wire: how it ended. */
async function attempt(peer: TesterPeer, request: SendRequest): Promise<string> {
  try {
    await peer.post(request);
  } catch (error) {
    if (error instanceof HostControlError && error.kind === 'refused') return `refused with ${error.errno}`;
    throw error;
  }
  await peer.expectSilence();
  const [done] = await peer.sendCompletions(1);
  return done?.status === 0 ? 'success' : `completed with status ${done?.status}`;
}

/** A datagram above the MTU of the port, then one that fits: only the second may be seen. */
async function longDatagram(t: Tester): Promise<void> {
  const { activeMtu } = t.hostControl.description;
  const from = await sender(t, activeMtu + 64, { type: 'ud' });
  const { peer } = from;
  const { ours, gidIndex } = t.address();
  const ah = t.handle();
  await t.hostControl.call('ah.create', { ah, pd: peer.pd, destination: ours.toString(), sgidIndex: gidIndex });
  const to = { ah, remoteQpn: peer.qpn, remoteQkey: 0x1111_1111 };
  const outcome = await attempt(peer, work(t, from, 'send', activeMtu + 1, to));
  t.note(`a UD SEND above the MTU: ${outcome}`);
  if ((await peer.state()) !== 'RTS') return peer.expectSilence();
  await peer.post(work(t, from, 'send', 8, { ...to, wrId: 2 }));
  const { packet } = await peer.rx({ payload: from.data.slice(0, 8) });
  demand(packet.qkey === 0x1111_1111, () => `a datagram was expected, and ${describePacket(packet)} came`);
}

const MTU = 256;
const LENGTHS: readonly number[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, MTU - 1, MTU, MTU + 1, MTU + 2, 3 * MTU + 3];

const answered = (psn: number, length: number) => ({ psn, msn: 1, payload: pattern(length, 9) });
/** Answers to a READ of three packets, each with one packet of the wrong size. */
const WRONG_RESPONSES: readonly (readonly [what: string, packets: readonly Packet[]])[] = [
  ['a FIRST that is too short', [readFirst(answered(0, MTU - 4))]],
  ['a FIRST that is too long', [readFirst(answered(0, MTU + 4))]],
  ['an empty FIRST', [readFirst(answered(0, 0))]],
  ['a MIDDLE that is too short', [readFirst(answered(0, MTU)), readMiddle({ psn: 1, payload: pattern(MTU - 4) })]],
  ['a MIDDLE that is too long', [readFirst(answered(0, MTU)), readMiddle({ psn: 1, payload: pattern(MTU + 4) })]],
  [
    'an empty LAST',
    [readFirst(answered(0, MTU)), readMiddle({ psn: 1, payload: pattern(MTU) }), readLast(answered(2, 0))],
  ],
  [
    'a LAST that is too long',
    [readFirst(answered(0, MTU)), readMiddle({ psn: 1, payload: pattern(MTU) }), readLast(answered(2, MTU + 4))],
  ],
];
/** Answers that bring more than was asked for. */
const EXCESSIVE_RESPONSES: readonly (readonly [what: string, length: number, packets: readonly Packet[]])[] = [
  [
    'one packet too many',
    2 * MTU,
    [
      readFirst(answered(0, MTU)),
      readMiddle({ psn: 1, payload: pattern(MTU, 9) }),
      readMiddle({ psn: 2, payload: pattern(MTU, 9) }),
      readLast(answered(3, MTU)),
    ],
  ],
  [
    'a LAST behind the last',
    2 * MTU,
    [readFirst(answered(0, MTU)), readLast(answered(1, MTU)), readLast(answered(2, MTU))],
  ],
  ['an ONLY that is too long', 8, [readOnly(answered(0, 64))]],
  ['an ONLY of more than the MTU', 8, [readOnly(answered(0, 2 * MTU))]],
  ['a LAST that is too long', MTU + 8, [readFirst(answered(0, MTU)), readLast(answered(1, 64))]],
  ['a FIRST for a READ of one packet', 64, [readFirst(answered(0, MTU)), readLast(answered(1, MTU))]],
];

/** Cases about what the device sends. */
export const LEN_REQUESTER_CASES: readonly Case[] = [...SIZE_CASES, ...LEN_GRID_CASES];
