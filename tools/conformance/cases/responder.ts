/**
 * Our end as the responder of a script: work that the device is given, the packets it must make of it, and answers to
 * them. Owns what the device finds when it asks for our memory, and the sentinel that shows that nothing completed and
 * nothing was sent. Never answers by itself, but for `LossyResponder` (lossy-responder.ts).
 */
import { defined, Op } from 'rocev2/packets';
import {
  atomicAck,
  compareSwap,
  cut,
  describePacket,
  fetchAdd,
  type Packet,
  readRequest,
  readResponses,
  sendPackets,
  writePackets,
} from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { HostCompletion, SendOpcode, SendRequest } from '../host-control/host-control.ts';
import { register, type TesterConnectOptions } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { ReceivedPacket, Region, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

/** Work for the device: operation, name, bytes. */
export interface PostedWork {
  readonly opcode: Extract<SendOpcode, 'send' | 'send-imm' | 'write' | 'write-imm' | 'read' | 'fetch-add' | 'cmp-swap'>;
  readonly wrId: number;
  readonly length: number;
  readonly fence?: boolean;
  readonly signaled?: boolean;
}

/** How work ended: its name and the status; default success. */
export type WorkEnding = readonly [wrId: number, status?: number];

type Extra = Pick<PostedWork, 'fence' | 'signaled'>;
export const send = (wrId: number, length = 64, extra: Extra = {}): PostedWork => ({
  opcode: 'send',
  wrId,
  length,
  ...extra,
});
export const sendImm = (wrId: number, length = 64): PostedWork => ({ opcode: 'send-imm', wrId, length });
export const write = (wrId: number, length = 64, extra: Extra = {}): PostedWork => ({
  opcode: 'write',
  wrId,
  length,
  ...extra,
});
export const writeImm = (wrId: number, length = 64): PostedWork => ({ opcode: 'write-imm', wrId, length });
export const read = (wrId: number, length = 64): PostedWork => ({ opcode: 'read', wrId, length });
export const add = (wrId: number): PostedWork => ({ opcode: 'fetch-add', wrId, length: 8 });
export const swap = (wrId: number): PostedWork => ({ opcode: 'cmp-swap', wrId, length: 8 });

/**
 * A connection whose device sends and whose tester answers, from memory of so many bytes. The device's PSNs begin where
 * the tester's do: near the wrap, or as the sweep says.
 */
/** For cases that have several READs or atomics outstanding: they do not apply to a device that has fewer. */
export const SEVERAL_READS: TesterConnectOptions = { maxRdAtomic: 4 };

export async function responder(
  t: Tester,
  options: TesterConnectOptions = {},
  bytes = OWN_BYTES,
): Promise<ScriptedResponder> {
  const peer = await t.connect({ dutPsn: t.psn, timeout: NO_TIMER, receives: 0, ...options });
  const { mr, region } = register(t, peer.pd, bytes, ['local-write']);
  await Promise.all([region, t.hostControl.call('mem.write', { mr, offset: 0, hex: LOCAL_HEX.slice(0, 2 * bytes) })]);
  return new ScriptedResponder(t, peer, await region);
}

export class ScriptedResponder {
  readonly peer: TesterPeer;
  /** Memory of the device that its work reads and fills; each work has a place of its own. */
  readonly local: Region;
  readonly #t: Tester;
  #sentinels = 0;

  constructor(t: Tester, peer: TesterPeer, local: Region) {
    this.#t = t;
    this.peer = peer;
    this.local = local;
  }

  /** Posts work, in this order. */
  async post(...works: readonly PostedWork[]): Promise<void> {
    await Promise.all(works.map((work) => this.peer.post(this.requestOf(work))));
  }

  /** The work request of some work. */
  requestOf({ opcode, wrId, length, fence, signaled }: PostedWork): SendRequest {
    const atomic = opcode === 'fetch-add' || opcode === 'cmp-swap';
    return {
      ...{ wrId, opcode },
      pieces: length === 0 ? [] : [{ mr: this.#t.need(this.local.mr), offset: placeOf(wrId), length }],
      ...defined({ fence, signaled }),
      ...(opcode === 'send' || opcode === 'send-imm' ? {} : { remoteAddr: remoteOf(wrId), rkey: REMOTE_RKEY }),
      ...(opcode === 'send-imm' || opcode === 'write-imm' ? { imm: wrId } : {}),
      ...(atomic ? { compareAdd: COMPARE_ADD, swap: SWAP } : {}),
    };
  }

  /** The packets of work posted one after the other, the first at `psn`, have to come: no others and in this order. */
  async sees(psn: number, ...works: readonly PostedWork[]): Promise<ReceivedPacket[]> {
    return this.peer.rxAll(this.packetsOf(psn, ...works));
  }

  /** The same, after a wait of the device's that may be as long as said. */
  async seesWithin(withinNs: number, psn: number, ...works: readonly PostedWork[]): Promise<ReceivedPacket[]> {
    const [first, ...others] = this.packetsOf(psn, ...works);
    if (first === undefined) return [];
    return [await this.peer.rx(first, withinNs), ...(await this.peer.rxAll(others))];
  }

  /** The packets that the device must make of work; whether they request ACKs is left open. */
  packetsOf(psn: number, ...works: readonly PostedWork[]): Packet[] {
    const packets: Packet[] = [];
    let at = psn;
    for (const work of works) {
      packets.push(...this.#packetsOf(at, work));
      at += psnsOf(work, this.peer.mtu);
    }
    return packets;
  }

  #packetsOf(psn: number, { opcode, wrId, length }: PostedWork): Packet[] {
    const { mtu } = this.peer;
    const data = opcode === 'read' ? NOTHING : bytesAt(LOCAL_SEED, placeOf(wrId), length);
    const to = { va: remoteOf(wrId), rkey: REMOTE_RKEY };
    switch (opcode) {
      case 'send':
        return sendPackets({ psn, data, mtu }).map(open);
      case 'write':
        return writePackets({ psn, data, mtu, ...to }).map(open);
      case 'send-imm':
        return withImmediate(sendPackets({ psn, data, mtu }).map(open), wrId);
      case 'write-imm':
        return withImmediate(writePackets({ psn, data, mtu, ...to }).map(open), wrId);
      case 'read':
        return [readRequest({ psn, reth: { ...to, length } })];
      case 'fetch-add':
        return [fetchAdd({ psn, ...to, add: COMPARE_ADD })];
      case 'cmp-swap':
        return [compareSwap({ psn, ...to, compare: COMPARE_ADD, swap: SWAP })];
    }
  }

  /** What answers a READ that the device has sent: all of it, as packets. Repeated READs ask for a part, and get it. */
  responsesTo(request: Packet, msn: number): Packet[] {
    const { reth, psn } = request;
    if (reth === undefined) throw new Inconclusive(`${describePacket(request)} is no READ`);
    const data = bytesAt(REMOTE_SEED, Number(reth.va - REMOTE_VA), reth.length);
    return readResponses({ psn, msn, data, mtu: this.peer.mtu });
  }

  /** Answers an ATOMIC; what was there before is `original`. */
  answerAtomic(psn: number, msn: number, original = ORIGINAL): void {
    this.peer.tx(atomicAck({ psn, msn, original }));
  }

  /** These completions come next and in this order: name and status. */
  async completes(...wanted: readonly WorkEnding[]): Promise<HostCompletion[]> {
    return this.completesWithin(this.#t.dut.patienceNs, ...wanted);
  }

  /** The same, after a wait of the device's that may be as long as said. */
  async completesWithin(withinNs: number, ...wanted: readonly WorkEnding[]): Promise<HostCompletion[]> {
    const found = await this.peer.sendCompletions(wanted.length, withinNs);
    const text = (all: readonly WorkEnding[]): string =>
      all.map(([wrId, status = WcStatus.Success]) => `${wrId} with status ${status}`).join(', ');
    const came = found.map(({ wrId, status }) => [wrId, status] as const);
    demand(text(came) === text(wanted), () => `completions of ${text(wanted)} were expected, and ${text(came)} came`);
    return found;
  }

  /**
   * What was sent before has completed nothing, and the device has sent nothing because of it. Proven by a sentinel,
   * not by waiting.
   */
  async undisturbed(): Promise<void> {
    await this.peer.expectNextPsn(this.#sentinels, this.#sentinels + 1);
    this.#sentinels++;
    await this.#t.sleep(this.#t.dut.pollNs);
    await this.completesNothing();
  }

  /** Nothing is in the completion queue now. */
  async completesNothing(): Promise<void> {
    const { completions } = await this.#t.hostControl.call('cq.poll', { cq: this.peer.sendCq, max: 100 });
    const list = completions.map(({ wrId, status }) => `${wrId} with status ${status}`).join(', ');
    demand(completions.length === 0, () => `nothing was to complete, and ${list} did`);
  }

  /** The queue pair is in ERROR, and nothing more leaves it for `quietNs` and the time given. */
  async isOver(afterNs = 0): Promise<void> {
    await this.peer.expectState('ERR');
    await this.peer.expectSilence(this.#t.dut.quietNs + afterNs);
  }

  /** The bytes that a READ has brought are ours. */
  async readIsRight(...works: readonly PostedWork[]): Promise<void> {
    for (const { wrId, length } of works) {
      const bytes = await this.#t.memory(this.local, placeOf(wrId), length);
      const wanted = bytesAt(REMOTE_SEED, Number(remoteOf(wrId) - REMOTE_VA), length);
      const wrong = bytes.findIndex((byte, i) => byte !== wanted[i]);
      demand(wrong < 0, `byte ${wrong} of the data that READ ${wrId} has brought is wrong`);
    }
  }

  /** What an ATOMIC has brought is `original`, in the byte order of the device's host. */
  async atomicIsRight(wrId: number, original = ORIGINAL): Promise<void> {
    const bytes = await this.#t.memory(this.local, placeOf(wrId), 8);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const found = [view.getBigUint64(0, true), view.getBigUint64(0)];
    demand(found.includes(original), `ATOMIC ${wrId} has brought 0x${found[0]?.toString(16)}`);
  }

  /** The place of some work still has what it had: nothing was written there. */
  async isUntouched(...works: readonly PostedWork[]): Promise<void> {
    for (const { wrId, length } of works) {
      const bytes = await this.#t.memory(this.local, placeOf(wrId), length);
      const before = bytesAt(LOCAL_SEED, placeOf(wrId), length);
      demand(
        bytes.every((byte, i) => byte === before[i]),
        `memory of READ ${wrId} was written`,
      );
    }
  }
}

/** PSNs that work takes. */
export function psnsOf({ length, opcode }: PostedWork, mtu = 256): number {
  return opcode === 'fetch-add' || opcode === 'cmp-swap' ? 1 : cut(new Uint8Array(length), mtu).length;
}

/**
 * Since `fromNs`, which was before the wait began, at least `waitNs` have passed: a late tester only makes the
 * difference larger.
 */
export function waitedAtLeast(waitNs: number, fromNs: number, seenNs: number, what: string): void {
  const passed = seenNs - fromNs;
  demand(
    passed >= waitNs,
    () => `${what} was to wait ${waitNs / 1e6} ms, and came after ${(passed / 1e6).toFixed(3)} ms`,
  );
}

/** How long a wait of `waitNs` may take: four intervals, and what a device and a tester need (ref:conformance#2). */
export const atMost = (t: Tester, waitNs: number): number => 4 * waitNs + t.dut.patienceNs;

/** ibv_modify_qp: the interval of the timer of a code. */
export const timeoutNs = (code: number): number => 4096 * 2 ** code;

/** Code of the ACK timer that stays out of what is tested: 8.6 s. */
export const NO_TIMER = 21;
/** Room for work of a hundred packets, in place 0. */
export const LONG_BYTES = 32_768;
export const REMOTE_VA = 0x7000_0000_1000n;
export const REMOTE_RKEY = 0x0051_5253;
export const COMPARE_ADD = 0x0102_0304_0506_0708n;
export const SWAP = 0x1112_1314_1516_1718n;
export const ORIGINAL = 0xa1a2_a3a4_a5a6_a7a8n;

const PLACE_BYTES = 2048;
const PLACES = 8;
const OWN_BYTES = PLACES * PLACE_BYTES;
const LOCAL_SEED = 1;
const REMOTE_SEED = 2;
const NOTHING = new Uint8Array(0);

const placeOf = (wrId: number): number => (wrId % PLACES) * PLACE_BYTES;
const remoteOf = (wrId: number): bigint => REMOTE_VA + BigInt(wrId * 4096);

function bytesAt(seed: number, offset: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => ((offset + i) * 7 + ((offset + i) >> 8) * 13 + seed * 31) & 0xff);
}

const LOCAL_HEX = Buffer.from(bytesAt(LOCAL_SEED, 0, LONG_BYTES)).toString('hex');

/** Whether a packet requests an ACK is the requester's own choice. */
function open({ ackReq: _, ...packet }: Packet): Packet {
  return packet;
}

function withImmediate(packets: Packet[], imm: number): Packet[] {
  return packets.map((packet) => {
    const opcode = WITH_IMMEDIATE[packet.opcode];
    return opcode === undefined ? packet : { ...packet, opcode, imm };
  });
}

const WITH_IMMEDIATE: Readonly<Record<number, number>> = {
  [Op.SendLast]: Op.SendLastImm,
  [Op.SendOnly]: Op.SendOnlyImm,
  [Op.WriteLast]: Op.WriteLastImm,
  [Op.WriteOnly]: Op.WriteOnlyImm,
};
