/**
 * Goal: a verb called in a state, with an opcode, a flag, a length or an object that verbs forbid says what libibverbs
 * says, and changes nothing.
 * Method: tables of calls with the errno each draws; then random work requests and attributes in random states. What an
 * application can see of the queue pair, its queues and its device is compared before and after each call that was
 * refused. Sources: ibv_post_send(3) (which opcode which type takes), ibv_modify_qp(3), ibv_create_qp(3),
 * ibv_create_srq(3), ibv_resize_cq(3).
 */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  Access,
  type Ah,
  type Errno,
  FlushLevel,
  QpState,
  QpType,
  RoceError,
  type SendWr,
  WorkCompletion,
  WrOpcode,
} from '../../src/index.ts';
import { B, Bench, goodWr, nextKey, refusal, STATES, TYPES } from './misuse-bench.ts';

const nameOf = (values: Readonly<Record<string, number>>, value: number): string =>
  Object.keys(values).find((name) => values[name] === value) ?? String(value);

let bench: Bench;
beforeEach(async () => {
  bench = new Bench();
  await bench.prepare();
});

describe('which opcode which type takes', () => {
  const { Send, SendWithImm, SendWithInv, RdmaWrite, RdmaWriteWithImm, ...others } = WrOpcode;
  const every: readonly WrOpcode[] = Object.values(WrOpcode);
  const local: readonly WrOpcode[] = [others.LocalInv, others.BindMw, others.RegMr];
  const taken: Readonly<Record<number, readonly WrOpcode[]>> = {
    [QpType.Rc]: every,
    [QpType.Uc]: [Send, SendWithImm, RdmaWrite, RdmaWriteWithImm, ...local],
    [QpType.Ud]: [Send, SendWithImm],
    // An opcode table without XRC FLUSH and ATOMIC WRITE, as Wireshark's.
    [QpType.XrcSend]: every.filter((opcode) => opcode !== others.Flush && opcode !== others.AtomicWrite),
  };

  describe.each(TYPES)('type %s', (type) => {
    it.each(every)(`opcode %s`, (opcode) => {
      const qp = bench.qp(type, QpState.Rts);
      const wr = goodWr(bench, type, opcode);
      const before = bench.sight(qp);
      if ((taken[type] ?? []).includes(opcode)) {
        qp.postSend(wr);
        expect(bench.sight(qp)).not.toEqual(before);
      } else {
        expect(['EINVAL', 'EOPNOTSUPP']).toContain(refusal(() => qp.postSend(wr)).errno);
        expect(bench.sight(qp)).toEqual(before);
      }
    });
  });
});

describe('which state takes work', () => {
  describe.each(TYPES)('type %s', (type) => {
    it.each(STATES)('state %s', (state) => {
      const qp = bench.qp(type, state);
      const before = bench.sight(qp);
      // ibv_modify_qp(3): sends from RTS on, receives from INIT on; in ERROR both are taken and flushed.
      if (state < QpState.Rts) {
        expect(refusal(() => qp.postSend(goodWr(bench, type, WrOpcode.Send)))).toMatchObject({ errno: 'EINVAL' });
        expect(bench.sight(qp)).toEqual(before);
      } else qp.postSend(goodWr(bench, type, WrOpcode.Send));
      const receive = { wrId: 2, sges: [{ mr: bench.mr, length: 64 }] };
      const between = bench.sight(qp);
      if (state < QpState.Init || type === QpType.XrcSend) {
        expect(refusal(() => qp.postRecv(receive))).toMatchObject({ errno: 'EINVAL' });
        expect(bench.sight(qp)).toEqual(between);
      } else qp.postRecv(receive);
    });
  });
});

describe('what is wrong with a work request', () => {
  const send = { wrId: 1, opcode: WrOpcode.Send } as const;
  const cases: readonly [string, QpType, () => SendWr, Errno][] = [
    ['an opcode that is none', QpType.Rc, () => ({ ...send, opcode: 99 as WrOpcode }), 'EINVAL'],
    [
      'more SGEs than the queue pair takes',
      QpType.Rc,
      () => ({ ...send, sges: Array(3).fill({ mr: bench.mr, length: 1 }) }),
      'EINVAL',
    ],
    ['more inline data than it takes', QpType.Rc, () => ({ ...send, inline: new Uint8Array(33) }), 'EINVAL'],
    [
      'inline data and SGEs',
      QpType.Rc,
      () => ({ ...send, inline: new Uint8Array(1), sges: [{ mr: bench.mr }] }),
      'EINVAL',
    ],
    [
      'inline data of a READ',
      QpType.Rc,
      () => ({ ...send, opcode: WrOpcode.RdmaRead, inline: new Uint8Array(8) }),
      'EINVAL',
    ],
    ['more than 2^31 bytes', QpType.Rc, () => ({ ...send, sges: [{ mr: bench.mr, length: 2 ** 31 + 1 }] }), 'EINVAL'],
    ['a length that is none', QpType.Rc, () => ({ ...send, sges: [{ mr: bench.mr, length: -1 }] }), 'EINVAL'],
    [
      'an atomic of 4 bytes',
      QpType.Rc,
      () => ({ ...goodWr(bench, QpType.Rc, WrOpcode.AtomicFetchAndAdd), sges: [{ mr: bench.mr, length: 4 }] }),
      'EINVAL',
    ],
    [
      'an ATOMIC WRITE of 4 bytes',
      QpType.Rc,
      () => ({ ...goodWr(bench, QpType.Rc, WrOpcode.AtomicWrite), sges: [{ mr: bench.mr, length: 4 }] }),
      'EINVAL',
    ],
    [
      'a key of 33 bits',
      QpType.Rc,
      () => ({ ...goodWr(bench, QpType.Rc, WrOpcode.RdmaWrite), rkey: 2 ** 32 }),
      'EINVAL',
    ],
    [
      'an address beyond 64 bits',
      QpType.Rc,
      () => ({ ...goodWr(bench, QpType.Rc, WrOpcode.RdmaWrite), remoteAddr: 1n << 64n }),
      'EINVAL',
    ],
    [
      'a FLUSH for nothing',
      QpType.Rc,
      () => ({ ...goodWr(bench, QpType.Rc, WrOpcode.Flush), flush: { type: 0, level: FlushLevel.Range } }),
      'EINVAL',
    ],
    [
      'a FLUSH with data',
      QpType.Rc,
      () => ({ ...goodWr(bench, QpType.Rc, WrOpcode.Flush), sges: [{ mr: bench.mr, length: 1 }] }),
      'EINVAL',
    ],
    [
      'a datagram without an address handle',
      QpType.Ud,
      () => ({ ...send, sges: [{ mr: bench.mr, length: 1 }], remoteQpn: 9, remoteQkey: 7 }),
      'EINVAL',
    ],
    [
      'a datagram to a queue pair that is none',
      QpType.Ud,
      () => ({ ...goodWr(bench, QpType.Ud, WrOpcode.Send), remoteQpn: 2 ** 24 }),
      'EINVAL',
    ],
    [
      'an XRC request without a shared receive queue',
      QpType.XrcSend,
      () => ({ ...send, sges: [{ mr: bench.mr, length: 1 }] }),
      'EINVAL',
    ],
  ];

  it.each(cases)('%s', (_, type, make, errno) => {
    const qp = bench.qp(type, QpState.Rts);
    const wr = make();
    const before = bench.sight(qp);
    expect(refusal(() => qp.postSend(wr)).errno).toBe(errno);
    expect(bench.sight(qp)).toEqual(before);
  });

  it('an address handle of another domain, or one that was destroyed', () => {
    const qp = bench.qp(QpType.Ud, QpState.Rts);
    const { foreignAh, ah } = bench;
    const before = bench.sight(qp);
    const wr = goodWr(bench, QpType.Ud, WrOpcode.Send);
    if (foreignAh !== undefined) expect(refusal(() => qp.postSend({ ...wr, ah: foreignAh }))).toBeInstanceOf(RoceError);
    ah?.destroy();
    expect(refusal(() => qp.postSend(wr))).toBeInstanceOf(RoceError);
    expect({ ...(bench.sight(qp) as object), users: 0 }).toEqual({ ...(before as object), users: 0 });
  });

  it('one more than there is room for', () => {
    const qp = bench.qp(QpType.Rc, QpState.Sqd);
    for (let i = 0; i < 4; i++) qp.postSend(goodWr(bench, QpType.Rc, WrOpcode.Send));
    for (let i = 0; i < 4; i++) qp.postRecv({ wrId: i });
    const before = bench.sight(qp);
    expect(refusal(() => qp.postSend(goodWr(bench, QpType.Rc, WrOpcode.Send))).errno).toBe('ENOMEM');
    expect(refusal(() => qp.postRecv({ wrId: 9 })).errno).toBe('ENOMEM');
    expect(bench.sight(qp)).toEqual(before);
  });
});

describe('random misuse changes nothing', () => {
  it('of postSend', () => {
    const { mr, foreign, ah } = bench;
    const sge = fc.record({
      mr: fc.constantFrom(mr, foreign.mr),
      offset: fc.constantFrom(0, 1, 4095, 4096, 5000),
      length: fc.constantFrom(0, 1, 8, 64, 4096, 2 ** 31, -1, 0.5),
    });
    const wr = fc.record(
      {
        wrId: fc.nat(),
        opcode: fc.integer({ min: -1, max: 33 }) as fc.Arbitrary<WrOpcode>,
        sges: fc.array(sge, { maxLength: 3 }),
        inline: fc.uint8Array({ maxLength: 40 }),
        rkey: fc.integer(),
        immData: fc.integer({ min: -1 }),
        remoteAddr: fc.bigInt({ min: -1n, max: 1n << 65n }),
        ah: fc.constant(ah as Ah),
        remoteQpn: fc.integer({ min: -1, max: 2 ** 25 }),
        remoteQkey: fc.integer(),
        xrcRemoteSrqn: fc.integer({ min: -1, max: 2 ** 25 }),
      },
      { requiredKeys: ['wrId', 'opcode'] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), fc.constantFrom(...STATES), wr, (type, state, request) => {
        const qp = bench.qp(type, state);
        const before = bench.sight(qp);
        try {
          qp.postSend(request as SendWr);
        } catch (error) {
          expect(error).toBeInstanceOf(RoceError);
          expect(['EINVAL', 'EOPNOTSUPP', 'EPERM']).toContain((error as RoceError).errno);
          expect(bench.sight(qp)).toEqual(before);
        }
        qp.destroy();
        drain();
      }),
      { numRuns: 400 },
    );
  });

  it('of modify', () => {
    const number = fc.constantFrom(-1, 0, 1, 7, 8, 31, 32, 255, 256, 1024, 4096, 2 ** 24, 0.5);
    const attributes = fc.record(
      {
        state: fc.integer({ min: -1, max: 7 }) as fc.Arbitrary<QpState>,
        access: number,
        pkey: number,
        qkey: number,
        av: fc.constantFrom(
          { destination: B },
          { destination: B, hopLimit: 0 },
          { destination: B, flowLabel: 2 ** 20 },
        ),
        destQpn: number,
        rqPsn: number,
        sqPsn: number,
        mtu: number,
        maxDestRdAtomic: number,
        maxRdAtomic: number,
        minRnrTimer: number,
        timeout: number,
        retryCnt: number,
        rnrRetry: number,
        migReq: fc.constantFrom(0, 1, 2) as fc.Arbitrary<0 | 1>,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), fc.constantFrom(...STATES), attributes, (type, state, change) => {
        const qp = bench.qp(type, state);
        const before = bench.sight(qp);
        try {
          qp.modifyNow(change);
        } catch (error) {
          expect(error).toMatchObject({ errno: 'EINVAL' });
          expect(bench.sight(qp), `${nameOf(QpType, type)} in ${nameOf(QpState, state)}`).toEqual(before);
        }
        qp.destroy();
        drain();
      }),
      { numRuns: 1000 },
    );
  });
});

describe('what cannot be made, changed or freed', () => {
  const cases: readonly [string, () => unknown, Errno][] = [
    ['a completion queue without room', () => bench.device.createCq(0), 'EINVAL'],
    ['a completion queue beyond the limit', () => bench.device.createCq(bench.device.limits.maxCqe + 1), 'EINVAL'],
    ['a completion queue of no size', () => bench.cq.resize(0), 'EINVAL'],
    [
      'a queue pair of no type',
      () => bench.pd.createQp({ type: 77 as QpType, sendCq: bench.cq, recvCq: bench.cq }),
      'EINVAL',
    ],
    [
      'a queue pair with too many SGEs',
      () => bench.pd.createQp({ sendCq: bench.cq, recvCq: bench.cq, maxSge: 33 }),
      'EINVAL',
    ],
    ['a shared receive queue without room', () => bench.pd.createSrq({ maxWr: 0 }), 'EINVAL'],
    [
      'a shared receive queue whose limit is above its room',
      () => bench.pd.createSrq({ maxWr: 4, limit: 5 }),
      'EINVAL',
    ],
    [
      'half an XRC shared receive queue',
      () => bench.pd.createSrq({ maxWr: 4, xrcd: bench.device.openXrcd() }),
      'EINVAL',
    ],
    ['a region with access that is none', () => bench.pd.regMr(8, { access: 0x1000_0000 }), 'EINVAL'],
    [
      'a region for remote writes but not local ones',
      () => bench.pd.regMr(8, { access: Access.RemoteWrite }),
      'EINVAL',
    ],
    ['a region beyond the address space', () => bench.pd.regMr(8, { iova: (1n << 64n) - 4n }), 'EINVAL'],
    ['a domain in use', () => bench.pd.dealloc(), 'EBUSY'],
    [
      'a region twice',
      () => {
        bench.foreign.pd.deregMr(bench.foreign.mr);
        bench.foreign.pd.deregMr(bench.foreign.mr);
      },
      'EINVAL',
    ],
  ];

  it.each(cases)('%s', (_, call, errno) => {
    const before = bench.sight();
    expect(refusal(call).errno).toBe(errno);
    expect(bench.sight()).toEqual(before);
  });

  it('a completion queue or a shared receive queue in use', () => {
    const srq = bench.pd.createSrq({ maxWr: 4 });
    bench.pd.createQp({ sendCq: bench.cq, recvCq: bench.cq, srq });
    srq.postRecv({ wrId: 1 });
    srq.postRecv({ wrId: 2 });
    const before = bench.sight();
    expect(refusal(() => bench.device.destroyCq(bench.cq)).errno).toBe('EBUSY');
    expect(refusal(() => srq.destroy()).errno).toBe('EBUSY');
    expect(refusal(() => srq.modify({ maxWr: 1 })).errno).toBe('EINVAL');
    expect(refusal(() => srq.modify({ limit: 5 })).errno).toBe('EINVAL');
    expect([srq.length, srq.maxWr, srq.limit]).toEqual([2, 4, 0]);
    expect(bench.sight()).toEqual(before);
  });

  it('a region whose window is bound', async () => {
    const qp = bench.qp(QpType.Rc, QpState.Rts);
    const { mr } = bench;
    const mw = bench.pd.allocMw();
    const bind = { mr, addr: mr.iova, length: 64, access: Access.RemoteRead };
    qp.postSend({ wrId: 1, opcode: WrOpcode.BindMw, mw, rkey: nextKey(mw.rkey), bind });
    await bench.world.run(bench.cq.next());
    expect(refusal(() => bench.pd.deregMr(mr)).errno).toBe('EBUSY');
  });
});

/** Forgets what a refused or accepted call has completed. */
function drain(): void {
  while (bench.cq.poll(WC));
}

const WC = new WorkCompletion();
