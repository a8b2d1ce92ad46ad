/** What becomes of a request, as the responder tells its queue pair. */

/** What the responder did with a request. */
export const RequestOutcome = {
  Executed: 0,
  Duplicate: 1,
  OutOfSequence: 2,
  Dropped: 3,
  NotReady: 4,
  Refused: 5,
  /** Executed, but its completion found no room: no reply is queued. */
  Overrun: 6,
} as const;
export type RequestOutcome = (typeof RequestOutcome)[keyof typeof RequestOutcome];
