/**
 * Two devices on a simulated wire, and everything an operation needs: queue pairs of every service, connected by hand
 * so that a packet's fields are known beforehand, and every frame that was sent, in order.
 */
import { defined } from '../../../packets/defined.ts';
import {
  Access,
  attachDevice,
  type Cq,
  type Device,
  IpAddress,
  type MemoryRegion,
  type Pd,
  type Qp,
  QpState,
  QpType,
  type RecvWr,
  type SendWr,
  type Srq,
  type WorkCompletion,
  World,
  type Xrcd,
} from '../../../src/index.ts';
import { MigState } from '../../../transport/qp-attributes.ts';
import { pattern } from '../../transport/support/packets.ts';

/** A frame as it was sent. */
export interface SentFrame {
  /** From A to B, or back. */
  readonly fromA: boolean;
  readonly timeNs: number;
  readonly bytes: Uint8Array;
}

/** One end: a queue pair, where it completes, and memory under a known address. */
export interface End {
  readonly device: Device;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly qp: Qp;
  readonly mr: MemoryRegion;
}

/** A and B of one connection, or of datagrams. */
export interface Ends {
  readonly a: End;
  readonly b: End;
}

export interface EndOptions {
  readonly type?: QpType;
  readonly flowControl?: boolean;
  /** Code of the wait that B asks for; 12 is 0.64 ms. */
  readonly minRnrTimer?: number;
  /** Whether both have a second path, of another source port, and ask for it to be armed. */
  readonly alternate?: boolean;
}

/** An XRC target and the shared receive queue it delivers to. */
export interface XrcEnds extends Ends {
  readonly srq: Srq;
  /** A region of B whose key A may end. */
  readonly victim: MemoryRegion;
}

export class Stage {
  readonly world = new World({ seed: 11 });
  readonly frames: SentFrame[] = [];
  readonly version: 4 | 6;
  readonly a: Device;
  readonly b: Device;

  constructor(version: 4 | 6) {
    this.version = version;
    this.world.network.tap = {
      frame: (timeNs, port, direction, bytes, start, end) => {
        if (direction === 'out') this.frames.push({ fromA: port.name === 'A', timeNs, bytes: bytes.slice(start, end) });
      },
    };
    const [ofA, ofB] = [1, 2].map((id) => (version === 4 ? `10.0.0.${id}/24` : `fd00::${id}/64`));
    this.a = attachDevice(this.world, 'A', { addresses: [ofA ?? ''], mac: '02:00:00:00:00:0a' });
    this.b = attachDevice(this.world, 'B', { addresses: [ofB ?? ''], mac: '02:00:00:00:00:0b' });
  }

  /** Address of B as text. */
  get addressOfB(): string {
    return this.#addressOf(this.b).toString();
  }

  /** Two queue pairs in RESET. */
  ends(type: QpType): Ends {
    return { a: makeEnd(this.a, type, 0xa), b: makeEnd(this.b, type, 0xb) };
  }

  /** Two queue pairs of a connected service in RTS. */
  async connected({ type = QpType.Rc, ...options }: EndOptions = {}): Promise<Ends> {
    const ends = this.ends(type);
    await this.#connect(ends.a.qp, ends.b.qp, this.b, A_PSN, B_PSN, options);
    await this.#connect(ends.b.qp, ends.a.qp, this.a, B_PSN, A_PSN, options);
    return ends;
  }

  /** An XRC initiator at A and a target at B, whose only shared receive queue is of B's domain and completion queue. */
  async xrc(): Promise<XrcEnds> {
    const a = makeEnd(this.a, QpType.XrcSend, 0xa);
    const b = makeEnd(this.b, QpType.Rc, 0xb);
    const xrcd: Xrcd = this.b.openXrcd();
    const srq = b.pd.createSrq({ maxWr: 8, xrcd, cq: b.cq });
    const target = xrcd.createQp();
    await this.#connect(a.qp, target, this.b, A_PSN, B_PSN, {});
    await this.#connect(target, a.qp, this.a, B_PSN, A_PSN, { minRnrTimer: 12 });
    return { a, b: { ...b, qp: target }, srq, victim: b.pd.regMr(8, { remoteInvalidate: true }) };
  }

  /** Two UD queue pairs in RTS, with one Q_Key. */
  datagrams(): Ends {
    const { a, b } = this.ends(QpType.Ud);
    for (const { qp } of [a, b]) {
      qp.modifyNow({ state: QpState.Init, qkey: QKEY });
      qp.modifyNow({ state: QpState.Rtr });
      qp.modifyNow({ state: QpState.Rts, sqPsn: A_PSN });
    }
    return { a, b };
  }

  /** Posts the request and resolves with its completion. */
  async perform({ qp, cq }: End, wr: Omit<SendWr, 'wrId'>): Promise<WorkCompletion> {
    qp.postSend({ wrId: 1, ...wr });
    const { value } = await this.world.run(cq.next());
    return value;
  }

  /** Posts receives of `count` pieces of the end's memory. */
  receive({ mr }: End, queue: { postRecv(wr: RecvWr): void }, count = 1): void {
    for (let i = 0; i < count; i++) queue.postRecv({ wrId: 100 + i, sges: [{ mr }] });
  }

  #addressOf(device: Device): IpAddress {
    return device.addresses[0]?.address ?? IpAddress.parse('::');
  }

  async #connect(qp: Qp, peer: Qp, to: Device, sqPsn: number, rqPsn: number, options: EndOptions): Promise<void> {
    const { flowControl, minRnrTimer = 12, alternate = false } = options;
    const av = { destination: this.#addressOf(to) };
    await qp.modify({ state: QpState.Init, access: qp.type === QpType.XrcSend ? 0 : ALL });
    const responding = {
      ...(RESPONDERS.includes(qp.type) ? { maxDestRdAtomic: 4, minRnrTimer } : {}),
      ...defined({ flowControl }),
      ...(alternate ? { altAv: { ...av, sourcePort: SECOND_PORT } } : {}),
    };
    const way = { av, destQpn: peer.qpn, rqPsn, mtu: MTU };
    await this.world.run(qp.modify({ state: QpState.Rtr, ...way, ...responding }));
    const arming = alternate ? { pathMigState: MigState.Rearm } : {};
    await qp.modify({ state: QpState.Rts, sqPsn, ...(REQUESTING[qp.type] ?? {}), ...arming });
  }
}

function makeEnd(device: Device, type: QpType, seed: number): End {
  const pd = device.allocPd();
  const cq = device.createCq(64);
  const mr = pd.regMr(pattern(4096, seed), { access: ALL | Access.MwBind, iova: IOVA, persistent: () => {} });
  return { device, pd, cq, qp: pd.createQp({ type, sendCq: cq, recvCq: cq }), mr };
}

/** Path MTU of every connection. */
export const MTU = 256;
/** Virtual address of the memory of both ends. */
export const IOVA = 0x7000_0000_1000n;
/** First PSN of A, one before it wraps; first PSN of B. */
export const A_PSN = 0xff_ff_ff;
export const B_PSN = 0x12_34_56;
/** Source port of the second path. */
export const SECOND_PORT = 50_001;
export const QKEY = 0x1111_1111;

const { LocalWrite, RemoteWrite, RemoteRead, RemoteAtomic, FlushGlobal, FlushPersistent } = Access;
const ALL = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic | FlushGlobal | FlushPersistent;
const RESPONDERS: readonly QpType[] = [QpType.Rc, QpType.XrcRecv];
const REQUESTER = { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 };
const REQUESTING: Readonly<Record<number, object>> = {
  [QpType.Rc]: REQUESTER,
  [QpType.XrcSend]: REQUESTER,
  [QpType.XrcRecv]: { timeout: 14 },
};
