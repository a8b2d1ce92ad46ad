/**
 * The objects of one open file, by the handles that its commands name. A handle of another file means nothing here.
 * Errors as rdma_lookup_get_uobject gives them through its callers: a wrong handle as an argument is EINVAL
 * (linux:core/uverbs_cmd.c#create_qp and its siblings), one to destroy is ENOENT, or EINVAL where it is of another kind
 * (linux:core/rdma_core.c#lookup_get_idr_uobject, #rdma_lookup_get_uobject).
 */
import type { MemoryRegion } from '../../transport/memory.ts';
import type { Ah, Mw, Pd, Qp, Srq } from '../device/verbs/index.ts';
import { Errno, Refusal } from './errno.ts';
import type { Fields } from './fields.ts';
import type { ReceiveRing } from './receive-ring.ts';
import type { RingCq } from './ring-cq.ts';
import type { SendRing } from './send-ring.ts';
import type { WorkIds } from './work-ids.ts';

/** What the client calls an object in events, and how many it was sent. */
export interface Eventful {
  readonly userHandle: bigint;
  /** Asynchronous events sent. */
  asyncEvents: number;
  /** It is destroyed: its name may be another object's by now, and no event may have it. */
  ended: boolean;
}

export interface PdObject {
  readonly kind: 'pd';
  readonly pd: Pd;
  /** Address handles in it that wait for their next hop. */
  making: number;
}

export interface MrObject {
  readonly kind: 'mr';
  readonly region: MemoryRegion;
  pd: Pd;
}

export interface MwObject {
  readonly kind: 'mw';
  readonly mw: Mw;
}

export interface AhObject {
  readonly kind: 'ah';
  readonly ah: Ah;
  /** What work requests name it by. */
  readonly number: number;
  /** What it was made of, for providers that copy that into work requests. */
  readonly route: string;
}

export interface CqObject extends Eventful {
  readonly kind: 'cq';
  readonly cq: RingCq;
  /** The channel of its completion events, -1 for none. */
  readonly channel: number;
  /** Completion events sent. */
  completionEvents: number;
}

export interface SrqObject extends Eventful {
  readonly kind: 'srq';
  readonly srq: Srq;
  readonly receives: ReceiveRing;
}

export interface QpObject extends Eventful {
  readonly kind: 'qp';
  readonly qp: Qp;
  readonly sends: SendRing;
  /** Its own receives; absent where they are shared. */
  readonly receives: ReceiveRing | undefined;
  /** Ids of its receives, or of those of the shared queue. */
  readonly ids: WorkIds;
  /** What MODIFY_QP has set, as a struct ib_uverbs_modify_qp: for QUERY_QP. */
  readonly attributes: Fields;
  readonly caps: QpCaps;
}

/** What a queue pair has room for, as the client is told. */
export interface QpCaps {
  readonly maxSendWr: number;
  readonly maxRecvWr: number;
  readonly maxSendSge: number;
  readonly maxRecvSge: number;
  readonly maxInline: number;
}

export type Handled = PdObject | MrObject | MwObject | AhObject | CqObject | SrqObject | QpObject;
type Kind = Handled['kind'];
type Of<K extends Kind> = Extract<Handled, { kind: K }>;

export class Handles {
  readonly #objects = new Map<number, Handled>();
  #next = 1;

  get size(): number {
    return this.#objects.size;
  }

  add(object: Handled): number {
    const handle = this.#next++;
    this.#objects.set(handle, object);
    return handle;
  }

  /** The object of this kind. Refuses with EINVAL. */
  get<K extends Kind>(kind: K, handle: number): Of<K> {
    const object = this.#objects.get(handle);
    if (object?.kind !== kind) throw new Refusal(Errno.EINVAL);
    return object as Of<K>;
  }

  /** The object to destroy. Refuses with ENOENT or EINVAL. */
  doomed<K extends Kind>(kind: K, handle: number): Of<K> {
    if (!this.#objects.has(handle)) throw new Refusal(Errno.ENOENT);
    return this.get(kind, handle);
  }

  remove(handle: number): void {
    this.#objects.delete(handle);
  }

  /** All of a kind, with their handles. */
  all<K extends Kind>(kind: K): [number, Of<K>][] {
    return [...this.#objects].filter((entry): entry is [number, Of<K>] => entry[1].kind === kind);
  }
}
