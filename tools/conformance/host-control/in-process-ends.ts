/**
 * Ends of connections that host control of our own make by themselves: a queue pair with receives posted, and a region
 * that the peer may do everything with. Owns what is in them, what the peer is told of the region, and the domain that
 * they share: so has librdmacm it, and a tester without host control can look at the region of one connection through
 * another.
 */

import type { Device, Pd, Qp } from 'rocev2';
import { RDMA_UDP_QKEY } from 'rocev2/packets/management';
import { Access, type MemoryRegion, QpState, QpType } from 'rocev2/transport';
import { refused } from './in-process-objects.ts';

/** How much there is for the peer. */
export interface CmConnectionSetup {
  /** Default 16. */
  readonly receives?: number;
  /** Default 1024. */
  readonly receiveBytes?: number;
  /** Default 65,536. */
  readonly regionBytes?: number;
}

/** One end, and all it needs. */
export interface CmEnd {
  readonly qp: Qp;
  /** Address (8 bytes), key (4) and length (4) of the region, big-endian. */
  readonly invitation: Uint8Array;
  destroy(): void;
}

/** With the defaults. @throws HostControlError EINVAL for what no device has */
export function checkMeans({
  receives = 16,
  receiveBytes = 1024,
  regionBytes = 65_536,
}: CmConnectionSetup): Required<CmConnectionSetup> {
  for (const number of [receives, receiveBytes, regionBytes, receives * receiveBytes])
    if (!Number.isSafeInteger(number) || number < 0 || number > MAX_BYTES)
      throw refused('EINVAL', `an end of a connection has no ${number} of anything`);
  return { receives, receiveBytes, regionBytes };
}

/** @throws RoceError for more than the device has left, HostControlError for what no device has */
export function makeEnd(device: Device, type: 'rc' | 'ud', means: CmConnectionSetup): CmEnd {
  const checked = checkMeans(means);
  const undo: (() => void)[] = [];
  const destroy = (): void => {
    for (const step of undo.splice(0).reverse()) step();
  };
  try {
    return { ...fillEnd(device, type, checked, undo), destroy };
  } catch (error) {
    destroy();
    throw error;
  }
}

/** Notes for everything it makes how it is undone. */
function fillEnd(
  device: Device,
  type: 'rc' | 'ud',
  means: Required<CmConnectionSetup>,
  undo: (() => void)[],
): Omit<CmEnd, 'destroy'> {
  const { receives, receiveBytes, regionBytes } = means;
  const ud = type === 'ud';
  const bytes = receiveBytes + (ud ? GRH_BYTES : 0);
  const pd = shareDomain(device);
  undo.push(() => leaveDomain(device));
  // One completion for each receive, and none of them is ever taken.
  const cq = device.createCq(receives + 1);
  undo.push(() => device.destroyCq(cq));
  const region = pd.regMr(regionBytes, { access: ALL, persistent: () => {} });
  undo.push(() => pd.deregMr(region));
  const buffers = pd.regMr(receives * bytes);
  undo.push(() => pd.deregMr(buffers));
  const init = { sendCq: cq, recvCq: cq, maxRecvWr: receives, maxSendWr: 1, maxSge: 1 };
  const qp = pd.createQp({ ...init, type: ud ? QpType.Ud : QpType.Rc });
  undo.push(() => qp.destroy());
  qp.modifyNow(ud ? { state: QpState.Init, qkey: RDMA_UDP_QKEY } : { state: QpState.Init, access: ALL });
  for (let wrId = 0; wrId < receives; wrId++)
    qp.postRecv({ wrId, sges: [{ mr: buffers, offset: wrId * bytes, length: bytes }] });
  return { qp, invitation: invitationOf(region) };
}

/** The domain of all ends of a device; it goes with the last of them. */
function shareDomain(device: Device): Pd {
  const shared = domains.get(device) ?? { pd: device.allocPd(), users: 0 };
  shared.users++;
  domains.set(device, shared);
  return shared.pd;
}

function leaveDomain(device: Device): void {
  const shared = domains.get(device);
  if (shared === undefined || --shared.users > 0) return;
  domains.delete(device);
  shared.pd.dealloc();
}

const domains = new WeakMap<Device, { readonly pd: Pd; users: number }>();

function invitationOf({ iova, rkey, length }: MemoryRegion): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, iova);
  view.setUint32(8, rkey);
  view.setUint32(12, length);
  return bytes;
}

const ALL =
  Access.LocalWrite |
  Access.RemoteWrite |
  Access.RemoteRead |
  Access.RemoteAtomic |
  Access.FlushGlobal |
  Access.FlushPersistent;
/** Every datagram is preceded by its headers. */
const GRH_BYTES = 40;
const MAX_BYTES = 1 << 26;
