/**
 * The tables in which the worker's servers find what the application's handles name. Owned here so that no server needs another; each
 * object is put in and taken out by the server whose verbs make and free it.
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
  /** By number: no other has it while this one lives. */
  readonly qps = new HandleTable<ServedQp>();
  /** By number. */
  readonly srqs = new HandleTable<ServedSrq>();
  readonly xrcds = new HandleTable<Xrcd>();
  readonly ahs = new HandleTable<Ah>();
}

export class HandleTable<T> extends Map<ObjectHandle, T> {
  #last = 0;

  /** Puts an object in under a handle that none had before. */
  add(object: T): ObjectHandle {
    this.set(++this.#last, object);
    return this.#last;
  }

  /** @throws RoceError ERR_ROCE_CLOSED: what a handle does not find was freed together with the device */
  found(handle: ObjectHandle): T {
    const object = this.get(handle);
    if (object === undefined) throw new RoceError('ERR_ROCE_CLOSED', 'the object was freed');
    return object;
  }
}
