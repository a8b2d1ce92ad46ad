/**
 * The verbs that the application's thread calls and the worker serves, one interface for each kind of object: the calls of `channel.ts`
 * and the servers are typed by the same tables. Owns no code.
 *
 * How a verb is called follows from it: one that returns a promise is answered when it is, the verbs of `SilentVerb` are not answered,
 * and for every other one the application's thread stands still.
 */

import type { RateState } from '../../../transport/congestion/rate-controller.ts';
import type { SrqAttributes } from '../../../transport/srq.ts';
import type { ListenOptions } from '../../device/cm/api.ts';

import type { ModifyAttributes, RegMrOptions } from '../../device/verbs/index.ts';
import type {
  Handle,
  SharedMemory,
  WireAcceptOptions,
  WireAddress,
  WireAh,
  WireConnection,
  WireConnectOptions,
  WireCounters,
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
} from './wire-values.ts';

export interface DeviceVerbs {
  resolve(address: WireAddress): Promise<void>;
  counters(): WireCounters;
  /** Closes the device; its wire is still there. */
  closeDevice(): void;
  /** Closes the wire as well; the worker ends then. */
  shutdown(): Promise<void>;
}

/** Protection domains, completion queues and queue pairs. */
export interface QueueVerbs {
  allocPd(): Handle;
  createCq(capacity: number): { readonly cq: Handle; readonly ring: SharedArrayBuffer };
  /** The ring that takes the place of the one there was. */
  resizeCq(cq: Handle, capacity: number): SharedArrayBuffer;
  destroyCq(cq: Handle): void;
  createQp(pd: Handle, init: WireQpInit): WireQp;
  modifyQp(qp: Handle, attributes: ModifyAttributes): void;
  congestionOf(qp: Handle): RateState | undefined;
  attachMcast(qp: Handle, group: WireAddress): Promise<void>;
  detachMcast(qp: Handle, group: WireAddress): void;
  /** For what the ring does not take: a queue that is full, a state that may forbid it, a request that is too long or rare. */
  postSend(qp: Handle, wr: WireSendWr): void;
  postRecv(qp: Handle, wr: WireRecvWr): void;
  destroyQp(qp: Handle): void;
}

/** Memory regions and windows. */
export interface KeyVerbs {
  regMr(pd: Handle, memory: SharedMemory, options: RegMrOptions): WireKey;
  deregMr(key: number): void;
  allocMr(pd: Handle, maxBytes: number): WireKey;
  allocMw(pd: Handle): WireKey;
  deallocMw(key: number): void;
}

/** Shared receive queues and XRC domains. */
export interface SrqVerbs {
  createSrq(pd: Handle, init: WireSrqInit): WireSrq;
  modifySrq(srqn: Handle, attributes: SrqAttributes): void;
  postSrqRecv(srqn: Handle, wr: WireRecvWr): void;
  destroySrq(srqn: Handle): void;
  openXrcd(): Handle;
  createXrcTarget(xrcd: Handle): WireQp & { readonly pd: Handle };
  closeXrcd(xrcd: Handle): void;
}

/** Address handles. */
export interface AhVerbs {
  createAh(pd: Handle, av: WireVector): Promise<WireAh>;
  createAhFromWc(pd: Handle, grh: boolean, bytes: Uint8Array): Promise<WireAh>;
  destroyAh(ah: Handle): void;
}

/** Connections. */
export interface CmVerbs {
  listen(port: number, options: ListenOptions | number): Handle;
  unlisten(listener: Handle): void;
  connect(options: WireConnectOptions): Promise<WireConnection>;
  accept(request: Handle, options: WireAcceptOptions): Promise<WireConnection>;
  delay(request: Handle, serviceTimeout: number): void;
  reject(request: Handle, privateData: Uint8Array | undefined, reason: number | undefined): void;
  /** The application has no reference to the request any more. */
  forgetRequest(request: Handle): void;
  /** It came while its listener was being closed: as if there had been no listener. */
  refuseRequest(request: Handle): void;
  disconnect(connection: Handle, privateData: Uint8Array | undefined): void;
  loadAlternatePath(connection: Handle, av: WireVector): Promise<void>;
}

/** Datagram services (SIDR). */
export interface DatagramVerbs {
  listenUd(port: number, options: WireListenUdOptions): Handle;
  unlistenUd(listener: Handle): void;
  acceptUd(request: Handle, answer: WireUdAnswer): void;
  rejectUd(request: Handle, status: number | undefined, privateData: Uint8Array | undefined): void;
  /** As `forgetRequest`. */
  forgetUdRequest(request: Handle): void;
  /** As `refuseRequest`. */
  refuseUdRequest(request: Handle): void;
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
/** Verbs that are answered when they are. */
export type AsyncVerb = { [V in Verb]: VerbResults[V] extends Promise<unknown> ? V : never }[Verb];
/** Verbs for which the application's thread stands still. */
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
