/**
 * From what the caller says to work requests of our verbs API: pieces of memory, operations, and the way to a peer.
 * Owns the translation and nothing that lives. Where the caller is wrong on purpose (a key that opens nothing, an
 * address outside) the request is made in such a way that the queue pair finds the same fault that a device would.
 */
import type { AddressVector, Device } from 'rocev2';
import { IpAddress } from 'rocev2/packets';
import { type MemoryRegion, type RecvWr, type SendWr, type Sge, WrOpcode } from 'rocev2/transport';
import type { MemoryPiece, PathAttributes, SendOpcode, SendRequest } from './host-control.ts';
import { accessBits, type Objects, present, refused } from './in-process-objects.ts';

/** ibv_recv_wr. */
export function receiveOf(objects: Objects, wrId: number, pieces: readonly MemoryPiece[]): RecvWr {
  return { wrId, sges: pieces.map((piece) => sgeOf(objects, piece)) };
}

/** ibv_send_wr. @throws HostControlError ENOENT for objects that are not there, EINVAL for unknown words */
export function sendOf(objects: Objects, request: SendRequest): SendWr {
  const { opcode, pieces = [], inline = false, imm, ah, bind, flush, invalidateRkey } = request;
  const { wrId, signaled, solicited, fence, remoteAddr, compareAdd, swap, remoteQpn, remoteQkey } = request;
  const code = OPCODES[opcode];
  if (code === undefined) throw refused('EINVAL', `there is no operation ${opcode}`);
  const rkey = bind === undefined ? request.rkey : bind.rkey;
  return {
    wrId,
    opcode: code,
    ...(inline ? { inline: gather(objects, pieces) } : { sges: pieces.map((piece) => sgeOf(objects, piece)) }),
    ...present({ signaled, solicited, fence, remoteAddr, rkey, immData: imm, invalidateRkey, compareAdd, swap }),
    ...present({ remoteQpn, remoteQkey, ah: ah === undefined ? undefined : objects.ahs.get(ah) }),
    ...(bind === undefined ? {} : bindingOf(objects, bind)),
    ...(flush === undefined ? {} : { flush: { type: flush.type, level: levelOf(flush.level) }, length: flush.length }),
  };
}

/** The way to a peer, from one of our addresses. @throws HostControlError EINVAL */
export function addressVector(device: Device, path: PathAttributes): AddressVector {
  const { destination, sgidIndex, hopLimit = DEFAULT_HOP_LIMIT, trafficClass = 0, flowLabel = 0, sl = 0 } = path;
  const source = device.addresses[sgidIndex]?.address;
  if (source === undefined) throw refused('EINVAL', `the port has no GID ${sgidIndex}`);
  if (!Number.isInteger(sl) || sl < 0 || sl > MAX_SL) throw refused('EINVAL', `there is no service level ${sl}`);
  const to = IpAddress.parse(destination);
  if (to.version !== source.version) throw refused('EINVAL', `GID ${sgidIndex} (${source}) does not reach ${to}`);
  return { destination: to, source, hopLimit, trafficClass, ...(flowLabel === 0 ? {} : { flowLabel }) };
}

function bindingOf({ mws, mrs }: Objects, { mw, mr, offset, length, access }: NonNullable<SendRequest['bind']>) {
  const region = mrs.get(mr);
  const bind = { mr: region, addr: region.iova + BigInt(offset), length, access: accessBits(access) };
  return { mw: mws.get(mw), bind };
}

function levelOf(level: number): 0 | 1 {
  if (level !== 0 && level !== 1) throw refused('EINVAL', `there is no selectivity level ${level}`);
  return level;
}

/**
 * What a queue pair makes of a piece: a key or an address that the region does not have is a protection error when it
 * is used.
 */
function sgeOf(objects: Objects, { mr, offset, length, lkey, address }: MemoryPiece): Sge {
  const named = objects.mrs.get(mr);
  if (lkey === undefined && address === undefined) return { mr: named, offset, length };
  const region = lkey === undefined ? named : objects.regionOf(lkey);
  if (region === undefined) return { mr: deadRegion(objects), offset: 0, length };
  const at = (address ?? named.iova + BigInt(offset)) - region.iova;
  if (at < 0n || at > BigInt(Number.MAX_SAFE_INTEGER)) return { mr: deadRegion(objects), offset: 0, length };
  return { mr: region, offset: Number(at), length };
}

/** A region whose key opens nothing any more. */
function deadRegion({ device }: Objects): MemoryRegion {
  const pd = device.allocPd();
  const region = pd.regMr(1);
  pd.deregMr(region);
  pd.dealloc();
  return region;
}

/** IBV_SEND_INLINE: the bytes as they are now; keys are not looked at. */
function gather({ mrs }: Objects, pieces: readonly MemoryPiece[]): Uint8Array {
  return Buffer.concat(
    pieces.map(({ mr, offset, length }) => {
      const { bytes } = mrs.get(mr);
      if (!(offset >= 0 && length >= 0 && offset + length <= bytes.length))
        throw refused('EINVAL', `inline data is not all in memory region ${mr}`);
      return bytes.subarray(offset, offset + length);
    }),
  );
}

const OPCODES: Readonly<Record<SendOpcode, WrOpcode>> = {
  write: WrOpcode.RdmaWrite,
  'write-imm': WrOpcode.RdmaWriteWithImm,
  send: WrOpcode.Send,
  'send-imm': WrOpcode.SendWithImm,
  'send-inv': WrOpcode.SendWithInv,
  read: WrOpcode.RdmaRead,
  'cmp-swap': WrOpcode.AtomicCmpAndSwp,
  'fetch-add': WrOpcode.AtomicFetchAndAdd,
  'local-inv': WrOpcode.LocalInv,
  'bind-mw': WrOpcode.BindMw,
  flush: WrOpcode.Flush,
  'atomic-write': WrOpcode.AtomicWrite,
};
const DEFAULT_HOP_LIMIT = 64;
const MAX_SL = 15;
