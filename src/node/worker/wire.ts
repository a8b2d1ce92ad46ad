/**
 * What the application's thread and the worker tell each other: one port, messages in order in either direction.
 *
 * Owns the vocabulary. Never sends anything. Work requests and completions do not travel in messages: they have rings in shared
 * memory (`post-ring.ts`, `completion-ring.ts`). Values cross as the structured clone leaves them, in the forms of
 * `wire-values.ts`; an error crosses as its parts (`wire-error.ts`).
 */
import type { DisconnectCause } from '../../../transport/cm/index.ts';
import type { RateState } from '../../../transport/congestion/rate-controller.ts';
import type { QpEvent } from '../../../transport/qp-event.ts';
import type { SrqAttributes, SrqEvent } from '../../../transport/srq.ts';
import type { CqEvent, LinkFacts, RdmaDevice } from '../../device/api.ts';
import type { ListenOptions } from '../../device/cm/api.ts';
import type { ModifyAttributes, RegMrOptions } from '../../device/verbs/index.ts';

import type { WireError } from './wire-error.ts';
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
  WireRequest,
  WireResolveUdOptions,
  WireSendWr,
  WireSrq,
  WireSrqInit,
  WireUdAnswer,
  WireUdDestination,
  WireUdRequest,
  WireVector,
} from './wire-values.ts';

/** Verbs the application waits for, its thread standing still. */
export interface SyncVerbs {
  allocPd(): Handle;
  createCq(capacity: number): { readonly cq: Handle; readonly ring: SharedArrayBuffer };
  /** The ring that takes the place of the one there was. */
  resizeCq(cq: Handle, capacity: number): SharedArrayBuffer;
  destroyCq(cq: Handle): void;
  regMr(pd: Handle, memory: SharedMemory, options: RegMrOptions): WireKey;
  deregMr(key: number): void;
  allocMr(pd: Handle, maxBytes: number): WireKey;
  allocMw(pd: Handle): WireKey;
  deallocMw(key: number): void;
  createQp(pd: Handle, init: WireQpInit): WireQp;
  modifyQp(qp: Handle, attributes: ModifyAttributes): void;
  congestionOf(qp: Handle): RateState | undefined;
  detachMcast(qp: Handle, group: WireAddress): void;
  /** For what the ring does not take: a queue that is full, a state that may forbid it, a request that is too long or rare. */
  postSend(qp: Handle, wr: WireSendWr): void;
  postRecv(qp: Handle, wr: WireRecvWr): void;
  destroyQp(qp: Handle): void;
  createSrq(pd: Handle, init: WireSrqInit): WireSrq;
  modifySrq(srqn: Handle, attributes: SrqAttributes): void;
  postSrqRecv(srqn: Handle, wr: WireRecvWr): void;
  destroySrq(srqn: Handle): void;
  openXrcd(): Handle;
  createXrcTarget(xrcd: Handle): WireQp & { readonly pd: Handle };
  closeXrcd(xrcd: Handle): void;
  destroyAh(ah: Handle): void;
  listen(port: number, options: ListenOptions | number): Handle;
  unlisten(listener: Handle): void;
  delay(request: Handle, serviceTimeout: number): void;
  reject(request: Handle, privateData: Uint8Array | undefined, reason: number | undefined): void;
  disconnect(connection: Handle, privateData: Uint8Array | undefined): void;
  listenUd(port: number, options: WireListenUdOptions): Handle;
  unlistenUd(listener: Handle): void;
  acceptUd(request: Handle, answer: WireUdAnswer): void;
  rejectUd(request: Handle, status: number | undefined, privateData: Uint8Array | undefined): void;
  counters(): WireCounters;
  /** Closes the device; its wire is still there. */
  closeDevice(): void;
}

/** Verbs that are answered when they are. */
export interface AsyncVerbs {
  resolve(address: WireAddress): Promise<void>;
  createAh(pd: Handle, av: WireVector): Promise<WireAh>;
  createAhFromWc(pd: Handle, grh: boolean, bytes: Uint8Array): Promise<WireAh>;
  attachMcast(qp: Handle, group: WireAddress): Promise<void>;
  connect(options: WireConnectOptions): Promise<WireConnection>;
  accept(request: Handle, options: WireAcceptOptions): Promise<WireConnection>;
  loadAlternatePath(connection: Handle, av: WireVector): Promise<void>;
  resolveUd(options: WireResolveUdOptions): Promise<WireUdDestination>;
  /** Closes the wire as well; the worker ends then. */
  shutdown(): Promise<void>;
}

/** Verbs nobody is answered. */
export interface SilentVerbs {
  /** The application has no reference to the request any more. */
  forgetRequest(request: Handle): void;
  forgetUdRequest(request: Handle): void;
  /** It came while its listener was being closed: as if nobody had listened. */
  refuseRequest(request: Handle): void;
  refuseUdRequest(request: Handle): void;
}

export type Verbs = SyncVerbs & AsyncVerbs & SilentVerbs;
export type Verb = keyof Verbs;

/** To the worker. A number alone says: look into the ring of posts. */
export type ToWorker = WireCall | 0;

export interface WireCall {
  /** Whoever asked is told the answer under this number; 0 is not answered. */
  readonly id: number;
  /** The application's thread stands still until the answer. */
  readonly blocks: boolean;
  readonly verb: Verb;
  readonly args: readonly unknown[];
}

/** From the worker: what happened since the last message, in order. */
export type FromWorker = readonly WorkerEvent[];

export type WorkerEvent =
  /** The link is made, not started; frames of a capture may follow. */
  | { readonly kind: 'opening'; readonly link: LinkFacts; readonly timeOrigin: number }
  | { readonly kind: 'opened'; readonly facts: DeviceFacts }
  | { readonly kind: 'refused'; readonly error: WireError }
  | { readonly kind: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: WireError }
  /** A completion queue that is waited on has something. */
  | { readonly kind: 'completions'; readonly cq: Handle }
  | { readonly kind: 'cq-event'; readonly cq: Handle; readonly event: CqEvent }
  | { readonly kind: 'qp-event'; readonly qp: Handle; readonly event: QpEvent }
  | { readonly kind: 'srq-event'; readonly srqn: Handle; readonly event: SrqEvent }
  | { readonly kind: 'request'; readonly listener: Handle; readonly request: WireRequest }
  | { readonly kind: 'ud-request'; readonly listener: Handle; readonly request: WireUdRequest }
  | { readonly kind: 'disconnected'; readonly connection: Handle; readonly cause: DisconnectCause }
  /** Frames of the wire, as `capture-feed.ts` packs them. */
  | { readonly kind: 'frames'; readonly packed: Uint8Array<ArrayBuffer> }
  /** The wire is gone and the device closed; nothing follows. */
  | { readonly kind: 'ended'; readonly error: WireError | undefined; readonly counters: WireCounters };

/** What never changes of a device, and can be cloned. */
type PlainFacts = 'name' | 'mac' | 'limits' | 'activeMtu' | 'linkMtu' | 'medium' | 'vlan' | 'pathTraits' | 'guid';

export interface DeviceFacts extends Pick<RdmaDevice, PlainFacts> {
  /** With prefix lengths. */
  readonly addresses: readonly string[];
  readonly link: LinkFacts;
}
