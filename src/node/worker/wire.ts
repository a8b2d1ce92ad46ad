/**
 * Messages between the application's thread and the worker: one port, messages in order in either direction.
 *
 * Owns the messages; the verbs in them are those of `verbs.ts`. Never sends anything. Work requests and completions do
 * not travel in messages: they have rings in shared memory (`post-ring.ts`, `completion-ring.ts`). Values cross as the
 * structured clone leaves them, in the forms of `wire-values.ts`; an error crosses as its parts (`wire-error.ts`).
 */

import type { DisconnectCause } from '../../../transport/cm/index.ts';
import type { QpEvent } from '../../../transport/qp-event.ts';

import type { SrqEvent } from '../../../transport/srq.ts';
import type { CqEvent, LinkFacts, RdmaDevice } from '../../device/api.ts';
import type { Verb, VerbArgs } from './verbs.ts';
import type { WireError } from './wire-error.ts';
import type { ObjectHandle, WireDeviceEvent, WireRequest, WireUdRequest, WorkerCounters } from './wire-values.ts';

/** To the worker. A number alone means: read the ring of posts. */
export type ToWorker = WireCall | 0;

/** A call of one of the verbs `V`, whose arguments are those of that verb. */
export type WireCall<V extends Verb = Verb> = {
  [K in V]: {
    /** The number of the answer; 0 is not answered. */
    readonly id: number;
    /** The application's thread blocks until the answer. */
    readonly blocks: boolean;
    readonly verb: K;
    readonly args: VerbArgs[K];
  };
}[V];

/** From the worker: what happened since the last message, in order. */
export type FromWorker = readonly WorkerEvent[];

export type WorkerEvent =
  /** The link is made, not started; frames of a capture may follow. */
  | { readonly kind: 'opening'; readonly link: LinkFacts; readonly timeOrigin: number }
  | { readonly kind: 'opened'; readonly facts: DeviceFacts }
  | { readonly kind: 'refused'; readonly error: WireError }
  | { readonly kind: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: WireError }
  /** A completion queue with a pending notification has completions. */
  | { readonly kind: 'completions'; readonly cq: ObjectHandle }
  /** An event of the device itself. */
  | { readonly kind: 'device-event'; readonly event: WireDeviceEvent }
  | { readonly kind: 'cq-event'; readonly cq: ObjectHandle; readonly event: CqEvent }
  | { readonly kind: 'qp-event'; readonly qp: ObjectHandle; readonly event: QpEvent }
  | { readonly kind: 'srq-event'; readonly srqn: ObjectHandle; readonly event: SrqEvent }
  | { readonly kind: 'request'; readonly listener: ObjectHandle; readonly request: WireRequest }
  | { readonly kind: 'ud-request'; readonly listener: ObjectHandle; readonly request: WireUdRequest }
  | { readonly kind: 'disconnected'; readonly connection: ObjectHandle; readonly cause: DisconnectCause }
  /** Frames of the wire, as `capture-feed.ts` packs them. */
  | { readonly kind: 'frames'; readonly packed: Uint8Array<ArrayBuffer> }
  /** The link has ended and the device is closed; nothing follows. */
  | { readonly kind: 'ended'; readonly error: WireError | undefined; readonly counters: WorkerCounters };

/** Constant properties of a device that can be cloned. */
type PlainFacts = 'name' | 'mac' | 'limits' | 'activeMtu' | 'linkMtu' | 'medium' | 'vlan' | 'pathTraits' | 'guid';

export interface DeviceFacts extends Pick<RdmaDevice, PlainFacts> {
  /** With prefix lengths. */
  readonly addresses: readonly string[];
  readonly link: LinkFacts;
}
