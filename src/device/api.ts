/**
 * The verbs API as an application sees it, wherever the stack runs: in the application's thread (`Device` and what it
 * makes) or in a worker thread (`src/node/worker/`). Types only. Code written against these types works with both.
 *
 * Names are those of verbs and rdma_cm. Errors, ranges and units are those the local classes document; the two differ
 * only in timing: an object of a device in a worker reports the last state it received.
 */
import type { IpAddress, IpPrefix, MacAddress } from '../../packets/address.ts';
import type { RoceError } from '../../packets/errors.ts';
import type { Medium } from '../../packets/frame.ts';
import type { AddressHandle } from '../../transport/address-handle.ts';
import type { RateState } from '../../transport/congestion/rate-controller.ts';
import type { PortCounters } from '../../transport/counters.ts';
import type { MemoryRegion, MemoryWindow, WindowType } from '../../transport/memory.ts';
import type { QpCapabilities } from '../../transport/qp-capabilities.ts';
import type { QpEvent } from '../../transport/qp-event.ts';
import type { QpState } from '../../transport/qp-state.ts';
import type { QpType } from '../../transport/qp-type.ts';
import type { SrqAttributes, SrqEvent } from '../../transport/srq.ts';
import type { RecvWr, SendWr, WorkCompletion } from '../../transport/work.ts';
import type { Link } from '../ground/link.ts';
import type { RdmaCm } from './cm/api.ts';
import type { DeviceCounters } from './counters.ts';
import type { InternalErrorEvent } from './internal-error-event.ts';
import type { DeviceLimits, PathTraits, VlanOptions } from './options.ts';
import type { SuspiciousEvent } from './suspicions.ts';
import type { AddressVector } from './verbs/address-vector.ts';
import type { ModifyAttributes, RegMrOptions } from './verbs/attributes.ts';

export type * from './cm/api.ts';
export type { InternalErrorEvent } from './internal-error-event.ts';

/** Properties of a link, wherever it runs. */
export type LinkFacts = Pick<Link, 'name' | 'medium' | 'mtu' | 'addresses' | 'sourcePort' | 'maxUnacked'>;

/** Asynchronous events of one object, in order, until the object or its device is gone. */
export interface EventStream<Event> extends AsyncIterable<Event> {
  /** The next event, waited for; done when the object is gone. */
  next(): Promise<IteratorResult<Event>>;
}

/** Asynchronous events of a completion queue, names after ibv_event_type: it has overrun. */
export type CqEvent = 'cq-err';

/**
/**
 * Asynchronous events of no object but the device. Strings are names after ibv_event_type: the link failed, or the
 * worker that runs the device died; no verb works any more. An `InternalErrorEvent`: the stack found an error of its
 * own, and goes on. A `SuspiciousEvent`: something looks like an attack.
 */
export type DeviceEvent = 'port-err' | 'device-fatal' | InternalErrorEvent | SuspiciousEvent;

/** An open device and its link. */
export interface OpenRdmaDevice {
  /** The device, in use until `close`. */
  readonly device: RdmaDevice;
  /** Properties of its link. */
  readonly link: LinkFacts;
  /**
   * Resolves when the link is closed or has failed: with undefined after `close`, with the reason otherwise. The device
   * is closed then.
   */
  readonly closed: Promise<RoceError | undefined>;
  /** Closes the device, sends its remaining packets, and closes the link. May be called more than once. */
  close(): Promise<void>;
}

/** A port that speaks RoCEv2 (ibv_context). */
export interface RdmaDevice {
  /** Name, for messages and devinfo. */
  readonly name: string;
  /** MAC address; on links without Ethernet of no consequence but for `guid`. */
  readonly mac: MacAddress;
  /** Our addresses with their prefix lengths, at least one. */
  readonly addresses: readonly IpPrefix[];
  /** Limits on the objects it can hold. */
  readonly limits: DeviceLimits;
  /** Largest path MTU the link carries, in bytes. */
  readonly activeMtu: number;
  /** Largest IP packet of the link, in bytes. */
  readonly linkMtu: number;
  /** What frames of its link begin with. */
  readonly medium: Medium;
  /** The VLAN the device is on, if any. */
  readonly vlan: VlanOptions | undefined;
  /** Header fields of paths that do not set them, where the device options give them. */
  readonly pathTraits: PathTraits;
  /** EUI-64 of the port. */
  readonly guid: bigint;
  /** Queue pairs that exist. */
  readonly qpCount: number;
  /** A snapshot; the object may or may not be updated later. */
  readonly counters: Readonly<DeviceCounters>;
  /** What queue pairs sent and received, and congestion control; a snapshot, too. */
  readonly portCounters: Readonly<PortCounters>;
  /** Connection manager of this port. */
  readonly cm: RdmaCm;
  /** Asynchronous events of the device itself. */
  readonly events: EventStream<DeviceEvent>;
  /**
   * Makes a protection domain (ibv_alloc_pd). Throws ERR_ROCE_CLOSED after the device was closed, as every call that
   * makes an object does.
   */
  allocPd(): RdmaPd;
  /** Makes a completion queue with room for `capacity` completions (ibv_create_cq). */
  createCq(capacity: number): RdmaCq;
  /** Frees a completion queue. Throws ERR_ROCE_IN_USE while queue pairs complete into it. */
  destroyCq(cq: RdmaCq): void;
  /** Opens an XRC domain (ibv_open_xrcd). */
  openXrcd(): RdmaXrcd;
  /**
   * Resolves when the next hop towards `address` is known; rejects with ERR_ROCE_ADDRESS when no answer comes,
   * ERR_ROCE_CLOSED on a device that is closed.
   */
  resolve(address: IpAddress): Promise<void>;
}

/** Groups regions and queue pairs (ibv_pd). */
export interface RdmaPd {
  /** The device it is of. */
  readonly device: RdmaDevice;
  /**
   * Registers memory (ibv_reg_mr): that many fresh zeroed bytes, or bytes of the caller's. The latter are shared, not
   * copied; a device in a worker takes only such as lie in a SharedArrayBuffer, and gives such when it is asked for a
   * number of bytes.
   */
  regMr(memory: Uint8Array | number, options?: RegMrOptions): MemoryRegion;
  /**
   * Ends a registration, by `regMr` or `allocMr`; its key is invalid from now on. Throws ERR_ROCE_IN_USE while memory
   * windows are bound to it.
   */
  deregMr(region: MemoryRegion): void;
  /**
   * A region without memory (ib_alloc_mr): a work request `RegMr` gives it up to `maxBytes` bytes, an address, access
   * and a key, and `LocalInv` or a peer's SEND with invalidate takes them away.
   */
  allocMr(maxBytes: number): MemoryRegion;
  /**
   * A memory window (ibv_alloc_mw): a work request `BindMw` lends it a part of a region, for one queue pair, or for all
   * of the domain where it is of type 1. Type 2B by default.
   */
  allocMw(type?: WindowType): RdmaMw;
  /** Makes a queue pair in state RESET (ibv_create_qp). */
  createQp(init: RdmaQpInit): RdmaQp;
  /**
   * Makes an address handle (ibv_create_ah), after finding the next hop. Rejects with ERR_ROCE_ADDRESS or
   * ERR_ROCE_ARGUMENT.
   */
  createAh(av: AddressVector): Promise<RdmaAh>;
  /**
   * Makes an address handle to the sender of a datagram (ibv_create_ah_from_wc).
   * @param wc completion of the receive @param grh the first 40 bytes received
   */
  createAhFromWc(wc: Pick<WorkCompletion, 'grh'>, grh: Uint8Array): Promise<RdmaAh>;
  /**
   * Makes a shared receive queue (ibv_create_srq), or with an XRC domain and a completion queue an XRC one
   * (ibv_create_srq_ex). Throws ERR_ROCE_ARGUMENT for attributes beyond the device's limits and ERR_ROCE_LIMIT when the
   * device has its maximum of queues.
   */
  createSrq(init: RdmaSrqInit): RdmaSrq;
  /** Frees the domain. Throws ERR_ROCE_IN_USE while regions or queue pairs remain. */
  dealloc(): void;
}

/** A part of a region that peers may reach under a key of its own (ibv_mw). */
export interface RdmaMw extends MemoryWindow {
  /** Frees the window, bound or not (ibv_dealloc_mw). */
  dealloc(): void;
}

/** Where datagrams go (ibv_ah): named by the work requests of UD queue pairs of the same protection domain. */
export interface RdmaAh extends AddressHandle {
  /** The domain it is of. */
  readonly pd: RdmaPd;
  /** What it was made from. */
  readonly av: AddressVector;
  /** Frees it (ibv_destroy_ah): no new work request may name it; what is posted already is still sent. */
  destroy(): void;
}

/** Both or none of the last two, of the same device. */
export interface RdmaSrqInit extends SrqAttributes {
  /** Receives there is room for, 1 or more; `modify` changes it. */
  readonly maxWr: number;
  /** Pieces of memory of one receive; default 4. */
  readonly maxSge?: number;
  /** XRC: whose target queue pairs may take from this queue. */
  readonly xrcd?: RdmaXrcd;
  /** XRC: where its receives complete. */
  readonly cq?: RdmaCq;
}

/** Receives that many queue pairs take from, each the oldest there is (ibv_srq). */
export interface RdmaSrq {
  /** The domain its memory is of. */
  readonly pd: RdmaPd;
  /** What XRC requests name (ibv_get_srq_num), 24 bits. */
  readonly srqn: number;
  /** Receives there is room for. */
  readonly maxWr: number;
  /** Pieces of memory of one receive at most. */
  readonly maxSge: number;
  /** What the queue is armed with; 0 when it is not, or not any more. */
  readonly limit: number;
  /** Receives posted and not yet taken. */
  readonly length: number;
  /** Whether `destroy` was called. */
  readonly destroyed: boolean;
  /**
   * Asynchronous events: fewer receives are left than the limit, reported once for each `modify` that set it; or an
   * error.
   */
  readonly events: EventStream<SrqEvent>;
  /** Posts a receive (ibv_post_srq_recv). Throws ERR_ROCE_QUEUE_FULL, or ERR_ROCE_ARGUMENT for a bad request. */
  postRecv(wr: RecvWr): void;
  /**
   * Changes room and limit (ibv_modify_srq); a limit arms the queue. Throws ERR_ROCE_ARGUMENT and changes nothing for
   * less room than receives posted or than the limit, or more than the device allows.
   */
  modify(attributes: SrqAttributes): void;
  /** Destroys the queue and discards its receives. Throws ERR_ROCE_IN_USE while queue pairs take from it. */
  destroy(): void;
}

/** Joins XRC target queue pairs and XRC shared receive queues (ibv_xrcd). */
export interface RdmaXrcd {
  /** The device it is of. */
  readonly device: RdmaDevice;
  /**
   * Makes a queue pair of type XRC_RECV in state RESET: it takes requests for every shared receive queue of this
   * domain.
   */
  createQp(): RdmaQp;
  /** Throws ERR_ROCE_IN_USE while queues or queue pairs remain. */
  close(): void;
}

/**
 * How a queue pair is made (ibv_qp_init_attr). Absent capabilities are 128 work requests, 4 pieces and 64 inline bytes.
 */
export interface RdmaQpInit extends Partial<QpCapabilities> {
  /** Default RC. */
  readonly type?: QpType;
  /** Both of the queue pair's own device. */
  readonly sendCq: RdmaCq;
  /** Where receives complete; may be the same. */
  readonly recvCq: RdmaCq;
  /** Where receives come from instead of a queue of its own; `maxRecvWr` is ignored then. Of the same device. */
  readonly srq?: RdmaSrq;
  /** The implementation of the peer: the name of one of `PEER_PROFILES`. Default the device's. */
  readonly peer?: string;
}

/** Where completions arrive (ibv_cq): `poll` without waiting, or `for await` over them. */
export interface RdmaCq extends AsyncIterable<WorkCompletion> {
  /** Completions there is room for. */
  readonly capacity: number;
  /** Completions that wait to be polled. */
  readonly length: number;
  /** A completion found no room; the queue takes no more, and the queue pairs that complete into it go to ERROR. */
  readonly overrun: boolean;
  /** Asynchronous events: that the queue has overrun. */
  readonly events: EventStream<CqEvent>;
  /** Moves the oldest completion into `into`; false when there is none. */
  poll(into: WorkCompletion): boolean;
  /** The next completion, waited for; done when the device closes. Rejects with ERR_ROCE_LIMIT after an overrun. */
  next(): Promise<IteratorResult<WorkCompletion>>;
  /**
   * Resolves with true once a completion arrives after this call, or with `solicitedOnly` one that the peer solicited
   * or that failed (ibv_req_notify_cq and ibv_get_cq_event); it stays in the queue. With false when none can come any
   * more.
   */
  reqNotify(solicitedOnly?: boolean): Promise<boolean>;
  /**
   * Changes the room (ibv_resize_cq). Throws ERR_ROCE_ARGUMENT and changes nothing for less than the queue holds, less
   * than one or more than the device allows.
   */
  resize(capacity: number): void;
}

/** One end of a connection, or of datagrams (ibv_qp). */
export interface RdmaQp {
  /** The domain it is of. */
  readonly pd: RdmaPd;
  /** Its service. */
  readonly type: QpType;
  /** Its number, 24 bits: what a peer sends to. */
  readonly qpn: number;
  /** Its state. */
  readonly state: QpState;
  /** Its state as text (`QP_STATE_NAMES`). */
  readonly stateName: string;
  /** Whether `destroy` was called. */
  readonly destroyed: boolean;
  /** Asynchronous events, until the queue pair is destroyed. */
  readonly events: EventStream<QpEvent>;
  /**
   * How fast it may send, as of now; undefined without a connection or where the device does not react to congestion.
   */
  readonly congestion: RateState | undefined;
  /**
   * Changes attributes and state (ibv_modify_qp), after resolving the path to the peer where an address vector is
   * given.
   */
  modify(attributes: ModifyAttributes): Promise<void>;
  /** `modify` for a destination that is resolved already; throws ERR_ROCE_ADDRESS when it is not. */
  modifyNow(attributes: ModifyAttributes): void;
  /**
   * Posts a send work request (ibv_post_send). Throws and posts nothing when the request or the state does not allow
   * it.
   */
  postSend(wr: SendWr): void;
  /** Posts a receive work request (ibv_post_recv). */
  postRecv(wr: RecvWr): void;
  /**
   * Attaches a UD queue pair to a multicast group (ibv_attach_mcast), which the device joins with its first one; send
   * to it with an address handle of the group and remoteQpn 0xffffff. Rejects with ERR_ROCE_ARGUMENT, ERR_ROCE_LIMIT or
   * ERR_ROCE_UNSUPPORTED.
   */
  attachMcast(group: IpAddress): Promise<void>;
  /**
   * Ends it (ibv_detach_mcast), and with the last queue pair of a group the membership of the device. Throws
   * ERR_ROCE_ARGUMENT.
   */
  detachMcast(group: IpAddress): void;
  /** Destroys the queue pair; outstanding work requests do not complete. */
  destroy(): void;
}
