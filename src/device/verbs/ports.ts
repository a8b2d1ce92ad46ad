/** Narrow interfaces between objects of the verbs API. Types only. */
import type { ProtectionDomain } from '../../../transport/memory.ts';
import type { RdmaPd } from '../api.ts';

/** A protection domain of a device in this thread. */
export interface LocalPd extends RdmaPd {
  /** Its state machine: its identity, and the count of objects made from it. @internal */
  readonly core: ProtectionDomain;
}
