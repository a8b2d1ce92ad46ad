/**
 * Goal: whatever a wire does to an unreliable connection, a message arrives whole or not at all, and one that lost
 * nothing arrives. Method: random SENDs and WRITEs with immediate, each with bytes of its own and its number as
 * immediate data; a fate for each packet, drawn by fast-check. FC_RUNS sets the number of runs of each property.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { PortCounters } from '../../transport/counters.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, type MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { UcQueuePair } from '../../transport/uc-queue-pair.ts';
import { WcOpcode, WcStatus, WorkCompletion, WrOpcode } from '../../transport/work.ts';
import { cut, pattern } from '../transport/support/packets.ts';
import { fcRuns, seededRandom } from '../transport/support/peer.ts';
import { PEER_IP, pathTemplate, SUBJECT_IP } from '../transport/support/wire.ts';
import { carry, drain, type Fate, fate } from './support/unreliable-wire.ts';

const MTU = 256;
const MAX_BYTES = 5 * MTU;

interface Message {
  readonly write: boolean;
  readonly length: number;
}

interface Scenario {
  readonly messages: readonly Message[];
  readonly fates: readonly Fate[];
  readonly psn: number;
  /** Receives posted; fewer than messages, sometimes. */
  readonly receives: number;
}

const length = fc.oneof(fc.nat(MAX_BYTES), fc.constantFrom(0, 1, MTU, MTU + 1, 2 * MTU));
const scenario = (faults: Parameters<typeof fate>[0], shortOfReceives = false) =>
  fc.record<Scenario>({
    messages: fc.array(fc.record({ write: fc.boolean(), length }), { minLength: 1, maxLength: 12 }),
    fates: fc.array(fate(faults), { minLength: 1, maxLength: 60 }),
    psn: fc.oneof(fc.constantFrom(0, 0x7f_ff_fe, 0xff_ff_fa, 0xff_ff_ff), fc.nat(0xff_ff_ff)),
    receives: shortOfReceives ? fc.nat(12) : fc.constant(40),
  });

const packetsOf = (message: Message): number => Math.max(1, Math.ceil(message.length / MTU));

/** One end; both ends use the same keys' table only by chance. */
class End {
  readonly pd = new ProtectionDomain(1);
  readonly keys = new KeyTable(seededRandom(7), 1000);
  readonly counters = new PortCounters();
  readonly cq = new CompletionQueue(4096, []);
  readonly qp: UcQueuePair;

  constructor(qpn: number, destQpn: number, psn: number, local = SUBJECT_IP, remote = PEER_IP) {
    const { pd, keys, cq } = this;
    const capabilities = { maxSendWr: 64, maxRecvWr: 256, maxSge: 1, maxInlineData: 0 };
    this.qp = new UcQueuePair({ qpn, pd, keys, sendCq: cq, recvCq: cq }, capabilities, this.counters);
    const path = { template: pathTemplate(local, remote), local, remote };
    this.qp.modify({ state: QpState.Init, access: Access.RemoteWrite });
    this.qp.modify({ state: QpState.Rtr, path, destQpn, rqPsn: psn, mtu: MTU });
    this.qp.modify({ state: QpState.Rts, sqPsn: psn });
  }

  region(bytes: Uint8Array, iova = 0n): MemoryRegion {
    return this.keys.register(this.pd, bytes, { access: Access.LocalWrite | Access.RemoteWrite, iova });
  }
}

interface Outcome {
  /** Numbers of the messages that arrived, in order. */
  readonly delivered: readonly number[];
  /** How often each packet of each message arrived. */
  readonly arrivals: readonly (readonly number[])[];
  readonly receiver: End;
}

function run({ messages, fates, psn, receives }: Scenario): Outcome {
  const sender = new End(0x11, 0x22, psn);
  const receiver = new End(0x22, 0x11, psn, PEER_IP, SUBJECT_IP);
  const target = receiver.region(new Uint8Array(messages.length * MAX_BYTES));
  const buffers = Array.from({ length: receives }, () => receiver.region(new Uint8Array(MAX_BYTES)));
  buffers.forEach((mr, wrId) => {
    receiver.qp.postRecv({ wrId, sges: [{ mr }] });
  });
  messages.forEach((message, i) => {
    const mr = sender.region(pattern(message.length, i + 1));
    const common = { wrId: i, sges: [{ mr }], immData: i, signaled: false };
    if (message.write)
      sender.qp.postSend({
        ...common,
        opcode: WrOpcode.RdmaWriteWithImm,
        remoteAddr: BigInt(i * MAX_BYTES),
        rkey: target.rkey,
      });
    else sender.qp.postSend({ ...common, opcode: WrOpcode.SendWithImm });
  });
  const owners = messages.flatMap((message, i) =>
    Array.from({ length: packetsOf(message) }, (_, part) => [i, part] as const),
  );
  const arrivals = messages.map((message) => new Array<number>(packetsOf(message)).fill(0));
  const delivered: number[] = [];
  const wc = new WorkCompletion();
  carry(sender.qp, receiver.qp, fates, (packet) => {
    const [i, part] = owners[packet] ?? [0, 0];
    const counts = arrivals[i] ?? [];
    counts[part] = (counts[part] ?? 0) + 1;
    while (receiver.cq.poll(wc)) delivered.push(checkWhole(wc, messages, buffers, target));
  });
  expect(sender.qp.state).toBe(QpState.Rts);
  expect(receiver.qp.state).toBe(QpState.Rts);
  expect(drain(receiver.qp)).toEqual([]);
  return { delivered, arrivals, receiver };
}

/** The message that a completion speaks of is there, every byte of it, in the moment of the completion. */
function checkWhole(
  wc: WorkCompletion,
  messages: readonly Message[],
  buffers: readonly MemoryRegion[],
  target: MemoryRegion,
): number {
  const number = wc.immData;
  const message = messages[number];
  if (message === undefined) throw new Error(`nobody sent message ${number}`);
  expect(wc.status).toBe(WcStatus.Success);
  expect([wc.opcode, wc.byteLen]).toEqual([message.write ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv, message.length]);
  const at = message.write ? number * MAX_BYTES : 0;
  const bytes = message.write ? target.bytes : buffers[wc.wrId]?.bytes;
  expect(bytes?.slice(at, at + message.length)).toEqual(pattern(message.length, number + 1));
  return number;
}

const wholeCopies = (counts: readonly number[]): number => Math.min(...counts);

describe('messages of an unreliable connection', () => {
  it('all arrive once and in order on a good wire', () => {
    fc.assert(
      fc.property(scenario({}), (each) => {
        expect(run(each).delivered).toEqual(each.messages.map((_, i) => i));
      }),
      { numRuns: fcRuns(100) },
    );
  });

  it('through loss and damage exactly those arrive, once and in order, of which nothing was lost', () => {
    fc.assert(
      fc.property(scenario({ loss: 3, damage: 2 }), (each) => {
        const { delivered, arrivals } = run(each);
        const whole = each.messages.map((_, i) => i).filter((i) => wholeCopies(arrivals[i] ?? []) === 1);
        expect(delivered).toEqual(whole);
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('through everything at once arrive whole or not at all, and no more often than the wire made copies', () => {
    fc.assert(
      fc.property(scenario({ loss: 2, duplicate: 3, reorder: 3, damage: 1 }), (each) => {
        const { delivered, arrivals } = run(each);
        each.messages.forEach((_, i) => {
          const times = delivered.filter((number) => number === i).length;
          expect(times).toBeLessThanOrEqual(wholeCopies(arrivals[i] ?? []));
        });
      }),
      { numRuns: fcRuns(300) },
    );
  });

  it('for which no receive is posted are gone, and those that follow are whole', () => {
    fc.assert(
      fc.property(scenario({ loss: 2, duplicate: 2, reorder: 1 }, true), (each) => {
        const { delivered, receiver } = run(each);
        expect(delivered.length).toBeLessThanOrEqual(each.receives);
        if (receiver.counters.noReceive > 0) expect(receiver.qp.receivesPosted).toBe(0);
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('are cut as the model cuts them', () => {
    expect(cut(pattern(600), MTU)).toHaveLength(packetsOf({ write: false, length: 600 }));
  });
});
