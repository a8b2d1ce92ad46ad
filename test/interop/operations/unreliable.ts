/** Every operation of an unreliable connection and of unreliable datagrams, groups included. */
import { IpAddress, QpType, WrOpcode } from '../../../src/index.ts';
import { pattern } from '../../transport/support/packets.ts';
import { bth, hexOf, type Operation, word } from './operation.ts';
import { demand } from './reliable.ts';
import { A_PSN, type Ends, IOVA, QKEY, type Stage } from './stage.ts';

type Request = Parameters<Stage['perform']>[1];

/** Nothing answers on an unreliable connection, so each request has to arrive by itself. */
function connected(name: string, length: number, wr: (ends: Ends) => Request, packets: readonly string[]): Operation {
  const perform = async (stage: Stage): Promise<undefined> => {
    const ends = await stage.connected({ type: QpType.Uc });
    stage.receive(ends.b, ends.b.qp);
    await demand(stage, ends.a, { sges: [{ mr: ends.a.mr, length }], ...wr(ends) });
    stage.world.runUntilIdle();
    return undefined;
  };
  return { name, perform, packets };
}

const remote = ({ b }: Ends) => ({ remoteAddr: IOVA, rkey: b.mr.rkey });
const { Send, SendWithImm, RdmaWrite, RdmaWriteWithImm } = WrOpcode;
const IMM = 0x0b_ad_ca_fe;
const IMMEDIATE = 'immediate 0x0badcafe';

export const UNRELIABLE_CONNECTION: readonly Operation[] = [
  connected('UC SEND', 61, () => ({ opcode: Send }), ['> UC SEND Only, pad 3']),
  connected('UC SEND of several packets', 600, () => ({ opcode: Send }), [
    '> UC SEND First',
    '> UC SEND Middle',
    '> UC SEND Last',
  ]),
  connected('UC SEND with immediate', 64, () => ({ opcode: SendWithImm, immData: IMM, solicited: true }), [
    `> UC SEND Only with Immediate, solicited, ${IMMEDIATE}`,
  ]),
  connected('UC SEND with immediate of several packets', 300, () => ({ opcode: SendWithImm, immData: IMM }), [
    '> UC SEND First',
    `> UC SEND Last with Immediate, ${IMMEDIATE}`,
  ]),
  connected('UC WRITE', 64, (ends) => ({ opcode: RdmaWrite, ...remote(ends) }), ['> UC RDMA WRITE Only']),
  connected('UC WRITE of several packets', 602, (ends) => ({ opcode: RdmaWrite, ...remote(ends) }), [
    '> UC RDMA WRITE First',
    '> UC RDMA WRITE Middle',
    '> UC RDMA WRITE Last, pad 2',
  ]),
  connected('UC WRITE with immediate', 64, (ends) => ({ opcode: RdmaWriteWithImm, immData: IMM, ...remote(ends) }), [
    `> UC RDMA WRITE Only with Immediate, ${IMMEDIATE}`,
  ]),
  connected(
    'UC WRITE with immediate of several packets',
    300,
    (ends) => ({ opcode: RdmaWriteWithImm, immData: IMM, ...remote(ends) }),
    ['> UC RDMA WRITE First', `> UC RDMA WRITE Last with Immediate, ${IMMEDIATE}`],
  ),
];

function datagram(name: string, wr: Request, packets: readonly string[], opcode: number, immediate = ''): Operation {
  return {
    name,
    perform: async (stage) => {
      const { a, b } = stage.datagrams();
      stage.receive(b, b.qp);
      const ah = await stage.world.run(a.pd.createAh({ destination: IpAddress.parse(stage.addressOfB) }));
      await demand(stage, a, { ...wr, sges: [{ mr: a.mr, length: 12 }], ah, remoteQpn: b.qp.qpn, remoteQkey: QKEY });
      stage.world.runUntilIdle();
      // Nothing requests an ACK; DETH: Q_Key and the queue pair that sends.
      const deth = `${word(QKEY, 4)}00${word(a.qp.qpn, 3)}`;
      return [[bth(opcode, b.qp.qpn, A_PSN, false), deth, immediate, hexOf(pattern(12, 0xa))].join('')];
    },
    packets,
  };
}

/** B joins a group, A sends to it, B leaves; a change of membership is said twice, in case one is lost. */
const toGroup: Operation = {
  name: 'UD SEND to a group',
  perform: async (stage) => {
    const { a, b } = stage.datagrams();
    const group = IpAddress.parse(GROUPS[stage.version]);
    stage.receive(b, b.qp);
    await stage.world.run(b.qp.attachMcast(group));
    stage.world.runUntilIdle();
    const ah = await stage.world.run(a.pd.createAh({ destination: group }));
    const sges = [{ mr: a.mr, length: 12 }];
    await demand(stage, a, { opcode: Send, sges, ah, remoteQpn: 0xff_ff_ff, remoteQkey: QKEY });
    stage.world.runUntilIdle();
    b.qp.detachMcast(group);
    stage.world.runUntilIdle();
    return undefined;
  },
  packets: ['< joins', '< joins', '> UD SEND Only', '< leaves', '< leaves'],
};

export const DATAGRAMS: readonly Operation[] = [
  datagram('UD SEND', { opcode: Send }, ['> UD SEND Only'], 0x64),
  datagram(
    'UD SEND with immediate',
    { opcode: SendWithImm, immData: IMM },
    [`> UD SEND Only with Immediate, ${IMMEDIATE}`],
    0x65,
    '0badcafe',
  ),
  toGroup,
];

export const GROUPS = { 4: '239.1.2.3', 6: 'ff3e::1:2' } as const;
