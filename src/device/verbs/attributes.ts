/**
 * Arguments of the verbs API that are not objects of it: how memory is registered, how a queue pair is modified. Types
 * only.
 */
import type { Persist } from '../../../transport/grant.ts';
import type { QpAttributes } from '../../../transport/qp-attributes.ts';
import type { AddressVector } from './address-vector.ts';

/** How memory is registered. */
export interface RegMrOptions {
  /** Bit set of `Access`; default local write only. */
  readonly access?: number;
  /** Virtual address of the first byte; default a random page-aligned one. */
  readonly iova?: bigint;
  /** Whether LOCAL INV and a peer's SEND with invalidate may invalidate the key. Default false. */
  readonly remoteInvalidate?: boolean;
  /**
   * How the memory is made durable, for `Access.FlushPersistent`: called with an offset and a number of bytes of the
   * region for each FLUSH for persistence, before it is answered. Must not throw, and must not call verbs.
   */
  readonly persistent?: Persist;
}

/** What `Qp.modify` takes: queue pair attributes with an address vector instead of a finished path. */
export interface ModifyAttributes extends Omit<QpAttributes, 'path' | 'altPath'> {
  /** The path to the peer. Connected services. */
  readonly av?: AddressVector;
  /** The alternate path, for when the first one fails (IBV_QP_ALT_PATH); armed by `pathMigState`. */
  readonly altAv?: AddressVector;
}
