/**
 * The two errors this project throws. What a peer does wrong is neither: it is a status value and a counter.
 */

/** Codes of `RoceError`, one for each kind of caller's mistake. */
export type RoceErrorCode =
  | 'ERR_ROCE_ARGUMENT' // a value outside its documented range (verbs: EINVAL)
  | 'ERR_ROCE_STATE' // the object's state forbids the call (verbs: EINVAL)
  | 'ERR_ROCE_QUEUE_FULL' // the work queue has no free entry (verbs: ENOMEM)
  | 'ERR_ROCE_LIMIT' // a configured limit is exhausted (verbs: ENOMEM)
  | 'ERR_ROCE_IN_USE' // still referenced by another object (verbs: EBUSY)
  | 'ERR_ROCE_ACCESS' // a key, region or protection domain does not allow it (verbs: EACCES, EPERM)
  | 'ERR_ROCE_ADDRESS' // an address that cannot be parsed, reached or used (verbs: EADDRNOTAVAIL, EHOSTUNREACH)
  | 'ERR_ROCE_REJECTED' // the connection manager's peer refused
  | 'ERR_ROCE_TIMEOUT' // the connection manager's peer never answered
  | 'ERR_ROCE_CLOSED' // the device, link or listener is closed
  | 'ERR_ROCE_LINK_UNAVAILABLE' // a link's package, privilege or kernel feature is missing
  | 'ERR_ROCE_CAPTURE'; // a capture file that cannot be read

/** A caller's mistake, with a code to branch on. */
export class RoceError extends Error {
  override readonly name = 'RoceError';
  readonly code: RoceErrorCode;

  constructor(code: RoceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Our own bug: a condition that must hold whatever caller and peer do. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Always-on assertion; `sentence` says what should have been true. */
export function invariant(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new InvariantError(sentence);
}
