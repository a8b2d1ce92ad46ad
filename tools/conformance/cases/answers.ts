/**
 * What scripts about the responder share: requests to the region of a connection, answers that come in several packets
 * or may be left out, and sentinels where some answers are allowed. Owns no verdict of its own beyond what is said at
 * each function.
 */
import { Op } from 'rocev2/packets';
import {
  describePacket,
  fetchAdd,
  type Packet,
  type RethFields,
  readOnly,
  readRequest,
  readResponses,
  writeOnly,
} from 'rocev2/packets/kit';
import { demand, Violation } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { describeWant, matches, type WantedFields } from '../tester/want.ts';

/** What a RETH says of `length` bytes at `offset` of the connection's region. */
export function target(peer: TesterPeer, offset: number, length: number): RethFields {
  return { va: peer.region.va + BigInt(offset), rkey: peer.region.rkey, length };
}

/** What an AtomicETH says of the eight bytes at `offset`. */
export const word = (peer: TesterPeer, offset: number): { readonly va: bigint; readonly rkey: number } => ({
  va: peer.region.va + BigInt(offset),
  rkey: peer.region.rkey,
});

/**
 * READs `length` bytes at `offset`; the answer has to come whole, in order and with nothing but earlier ACKs before it.
 */
export async function read(peer: TesterPeer, psn: number, offset: number, length: number): Promise<Uint8Array> {
  peer.tx(readRequest({ psn, reth: target(peer, offset, length), ackReq: true }));
  return readAnswer(peer, psn, length);
}

/** The answer to a READ of `length` bytes at `psn`, all of it. */
export async function readAnswer(peer: TesterPeer, psn: number, length: number): Promise<Uint8Array> {
  const data = new Uint8Array(length);
  const shapes = readResponses({ psn, msn: 0, data, mtu: peer.mtu });
  let at = 0;
  for (const { opcode, psn, payload = data } of shapes) {
    const { packet } = await afterAcks(peer, { opcode, psn });
    const got = packet.payload ?? new Uint8Array(0);
    demand(
      got.length === payload.length,
      `${describePacket(packet)} came with ${got.length} bytes for ${payload.length}`,
    );
    data.set(got, at);
    at += got.length;
  }
  return data;
}

/** FETCH ADD at `offset`, answered at once: what was there before. */
export async function add(peer: TesterPeer, psn: number, offset: number, by: bigint): Promise<bigint> {
  peer.tx(fetchAdd({ psn, ...word(peer, offset), add: by, ackReq: true }));
  const { packet } = await afterAcks(peer, { opcode: Op.AtomicAcknowledge, psn });
  return packet.original ?? 0n;
}

/** Those of these kinds that the device knows: without atomics there is no FETCH ADD to be judged by. */
export const knownKinds = <K extends string>(t: Tester, ...kinds: readonly K[]): readonly K[] =>
  kinds.filter((kind) => kind !== 'FETCH ADD' || t.has('atomics'));

/**
 * A request on one word that takes a PSN and is answered by one packet, `wordAnswer`: FETCH ADD of 1, or for a device
 * without atomics a READ. For cases that are not about atomics.
 */
export function wordRequest(t: Tester, peer: TesterPeer, psn: number, more: Partial<Packet> = {}): Packet {
  const { va, rkey } = word(peer, 0);
  const request = t.has('atomics')
    ? fetchAdd({ psn, va, rkey, add: 1n })
    : readRequest({ psn, reth: { va, rkey, length: 8 } });
  return { ...request, ...more };
}

/** The opcode that answers a `wordRequest`. */
export const wordAnswer = (t: Tester): number => (t.has('atomics') ? Op.AtomicAcknowledge : Op.ReadResponseOnly);

/** The next packet that is no ACK of an earlier PSN has to be this. */
export async function afterAcks(peer: TesterPeer, want: WantedFields): Promise<ReceivedPacket> {
  for (;;) {
    const received = await peer.take();
    demand(received !== undefined, () => `${describeWant(want)} was expected, and nothing came`);
    const { packet } = received;
    if (matches(packet, want)) return received;
    const earlier = isAck(packet) && packet.psn < (want.psn ?? 0);
    demand(earlier, () => `${describeWant(want)} was expected, and ${describePacket(packet)} came`);
  }
}

export const isAck = ({ opcode, syndrome = 0xff }: Packet): boolean => opcode === Op.Acknowledge && syndrome < 0x20;
export const isNak = ({ opcode, syndrome = 0 }: Packet): boolean => opcode === Op.Acknowledge && syndrome >= 0x20;

/**
 * The sentinel where something may come before it: a WRITE of no bytes at `psn` must be acknowledged as the next new
 * request, and whatever comes before that ACK must be allowed. Returns what came.
 */
export async function nothingBut(
  peer: TesterPeer,
  psn: number,
  msn: number,
  allowed: (packet: Packet) => boolean,
): Promise<Packet[]> {
  peer.tx(writeOnly({ psn, ackReq: true, reth: target(peer, 0, 0) }));
  const want = { opcode: Op.Acknowledge, psn, msn, syndrome: 0x1f };
  const before: Packet[] = [];
  for (;;) {
    const received = await peer.take();
    demand(
      received !== undefined,
      `the queue pair does not answer any more: a correct WRITE at psn+${psn} was not acknowledged`,
    );
    const { packet } = received;
    if (matches(packet, want)) return before;
    demand(allowed(packet), () => `${describePacket(packet)} came, and is no answer to what was sent`);
    before.push(packet);
  }
}

/** A NAK of one of these PSNs has to come; plain ACKs of earlier PSNs may come before it. */
export async function expectOneNak(
  peer: TesterPeer,
  syndrome: number,
  psns: readonly number[],
): Promise<ReceivedPacket> {
  const wants = psns.map((psn) => ({ opcode: Op.Acknowledge, psn, syndrome }));
  for (;;) {
    const received = await peer.take();
    demand(received !== undefined, () => `${describeWant(wants)} was expected, and nothing came`);
    const { packet } = received;
    if (matches(packet, wants)) return received;
    demand(
      isAck(packet) && packet.psn < Math.max(...psns),
      () => `${describeWant(wants)} was expected, and ${describePacket(packet)} came`,
    );
  }
}

/**
 * What was sent was refused with NAK 0x61, or dropped: a READ of nothing at the same PSN is then the next new request.
 */
export async function refusedOrDropped(peer: TesterPeer, psn: number, msn: number): Promise<'refused' | 'dropped'> {
  peer.tx(readRequest({ psn, ackReq: true, reth: target(peer, 0, 0), note: 'sentinel' }));
  const received = await peer.take();
  demand(received !== undefined, 'NAK 0x61 was expected, or a queue pair that goes on, and nothing came');
  const { packet } = received;
  const refused = matches(packet, { opcode: Op.Acknowledge, psn, syndrome: 0x61 });
  const dropped = matches(packet, readOnly({ psn, msn, payload: new Uint8Array(0) }));
  demand(refused || dropped, () => `NAK 0x61 or silence was expected, and ${describePacket(packet)} came`);
  return refused ? 'refused' : 'dropped';
}

/** None of these queue pairs answers any more: a good request to each at `psn`, and one silence for all. */
export async function allDead(
  t: Tester,
  peers: readonly TesterPeer[],
  psn: (peer: TesterPeer) => number,
): Promise<void> {
  for (const peer of peers)
    peer.tx(writeOnly({ psn: psn(peer), ackReq: true, reth: target(peer, 0, 0), note: 'to a dead queue pair' }));
  await t.sleep(t.dut.quietNs);
  for (const peer of peers) {
    const [first] = peer.drain();
    demand(
      first === undefined,
      () => `after a fatal NAK silence was expected, and ${describePacket(first?.packet ?? NO_PACKET)} came`,
    );
  }
}

/** Says in which of many stimuli of a case a violation came. */
export async function during<T>(what: string, probe: Promise<T>): Promise<T> {
  try {
    return await probe;
  } catch (error) {
    if (error instanceof Violation) throw new Violation(`${what}: ${error.message}`);
    throw error;
  }
}

/** These bytes of the region have to be there now. */
export async function holds(peer: TesterPeer, offset: number, bytes: Uint8Array, what: string): Promise<void> {
  const found = await peer.memory(offset, bytes.length);
  const wrong = found.findIndex((byte, i) => byte !== bytes[i]);
  demand(
    wrong < 0,
    () => `${what}: byte ${offset + wrong} of the region is ${found[wrong]}, and ${bytes[wrong]} was expected`,
  );
}

/** The receives that have completed are exactly these, in this order; with host control only. */
export async function received(
  t: Tester,
  peer: TesterPeer,
  wanted: readonly { readonly wrId: number; readonly data: Uint8Array; readonly imm?: number }[],
): Promise<void> {
  if (t.dut.hostControl === undefined) return;
  const found = wanted.length === 0 ? [] : await peer.recvCompletions(wanted.length);
  const more = (await t.hostControl.call('cq.poll', { cq: peer.recvCq, max: 100 })).completions;
  demand(more.length === 0, `${wanted.length} receives were to complete, and ${found.length + more.length} did`);
  for (const [i, { wrId, data, imm }] of wanted.entries()) {
    peer.isReceived(found[i], { wrId, byteLen: data.length, imm });
    const at = (wrId - 1) * RECEIVE_BYTES;
    const stored = await t.memory(t.need(peer.buffers), at, data.length);
    demand(
      stored.every((byte, k) => byte === data[k]),
      `receive ${wrId} does not hold what was sent`,
    );
  }
}

/** Of each receive of a connection, unless a case says otherwise (tester/connect.ts). */
export const RECEIVE_BYTES = 1024;

const NO_PACKET: Packet = { opcode: 0, psn: 0 };
