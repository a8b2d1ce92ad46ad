/**
 * What the compliance suite is run on: two pairs of host control that reach each other, and what a test does with them
 * again and again.
 */
import type {
  AccessFlag,
  AsyncEvent,
  HostCall,
  HostCalls,
  HostCompletion,
  HostControl,
  PathAttributes,
  QpTypeName,
} from '../../../../tools/conformance/host-control/host-control.ts';

/** Two pairs of host control, of two devices or twice the same, and the way time passes. */
export interface Subject {
  readonly left: HostControl;
  readonly right: HostControl;
  /** Address and index of the GID of each. */
  readonly leftGid: { readonly index: number; readonly address: string };
  readonly rightGid: { readonly index: number; readonly address: string };
  /** Lets `promise` settle. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** Lets a little happen. */
  pass(): Promise<void>;
  close(): Promise<void>;
}

/** Everything that one side has, by the same names on both. */
export interface Side {
  readonly hostControl: HostControl;
  /** All objects of a side have this name. */
  readonly name: number;
  readonly gid: { readonly index: number; readonly address: string };
  readonly qpn: number;
  readonly mr: HostCalls['mr.reg']['gives'];
}

export interface SideOptions {
  readonly type?: QpTypeName;
  readonly access?: readonly AccessFlag[];
  readonly srq?: boolean;
  readonly maxSendWr?: number;
}

/** A subject and what tests want of it. */
export class Bench {
  readonly subject: Subject;

  constructor(subject: Subject) {
    this.subject = subject;
  }

  call<C extends HostCall>(
    { hostControl }: Pick<Side, 'hostControl'>,
    name: C,
    args: HostCalls[C]['takes'],
  ): Promise<HostCalls[C]['gives']> {
    return this.subject.run(hostControl.call(name, args));
  }

  /**
   * Domain, completion queue, region and queue pair. The two sides have different names, for they may be of one device.
   */
  async side(which: 'left' | 'right', options: SideOptions = {}): Promise<Side> {
    const { type = 'rc', access = ALL, srq = false, maxSendWr = 16 } = options;
    const { subject } = this;
    const hostControl = subject[which];
    const name = which === 'left' ? 1 : 2;
    const gid = which === 'left' ? subject.leftGid : subject.rightGid;
    await this.call({ hostControl }, 'pd.alloc', { pd: name });
    await this.call({ hostControl }, 'cq.create', { cq: name, entries: 64 });
    const mr = await this.call({ hostControl }, 'mr.reg', { mr: name, pd: name, length: REGION_BYTES, access });
    if (srq) await this.call({ hostControl }, 'srq.create', { srq: name, pd: name, maxWr: 16 });
    const { qpn } = await this.call({ hostControl }, 'qp.create', {
      ...{ qp: name, pd: name, type, sendCq: name, recvCq: name, maxSendWr, maxRecvWr: 16, maxSge: 4, maxInline: 64 },
      ...(srq ? { srq: name } : {}),
    });
    return { hostControl, name, gid, qpn, mr };
  }

  /** Two sides, connected. */
  async pair(options: SideOptions = {}): Promise<{ left: Side; right: Side }> {
    const left = await this.side('left', options);
    const right = await this.side('right', options);
    await this.bring(left, right, options.type ?? 'rc');
    await this.bring(right, left, options.type ?? 'rc');
    return { left, right };
  }

  /** To RTS. */
  async bring(side: Side, peer: Side, type: QpTypeName): Promise<void> {
    const qp = side.name;
    const init = { qp, state: 'INIT', port: 1, pkeyIndex: 0 } as const;
    if (type === 'ud') {
      await this.call(side, 'qp.modify', { ...init, qkey: QKEY });
      await this.call(side, 'qp.modify', { qp, state: 'RTR' });
      await this.call(side, 'qp.modify', { qp, state: 'RTS', sqPsn: PSN });
      return;
    }
    await this.call(side, 'qp.modify', { ...init, access: type === 'rc' ? REMOTE : ['remote-write'] });
    const answering = type === 'rc' ? { maxDestRdAtomic: 4, minRnrTimer: 1 } : {};
    const towards = { path: this.pathTo(side, peer), destQpn: peer.qpn, rqPsn: PSN, mtu: 1024 };
    await this.call(side, 'qp.modify', { qp, state: 'RTR', ...towards, ...answering });
    const asking = type === 'rc' ? { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 } : {};
    await this.call(side, 'qp.modify', { qp, state: 'RTS', sqPsn: PSN, ...asking });
  }

  pathTo(side: Side, peer: Side): PathAttributes {
    return { destination: peer.gid.address, sgidIndex: side.gid.index };
  }

  write(side: Side, offset: number, hex: string): Promise<object> {
    return this.call(side, 'mem.write', { mr: side.name, offset, hex });
  }

  async read(side: Side, offset: number, length: number): Promise<string> {
    return (await this.call(side, 'mem.read', { mr: side.name, offset, length })).hex;
  }

  piece({ name }: Side, offset: number, length: number) {
    return { mr: name, offset, length };
  }

  /** The next `count` completions, once they are there. */
  async completions(side: Side, count = 1): Promise<HostCompletion[]> {
    const found: HostCompletion[] = [];
    await this.until(async () => {
      const { completions } = await this.call(side, 'cq.poll', { cq: side.name, max: count - found.length });
      found.push(...completions);
      return found.length >= count;
    });
    return found;
  }

  /** Events until one of that name is among them. */
  async eventsUntil(side: Side, event: string): Promise<AsyncEvent[]> {
    const found: AsyncEvent[] = [];
    await this.until(async () => {
      found.push(...(await this.call(side, 'events', {})).events);
      return found.some((one) => one.event === event);
    });
    return found;
  }

  /** Lets time pass until it holds. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < MANY; tries++) {
      if (await holds()) return;
      await this.subject.pass();
    }
    throw new Error('what was waited for did not happen');
  }
}

export const REGION_BYTES = 8192;
export const QKEY = 0x11_22_33;
export const PSN = 0xff_ff_f0;
export const ALL: readonly AccessFlag[] = ['local-write', 'remote-write', 'remote-read', 'remote-atomic', 'mw-bind'];
const REMOTE: readonly AccessFlag[] = ['remote-write', 'remote-read', 'remote-atomic'];
const MANY = 10_000;
