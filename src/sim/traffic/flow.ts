/**
 * A flow as plain data: source, destination, bytes and start time. Generators make flows, and a simulation runs them.
 */

/** So many bytes from one host to another. */
export interface Flow {
  /** Number of the host that sends. */
  readonly src: number;
  /** Number of the host that receives, another one. */
  readonly dst: number;
  /** Payload, 1 or more; Infinity: as long as the simulation runs, or until `stopNs`. */
  readonly bytes: number;
  /** When the first byte is posted, nanoseconds from the start, a whole number. */
  readonly startNs: number;
  /**
   * What is posted: default 'write'. With 'read' the destination is the requester and the source the responder, so
   * bytes go the same way.
   */
  readonly operation?: FlowOperation;
  /** 0..7, the upper bits of the DSCP; default 3. */
  readonly priority?: number;
  /**
   * The flow ends then, done or not; nanoseconds from the start of the simulation, later than `startNs`. Default never.
   */
  readonly stopNs?: number;
}

/** RDMA WRITE, SEND or RDMA READ. */
export type FlowOperation = 'write' | 'send' | 'read';
