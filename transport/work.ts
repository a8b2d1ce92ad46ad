/**
 * The vocabulary of work: operations, completion statuses and the records a caller posts and polls. Values and names
 * are those of <infiniband/verbs.h>, so that a reader of rdma-core is at home.
 */
import type { AddressHandle } from './address-handle.ts';
import type { MemoryRegion, MemoryWindow } from './memory.ts';

/** Work completion status, values of ibv_wc_status. */
export const WcStatus = {
  /** The work is done. */
  Success: 0,
  /** A message is longer than the receive that took it, or a READ response than was requested. */
  LocLenErr: 1,
  /**
   * The queue pair cannot do it (a READ with `maxRdAtomic` 0), or REG MR or LOCAL INV was refused by the rules of keys.
   */
  LocQpOpErr: 2,
  /** Of reliable datagrams; never here. */
  LocEecOpErr: 3,
  /** A local region is gone, too small, or of another domain. */
  LocProtErr: 4,
  /** The queue pair went to ERROR before the work was done. Whether the peer has seen any of it is not known. */
  WrFlushErr: 5,
  /** BIND MW was refused by the rules of keys. */
  MwBindErr: 6,
  /** The peer's response does not fit the request. */
  BadRespErr: 7,
  /** A peer's WRITE with immediate met a local failure; never here. */
  LocAccessErr: 8,
  /** The peer calls the request malformed or not allowed (NAK 0x61). */
  RemInvReqErr: 9,
  /** The peer's key, range or rights do not allow it (NAK 0x62). */
  RemAccessErr: 10,
  /** The peer failed on its own account (NAK 0x63). */
  RemOpErr: 11,
  /** The peer has not responded, in spite of `retryCnt` retries. */
  RetryExcErr: 12,
  /** The peer was never ready to receive (`rnrRetry`). */
  RnrRetryExcErr: 13,
  /** Of reliable datagrams; never here. */
  LocRddViolErr: 14,
  /** Of reliable datagrams; never here. */
  RemInvRdReqErr: 15,
  /** The peer aborted; never here. */
  RemAbortErr: 16,
  /** Of reliable datagrams; never here. */
  InvEecnErr: 17,
  /** Of reliable datagrams; never here. */
  InvEecStateErr: 18,
  /** The device failed; never here. */
  FatalErr: 19,
  /** A response took too long; never here: see RetryExcErr. */
  RespTimeoutErr: 20,
  /** Any other failure; never here. */
  GeneralErr: 21,
} as const;
/** One of the statuses. */
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
  /** SEND of any kind. */
  Send: 0,
  /** RDMA WRITE, with immediate or without. */
  RdmaWrite: 1,
  /** RDMA READ. */
  RdmaRead: 2,
  /** COMPARE SWAP. */
  CompSwap: 3,
  /** FETCH ADD. */
  FetchAdd: 4,
  /** BIND MW. */
  BindMw: 5,
  /** LOCAL INV. */
  LocalInv: 6,
  /** FLUSH. */
  Flush: 8,
  /** ATOMIC WRITE. */
  AtomicWrite: 9,
  /** Of the kernel's verbs, which number it otherwise. */
  RegMr: 32,
  /** A SEND of the peer. */
  Recv: 128,
  /** A WRITE with immediate of the peer. */
  RecvRdmaWithImm: 129,
} as const;

/** Send work request opcode, values of ibv_wr_opcode; RegMr is the kernel's (ib_wr_opcode). */
export const WrOpcode = {
  /** RDMA WRITE: our bytes into the peer's memory. */
  RdmaWrite: 0,
  /** RDMA WRITE that also completes a receive of the peer. */
  RdmaWriteWithImm: 1,
  /** SEND: our bytes into the peer's next receive. */
  Send: 2,
  /** SEND with 32 bits for the peer's completion. */
  SendWithImm: 3,
  /** RDMA READ: the peer's memory into ours. */
  RdmaRead: 4,
  /** COMPARE SWAP of a 64-bit word of the peer; what it was comes back. */
  AtomicCmpAndSwp: 5,
  /** FETCH ADD to a 64-bit word of the peer; what it was comes back. */
  AtomicFetchAndAdd: 6,
  /** Ends a key of our own. */
  LocalInv: 7,
  /** Lends a part of a region through a memory window. */
  BindMw: 8,
  /** SEND that ends a key of the peer. */
  SendWithInv: 9,
  /** FLUSH: earlier WRITEs are made visible or durable before it completes. */
  Flush: 14,
  /** ATOMIC WRITE: 8 bytes at once, to an address that is a multiple of 8. */
  AtomicWrite: 15,
  /** Gives a region of `allocMr` its memory and a new key. */
  RegMr: 32,
} as const;
/** One of the opcodes. */
export type WrOpcode = (typeof WrOpcode)[keyof typeof WrOpcode];

/** What a FLUSH achieves for the bytes it names, a bit set; values of ibv_placement_type. */
export const FlushType = {
  /** Visible to every reader. */
  Global: 1,
  /** It outlives a loss of power. */
  Persistent: 2,
} as const;

/** Which bytes a FLUSH names: a range, or all that the key reaches; values of ibv_selectivity_level. */
export const FlushLevel = {
  /** `length` bytes from `remoteAddr` on. */
  Range: 0,
  /** All that the key reaches. */
  Mr: 1,
} as const;
/** One of the levels. */
export type FlushLevel = (typeof FlushLevel)[keyof typeof FlushLevel];

/** A piece of local memory: `length` bytes at `offset` in a registered region. */
export interface Sge {
  /** The region; of the protection domain of the queue pair. */
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
  /** Bytes, 1 or more; 0 ends a window of type 1. */
  readonly length: number;
  /** Bit set of `Access`: remote rights, flush rights that the region has too, and `ZeroBased`. */
  readonly access: number;
  /** The key that the window must have when it is bound. Default: whichever it has then. */
  readonly heldKey?: number;
}

/** What REG MR gives a region of `allocMr` (ib_reg_wr). */
export interface FastReg {
  /** A region of `allocMr` that has no memory now. */
  readonly mr: MemoryRegion;
  /** Default: the memory it had before. */
  readonly memory?: Uint8Array;
  /** Virtual address of the first byte. */
  readonly iova: bigint;
  /** Bytes of the memory, from its start; at most what `allocMr` was called with. */
  readonly length: number;
  /** Bit set of `Access`. */
  readonly access: number;
  /** The new key: the region's, with any low 8 bits. */
  readonly key: number;
}

/** A send work request (ibv_send_wr). Fields that the opcode does not use are ignored. */
export interface SendWr {
  /** Comes back in the completion; any number. */
  readonly wrId: number;
  /** What to do. */
  readonly opcode: WrOpcode;
  /** Gathered (SEND, WRITE) or filled (READ, atomics) in order; at most the queue pair's maxSge. */
  readonly sges?: readonly Sge[];
  /** Bytes sent instead of `sges`, copied when posted (IBV_SEND_INLINE); at most maxInlineData, SEND and WRITE only. */
  readonly inline?: Uint8Array;
  /** Requests a completion on success; errors always complete. Default true, as with sq_sig_all. */
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
  /** Swap value of COMPARE SWAP. */
  readonly swap?: bigint;
  /** XRC: number of the peer's shared receive queue, 24 bits; every operation names one. */
  readonly xrcRemoteSrqn?: number;
  /** UD: where the datagram goes, a handle of the queue pair's protection domain. */
  readonly ah?: AddressHandle;
  /** UD: the queue pair there, 1..0xffffff; 0xffffff with a group address for all that have joined it. */
  readonly remoteQpn?: number;
  /** UD: what that queue pair demands. With the highest bit set, and by default, the sender's own Q_Key. */
  readonly remoteQkey?: number;
  /** FLUSH: what is to be achieved, a bit set of `FlushType`, and for which bytes. */
  readonly flush?: {
    /** Bit set of `FlushType`. */
    readonly type: number;
    /** Which bytes. */
    readonly level: FlushLevel;
  };
  /** FLUSH of a range: bytes from `remoteAddr` on, at most 2^31. */
  readonly length?: number;
  /** BIND MW: the window, which is not bound, and what it gets. */
  readonly mw?: MemoryWindow;
  /** BIND MW: what the window gets. */
  readonly bind?: MwBind;
  /** REG MR. */
  readonly reg?: FastReg;
}

/** A receive work request (ibv_recv_wr). */
export interface RecvWr {
  /** Comes back in the completion; any number. */
  readonly wrId: number;
  /** Filled in order; at most maxSge. May be empty where only immediates are expected. */
  readonly sges?: readonly Sge[];
}

/**
 * A work completion (ibv_wc). One object is reused by each `poll`; copy what is kept.
 *
 * @example
 * ```ts
 * import { attachDevice, WorkCompletion, World, WrOpcode } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: 7471, qp }), accepted]));
 * for (const wrId of [1, 2]) qp.postSend({ wrId, opcode: WrOpcode.RdmaWrite });
 * await world.runFor(1e9);
 * // One object for all: what is kept of it is copied.
 * const completion = new WorkCompletion();
 * while (toA.poll(completion)) console.log(completion.wrId, completion.status);
 * // 1 0
 * // 2 0
 * ```
 */
export class WorkCompletion {
  /** That of the work request. */
  wrId = 0;
  /** Success, or why not. */
  status: WcStatus = WcStatus.Success;
  /** A `WcOpcode`; undefined in verbs when status is not success, here always set. */
  opcode = 0;
  /** Bytes received; on the send side, bytes of a READ or atomic. */
  byteLen = 0;
  /** Immediate data, or -1. */
  immData = -1;
  /** The local key that a SEND with invalidate has invalidated, or -1. */
  invalidatedRkey = -1;
  /** Receives: the sender requested a solicited event. */
  solicited = false;
  /** Number of the local queue pair. */
  qpn = 0;
  /** UD receives: the queue pair that sent; else 0. */
  srcQpn = 0;
  /** UD receives: the buffer begins with 40 bytes of headers, which `byteLen` counts. */
  grh = false;
  /** UD receives: the IP version of the packet, 4 or 6, whose header is in these 40 bytes; else 0. */
  ipVersion = 0;

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
    this.ipVersion = 0;
  }
}
