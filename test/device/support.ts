/** Two devices on a simulated Ethernet, and connections between them. */
import { defined } from '../../packets/defined.ts';
import {
  Access,
  attachDevice,
  type Connection,
  type Cq,
  type Device,
  type MemoryRegion,
  type Pd,
  type Qp,
  type StrangerLimits,
  World,
  type WorldOptions,
} from '../../src/index.ts';

export const PORT = 7471;
export const ALL = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;

export interface PairOptions extends Partial<WorldOptions> {
  /** Link MTU; 4200 gives path MTU 4096. */
  readonly mtu?: number;
  /** What kind of peer queue pairs are made for. */
  readonly peer?: string;
  /** What senders may cost that have proved nothing. */
  readonly strangers?: Partial<StrangerLimits>;
}

export interface Pair {
  readonly world: World;
  readonly a: Device;
  readonly b: Device;
}

/** Devices 10.0.0.1 and 10.0.0.2, fd00::1 and fd00::2. */
export function makePair({ mtu = 4200, peer = 'default', strangers, ...options }: PairOptions = {}): Pair {
  const world = new World({ seed: 1, ...options });
  const add = (id: number): Device =>
    attachDevice(world, `device ${id}`, {
      addresses: [`10.0.0.${id}/24`, `fd00::${id}/64`],
      mtu,
      peer,
      ...defined({ strangers }),
    });
  return { world, a: add(1), b: add(2) };
}

/** A queue pair with a completion queue and a region of its own. */
export interface Side {
  readonly pd: Pd;
  readonly cq: Cq;
  readonly qp: Qp;
  readonly mr: MemoryRegion;
}

export function makeSide(device: Device, bytes = 1 << 16): Side {
  const pd = device.allocPd();
  const cq = device.createCq(256);
  return { pd, cq, qp: pd.createQp({ sendCq: cq, recvCq: cq }), mr: pd.regMr(bytes, { access: ALL }) };
}

export interface Connected extends Pair {
  readonly left: Side;
  readonly right: Side;
  readonly active: Connection;
  readonly passive: Connection;
}

/** A connection from a to b. */
export async function connect(options: PairOptions = {}): Promise<Connected> {
  const pair = makePair(options);
  const left = makeSide(pair.a);
  const right = makeSide(pair.b);
  const listener = pair.b.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
  const [active, passive] = await pair.world.run(
    Promise.all([pair.a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp }), accepting]),
  );
  listener.close();
  return { ...pair, left, right, active, passive };
}
