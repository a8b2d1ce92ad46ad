/**
 * OPS-18: the responder's whole opcode matrix, one queue pair for each field. What a device does otherwise is its
 * profile: a note for each field, and one allowed variation. Virtual devices are asked all of it; of the classes that
 * are not RC a live one is asked samples.
 */
import { Op } from 'rocev2/packets';
import { describePacket, type Packet, pattern, sendLast, writeLast, writeOnly } from 'rocev2/packets/kit';
import type { AccessFlag } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { ALL_ACCESS, type TesterConnectOptions } from '../tester/connect.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { isAck, target } from './answers.ts';
import { bindWindow, LENDING } from './memory.ts';
import {
  goodPacket,
  isReserved,
  OPEN_MESSAGES,
  type OpcodeOutcome,
  type OpenName,
  outcomeOf,
  RC_OPCODES,
} from './opcodes.ts';

export const OPS_MATRIX_CASES: readonly Case[] = [
  {
    rules: ['OPS-18'],
    title: 'opcodes of RC',
    run: (t) =>
      matrix(
        t,
        RC_OPCODES.filter((opcode) => !mayCrash(t, opcode)),
      ),
  },
  {
    rules: ['OPS-18'],
    title: 'reserved opcodes and other classes',
    hazardous: true,
    run: (t) =>
      matrix(t, [
        ...RC_OPCODES.filter((opcode) => mayCrash(t, opcode)),
        ...(t.dut.virtual ? Array.from({ length: 224 }, (_, i) => 32 + i) : SAMPLES),
      ]),
  },
];

/** A queue pair and a region with the rights that good requests of every kind need. */
export function everyRight(t: Tester): TesterConnectOptions {
  const more: readonly AccessFlag[] = t.has('flush') ? ['flush-global'] : [];
  const windows: readonly AccessFlag[] = t.has('mw2') ? LENDING : ALL_ACCESS;
  return { access: [...ALL_ACCESS, ...more], regionAccess: [...windows, ...more] };
}

/**
 * An opcode that the device cannot know, or says that it does not: an unpatched kernel may not survive it
 * (CVE-2026-46133).
 */
export const mayCrash = (t: Tester, opcode: number): boolean =>
  isReserved(opcode) ||
  (opcode === Op.Flush && !t.has('flush')) ||
  (opcode === Op.AtomicWrite && !t.has('atomic-write'));

async function matrix(t: Tester, opcodes: readonly number[]): Promise<void> {
  let different = 0;
  for (const open of OPEN_MESSAGES) {
    for (const opcode of opcodes) {
      const expected = outcomeOf(open, opcode);
      const found = await outcomeAt(t, open, opcode, expected);
      if (found === undefined || found === expected) continue;
      different++;
      t.note(
        `${open} open, opcode 0x${opcode.toString(16).padStart(2, '0')}: ${found}, and the table says ${expected}`,
      );
    }
  }
  if (different > 0)
    t.variation(
      `${different} of ${opcodes.length * OPEN_MESSAGES.length} fields differ from the table of the catalogue`,
    );
}

/** What the device makes of it; undefined when it cannot be tried. */
async function outcomeAt(
  t: Tester,
  open: OpenName,
  opcode: number,
  expected: OpcodeOutcome,
): Promise<OpcodeOutcome | string | undefined> {
  const invalidates = opcode === Op.SendOnlyInvalidate || opcode === Op.SendLastInvalidate;
  if (invalidates && expected !== 'refuse' && !t.has('mw2')) return undefined;
  const peer = await t.connect({ ...everyRight(t), receives: 1, regionBytes: 4096 });
  const inv = invalidates && expected !== 'refuse' ? (await bindWindow(t, peer, 2048, 64)).rkey : 0;
  const psn = open === 'none' ? 0 : 1;
  if (open !== 'none') {
    const first = open === 'SEND' ? Op.SendFirst : Op.WriteFirst;
    peer.tx(goodPacket(peer, first, 0, { announced: (expected === 'stay' ? 3 : 2) * peer.mtu }));
    await peer.orInconclusive('a message is opened', () => peer.expectAck(0, 0));
  }
  const packet = goodPacket(peer, opcode, psn, { inv });
  peer.tx(expected === 'close' ? { ...packet, payload: pattern(peer.mtu) } : packet);
  // Where an answer is not certain the sentinel follows at once, so no timeout has to run out.
  const unsure = expected === 'refuse' || expected === 'ignore';
  if (unsure) peer.tx(sentinel(peer, open, psn));
  let answer = await peer.take();
  if (answer === undefined && !unsure) {
    peer.tx(sentinel(peer, open, psn));
    answer = await peer.take();
    if (answer !== undefined) return 'ignore';
  }
  if (answer === undefined) return 'neither an answer nor a sign of life';
  const found = outcomeOfAnswer(answer.packet, open, psn);
  if (!unsure || found === undefined || found === 'refuse') return found ?? describePacket(answer.packet);
  return (await sentinelCounted(t, peer, open)) ? 'ignore' : found;
}

/** What an answer to a packet says of it. */
function outcomeOfAnswer(answer: Packet, open: OpenName, psn: number): OpcodeOutcome | undefined {
  const { opcode, msn, syndrome = 0 } = answer;
  if (answer.psn !== psn) return undefined;
  if (opcode === Op.Acknowledge && syndrome === 0x61) return 'refuse';
  if (opcode === Op.ReadResponseOnly || opcode === Op.AtomicAcknowledge) return 'execute';
  if (!isAck(answer)) return undefined;
  if (open === 'none') return msn === 1 ? 'execute' : 'open';
  return msn === 1 ? 'close' : 'stay';
}

/** A good request at the same PSN, whose bytes nothing else has. */
function sentinel(peer: TesterPeer, open: OpenName, psn: number): Packet {
  const common = { psn, ackReq: true, payload: pattern(peer.mtu, MARK) };
  if (open === 'SEND') return sendLast(common);
  if (open === 'WRITE') return writeLast(common);
  return writeOnly({ ...common, reth: target(peer, peer.mtu, peer.mtu) });
}

/** Whether it was the sentinel that was taken, and not what came before it. */
async function sentinelCounted(t: Tester, peer: TesterPeer, open: OpenName): Promise<boolean> {
  if (t.dut.hostControl === undefined) return true;
  const { buffers, mtu } = peer;
  const stored = open === 'SEND' ? await t.memory(t.need(buffers), mtu, mtu) : await peer.memory(mtu, mtu);
  const wanted = pattern(mtu, MARK);
  return stored.every((byte, i) => byte === wanted[i]);
}

const MARK = 77;
/** UC, RD, UD, CNP, XRC and classes that are none. */
const SAMPLES: readonly number[] = [0x20, 0x24, 0x2a, 0x2c, 0x44, 0x64, 0x81, 0xa4, 0xaa, 0xc0, 0xe4, 0xff];
