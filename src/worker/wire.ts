/**
 * What the application's thread and the worker tell each other: one port, messages in order in either direction.
 *
 * Owns the vocabulary and the forms in which values cross. Never sends anything. Work requests and completions do not travel
 * in messages: they have rings in shared memory (`post-ring.ts`, `completion-ring.ts`). Values cross as the structured clone
 * leaves them: an address arrives as its words and is revived here, an error as its parts (`wire-error.ts`).
 */
import { IpAddress } from '../../packets/address.ts';
import type { CmTransportService } from '../../packets/cm/index.ts';
import type { DisconnectCause } from '../../transport/cm/index.ts';
import type { PortCounters } from '../../transport/counters.ts';
import type { QpCapabilities, QpEvent } from '../../transport/queue-pair.ts';
import type { RecvWr, SendWr } from '../../transport/work.ts';
import type { CqEvent, LinkFacts, RdmaAcceptOptions, RdmaConnectOptions, RdmaDevice } from '../api.ts';
import type { ListenOptions } from '../connection.ts';
import type { DeviceCounters } from '../device-counters.ts';
import type { ModifyAttributes, RegMrOptions } from '../verbs/index.ts';
import type { WireError } from './wire-error.ts';

/** Names an object of the worker. Regions are named by their key; 0 is a region that opens nothing. */
export type Handle = number;

/** Verbs the application waits for, its thread standing still. */
export interface SyncVerbs {
  allocPd(): Handle;
  createCq(capacity: number): { readonly cq: Handle; readonly ring: SharedArrayBuffer };
  destroyCq(cq: Handle): void;
  regMr(pd: Handle, memory: SharedMemory, options: RegMrOptions): { readonly key: number; readonly iova: bigint };
  deregMr(key: number): void;
  createQp(pd: Handle, init: WireQpInit): WireQp;
  modifyQp(qp: Handle, attributes: ModifyAttributes): void;
  /** For what the ring does not take: a queue that is full, a state that may forbid it, a request that is too long. */
  postSend(qp: Handle, wr: WireSendWr): void;
  postRecv(qp: Handle, wr: WireRecvWr): void;
  destroyQp(qp: Handle): void;
  listen(port: number, options: ListenOptions | number): Handle;
  unlisten(listener: Handle): void;
  delay(request: Handle, serviceTimeout: number): void;
  reject(request: Handle, privateData: Uint8Array | undefined, reason: number | undefined): void;
  disconnect(connection: Handle, privateData: Uint8Array | undefined): void;
  counters(): WireCounters;
  /** Closes the device; its wire is still there. */
  closeDevice(): void;
}

/** Verbs that are answered when they are. */
export interface AsyncVerbs {
  resolve(address: WireAddress): Promise<void>;
  connect(options: WireConnectOptions): Promise<WireConnection>;
  accept(request: Handle, options: WireAcceptOptions): Promise<WireConnection>;
  /** Closes the wire as well; the worker ends then. */
  shutdown(): Promise<void>;
}

/** Verbs nobody is answered. */
export interface SilentVerbs {
  /** The application has no reference to the request any more. */
  forgetRequest(request: Handle): void;
  /** It came while its listener was being closed: as if nobody had listened. */
  refuseRequest(request: Handle): void;
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
  | { readonly kind: 'request'; readonly listener: Handle; readonly request: WireRequest }
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

export interface WireCounters {
  readonly device: DeviceCounters;
  readonly port: PortCounters;
  readonly cm: Readonly<Record<string, number>>;
  readonly connections: number;
  readonly qps: number;
}

export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  readonly offset: number;
  readonly length: number;
}

export interface WireQpInit extends Partial<QpCapabilities> {
  readonly sendCq: Handle;
  readonly recvCq: Handle;
}

export interface WireQp {
  readonly qp: Handle;
  readonly qpn: number;
  readonly capabilities: QpCapabilities;
  /** `qp-status.ts` */
  readonly status: SharedArrayBuffer;
}

/** A piece of a region by its key; offset and length stand as the application gave them, or as their defaults make them. */
export interface WireSge {
  readonly key: number;
  readonly offset: number;
  readonly length: number;
}

export interface WireSendWr extends Omit<SendWr, 'sges'> {
  readonly sges: readonly WireSge[] | undefined;
}

export interface WireRecvWr extends Omit<RecvWr, 'sges'> {
  readonly sges: readonly WireSge[] | undefined;
}

/** The words of an `IpAddress`; an `IpAddress` is one. */
export interface WireAddress {
  readonly version: 4 | 6;
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
}

export type WireConnectOptions = Omit<RdmaConnectOptions, 'qp' | 'address' | 'source'> & {
  readonly qp: Handle;
  readonly address: WireAddress | string;
  readonly source?: WireAddress | string;
};

export type WireAcceptOptions = Omit<RdmaAcceptOptions, 'qp'> & { readonly qp: Handle };

export interface WireConnection {
  readonly connection: Handle;
  readonly remoteAddress: WireAddress;
  readonly privateData: Uint8Array;
}

export interface WireRequest {
  readonly request: Handle;
  readonly service: CmTransportService;
  readonly remoteAddress: WireAddress;
  readonly localAddress: WireAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
  readonly initiatorDepth: number;
  readonly responderResources: number;
}

export function revive({ version, w0, w1, w2, w3 }: WireAddress): IpAddress {
  return new IpAddress(version, w0, w1, w2, w3);
}

export function reviveOrParse(address: WireAddress | string): IpAddress | string {
  return typeof address === 'string' ? address : revive(address);
}

/** Exactly these bytes, in memory of their own: a clone would take the whole buffer along, or share it. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}
