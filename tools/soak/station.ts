/**
 * What the activities of a soak share: a device with objects that are made and freed together, connections between two
 * of them, and requests whose completion is awaited. Owns the checks that every completion gets.
 */
import type { Connection, Cq, Device, MemoryRegion, Pd, Qp, QpInit, SendWr, WorkCompletion, World } from 'rocev2';
import { Access, WcStatus, wcStatusName } from 'rocev2/transport';

/** What a soak found. */
export class SoakFault extends Error {}

/** One host of the world. */
export interface Station {
  readonly device: Device;
  readonly address: string;
}

/** A world with its hosts. */
export interface Fabric {
  readonly world: World;
  readonly stations: readonly Station[];
}

export const ALL = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind;
export const SIDE_BYTES = 8192;
const CQ_ENTRIES = 64;

/** One end: everything that it holds goes with `free`. */
export class Side {
  readonly device: Device;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly mr: MemoryRegion;
  readonly #qps: Qp[] = [];

  constructor(device: Device, bytes = SIDE_BYTES) {
    this.device = device;
    this.pd = device.allocPd();
    this.cq = device.createCq(CQ_ENTRIES);
    this.mr = this.pd.regMr(bytes, { access: ALL });
  }

  /** A queue pair that completes into the side's queue. */
  queuePair(init: Partial<QpInit> = {}): Qp {
    const { cq } = this;
    const qp = this.pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 16, maxRecvWr: 16, ...init });
    this.#qps.push(qp);
    return qp;
  }

  /** Posts and awaits the completion, which has to be a success. */
  async done(qp: Qp, wr: SendWr): Promise<WorkCompletion> {
    qp.postSend(wr);
    return this.completion();
  }

  /** The next completion. @throws SoakFault for another status than `status` */
  async completion(status: number = WcStatus.Success): Promise<WorkCompletion> {
    const { value, done } = await this.cq.next();
    if (done === true) throw new SoakFault('the device was closed');
    if (value.status !== status)
      throw new SoakFault(`work request ${value.wrId} ended with ${wcStatusName(value.status)} (${value.status})`);
    return value;
  }

  free(): void {
    for (const qp of this.#qps) qp.destroy();
    this.pd.deregMr(this.mr);
    this.device.destroyCq(this.cq);
    this.pd.dealloc();
  }
}

/** Both ends of a connection. */
export interface Joined {
  readonly active: Connection;
  readonly passive: Connection;
}

/** Connects two queue pairs through the connection manager, by a listener that is closed again. */
export async function join(
  from: Device,
  to: Station,
  port: number,
  qps: { readonly active: Qp; readonly passive: Qp },
  options: { readonly portSpace?: 'tcp' | 'ib'; readonly mtu?: number } = {},
): Promise<Joined> {
  const { portSpace = 'tcp' } = options;
  const listener = to.device.cm.listen(port, { portSpace });
  const accepting = listener.next().then(async ({ value, done }) => {
    if (done === true) throw new SoakFault('the listener was closed');
    return value.accept({ qp: qps.passive });
  });
  const connecting = from.cm.connect({ ...options, portSpace, address: to.address, port, qp: qps.active });
  try {
    const [active, passive] = await Promise.all([connecting, accepting]);
    return { active, passive };
  } finally {
    listener.close();
  }
}

/** Ends a connection from one side and awaits that the other has noticed. */
export async function part({ active, passive }: Joined): Promise<void> {
  await Promise.all([active.disconnect(), passive.closed]);
}

export function demand(holds: boolean, what: string): void {
  if (!holds) throw new SoakFault(what);
}

/** Whether the first `length` bytes are the same. */
export function sameBytes(a: Uint8Array, b: Uint8Array, length: number): boolean {
  return Buffer.compare(a.subarray(0, length), b.subarray(0, length)) === 0;
}
