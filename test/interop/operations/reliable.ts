/** Every operation of a reliable connection, and every way in which a responder says no. */
import { FlushLevel, FlushType, WcStatus, WrOpcode } from '../../../src/index.ts';
import { MigState } from '../../../transport/qp-attributes.ts';
import { pattern } from '../../transport/support/packets.ts';
import { bth, type Golden, hexOf, type Operation, word } from './operation.ts';
import { A_PSN, type End, type EndOptions, type Ends, IOVA, type Stage } from './stage.ts';

/** Does one request on a fresh connection, with a receive at B, and expects it to succeed. */
function request(
  name: string,
  wr: (ends: Ends) => Parameters<Stage['perform']>[1],
  packets: readonly string[],
  golden: (ends: Ends) => Golden | undefined = () => undefined,
): Operation {
  const perform = async (stage: Stage): Promise<Golden | undefined> => {
    const ends = await stage.connected();
    stage.receive(ends.b, ends.b.qp);
    await demand(stage, ends.a, wr(ends));
    return golden(ends);
  };
  return { name, perform, packets };
}

/** Does it and expects it to complete so. */
export async function demand(
  stage: Stage,
  end: End,
  wr: Parameters<Stage['perform']>[1],
  status: WcStatus = WcStatus.Success,
): Promise<void> {
  const wc = await stage.perform(end, wr);
  if (wc.status !== status) throw new Error(`completed with status ${wc.status}, not ${status}`);
}

const remote = ({ b }: Ends) => ({ remoteAddr: IOVA, rkey: b.mr.rkey });
const bytes = ({ a }: Ends, length: number) => ({ sges: [{ mr: a.mr, length }] });

export const SENDS: readonly Operation[] = [
  request('SEND', (e) => ({ opcode: WrOpcode.Send, ...bytes(e, 64) }), ['> RC SEND Only', '< RC Acknowledge']),
  request('SEND of nothing', () => ({ opcode: WrOpcode.Send }), ['> RC SEND Only', '< RC Acknowledge']),
  request('SEND of several packets', (e) => ({ opcode: WrOpcode.Send, ...bytes(e, 601) }), [
    '> RC SEND First',
    '> RC SEND Middle',
    '> RC SEND Last, pad 3',
    '< RC Acknowledge',
  ]),
  request('SEND that is solicited', (e) => ({ opcode: WrOpcode.Send, solicited: true, ...bytes(e, 2) }), [
    '> RC SEND Only, solicited, pad 2',
    '< RC Acknowledge',
  ]),
  request('SEND with immediate', (e) => ({ opcode: WrOpcode.SendWithImm, immData: IMM, ...bytes(e, 64) }), [
    '> RC SEND Only with Immediate, immediate 0x0badcafe',
    '< RC Acknowledge',
  ]),
  request(
    'SEND with immediate of several packets',
    (e) => ({ opcode: WrOpcode.SendWithImm, immData: IMM, ...bytes(e, 300) }),
    ['> RC SEND First', '> RC SEND Last with Immediate, immediate 0x0badcafe', '< RC Acknowledge'],
  ),
  {
    name: 'SEND with invalidate',
    perform: async (stage) => {
      const ends = await stage.connected();
      const key = await registerFast(stage, ends.b);
      stage.receive(ends.b, ends.b.qp);
      await demand(stage, ends.a, { opcode: WrOpcode.SendWithInv, invalidateRkey: key, ...bytes(ends, 4) });
      return [bth(0x17, ends.b.qp.qpn, A_PSN) + word(key, 4) + hexOf(pattern(4, 0xa))];
    },
    packets: ['> RC SEND Only with Invalidate', '< RC Acknowledge'],
  },
  {
    name: 'SEND with invalidate of several packets',
    perform: async (stage) => {
      const ends = await stage.connected();
      const key = await registerFast(stage, ends.b);
      stage.receive(ends.b, ends.b.qp);
      await demand(stage, ends.a, { opcode: WrOpcode.SendWithInv, invalidateRkey: key, ...bytes(ends, 260) });
      return [undefined, bth(0x16, ends.b.qp.qpn, 0) + word(key, 4) + hexOf(pattern(260, 0xa).subarray(256))];
    },
    packets: ['> RC SEND First', '> RC SEND Last with Invalidate', '< RC Acknowledge'],
  },
];

export const ONE_SIDED: readonly Operation[] = [
  request('WRITE', (e) => ({ opcode: WrOpcode.RdmaWrite, ...remote(e), ...bytes(e, 63) }), [
    '> RC RDMA WRITE Only, pad 1',
    '< RC Acknowledge',
  ]),
  request('WRITE of several packets', (e) => ({ opcode: WrOpcode.RdmaWrite, ...remote(e), ...bytes(e, 601) }), [
    '> RC RDMA WRITE First',
    '> RC RDMA WRITE Middle',
    '> RC RDMA WRITE Last, pad 3',
    '< RC Acknowledge',
  ]),
  request(
    'WRITE with immediate',
    (e) => ({ opcode: WrOpcode.RdmaWriteWithImm, immData: IMM, ...remote(e), ...bytes(e, 64) }),
    ['> RC RDMA WRITE Only with Immediate, immediate 0x0badcafe', '< RC Acknowledge'],
  ),
  request(
    'WRITE with immediate of several packets',
    (e) => ({ opcode: WrOpcode.RdmaWriteWithImm, immData: IMM, ...remote(e), ...bytes(e, 300) }),
    ['> RC RDMA WRITE First', '> RC RDMA WRITE Last with Immediate, immediate 0x0badcafe', '< RC Acknowledge'],
  ),
  request('READ', (e) => ({ opcode: WrOpcode.RdmaRead, ...remote(e), ...bytes(e, 61) }), [
    '> RC RDMA READ Request',
    '< RC RDMA READ response Only, pad 3',
  ]),
  request('READ of several packets', (e) => ({ opcode: WrOpcode.RdmaRead, ...remote(e), ...bytes(e, 601) }), [
    '> RC RDMA READ Request',
    '< RC RDMA READ response First',
    '< RC RDMA READ response Middle',
    '< RC RDMA READ response Last, pad 3',
  ]),
  request(
    'COMPARE SWAP',
    (e) => ({ opcode: WrOpcode.AtomicCmpAndSwp, ...remote(e), ...bytes(e, 8), compareAdd: COMPARE, swap: SWAP }),
    ['> RC CmpSwap', '< RC ATOMIC Acknowledge'],
    ({ b }) => [
      [bth(0x13, b.qp.qpn, A_PSN), word(IOVA, 8), word(b.mr.rkey, 4), word(SWAP, 8), word(COMPARE, 8)].join(''),
    ],
  ),
  request(
    'FETCH ADD',
    (e) => ({ opcode: WrOpcode.AtomicFetchAndAdd, ...remote(e), ...bytes(e, 8), compareAdd: COMPARE }),
    ['> RC FetchAdd', '< RC ATOMIC Acknowledge'],
  ),
  request(
    'ATOMIC WRITE',
    (e) => ({ opcode: WrOpcode.AtomicWrite, ...remote(e), ...bytes(e, 8) }),
    ['> RC ATOMIC WRITE', '< RC RDMA READ response Only'],
    ({ b }) => [
      [bth(0x1d, b.qp.qpn, A_PSN), word(IOVA, 8), word(b.mr.rkey, 4), word(8, 4), hexOf(pattern(8, 0xa))].join(''),
    ],
  ),
  request(
    'FLUSH of a range',
    (e) => ({
      opcode: WrOpcode.Flush,
      ...remote(e),
      length: 64,
      flush: { type: FlushType.Global, level: FlushLevel.Range },
    }),
    ['> RC FLUSH', '< RC RDMA READ response Only'],
    // Selectivity in bits 4 and 5, placement in bits 0 to 3: ref:wire#6.
    ({ b }) => [[bth(0x1c, b.qp.qpn, A_PSN), '00000001', word(IOVA, 8), word(b.mr.rkey, 4), word(64, 4)].join('')],
  ),
  request(
    'FLUSH of a region, for persistence',
    (e) => ({ opcode: WrOpcode.Flush, ...remote(e), flush: { type: FlushType.Persistent, level: FlushLevel.Mr } }),
    ['> RC FLUSH', '< RC RDMA READ response Only'],
    ({ b }) => [[bth(0x1c, b.qp.qpn, A_PSN), '00000012', word(IOVA, 8), word(b.mr.rkey, 4), word(0, 4)].join('')],
  ),
];

/** Both ask for their second path, and A takes it: packets say "migrated" again, and come from another port. */
export const MIGRATION: Operation = {
  name: 'SEND over a second path',
  perform: async (stage) => {
    const { a, b } = await stage.connected({ alternate: true });
    stage.receive(b, b.qp, 2);
    await demand(stage, a, { opcode: WrOpcode.Send });
    await a.qp.modify({ pathMigState: MigState.Migrated });
    await demand(stage, a, { opcode: WrOpcode.Send });
    return undefined;
  },
  packets: [
    '> RC SEND Only, armed',
    '< RC Acknowledge, armed',
    '> RC SEND Only, second path',
    '< RC Acknowledge, second path',
  ],
};

/** What a responder says but "done". */
export const ANSWERS: readonly Operation[] = [
  {
    name: 'credits in an ACK',
    perform: async (stage) => {
      const { a, b } = await stage.connected({ flowControl: true });
      stage.receive(b, b.qp, 9);
      await demand(stage, a, { opcode: WrOpcode.Send });
      return undefined;
    },
    // Eight receives are left, which is code 6.
    packets: ['> RC SEND Only', '< RC Acknowledge, syndrome 0x06'],
  },
  {
    name: 'RNR NAK',
    perform: async (stage) => {
      const { a, b } = await stage.connected({ minRnrTimer: 14 });
      a.qp.postSend({ wrId: 1, opcode: WrOpcode.Send });
      stage.world.runFor(MILLISECOND / 10);
      stage.receive(b, b.qp);
      await stage.world.run(a.cq.next());
      return undefined;
    },
    packets: ['> RC SEND Only', '< RC Acknowledge, syndrome 0x2e', '> RC SEND Only', '< RC Acknowledge'],
  },
  {
    name: 'NAK of a gap',
    perform: async (stage) => {
      const ends = await stage.connected();
      stage.receive(ends.b, ends.b.qp);
      let lost = 0;
      stage.world.network.addRule({ match: ({ opcode }) => opcode === 0x01 && lost++ === 0, action: 'drop' });
      await demand(stage, ends.a, { opcode: WrOpcode.Send, ...bytes(ends, 600) });
      return undefined;
    },
    packets: [
      '> RC SEND First',
      '> RC SEND Middle',
      '> RC SEND Last',
      '< RC Acknowledge, syndrome 0x60',
      '> RC SEND Middle',
      '> RC SEND Last',
      '< RC Acknowledge',
    ],
  },
  refused('NAK of an invalid request', {}, WcStatus.RemInvReqErr, 'RC SEND Only, pad 3', 0x61, (ends) => {
    ends.b.qp.postRecv({ wrId: 1, sges: [{ mr: ends.b.mr, length: 8 }] });
    return { opcode: WrOpcode.Send, ...bytes(ends, 9) };
  }),
  refused('NAK of a remote access', {}, WcStatus.RemAccessErr, 'RC RDMA WRITE Only', 0x62, (ends) => {
    const { remoteAddr, rkey } = remote(ends);
    return { opcode: WrOpcode.RdmaWrite, remoteAddr, rkey: (rkey ^ 1) >>> 0, ...bytes(ends, 8) };
  }),
  refused('NAK of a remote operation', {}, WcStatus.RemOpErr, 'RC SEND Only', 0x63, (ends) => {
    ends.b.qp.postRecv({ wrId: 1, sges: [{ mr: ends.b.mr, length: 8 }] });
    ends.b.pd.deregMr(ends.b.mr);
    return { opcode: WrOpcode.Send, ...bytes(ends, 8) };
  }),
];

function refused(
  name: string,
  options: EndOptions,
  status: WcStatus,
  packet: string,
  syndrome: number,
  wr: (ends: Ends) => Parameters<Stage['perform']>[1],
): Operation {
  const perform = async (stage: Stage): Promise<undefined> => {
    const ends = await stage.connected(options);
    await demand(stage, ends.a, wr(ends), status);
    return undefined;
  };
  return { name, perform, packets: [`> ${packet}`, `< RC Acknowledge, syndrome 0x${word(syndrome, 1)}`] };
}

/** Gives a region of B memory by a work request, so that a peer may end its key. */
async function registerFast(stage: Stage, b: End): Promise<number> {
  const mr = b.pd.allocMr(64);
  const reg = { mr, memory: new Uint8Array(64), iova: IOVA, length: 64, access: 1, key: mr.rkey };
  await demand(stage, b, { opcode: WrOpcode.RegMr, reg });
  return mr.rkey;
}

const IMM = 0x0b_ad_ca_fe;
const COMPARE = 0x1122_3344_5566_7788n;
const SWAP = 0x99aa_bbcc_ddee_ff01n;
const MILLISECOND = 1_000_000;
