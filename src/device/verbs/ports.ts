/** What objects of the verbs API see of each other where the class itself would be more than they need. Types only. */
import type { ProtectionDomain } from '../../../transport/memory.ts';
import type { RdmaPd } from '../api.ts';

/** A protection domain of a device in this thread. */
export interface LocalPd extends RdmaPd {
  /** Its machine: what it is compared by, and the count of what is made from it. @internal */
  readonly core: ProtectionDomain;
}
