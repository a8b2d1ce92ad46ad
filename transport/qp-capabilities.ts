/** The capabilities of a queue pair, as verbs have them. Owns the record. */

/** How much a queue pair has room for (ibv_qp_cap). */
export interface QpCapabilities {
  /** Send work requests outstanding at most. */
  readonly maxSendWr: number;
  /** Receive work requests outstanding at most. */
  readonly maxRecvWr: number;
  /** Pieces of memory of one work request at most. */
  readonly maxSge: number;
  /** Bytes of `SendWr.inline` at most. */
  readonly maxInlineData: number;
}
