/**
 * What misuse.test.ts misuses: a device with one of everything, queue pairs in any state, and what an application can
 * see of them.
 */
import {
  Access,
  type Ah,
  type Cq,
  type Device,
  FlushLevel,
  FlushType,
  IpAddress,
  type MemoryRegion,
  type ModifyAttributes,
  type Pd,
  type Qp,
  QpState,
  QpType,
  RoceError,
  type SendWr,
  type World,
  WrOpcode,
} from '../../src/index.ts';
import { ALL, makePair } from './support.ts';

export const B = IpAddress.parse('10.0.0.2');
export const TYPES = [QpType.Rc, QpType.Uc, QpType.Ud, QpType.XrcSend] as const;
export const STATES = [QpState.Reset, QpState.Init, QpState.Rtr, QpState.Rts, QpState.Sqd, QpState.Error] as const;
/** What leads there. */
const BEFORE: ReadonlyMap<QpState, QpState> = new Map([
  [QpState.Sqd, QpState.Rts],
  [QpState.Error, QpState.Init],
]);

/** A device with one of everything, and a way to a neighbour. */
export class Bench {
  readonly device: Device;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly mr: MemoryRegion;
  readonly foreign: { readonly pd: Pd; readonly mr: MemoryRegion };
  ah: Ah | undefined;
  foreignAh: Ah | undefined;
  readonly world: World;

  constructor() {
    const { world, a } = makePair();
    this.world = world;
    this.device = a;
    this.pd = a.allocPd();
    this.cq = a.createCq(64);
    this.mr = this.pd.regMr(4096, { access: ALL | Access.MwBind });
    const pd = a.allocPd();
    this.foreign = { pd, mr: pd.regMr(64, { access: ALL }) };
  }

  async prepare(): Promise<void> {
    this.ah = await this.world.run(this.pd.createAh({ destination: B }));
    this.foreignAh = await this.world.run(this.foreign.pd.createAh({ destination: B }));
  }

  /** A queue pair in a state; its address is known. */
  qp(type: QpType, state: QpState): Qp {
    const { cq } = this;
    const queues = { sendCq: cq, recvCq: cq, maxSendWr: 4, maxRecvWr: 4, maxSge: 2, maxInlineData: 32 };
    const qp = this.pd.createQp({ type, ...queues });
    const steps = stepsOf(type);
    const last = BEFORE.get(state) ?? state;
    for (const step of steps) if ((step.state ?? 0) <= last) qp.modifyNow(step);
    if (state === QpState.Sqd) qp.modifyNow({ state });
    if (state === QpState.Error) qp.modifyNow({ state });
    return qp;
  }

  /** What an application can see. */
  sight(qp?: Qp): unknown {
    const { device, pd, cq } = this;
    const { path, altPath, ...config } = qp === undefined ? {} : { ...qp.core.config };
    return {
      qps: device.qpCount,
      users: pd.core.users,
      completions: cq.length,
      cqUsers: cq.users,
      capacity: cq.capacity,
      state: qp?.state,
      sends: qp?.core.sendsOutstanding,
      receives: qp?.core.receivesPosted,
      pending: qp?.core.pending,
      config: { ...config, pd: undefined, keys: undefined, sendCq: undefined, recvCq: undefined },
      path: path?.remote.toString(),
      altPath: altPath?.remote.toString(),
    };
  }
}

function stepsOf(type: QpType): ModifyAttributes[] {
  const { Init, Rtr, Rts } = QpState;
  if (type === QpType.Ud) return [{ state: Init, qkey: 7 }, { state: Rtr }, { state: Rts, sqPsn: 0 }];
  const path = { state: Rtr, av: { destination: B }, destQpn: 5, rqPsn: 0, mtu: 1024 };
  const answering = { maxDestRdAtomic: 1, minRnrTimer: 1 };
  const asking = { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 };
  const start = { state: Rts, sqPsn: 0 };
  if (type === QpType.Uc) return [{ state: Init, access: ALL }, path, start];
  if (type === QpType.XrcSend) return [{ state: Init, access: 0 }, path, { ...start, ...asking }];
  return [
    { state: Init, access: ALL },
    { ...path, ...answering },
    { ...start, ...asking },
  ];
}

/** The error of a call that has to be refused. */
export function refusal(call: () => unknown): RoceError {
  try {
    call();
  } catch (error) {
    if (error instanceof RoceError) return error;
    throw error;
  }
  throw new Error('the call was not refused');
}

/** A work request of an opcode, right in every other respect for a queue pair of this type. */
export function goodWr(bench: Bench, type: QpType, opcode: WrOpcode): SendWr {
  const { mr, ah } = bench;
  const common = { wrId: 1, opcode };
  const datagram = type === QpType.Ud && ah !== undefined ? { ah, remoteQpn: 9, remoteQkey: 7 } : {};
  const xrc = type === QpType.XrcSend ? { xrcRemoteSrqn: 3 } : {};
  const remote = { remoteAddr: 0x1000n, rkey: 0x100 };
  const eight = { sges: [{ mr, length: 8 }] };
  switch (opcode) {
    case WrOpcode.AtomicCmpAndSwp:
    case WrOpcode.AtomicFetchAndAdd:
    case WrOpcode.AtomicWrite:
      return { ...common, ...remote, ...eight, ...xrc };
    case WrOpcode.Flush:
      return { ...common, ...remote, length: 64, flush: { type: FlushType.Global, level: FlushLevel.Range }, ...xrc };
    case WrOpcode.LocalInv:
      return { ...common, invalidateRkey: mr.rkey };
    case WrOpcode.BindMw: {
      const mw = bench.pd.allocMw();
      return { ...common, mw, rkey: nextKey(mw.rkey), bind: { mr, addr: mr.iova, length: 64, access: 0 } };
    }
    case WrOpcode.RegMr: {
      const fresh = bench.pd.allocMr(64);
      return {
        ...common,
        reg: { mr: fresh, memory: new Uint8Array(64), iova: 0n, length: 64, access: 0, key: fresh.rkey },
      };
    }
    default:
      return { ...common, ...remote, sges: [{ mr, length: 100 }], ...datagram, ...xrc };
  }
}

/** The same window under the next variant of its key. */
export function nextKey(rkey: number): number {
  return ((rkey & ~0xff) | ((rkey + 1) & 0xff)) >>> 0;
}
