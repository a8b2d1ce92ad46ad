/**
 * The forms in which values cross between the threads: objects by their handles, memory by its shared buffer, addresses
 * as their words. Never sends anything, and contains no verbs (`wire.ts`).
 */
import { IpAddress } from '../../../packets/address.ts';
import type { CmTransportService } from '../../../packets/cm/index.ts';
import type { PortCounters } from '../../../transport/counters.ts';
import type { PeerProfile } from '../../../transport/peer-profile.ts';
import type { QpCapabilities } from '../../../transport/qp-capabilities.ts';
import type { QpType } from '../../../transport/qp-type.ts';
import type { SrqAttributes } from '../../../transport/srq.ts';
import type { FastReg, MwBind, RecvWr, SendWr } from '../../../transport/work.ts';
import type {
  RdmaAcceptOptions,
  RdmaConnectOptions,
  RdmaListenUdOptions,
  RdmaResolveUdOptions,
  RdmaUdAnswer,
} from '../../device/api.ts';
import type { DeviceCounters } from '../../device/counters.ts';
import type { InternalErrorEvent } from '../../device/internal-error-event.ts';
import type { SuspiciousEvent } from '../../device/suspicions.ts';
import type { AddressVector } from '../../device/verbs/index.ts';
import type { WireError } from './wire-error.ts';

/**
 * Names an object of the worker. Queue pairs and shared receive queues are named by their numbers, regions and windows
 * by a key of theirs, of which the upper 24 bits count; 0 is an invalid key.
 */
export type ObjectHandle = number;

export interface WorkerCounters {
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

/** A region or window as it is made: its first key, and where the worker publishes its state (`key-cells.ts`). */
export interface WireKey {
  readonly key: number;
  readonly iova: bigint;
  /** Absent for a region whose state never changes. */
  readonly cells?: SharedArrayBuffer;
}

export interface WireQpInit extends Partial<QpCapabilities> {
  readonly type?: QpType;
  readonly peer?: string;
  readonly sendCq: ObjectHandle;
  readonly recvCq: ObjectHandle;
  readonly srq?: ObjectHandle;
}

export interface WireQp {
  readonly qpn: ObjectHandle;
  readonly type: QpType;
  readonly capabilities: QpCapabilities;
  readonly profile: PeerProfile;
  /** `qp-status.ts` */
  readonly status: SharedArrayBuffer;
}

export interface WireSrqInit extends SrqAttributes {
  readonly maxWr: number;
  readonly maxSge?: number;
  readonly xrc?: { readonly xrcd: ObjectHandle; readonly cq: ObjectHandle };
}

export interface WireSrq {
  readonly srqn: ObjectHandle;
  readonly maxSge: number;
  /** `srq-status.ts` */
  readonly status: SharedArrayBuffer;
}

export interface WireAh {
  readonly ah: ObjectHandle;
  readonly av: WireVector;
}

/** A piece of a region by its key; offset and length are the application's, or their defaults. */
export interface WireSge {
  readonly key: number;
  readonly offset: number;
  readonly length: number;
}

export type WireBind = Omit<MwBind, 'mr'> & { readonly mr: number };
/** `maxBytes` is the region's size on the application's side, for a region that the worker does not have. */
export type WireReg = Omit<FastReg, 'mr' | 'memory'> & {
  readonly mr: number;
  readonly maxBytes: number;
  readonly memory?: SharedMemory;
};

export interface WireSendWr extends Omit<SendWr, 'sges' | 'ah' | 'mw' | 'bind' | 'reg'> {
  readonly sges: readonly WireSge[] | undefined;
  readonly ah?: ObjectHandle;
  readonly mw?: number;
  readonly bind?: WireBind;
  readonly reg?: WireReg;
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

/** An `AddressVector` is one. */
export type WireVector = Omit<AddressVector, 'destination' | 'source'> & {
  readonly destination: WireAddress;
  readonly source?: WireAddress;
};

interface WireEndpoints {
  readonly address: WireAddress | string;
  readonly source?: WireAddress | string;
}

export type WireConnectOptions = Omit<RdmaConnectOptions, 'qp' | 'address' | 'source'> &
  WireEndpoints & { readonly qp: ObjectHandle };
export type WireAcceptOptions = Omit<RdmaAcceptOptions, 'qp'> & { readonly qp: ObjectHandle };
export type WireUdAnswer = Omit<RdmaUdAnswer, 'qp'> & { readonly qp: ObjectHandle };
export type WireListenUdOptions = Omit<RdmaListenUdOptions, 'qp'> & { readonly qp?: ObjectHandle };
export type WireResolveUdOptions = Omit<RdmaResolveUdOptions, 'pd' | 'address' | 'source'> &
  WireEndpoints & { readonly pd: ObjectHandle };

export interface WireConnection {
  readonly connection: ObjectHandle;
  readonly remoteAddress: WireAddress;
  readonly privateData: Uint8Array;
}

export interface WireUdRequest {
  readonly request: ObjectHandle;
  readonly remoteAddress: WireAddress;
  readonly localAddress: WireAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
}

export interface WireRequest extends WireUdRequest {
  readonly service: CmTransportService;
  readonly initiatorDepth: number;
  readonly responderResources: number;
}

export interface WireUdDestination extends WireAh {
  readonly remoteQpn: number;
  readonly qkey: number;
  readonly privateData: Uint8Array;
}

/** An `InternalErrorEvent`. */
export type WireInternalError = Omit<InternalErrorEvent, 'error'> & { readonly error: WireError };

/** A `SuspiciousEvent` is one. */
export type WireSuspicion = Omit<SuspiciousEvent, 'address'> & { readonly address?: WireAddress };

/** An event of a device that is more than a name. */
export type WireDeviceEvent = WireInternalError | WireSuspicion;

export function revive({ version, w0, w1, w2, w3 }: WireAddress): IpAddress {
  return new IpAddress(version, w0, w1, w2, w3);
}

export function reviveOrParse(address: WireAddress | string): IpAddress | string {
  return typeof address === 'string' ? address : revive(address);
}

export function reviveVector({ destination, source, ...rest }: WireVector): AddressVector {
  return { ...rest, destination: revive(destination), ...(source === undefined ? {} : { source: revive(source) }) };
}

export function reviveEndpoints({ address, source }: WireEndpoints): {
  readonly address: IpAddress | string;
  readonly source?: IpAddress | string;
} {
  return { address: reviveOrParse(address), ...(source === undefined ? {} : { source: reviveOrParse(source) }) };
}

/** Exactly these bytes, in memory of their own: a clone would take the whole buffer along, or share it. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Options with private data in memory of its own. */
export function withOwnData<T extends { readonly privateData?: Uint8Array }>(options: T): T {
  const { privateData } = options;
  return privateData === undefined ? options : { ...options, privateData: ownBytes(privateData) };
}
