/** Every operation of an extended reliable connection, each to the shared receive queue that its packets name. */
import { WrOpcode } from '../../../src/index.ts';
import { pattern } from '../../transport/support/packets.ts';
import { bth, type Golden, hexOf, type Operation, word } from './operation.ts';
import { demand } from './reliable.ts';
import { A_PSN, IOVA, type Stage, type XrcEnds } from './stage.ts';

type Request = Parameters<Stage['perform']>[1];

interface Row {
  readonly name: string;
  readonly length: number;
  readonly wr: (ends: XrcEnds) => Request;
  readonly packets: readonly string[];
  /**
   * For each request packet: opcode, PSN, whether it requests an ACK, and what follows the XRCETH. No length
   * needs a pad.
   */
  readonly golden: (
    ends: XrcEnds,
  ) => readonly (readonly [opcode: number, psn: number, ackReq: boolean, rest: string])[];
}

/** No dissector reads an XRCETH, so every request packet is compared with bytes put together by hand. */
function extended({ name, length, wr, packets, golden }: Row): Operation {
  const perform = async (stage: Stage): Promise<Golden> => {
    const ends = await stage.xrc();
    stage.receive(ends.b, ends.srq);
    const sges = [{ mr: ends.a.mr, length }];
    await demand(stage, ends.a, { sges, xrcRemoteSrqn: ends.srq.srqn, ...wr(ends) });
    const xrceth = `00${word(ends.srq.srqn, 3)}`;
    return golden(ends).map(([opcode, psn, ackReq, rest]) => bth(opcode, ends.b.qp.qpn, psn, ackReq) + xrceth + rest);
  };
  return { name, perform, packets };
}

const remote = ({ b }: XrcEnds) => ({ remoteAddr: IOVA, rkey: b.mr.rkey });
const reth = ({ b }: XrcEnds, length: number): string => word(IOVA, 8) + word(b.mr.rkey, 4) + word(length, 4);
const data = (from: number, to: number): string => hexOf(pattern(to, 0xa).subarray(from));

export const EXTENDED: readonly Operation[] = [
  extended({
    name: 'XRC SEND',
    length: 8,
    wr: () => ({ opcode: WrOpcode.Send }),
    packets: ['> XRC SEND Only', '< XRC Acknowledge'],
    golden: () => [[0xa4, A_PSN, true, data(0, 8)]],
  }),
  extended({
    name: 'XRC SEND of several packets',
    length: 516,
    wr: () => ({ opcode: WrOpcode.Send }),
    packets: ['> XRC SEND First', '> XRC SEND Middle', '> XRC SEND Last', '< XRC Acknowledge'],
    golden: () => [
      [0xa0, A_PSN, false, data(0, 256)],
      [0xa1, 0, false, data(256, 512)],
      [0xa2, 1, true, data(512, 516)],
    ],
  }),
  extended({
    name: 'XRC SEND with immediate',
    length: 4,
    wr: () => ({ opcode: WrOpcode.SendWithImm, immData: 0x0bad_cafe }),
    packets: ['> XRC SEND Only with Immediate, immediate 0x0badcafe', '< XRC Acknowledge'],
    golden: () => [[0xa5, A_PSN, true, `0badcafe${data(0, 4)}`]],
  }),
  extended({
    name: 'XRC SEND with immediate of several packets',
    length: 260,
    wr: () => ({ opcode: WrOpcode.SendWithImm, immData: 0x0bad_cafe }),
    packets: ['> XRC SEND First', '> XRC SEND Last with Immediate, immediate 0x0badcafe', '< XRC Acknowledge'],
    golden: () => [
      [0xa0, A_PSN, false, data(0, 256)],
      [0xa3, 0, true, `0badcafe${data(256, 260)}`],
    ],
  }),
  extended({
    name: 'XRC SEND with invalidate',
    length: 4,
    wr: ({ victim }) => ({ opcode: WrOpcode.SendWithInv, invalidateRkey: victim.rkey }),
    packets: ['> XRC SEND Only with Invalidate', '< XRC Acknowledge'],
    golden: ({ victim }) => [[0xb7, A_PSN, true, word(victim.rkey, 4) + data(0, 4)]],
  }),
  extended({
    name: 'XRC SEND with invalidate of several packets',
    length: 260,
    wr: ({ victim }) => ({ opcode: WrOpcode.SendWithInv, invalidateRkey: victim.rkey }),
    packets: ['> XRC SEND First', '> XRC SEND Last with Invalidate', '< XRC Acknowledge'],
    golden: ({ victim }) => [
      [0xa0, A_PSN, false, data(0, 256)],
      [0xb6, 0, true, word(victim.rkey, 4) + data(256, 260)],
    ],
  }),
  extended({
    name: 'XRC WRITE',
    length: 16,
    wr: (ends) => ({ opcode: WrOpcode.RdmaWrite, ...remote(ends) }),
    packets: ['> XRC RDMA WRITE Only', '< XRC Acknowledge'],
    golden: (ends) => [[0xaa, A_PSN, true, reth(ends, 16) + data(0, 16)]],
  }),
  extended({
    name: 'XRC WRITE of several packets',
    length: 516,
    wr: (ends) => ({ opcode: WrOpcode.RdmaWrite, ...remote(ends) }),
    packets: ['> XRC RDMA WRITE First', '> XRC RDMA WRITE Middle', '> XRC RDMA WRITE Last', '< XRC Acknowledge'],
    golden: (ends) => [
      [0xa6, A_PSN, false, reth(ends, 516) + data(0, 256)],
      [0xa7, 0, false, data(256, 512)],
      [0xa8, 1, true, data(512, 516)],
    ],
  }),
  extended({
    name: 'XRC WRITE with immediate',
    length: 4,
    wr: (ends) => ({ opcode: WrOpcode.RdmaWriteWithImm, immData: 0x0bad_cafe, ...remote(ends) }),
    packets: ['> XRC RDMA WRITE Only with Immediate, immediate 0x0badcafe', '< XRC Acknowledge'],
    golden: (ends) => [[0xab, A_PSN, true, `${reth(ends, 4)}0badcafe${data(0, 4)}`]],
  }),
  extended({
    name: 'XRC WRITE with immediate of several packets',
    length: 260,
    wr: (ends) => ({ opcode: WrOpcode.RdmaWriteWithImm, immData: 0x0bad_cafe, ...remote(ends) }),
    packets: [
      '> XRC RDMA WRITE First',
      '> XRC RDMA WRITE Last with Immediate, immediate 0x0badcafe',
      '< XRC Acknowledge',
    ],
    golden: (ends) => [
      [0xa6, A_PSN, false, reth(ends, 260) + data(0, 256)],
      [0xa9, 0, true, `0badcafe${data(256, 260)}`],
    ],
  }),
  extended({
    name: 'XRC READ',
    length: 60,
    wr: (ends) => ({ opcode: WrOpcode.RdmaRead, ...remote(ends) }),
    packets: ['> XRC RDMA READ Request', '< XRC RDMA READ response Only'],
    golden: (ends) => [[0xac, A_PSN, true, reth(ends, 60)]],
  }),
  extended({
    name: 'XRC READ of several packets',
    length: 600,
    wr: (ends) => ({ opcode: WrOpcode.RdmaRead, ...remote(ends) }),
    packets: [
      '> XRC RDMA READ Request',
      '< XRC RDMA READ response First',
      '< XRC RDMA READ response Middle',
      '< XRC RDMA READ response Last',
    ],
    golden: (ends) => [[0xac, A_PSN, true, reth(ends, 600)]],
  }),
  extended({
    name: 'XRC COMPARE SWAP',
    length: 8,
    wr: (ends) => ({ opcode: WrOpcode.AtomicCmpAndSwp, ...remote(ends), compareAdd: 3n, swap: 4n }),
    packets: ['> XRC CmpSwap', '< XRC ATOMIC Acknowledge'],
    golden: (ends) => [[0xb3, A_PSN, true, reth(ends, 0).slice(0, 24) + word(4, 8) + word(3, 8)]],
  }),
  extended({
    name: 'XRC FETCH ADD',
    length: 8,
    wr: (ends) => ({ opcode: WrOpcode.AtomicFetchAndAdd, ...remote(ends), compareAdd: 5n }),
    packets: ['> XRC FetchAdd', '< XRC ATOMIC Acknowledge'],
    golden: (ends) => [[0xb4, A_PSN, true, reth(ends, 0).slice(0, 24) + word(5, 8) + word(0, 8)]],
  }),
];
