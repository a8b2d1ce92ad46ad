/**
 * The verbs that the application's thread calls and the worker serves, one interface for each kind of object: the calls
 * of `channel.ts` and the servers are typed by the same tables. Owns no code.
 *
 * How a verb is called follows from its type: one that returns a promise is answered when that settles, the verbs of
 * `SilentVerb` are not answered, and every other one blocks the application's thread.
 */

import type { RateState } from '../../../transport/congestion/rate-controller.ts';
import type { WindowType } from '../../../transport/memory.ts';
import type { SrqAttributes } from '../../../transport/srq.ts';
import type { ListenOptions } from '../../device/cm/api.ts';

import type { ModifyAttributes, RegMrOptions } from '../../device/verbs/index.ts';
import type {
  ObjectHandle,
  SharedMemory,
  WireAcceptOptions,
  WireAddress,
  WireAh,
  WireConnection,
  WireConnectOptions,
  WireKey,
  WireListenUdOptions,
  WireQp,
  WireQpInit,
  WireRecvWr,
  WireResolveUdOptions,
  WireSendWr,
  WireSrq,
  WireSrqInit,
  WireUdAnswer,
  WireUdDestination,
  WireVector,
  WorkerCounters,
} from './wire-values.ts';

export interface DeviceVerbs {
  resolve(address: WireAddress): Promise<void>;
  counters(): WorkerCounters;
  /** Closes the device; its link stays open. */
  closeDevice(): void;
  /** Closes the link as well; the worker ends then. */
  shutdown(): Promise<void>;
}

/** Protection domains, completion queues and queue pairs. */
export interface QueueVerbs {
  allocPd(): ObjectHandle;
  createCq(capacity: number): { readonly cq: ObjectHandle; readonly ring: SharedArrayBuffer };
  /** The ring that takes the place of the one there was. */
  resizeCq(cq: ObjectHandle, capacity: number): SharedArrayBuffer;
  destroyCq(cq: ObjectHandle): void;
  createQp(pd: ObjectHandle, init: WireQpInit): WireQp;
  modifyQp(qp: ObjectHandle, attributes: ModifyAttributes): void;
  congestionOf(qp: ObjectHandle): RateState | undefined;
  attachMcast(qp: ObjectHandle, group: WireAddress): Promise<void>;
  detachMcast(qp: ObjectHandle, group: WireAddress): void;
  /**
   * For posts that the ring does not carry: into a full queue, in a state that may refuse them, and requests that are
   * long or rare.
   */
  postSend(qp: ObjectHandle, wr: WireSendWr): void;
  postRecv(qp: ObjectHandle, wr: WireRecvWr): void;
  destroyQp(qp: ObjectHandle): void;
}

/** Memory regions and windows. */
export interface KeyVerbs {
  regMr(pd: ObjectHandle, memory: SharedMemory, options: RegMrOptions): WireKey;
  deregMr(key: number): void;
  allocMr(pd: ObjectHandle, maxBytes: number): WireKey;
  allocMw(pd: ObjectHandle, type: WindowType): WireKey;
  deallocMw(key: number): void;
}

/** Shared receive queues and XRC domains. */
export interface SrqVerbs {
  createSrq(pd: ObjectHandle, init: WireSrqInit): WireSrq;
  modifySrq(srqn: ObjectHandle, attributes: SrqAttributes): void;
  postSrqRecv(srqn: ObjectHandle, wr: WireRecvWr): void;
  destroySrq(srqn: ObjectHandle): void;
  openXrcd(): ObjectHandle;
  createXrcTarget(xrcd: ObjectHandle): WireQp & { readonly pd: ObjectHandle };
  closeXrcd(xrcd: ObjectHandle): void;
}

/** Address handles. */
export interface AhVerbs {
  createAh(pd: ObjectHandle, av: WireVector): Promise<WireAh>;
  createAhFromWc(pd: ObjectHandle, grh: boolean, bytes: Uint8Array): Promise<WireAh>;
  destroyAh(ah: ObjectHandle): void;
}

/** Connections. */
export interface CmVerbs {
  listen(port: number, options: ListenOptions | number): ObjectHandle;
  unlisten(listener: ObjectHandle): void;
  connect(options: WireConnectOptions): Promise<WireConnection>;
  accept(request: ObjectHandle, options: WireAcceptOptions): Promise<WireConnection>;
  delay(request: ObjectHandle, serviceTimeout: number): void;
  reject(request: ObjectHandle, privateData: Uint8Array | undefined, reason: number | undefined): void;
  /** The application has no reference to the request any more. */
  forgetRequest(request: ObjectHandle): void;
  /** It came while its listener was being closed: as if there had been no listener. */
  refuseRequest(request: ObjectHandle): void;
  disconnect(connection: ObjectHandle, privateData: Uint8Array | undefined): void;
  loadAlternatePath(connection: ObjectHandle, av: WireVector): Promise<void>;
}

/** Datagram services (SIDR). */
export interface DatagramVerbs {
  listenUd(port: number, options: WireListenUdOptions): ObjectHandle;
  unlistenUd(listener: ObjectHandle): void;
  acceptUd(request: ObjectHandle, answer: WireUdAnswer): void;
  rejectUd(request: ObjectHandle, status: number | undefined, privateData: Uint8Array | undefined): void;
  /** As `forgetRequest`. */
  forgetUdRequest(request: ObjectHandle): void;
  /** As `refuseRequest`. */
  refuseUdRequest(request: ObjectHandle): void;
  resolveUd(options: WireResolveUdOptions): Promise<WireUdDestination>;
}

export type Verbs = DeviceVerbs & QueueVerbs & KeyVerbs & SrqVerbs & AhVerbs & CmVerbs & DatagramVerbs;
export type Verb = keyof Verbs;

export type VerbArgs = { readonly [V in Verb]: Parameters<Verbs[V]> };
export type VerbResults = { readonly [V in Verb]: ReturnType<Verbs[V]> };
/** A handler for every verb. */
export type VerbTable = { readonly [V in Verb]: (...args: VerbArgs[V]) => VerbResults[V] };

/** Verbs that are not answered. */
export type SilentVerb = 'forgetRequest' | 'refuseRequest' | 'forgetUdRequest' | 'refuseUdRequest';
/** Verbs that are answered when their promise settles. */
export type AsyncVerb = { [V in Verb]: VerbResults[V] extends Promise<unknown> ? V : never }[Verb];
/** Verbs that block the application's thread. */
export type SyncVerb = Exclude<Verb, AsyncVerb | SilentVerb>;
/** Those that free what a handle or key names, and nothing else. */
export type FreeingVerb =
  | 'destroyCq'
  | 'deregMr'
  | 'deallocMw'
  | 'destroyQp'
  | 'destroySrq'
  | 'closeXrcd'
  | 'destroyAh';
