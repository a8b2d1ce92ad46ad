/**
 * A responder against an oracle that shares no code with it. Goal: packet by packet the same replies, at the end the
 * same memory and the same receive completions. Method: random runs of requests, mostly right, wrong in every way now
 * and then.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPCODE_FLAGS, Op, OpFlag } from '../../packets/opcode.ts';
import { QpState } from '../../transport/qp-state.ts';
import { describePacket, type Packet, pattern } from '../transport/support/packets.ts';
import { fcRuns, Peer } from '../transport/support/peer.ts';
import { ResponderOracle } from './support/responder-oracle.ts';

const MTU = 256;
const REGION_BYTES = 2048;
const RECEIVE_BYTES = 700;
const MAX_DEST = 3;

interface Step {
  readonly opcode: number;
  /** Goes on with the open message, whatever `opcode` says. */
  readonly goOn: boolean;
  readonly delta: number;
  readonly fault: 'none' | 'key' | 'address' | 'size' | 'length' | 'pad';
  readonly size: number;
  readonly at: number;
  readonly ackReq: boolean;
  readonly value: number;
  readonly receives: number;
}

const REQUESTS = [
  ...[Op.SendFirst, Op.SendMiddle, Op.SendLast, Op.SendLastImm, Op.SendOnly, Op.SendOnlyImm],
  ...[Op.WriteFirst, Op.WriteMiddle, Op.WriteLast, Op.WriteLastImm, Op.WriteOnly, Op.WriteOnlyImm],
  ...[Op.ReadRequest, Op.CompareSwap, Op.FetchAdd],
];

const rarely = <T>(usual: T, unusual: fc.Arbitrary<T>, weight = 30) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: unusual });

const step: fc.Arbitrary<Step> = fc.record({
  opcode: fc.oneof(
    {
      weight: 60,
      arbitrary: fc.constantFrom(
        ...REQUESTS.filter((op) => ((OPCODE_FLAGS[op] ?? 0) & (OpFlag.First | OpFlag.Only)) !== 0),
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom(...REQUESTS, 0x15, 0x1f, Op.Flush) },
  ),
  goOn: rarely(true, fc.constant(false)),
  delta: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.integer({ min: -12, max: 3 }) }),
  fault: rarely<Step['fault']>('none', fc.constantFrom('key', 'address', 'size', 'length', 'pad')),
  size: fc.oneof(fc.constantFrom(0, 1, 3, 4, 255, 256), fc.nat(256)),
  at: fc.nat(REGION_BYTES - 1024),
  ackReq: fc.boolean(),
  value: fc.nat(3),
  receives: fc.nat(1),
});

/** The packet a step stands for, given what has happened so far. */
function packetOf(each: Step, oracle: ResponderOracle, iova: bigint, rkey: number): Packet {
  const continues = each.goOn && oracle.open !== 'none' && each.delta === 0;
  const ending = each.value < 2;
  const opcode = continues ? continuation(oracle, ending) : each.opcode;
  const flags = OPCODE_FLAGS[opcode] ?? 0;
  const write = (flags & OpFlag.Write) !== 0;
  const full = (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
  let size = full ? MTU : each.size;
  if (continues && write && !full) size = Math.min(oracle.left, MTU);
  else if (continues && !full) size = Math.max(1, size);
  if (each.fault === 'size') size += 4;
  const payload = pattern((flags & OpFlag.Payload) === 0 && each.fault !== 'size' ? 0 : size, each.at);
  const key = each.fault === 'key' ? (rkey ^ 0x100) >>> 0 : rkey;
  const va = each.fault === 'address' ? iova + BigInt(REGION_BYTES - each.value) : iova + BigInt(each.at);
  const length =
    (write ? size + (full ? 100 + each.value * 150 : 0) : each.size * 4) + (each.fault === 'length' ? 1 : 0);
  const packet: Packet = { opcode, psn: oracle.expected + each.delta, ackReq: each.ackReq, payload };
  const pad = each.fault === 'pad' ? { pad: (-size & 3) ^ 1 } : {};
  const imm = (flags & OpFlag.Imm) === 0 ? {} : { imm: each.at };
  const reth =
    opcode === Op.ReadRequest || (write && (flags & (OpFlag.First | OpFlag.Only)) !== 0)
      ? { reth: { va, rkey: key, length } }
      : {};
  const aligned = each.fault === 'length' ? va : va & ~7n;
  const operands = { swapAdd: BigInt(each.value), compare: BigInt(each.value) };
  const atomic = (flags & OpFlag.Atomic) === 0 ? {} : { atomic: { va: aligned, rkey: key, ...operands } };
  return { ...packet, ...pad, ...imm, ...reth, ...atomic };
}

function continuation({ open, left }: ResponderOracle, ending: boolean): number {
  if (open === 'SEND') return ending ? Op.SendLast : Op.SendMiddle;
  return left <= MTU ? Op.WriteLast : Op.WriteMiddle;
}

describe('a responder', () => {
  it('says what the oracle says, packet by packet', () => {
    const reached = new Set<string>();
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60, size: 'max' }),
        fc.constantFrom(0, 0x7f_ff_f0, 0xff_ff_f8),
        (steps, psn) => {
          const peer = new Peer({ psn, maxDestRdAtomic: MAX_DEST });
          const mr = peer.region({ length: REGION_BYTES, iova: 0xffff_fc00n });
          const { iova, rkey, bytes: memory } = mr;
          const oracle = new ResponderOracle({
            mtu: MTU,
            iova,
            rkey,
            memory,
            receiveBytes: RECEIVE_BYTES,
            maxDestRdAtomic: MAX_DEST,
            timer: 12,
          });
          const got: string[] = [];
          for (const each of steps) {
            if (oracle.failed) break;
            for (let i = 0; i < each.receives; i++) {
              peer.postRecv(0, RECEIVE_BYTES);
              oracle.receives += 1;
            }
            const packet = packetOf(each, oracle, iova, rkey);
            const wanted = oracle.take(packet);
            peer.rx(packet);
            expect({ packet: describePacket(packet), replies: peer.drain().map(describePacket) }).toEqual({
              packet: describePacket(packet),
              replies: wanted,
            });
            for (const reply of wanted) reached.add(reply.split(' ').slice(0, 2).join(' '));
            if (!oracle.failed) got.push(...peer.completions());
          }
          expect(peer.qp.state).toBe(oracle.failed ? QpState.Error : QpState.Rts);
          if (oracle.failed) got.push(...peer.completions().filter((line) => line.includes('Success')));
          expect(got).toEqual(oracle.completed.map((line) => `recv 0 ${line}`));
          expect(Buffer.compare(mr.bytes, oracle.memory)).toBe(0);
        },
      ),
      { numRuns: fcRuns(400) },
    );
    // Every kind of reply has been met, or the runs prove less than they seem to; a handful of runs may prove less.
    if (fcRuns(400) < 200) return;
    const kinds = ['ACK', 'NAK 0x60', 'NAK 0x61', 'NAK 0x62', 'RNR NAK', 'READ response', 'ATOMIC Acknowledge'];
    for (const kind of kinds) expect([...reached].some((line) => line.startsWith(kind))).toBe(true);
  });
});
