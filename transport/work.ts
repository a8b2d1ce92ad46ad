/**
 * The vocabulary of work: operations, completion statuses and the records a caller posts and polls. Values and names
 * are those of <infiniband/verbs.h>, so that a reader of rdma-core is at home.
 */
import type { AddressHandle } from './address-handle.ts';
import type { MemoryRegion, MemoryWindow } from './memory.ts';

/** Work completion status, values of ibv_wc_status. */
export const WcStatus = {
  Success: 0,
  LocLenErr: 1,
  LocQpOpErr: 2,
  LocEecOpErr: 3,
  LocProtErr: 4,
  WrFlushErr: 5,
  MwBindErr: 6,
  BadRespErr: 7,
  LocAccessErr: 8,
  RemInvReqErr: 9,
  RemAccessErr: 10,
  RemOpErr: 11,
  RetryExcErr: 12,
  RnrRetryExcErr: 13,
  LocRddViolErr: 14,
  RemInvRdReqErr: 15,
  RemAbortErr: 16,
  InvEecnErr: 17,
  InvEecStateErr: 18,
  FatalErr: 19,
  RespTimeoutErr: 20,
  GeneralErr: 21,
} as const;
export type WcStatus = (typeof WcStatus)[keyof typeof WcStatus];

const STATUS_NAMES: readonly string[] = [
  'success',
  'local length error',
  'local QP operation error',
  'local EE context operation error',
  'local protection error',
  'Work Request Flushed Error',
  'memory management operation error',
  'bad response error',
  'local access error',
  'remote invalid request error',
  'remote access error',
  'remote operation error',
  'transport retry counter exceeded',
  'RNR retry counter exceeded',
  'local RDD violation error',
  'remote invalid RD request',
  'aborted error',
  'invalid EE context number',
  'invalid EE context state',
  'fatal error',
  'response timeout error',
  'general error',
];

/** The words ibv_wc_status_str(3) prints for a status. */
export function wcStatusName(status: number): string {
  return STATUS_NAMES[status] ?? 'unknown';
}

/** Work completion opcode, values of ibv_wc_opcode. */
export const WcOpcode = {
  Send: 0,
  RdmaWrite: 1,
  RdmaRead: 2,
  CompSwap: 3,
  FetchAdd: 4,
  BindMw: 5,
  LocalInv: 6,
  Flush: 8,
  AtomicWrite: 9,
  /** Of the kernel's verbs, which number it otherwise. */
  RegMr: 32,
  Recv: 128,
  RecvRdmaWithImm: 129,
} as const;

/** Send work request opcode, values of ibv_wr_opcode; RegMr is the kernel's (ib_wr_opcode). */
export const WrOpcode = {
  RdmaWrite: 0,
  RdmaWriteWithImm: 1,
  Send: 2,
  SendWithImm: 3,
  RdmaRead: 4,
  AtomicCmpAndSwp: 5,
  AtomicFetchAndAdd: 6,
  LocalInv: 7,
  BindMw: 8,
  SendWithInv: 9,
  Flush: 14,
  AtomicWrite: 15,
  RegMr: 32,
} as const;
export type WrOpcode = (typeof WrOpcode)[keyof typeof WrOpcode];

/** What a FLUSH achieves for the bytes it names, a bit set; values of ibv_placement_type. */
export const FlushType = { Global: 1, Persistent: 2 } as const;

/** Which bytes a FLUSH names: a range, or all that the key reaches; values of ibv_selectivity_level. */
export const FlushLevel = { Range: 0, Mr: 1 } as const;
export type FlushLevel = (typeof FlushLevel)[keyof typeof FlushLevel];

/** A piece of local memory: `length` bytes at `offset` in a registered region. */
export interface Sge {
  readonly mr: MemoryRegion;
  /** First byte, from the region's start; default 0. */
  readonly offset?: number;
  /** Bytes; default up to the region's end. */
  readonly length?: number;
}

/** What BIND MW lends a window (ibv_mw_bind_info). */
export interface MwBind {
  /** A live region of the same domain with `Access.MwBind`. */
  readonly mr: MemoryRegion;
  /** First byte, in addresses of the region. */
  readonly addr: bigint;
  /** Bytes, 1 or more. */
  readonly length: number;
  /** Bit set of `Access`: remote rights, flush rights that the region has too, and `ZeroBased`. */
  readonly access: number;
}

/** What REG MR gives a region of `allocMr` (ib_reg_wr). */
export interface FastReg {
  readonly mr: MemoryRegion;
  /** Default: the memory it had before. */
  readonly memory?: Uint8Array;
  /** Virtual address of the first byte. */
  readonly iova: bigint;
  /** Bytes of the memory, from its start; at most what `allocMr` was asked for. */
  readonly length: number;
  /** Bit set of `Access`. */
  readonly access: number;
  /** The new key: the region's, with any low 8 bits. */
  readonly key: number;
}

/** A send work request (ibv_send_wr). Fields that the opcode does not use are ignored. */
export interface SendWr {
  readonly wrId: number;
  readonly opcode: WrOpcode;
  /** Gathered (SEND, WRITE) or filled (READ, atomics) in order; at most the queue pair's maxSge. */
  readonly sges?: readonly Sge[];
  /** Bytes sent instead of `sges`, copied when posted (IBV_SEND_INLINE); at most maxInlineData, SEND and WRITE only. */
  readonly inline?: Uint8Array;
  /** Asks for a completion on success; errors always complete. Default true, as with sq_sig_all. */
  readonly signaled?: boolean;
  /** Waits for all earlier READs and atomics of this queue pair. */
  readonly fence?: boolean;
  /** Sets the solicited event bit. */
  readonly solicited?: boolean;
  /** Remote virtual address: WRITE, READ, atomics, FLUSH, ATOMIC WRITE. */
  readonly remoteAddr?: bigint;
  /** Key of the peer's memory; BIND MW: the new key of the window, of which the low 8 bits count. */
  readonly rkey?: number;
  /** 32-bit immediate data, as a host number. */
  readonly immData?: number;
  /** Key to invalidate: the peer's with SEND with invalidate, our own with LOCAL INV. */
  readonly invalidateRkey?: number;
  /** Compare value of COMPARE SWAP, addend of FETCH ADD (ibv_send_wr.wr.atomic.compare_add). */
  readonly compareAdd?: bigint;
  readonly swap?: bigint;
  /** UD: where the datagram goes, a handle of the queue pair's protection domain. */
  readonly ah?: AddressHandle;
  /** UD: the queue pair there, 1..0xffffff; 0xffffff with a group address for all that have joined it. */
  readonly remoteQpn?: number;
  /** UD: what that queue pair demands. With the highest bit set, and by default, the sender's own Q_Key. */
  readonly remoteQkey?: number;
  /** FLUSH: what is to be achieved, a bit set of `FlushType`, and for which bytes. */
  readonly flush?: { readonly type: number; readonly level: FlushLevel };
  /** FLUSH of a range: bytes from `remoteAddr` on, at most 2^31. */
  readonly length?: number;
  /** BIND MW: the window, which is not bound, and what it gets. */
  readonly mw?: MemoryWindow;
  readonly bind?: MwBind;
  /** REG MR. */
  readonly reg?: FastReg;
}

/** A receive work request (ibv_recv_wr). */
export interface RecvWr {
  readonly wrId: number;
  readonly sges?: readonly Sge[];
}

/** A work completion (ibv_wc). One object is reused by each `poll`; copy what is kept. */
export class WorkCompletion {
  wrId = 0;
  status: WcStatus = WcStatus.Success;
  /** A `WcOpcode`; undefined in verbs when status is not success, here always set. */
  opcode = 0;
  /** Bytes received; on the send side, bytes of a READ or atomic. */
  byteLen = 0;
  /** Immediate data, or -1. */
  immData = -1;
  /** The local key that a SEND with invalidate killed, or -1. */
  invalidatedRkey = -1;
  solicited = false;
  /** Number of the local queue pair. */
  qpn = 0;
  /** UD receives: the queue pair that sent; else 0. */
  srcQpn = 0;
  /** UD receives: the buffer begins with 40 bytes of headers, which `byteLen` counts. */
  grh = false;

  /** Fills what every completion has; what only some receives have is absent until it is set. */
  begin(qpn: number, wrId: number, status: WcStatus, opcode: number, byteLen: number): void {
    this.qpn = qpn;
    this.wrId = wrId;
    this.status = status;
    this.opcode = opcode;
    this.byteLen = byteLen;
    this.immData = -1;
    this.invalidatedRkey = -1;
    this.solicited = false;
    this.srcQpn = 0;
    this.grh = false;
  }
}
