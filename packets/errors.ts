/**
 * The two errors this project throws. What a peer does wrong is neither: it is a status value and a counter.
 * `rocev2/packets` has them, too; as an entry of their own they are for programs that start often and need no codec.
 *
 * @module rocev2/errors
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
  | 'ERR_ROCE_UNSUPPORTED' // a verb that this kind of object or placement does not have (verbs: EOPNOTSUPP)
  | 'ERR_ROCE_CAPTURE'; // a capture file that cannot be read, or written on

/** The names of <errno.h> with which verbs and rdma_cm say what `RoceError` says with its codes. */
export type Errno =
  | 'EINVAL'
  | 'ENOMEM'
  | 'EBUSY'
  | 'EPERM'
  | 'EACCES'
  | 'EADDRNOTAVAIL'
  | 'EADDRINUSE'
  | 'EHOSTUNREACH'
  | 'ECONNREFUSED'
  | 'ETIMEDOUT'
  | 'ENODEV'
  | 'EOPNOTSUPP'
  | 'EIO';

/** What libibverbs and librdmacm return for the same mistake, unless the call names another. */
export const ERRNO_OF: Readonly<Record<RoceErrorCode, Errno>> = {
  ERR_ROCE_ARGUMENT: 'EINVAL',
  ERR_ROCE_STATE: 'EINVAL',
  ERR_ROCE_QUEUE_FULL: 'ENOMEM',
  ERR_ROCE_LIMIT: 'ENOMEM',
  ERR_ROCE_IN_USE: 'EBUSY',
  ERR_ROCE_ACCESS: 'EPERM',
  ERR_ROCE_ADDRESS: 'EADDRNOTAVAIL',
  ERR_ROCE_REJECTED: 'ECONNREFUSED',
  ERR_ROCE_TIMEOUT: 'ETIMEDOUT',
  ERR_ROCE_CLOSED: 'ENODEV',
  ERR_ROCE_LINK_UNAVAILABLE: 'ENODEV',
  ERR_ROCE_UNSUPPORTED: 'EOPNOTSUPP',
  ERR_ROCE_CAPTURE: 'EIO',
};

/** What else an error can say: `cause`, and the name that verbs have for it. */
export interface RoceErrorOptions extends ErrorOptions {
  /** Where verbs have another name than the code's own. */
  readonly errno?: Errno;
}

/**
 * A caller's mistake, with a code to branch on.
 *
 * @example
 * ```ts
 * import { attachDevice, RoceError, World } from 'rocev2';
 *
 * const device = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] });
 * try {
 *   device.createCq(0);
 * } catch (error) {
 *   if (!(error instanceof RoceError)) throw error;
 *   console.log(error.code, error.errno); // ERR_ROCE_ARGUMENT EINVAL
 * }
 * ```
 */
export class RoceError extends Error {
  /** 'RoceError'. */
  override readonly name = 'RoceError';
  /** Which kind of mistake: to branch on; the message is for people. */
  readonly code: RoceErrorCode;
  /** What verbs would have returned. */
  readonly errno: Errno;

  /** An error with the errno of its code, unless `options` names another. */
  constructor(code: RoceErrorCode, message: string, options?: RoceErrorOptions) {
    super(message, options);
    this.code = code;
    this.errno = options?.errno ?? ERRNO_OF[code];
  }
}

/**
 * Our own bug: a condition that must hold whatever caller and peer do.
 *
 * @example
 * ```ts
 * import { InvariantError } from 'rocev2';
 *
 * const isBugOfTheStack = (error: unknown): boolean => error instanceof InvariantError;
 * console.log(isBugOfTheStack(new RangeError('a bug of the program'))); // false
 * ```
 */
export class InvariantError extends Error {
  /** 'InvariantError'. */
  override readonly name = 'InvariantError';
}

/** Always-on assertion; `sentence` says what should have been true. */
export function invariant(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new InvariantError(sentence);
}
