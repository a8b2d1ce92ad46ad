/** A device under test, in this thread or in a worker, and a local one at the other end of a cable. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Access,
  type MemoryRegion,
  type OpenDeviceOptions,
  type OpenRdmaDevice,
  openDevice,
  QpState,
  QpType,
  type RdmaConnection,
  type RdmaCq,
  type RdmaDevice,
  type RdmaPd,
  type RdmaQp,
  RoceError,
  WcStatus,
} from '../../../src/index.ts';

export type Placement = 'application' | 'worker';
export const PLACEMENTS: readonly Placement[] = ['application', 'worker'];

export const OURS = '10.0.0.1';
export const THEIRS = '10.0.0.2';
export const ALL = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;

let nextPort = 7000;
/** A port nobody has used yet. */
export const freshPort = (): number => nextPort++;

type Options = Omit<OpenDeviceOptions, 'captureSink' | 'faults' | 'thread'>;

export function openPlaced(placement: Placement, options: Options): Promise<OpenRdmaDevice> {
  return placement === 'worker' ? openDevice({ ...options, thread: 'worker' }) : openDevice(options);
}

export interface Cable {
  /** Under test, at 10.0.0.1; the listening end of the cable. */
  readonly ours: OpenRdmaDevice;
  /** At 10.0.0.2, in this thread. */
  readonly theirs: OpenRdmaDevice;
  close(): Promise<void>;
}

export async function openCable(
  placement: Placement,
  options: Partial<Options> = {},
  theirOptions: Partial<OpenDeviceOptions> = {},
): Promise<Cable> {
  const directory = mkdtempSync(join(tmpdir(), 'roce-worker-'));
  const path = join(directory, 'wire.sock');
  const ours = await openPlaced(placement, {
    link: `qemu:${path}`,
    addresses: [`${OURS}/24`, 'fd00::1/64'],
    mtu: 4200,
    ...options,
  });
  const theirs = await openDevice({
    link: `qemu:${path},connect`,
    addresses: [`${THEIRS}/24`, 'fd00::2/64'],
    mtu: 4200,
    ...theirOptions,
  });
  const close = async (): Promise<void> => {
    await ours.close();
    await theirs.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return { ours, theirs, close };
}

/** A queue pair with a completion queue and a region of its own. */
export interface Side {
  readonly device: RdmaDevice;
  readonly pd: RdmaPd;
  readonly cq: RdmaCq;
  readonly qp: RdmaQp;
  readonly mr: MemoryRegion;
}

export function makeSide(device: RdmaDevice, bytes = 1 << 16, entries = 256): Side {
  const pd = device.allocPd();
  const cq = device.createCq(entries);
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  return { device, pd, cq, qp, mr: pd.regMr(bytes, { access: ALL }) };
}

export const QKEY = 0x1111_1111;
/** Without the device, which `pd` has. */
export type UdSide = Omit<Side, 'device'>;

/** A UD queue pair in RTS. */
export function makeUd(device: RdmaDevice, qkey = QKEY): UdSide {
  const pd = device.allocPd();
  const cq = device.createCq(64);
  const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
  qp.modifyNow({ state: QpState.Init, qkey });
  qp.modifyNow({ state: QpState.Rtr });
  qp.modifyNow({ state: QpState.Rts, sqPsn: 0xff_ff_ff });
  return { pd, cq, qp, mr: pd.regMr(8192) };
}

export interface Joined {
  readonly ours: Side;
  readonly theirs: Side;
  readonly ourEnd: RdmaConnection;
  readonly theirEnd: RdmaConnection;
}

/** A connection that they asked for. */
export async function connectSides(cable: Cable, ours = makeSide(cable.ours.device)): Promise<Joined> {
  const theirs = makeSide(cable.theirs.device);
  const port = freshPort();
  const listener = ours.device.cm.listen(port);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: ours.qp }));
  const theirEnd = await theirs.device.cm.connect({ address: OURS, port, qp: theirs.qp });
  const ourEnd = await accepting;
  listener.close();
  return { ours, theirs, ourEnd, theirEnd };
}

/** The next completion, which must have succeeded. */
export async function success(cq: RdmaCq) {
  const { value, done } = await cq.next();
  if (done === true) throw new Error('the device was closed while a completion was awaited');
  if (value.status !== WcStatus.Success) throw new Error(`completed with status ${value.status}`);
  return value;
}

/** Code and words of what a call throws; 'nothing' when it throws nothing. */
export function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof RoceError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'nothing';
}

/** The same of a promise. */
export async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof RoceError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'nothing';
}

/** Turns of the event loop until `condition` holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
