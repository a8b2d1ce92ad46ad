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
  /** Bytes of each message of this flow; default that of its host. */
  readonly messageBytes?: number;
  /**
   * The flow passes on what its source receives: its message k + 1 is posted when message k of the flow of the same
   * `relay` that ends at its source has arrived there as a whole. The first one waits for nothing. A ring of such flows
   * is a collective operation. Flows that relay are of operation 'send', and as long as each other in messages.
   */
  readonly relay?: string;
}

/** RDMA WRITE, SEND or RDMA READ. */
export type FlowOperation = 'write' | 'send' | 'read';
