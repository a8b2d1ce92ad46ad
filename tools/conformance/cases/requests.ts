/**
 * What scripts about the requester share: memory that the device sends from and reads into, messages of the device as
 * they come, and answers at the pace of a device that is slow. Acknowledges what asks for it, and nothing else.
 */
import { OPCODE_FLAGS, OpFlag } from 'rocev2/packets';
import { describePacket, type Packet, pattern, readResponses } from 'rocev2/packets/kit';
import type { MemoryPiece, SendRequest } from '../host-control/host-control.ts';
import { register, type TesterConnectOptions } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { Region, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

/** A connection whose device sends, and memory of its own. */
export interface Sender {
  readonly peer: TesterPeer;
  /** What the device sends from, and reads into: `data` is what it has. */
  readonly local: Region;
  readonly data: Uint8Array;
}

/** Of the ACK timer: 4.3 s, so that nothing is repeated while a script is at work. */
export const SLOW_TIMER = 20;
/** Address and key of our memory that the device is given. */
export const OUR_VA = 0x6000_0000_2000n;
export const OUR_RKEY = 0x0077_0077;

export async function sender(t: Tester, bytes = 4096, options: TesterConnectOptions = {}): Promise<Sender> {
  const peer = await t.connect({ timeout: SLOW_TIMER, ...options });
  const local = await register(t, peer.pd, bytes, ['local-write']).region;
  const data = pattern(bytes, 5);
  await fill(t, local, data);
  return { peer, local, data };
}

/** Memory of any size, a piece at a time. */
export async function fill(t: Tester, region: Region, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length; at += CHUNK_BYTES) await t.setMemory(region, at, data.slice(at, at + CHUNK_BYTES));
}

/** Memory of any size, a piece at a time. */
export async function contents(t: Tester, region: Region, offset: number, length: number): Promise<Uint8Array> {
  const all = new Uint8Array(length);
  for (let at = 0; at < length; at += CHUNK_BYTES)
    all.set(await t.memory(region, offset + at, Math.min(CHUNK_BYTES, length - at)), at);
  return all;
}

/** Pieces of its memory for a work request; none for no bytes. */
export const piece = (t: Tester, { local }: Sender, length: number, offset = 0): readonly MemoryPiece[] =>
  length === 0 ? [] : [{ mr: t.need(local.mr), offset, length }];

/** A work request on memory of both sides, whatever its operation. */
export function work(
  t: Tester,
  from: Sender,
  opcode: SendRequest['opcode'],
  length: number,
  more: Partial<SendRequest> = {},
): SendRequest {
  const remote = opcode.startsWith('send') ? {} : { remoteAddr: OUR_VA, rkey: OUR_RKEY };
  return { wrId: 1, opcode, pieces: piece(t, from, length), ...remote, ...more };
}

/**
 * The packets of the device's next message, from `psn` on and without gaps; repetitions of what was taken are passed
 * over. Those that ask for it are acknowledged, and a message that needs nothing else is at its end: `msn` is its
 * number.
 */
export async function takeMessage(peer: TesterPeer, psn: number, msn: number): Promise<Packet[]> {
  const packets: Packet[] = [];
  for (let next = psn; ; ) {
    const taken = await peer.take();
    demand(taken !== undefined, `a packet with psn+${next} was expected of the device, and nothing came`);
    const { packet } = taken;
    const flags = OPCODE_FLAGS[packet.opcode] ?? 0;
    if ((flags & OpFlag.Request) !== 0 && packet.psn < next) continue;
    demand(
      (flags & OpFlag.Request) !== 0 && packet.psn === next,
      () => `a request with psn+${next} was expected, and ${describePacket(packet)} came`,
    );
    packets.push(packet);
    next++;
    const ends = (flags & (OpFlag.Last | OpFlag.Only)) !== 0;
    const data = (flags & (OpFlag.Send | OpFlag.Write)) !== 0;
    if (data && (ends || packet.ackReq === true)) peer.ack(packet.psn, ends ? msn : msn - 1);
    if (ends) return packets;
  }
}

/** Bytes of a message. */
export function joined(packets: readonly Packet[]): Uint8Array {
  const parts = packets.map(({ payload = NOTHING }) => payload);
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Answers a READ of the device with these bytes, a few packets at a time. */
export async function answerRead(
  t: Tester,
  peer: TesterPeer,
  psn: number,
  msn: number,
  data: Uint8Array,
): Promise<void> {
  await paced(t, peer, readResponses({ psn, msn, data, mtu: peer.mtu }));
}

/** Sends many packets so that a slow device's receive queue holds them. */
export async function paced(t: Tester, peer: TesterPeer, packets: readonly Packet[]): Promise<void> {
  for (let at = 0; at < packets.length; at += BURST) {
    if (at > 0) await t.sleep(t.dut.pollNs);
    peer.tx(...packets.slice(at, at + BURST));
  }
}

/** Sizes of the payloads of a message of `length` bytes. */
export function sizesOf(length: number, mtu: number): number[] {
  const packets = Math.max(1, Math.ceil(length / mtu));
  return Array.from({ length: packets }, (_, i) => Math.min(mtu, length - i * mtu));
}

const BURST = 16;
const CHUNK_BYTES = 16_384;
const NOTHING = new Uint8Array(0);
