/**
 * The worker's tables of objects, by the application's handles. Owned here so that no server needs another; each object
 * is put in and taken out by the server whose verbs make and free it.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { Ah, Pd, Xrcd } from '../../device/verbs/index.ts';
import type { ServedQp } from './served-qp.ts';
import type { ServedSrq } from './served-srq.ts';
import type { SharedCq } from './shared-cq.ts';
import type { ObjectHandle } from './wire-values.ts';

export class ServedObjects {
  readonly pds = new HandleTable<Pd>();
  readonly cqs = new HandleTable<SharedCq>();
  /** By queue pair number, which is unique among live queue pairs. */
  readonly qps = new HandleTable<ServedQp>();
  /** By number. */
  readonly srqs = new HandleTable<ServedSrq>();
  readonly xrcds = new HandleTable<Xrcd>();
  readonly ahs = new HandleTable<Ah>();
}

export class HandleTable<T> extends Map<ObjectHandle, T> {
  #last = 0;

  /** Adds an object under a fresh handle. */
  add(object: T): ObjectHandle {
    this.set(++this.#last, object);
    return this.#last;
  }

  /** @throws RoceError ERR_ROCE_CLOSED: an object that is missing was freed together with the device */
  found(handle: ObjectHandle): T {
    const object = this.get(handle);
    if (object === undefined) throw new RoceError('ERR_ROCE_CLOSED', 'the object was freed');
    return object;
  }
}
