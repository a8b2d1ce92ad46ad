/**
 * Counters of a port. The first group carries the names of rdma_rxe's hw_counters in camel case (ref:rxe#12); the second
 * has one counter for every cause for which something of the peer is dropped, so that nothing vanishes unseen.
 */
export class PortCounters {
  sentPkts = 0;
  rcvdPkts = 0;
  /** Requests at an old PSN: repeated, answered again, not executed. */
  duplicateRequest = 0;
  /** Sequence NAKs sent. */
  outOfSeqRequest = 0;
  /** RNR NAKs received. */
  rcvdRnrErr = 0;
  /** RNR NAKs sent. */
  sendRnrErr = 0;
  /** Sequence NAKs received or implied. */
  rcvdSeqErr = 0;
  retryExceededErr = 0;
  retryRnrExceededErr = 0;
  /** Packets sent again. */
  retransmittedPkts = 0;
  /** ACK timers that ran out. */
  localAckTimeoutErr = 0;

  /** Requests refused with NAK 0x61, 0x62 or 0x63. */
  refusedRequest = 0;
  /** Requests dropped without a word: behind a gap that was NAKed, or repetitions nobody remembers. */
  droppedRequest = 0;
  /** Responses that acknowledge nothing new: old, beyond what was sent, or reserved. */
  ignoredResponse = 0;
  /** Packets in a queue pair state that takes none. */
  badState = 0;
  /** Opcode of another service than the queue pair's. */
  badService = 0;
  badPkey = 0;
  /** Addresses other than those of the connection. */
  badAddress = 0;
}
