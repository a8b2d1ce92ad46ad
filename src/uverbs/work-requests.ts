/**
 * Work requests from shared rings: a copied entry becomes a `SendWr` or a list of segments. Everything in it is the
 * client's to invent. What is wrong with it fails when its turn comes, with the status that rdma_rxe gives; nothing
 * here refuses it.
 *
 * Rules: rxe:rxe_req.c#rxe_requester, #rxe_do_local_ops, rxe:rxe_mr.c#copy_data, rxe:rxe_av.c#rxe_get_av.
 */
import { AddressHandle } from '../../transport/address-handle.ts';
import { Access, type MemoryRegion, MemoryWindow, type ProtectionDomain } from '../../transport/memory.ts';
import { type FlushLevel, type SendWr, type Sge, WrOpcode } from '../../transport/work.ts';
import { OPTIONAL_ACCESS } from './abi/access.ts';
import {
  RXE_DMA_INFO,
  RXE_RECV_WQE,
  RXE_SEND_WQE,
  RXE_SEND_WR,
  RXE_SGE,
  WR_ATOMIC,
  WR_MW,
  WR_RDMA,
  WR_UD,
} from './abi/rxe.ts';
import { WR_FLUSH } from './abi/rxe-newer.ts';
import type { Fields } from './fields.ts';
import { NOWHERE } from './process-region.ts';

const DMA = RXE_DMA_INFO.at;
const WQE = RXE_SEND_WQE.at;
const WR = RXE_SEND_WR.at;
const SEND_DATA = RXE_SEND_WQE.size;
const RECV_DATA = RXE_RECV_WQE.size;

/** Access flags of a bind that are for regions; rdma_rxe takes them and they change nothing. */
const NO_WINDOWS_ACCESS = Access.LocalWrite | Access.MwBind | OPTIONAL_ACCESS;
const SendFlag = { Fence: 1, Signaled: 2, Solicited: 4, Inline: 8 } as const;

/** Objects that work requests name, as one open file has them. */
export interface WorkObjects {
  /** The region of a local key, whatever its domain; domains are compared when it is used. */
  region(lkey: number): MemoryRegion | undefined;
  /** The window with this index in its key, the upper 24 bits. */
  window(index: number): MemoryWindow | undefined;
  /**
   * The address handle of this number; 0: the one of the domain that was made of the address vector that begins at
   * `av`.
   */
  handle(ahNumber: number, wqe: Fields, av: number, domain: ProtectionDomain): AddressHandle | undefined;
  /** A datagram is about to go to this handle. */
  used(ah: AddressHandle): void;
}

/** What entries of one queue may contain. */
export interface SendBounds {
  readonly maxSge: number;
  readonly maxInline: number;
  /** Domain of a queue pair of datagrams; undefined for the others. */
  readonly datagrams: ProtectionDomain | undefined;
  /** Every request completes (sq_sig_all). */
  readonly allSignaled: boolean;
}

/**
 * A request of a connected queue pair that moves data, with every field it can have: one shape for all that is posted
 * often, and filled anew for each, as `postSend` copies what it is given.
 */
class DataRequest {
  wrId = 0;
  opcode: WrOpcode = WrOpcode.Send;
  signaled = false;
  fence = false;
  solicited = false;
  sges: readonly Sge[] = [];
  remoteAddr = 0n;
  rkey = 0;
  immData = 0;
  invalidateRkey = 0;
}

/** Reads the entries of one send queue. */
export class SendReader {
  readonly #bounds: SendBounds;
  readonly #objects: WorkObjects;
  readonly #request = new DataRequest();
  /** Where datagrams go that fail before they are sent: the program may have no handle in their domain. */
  readonly #nowhere: AddressHandle | undefined;

  constructor(bounds: SendBounds, objects: WorkObjects) {
    this.#bounds = bounds;
    this.#objects = objects;
    this.#nowhere = bounds.datagrams && new AddressHandle(bounds.datagrams, undefined);
  }

  /** The request of an entry, good until the next call. `position` comes back in its completion. */
  read(wqe: Fields, position: number): SendWr {
    const opcode = wqe.u32(WQE.wr + WR.opcode);
    const flags = wqe.u32(WQE.wr + WR.send_flags);
    const request = this.#request;
    request.wrId = position;
    request.signaled = this.#bounds.allSignaled || (flags & SendFlag.Signaled) !== 0;
    request.fence = (flags & SendFlag.Fence) !== 0;
    request.solicited = (flags & SendFlag.Solicited) !== 0;
    const isInline = (flags & SendFlag.Inline) !== 0;
    if (isInline || this.#nowhere !== undefined || !movesData(opcode)) return this.#readOther(wqe, opcode, isInline);
    const count = wqe.u32(WQE.dma + DMA.num_sge);
    if (count > this.#bounds.maxSge) return this.failing(request);
    const at = WQE.wr + WR.wr;
    request.opcode = opcode;
    request.sges = readSegments(wqe, SEND_DATA, count, this.#objects, Number.POSITIVE_INFINITY);
    // What an opcode has no use for is looked at by nobody.
    request.remoteAddr = wqe.u64(at + WR_RDMA.at.remote_addr);
    request.rkey = wqe.u32(at + WR_RDMA.at.rkey);
    request.immData = wqe.view.getUint32(WQE.wr + WR.ex);
    request.invalidateRkey = wqe.u32(WQE.wr + WR.ex);
    return request;
  }

  /**
   * A request that fails in its turn: by a local QP operation error where it is executed here (key 0 is nobody's),
   * which datagram queue pairs do not do; there by a local protection error.
   */
  failing(of: Base): SendWr {
    const { wrId, signaled = true, fence = false, solicited = false } = of;
    const base = { wrId, signaled, fence, solicited };
    const ah = this.#nowhere;
    if (ah === undefined) return { ...base, opcode: WrOpcode.LocalInv, invalidateRkey: 0 };
    return { ...base, opcode: WrOpcode.Send, sges: [{ mr: NOWHERE, length: 1 }], remoteQpn: 1, ah };
  }

  #readOther(wqe: Fields, opcode: number, isInline: boolean): SendWr {
    const { wrId, signaled, fence, solicited } = this.#request;
    const base = { wrId, signaled, fence, solicited };
    const objects = this.#objects;
    const data = readData(wqe, opcode, isInline, this.#bounds, objects);
    if (data === undefined) return this.failing(base);
    const domain = this.#bounds.datagrams;
    if (domain !== undefined)
      return readDatagram(wqe, opcode, { ...base, ...data }, objects, domain) ?? this.failing(base);
    const ex = wqe.u32(WQE.wr + WR.ex);
    const imm = wqe.view.getUint32(WQE.wr + WR.ex);
    const at = WQE.wr + WR.wr;
    const rdma = { remoteAddr: wqe.u64(at + WR_RDMA.at.remote_addr), rkey: wqe.u32(at + WR_RDMA.at.rkey) };
    switch (opcode) {
      case WrOpcode.Send:
        return { ...base, ...data, opcode };
      case WrOpcode.SendWithImm:
        return { ...base, ...data, opcode, immData: imm };
      case WrOpcode.SendWithInv:
        return { ...base, ...data, opcode, invalidateRkey: ex };
      case WrOpcode.RdmaWrite:
      case WrOpcode.RdmaRead:
      case WrOpcode.AtomicWrite:
        return { ...base, ...data, ...rdma, opcode };
      case WrOpcode.RdmaWriteWithImm:
        return { ...base, ...data, ...rdma, opcode, immData: imm };
      case WrOpcode.AtomicCmpAndSwp:
      case WrOpcode.AtomicFetchAndAdd:
        return { ...base, ...data, ...readAtomic(wqe, at), opcode };
      case WrOpcode.LocalInv:
        return { ...base, opcode, invalidateRkey: ex };
      case WrOpcode.BindMw:
        return { ...base, opcode, ...readBind(wqe, at, objects) };
      case WrOpcode.Flush:
        return { ...base, opcode, ...readFlush(wqe, at) };
      default:
        return this.failing(base);
    }
  }
}

/** What is posted often: by segments of memory, and with nothing to read of the entry but numbers. */
function movesData(opcode: number): opcode is WrOpcode {
  return opcode <= WrOpcode.RdmaRead || opcode === WrOpcode.SendWithInv;
}

type Base = Pick<SendWr, 'wrId' | 'signaled' | 'fence' | 'solicited'>;

/** Inline bytes or segments; undefined where there are more than the queue pair was made for. */
function readData(
  wqe: Fields,
  opcode: number,
  inline: boolean,
  { maxSge, maxInline }: SendBounds,
  objects: WorkObjects,
): Pick<SendWr, 'inline' | 'sges'> | undefined {
  if (opcode === WrOpcode.AtomicWrite) return { inline: wqe.slice(SEND_DATA, 8) };
  if (inline) {
    const length = wqe.u32(WQE.dma + DMA.length);
    return length > maxInline ? undefined : { inline: wqe.slice(SEND_DATA, length) };
  }
  const count = wqe.u32(WQE.dma + DMA.num_sge);
  if (count > maxSge) return undefined;
  const atomic = opcode === WrOpcode.AtomicCmpAndSwp || opcode === WrOpcode.AtomicFetchAndAdd;
  return { sges: readSegments(wqe, SEND_DATA, count, objects, atomic ? 8 : Number.POSITIVE_INFINITY) };
}

/** At most `most` bytes: an atomic answers with eight, whatever more there is room for. */
function readSegments(wqe: Fields, at: number, count: number, objects: WorkObjects, most: number): Sge[] {
  const sges: Sge[] = [];
  for (let i = 0; i < count; i++) {
    const sge = at + i * RXE_SGE.size;
    const length = Math.min(wqe.u32(sge + RXE_SGE.at.length), most);
    // Nothing is looked up for no bytes.
    if (length === 0) continue;
    most -= length;
    const mr = objects.region(wqe.u32(sge + RXE_SGE.at.lkey));
    const offset = mr?.grant.offsetOf(wqe.u32(sge + RXE_SGE.at.addr + 4), wqe.u32(sge + RXE_SGE.at.addr), length) ?? -1;
    sges.push(mr === undefined || offset < 0 ? { mr: NOWHERE, offset: 0, length } : { mr, offset, length });
  }
  return sges;
}

function readDatagram(
  wqe: Fields,
  opcode: number,
  base: Base & Pick<SendWr, 'inline' | 'sges'>,
  objects: WorkObjects,
  domain: ProtectionDomain,
): SendWr | undefined {
  if (opcode !== WrOpcode.Send && opcode !== WrOpcode.SendWithImm) return undefined;
  const ud = WQE.wr + WR.wr;
  const ah = objects.handle(wqe.u32(ud + WR_UD.at.ah_num), wqe, ud + WR_UD.at.av, domain);
  if (ah === undefined) return undefined;
  const remoteQpn = wqe.u32(ud + WR_UD.at.remote_qpn) & 0xff_ff_ff;
  if (remoteQpn === 0) return undefined;
  const remoteQkey = wqe.u32(ud + WR_UD.at.remote_qkey);
  const imm = opcode === WrOpcode.SendWithImm ? { immData: wqe.view.getUint32(WQE.wr + WR.ex) } : {};
  return { ...base, opcode, ah, remoteQpn, remoteQkey, ...imm };
}

function readAtomic(wqe: Fields, at: number): Pick<SendWr, 'remoteAddr' | 'rkey' | 'compareAdd' | 'swap'> {
  return {
    remoteAddr: wqe.u64(at + WR_ATOMIC.at.remote_addr),
    rkey: wqe.u32(at + WR_ATOMIC.at.rkey),
    compareAdd: wqe.u64(at + WR_ATOMIC.at.compare_add),
    swap: wqe.u64(at + WR_ATOMIC.at.swap),
  };
}

/**
 * Unknown keys give a window that is in no table, and binding it fails in its turn. A window is known by the index in
 * its key: the rest is compared in its turn, for what was posted before may change it.
 */
function readBind(wqe: Fields, at: number, objects: WorkObjects): Pick<SendWr, 'mw' | 'bind' | 'rkey'> {
  const { addr, length, mr_lkey, mw_rkey, rkey, access } = WR_MW.at;
  const mr = objects.region(wqe.u32(at + mr_lkey)) ?? NOWHERE;
  const bytes = wqe.u64(at + length);
  const heldKey = wqe.u32(at + mw_rkey);
  const allowed = wqe.u32(at + access) & ~NO_WINDOWS_ACCESS;
  const bind = { mr, addr: wqe.u64(at + addr), length: Number(bytes), access: allowed, heldKey };
  const mw = objects.window(heldKey >>> 8) ?? new MemoryWindow(NOWHERE.pd, 0);
  return { mw, bind, rkey: wqe.u32(at + rkey) };
}

function readFlush(wqe: Fields, at: number): Pick<SendWr, 'remoteAddr' | 'rkey' | 'length' | 'flush'> {
  const { remote_addr, length, rkey, type, level } = WR_FLUSH.at;
  return {
    remoteAddr: wqe.u64(at + remote_addr),
    rkey: wqe.u32(at + rkey),
    length: wqe.u32(at + length),
    flush: { type: wqe.u8(at + type), level: wqe.u8(at + level) as FlushLevel },
  };
}

/**
 * The segments of an entry of a receive queue; more of them than the queue was made for is memory that is nowhere.
 */
export function readReceive(wqe: Fields, maxSge: number, objects: WorkObjects): Sge[] {
  const count = wqe.u32(RXE_RECV_WQE.at.dma + DMA.num_sge);
  if (count > maxSge) return [{ mr: NOWHERE, offset: 0, length: 2 ** 31 }];
  return readSegments(wqe, RECV_DATA, count, objects, Number.POSITIVE_INFINITY);
}
