/**
 * Counters of a port. The first group carries the names of rdma_rxe's hw_counters in camel case (ref:rxe#12); the
 * second has one counter for every cause for which something of the peer is dropped, so that every drop is counted.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { RListener, RSocket } from 'rocev2/rsockets';
 * import { SimulatedNetwork } from 'rocev2/sim';
 * import type { PortCounters } from 'rocev2/transport';
 *
 * // One frame in ten is lost.
 * const world = new World({ seed: 1, network: new SimulatedNetwork({ faults: { loss: 0.1 } }) });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const taken = RListener.listen(b, { port: 7471 }).accept();
 * const socket = await world.run(RSocket.connect(a, { address: '10.0.0.2', port: 7471 }));
 * await world.run(Promise.all([taken, socket.send(new Uint8Array(60_000))]));
 * await world.runFor(1e9);
 * const { rcvdSeqErr, retransmittedPkts }: Readonly<PortCounters> = a.portCounters;
 * console.log(rcvdSeqErr > 0, retransmittedPkts > 0); // true true
 * ```
 */
export class PortCounters {
  /** RoCE packets sent. */
  sentPkts = 0;
  /** RoCE packets received that are whole and have a queue pair. */
  rcvdPkts = 0;
  /** Requests at an old PSN: duplicates: answered again, not executed. */
  duplicateRequest = 0;
  /** Sequence NAKs sent. */
  outOfSeqRequest = 0;
  /** RNR NAKs received. */
  rcvdRnrErr = 0;
  /** RNR NAKs sent. */
  sendRnrErr = 0;
  /** Sequence NAKs received or implied. */
  rcvdSeqErr = 0;
  /** Work requests that failed with RetryExcErr. */
  retryExceededErr = 0;
  /** Work requests that failed with RnrRetryExcErr. */
  retryRnrExceededErr = 0;
  /** Packets sent again. */
  retransmittedPkts = 0;
  /** ACK timers that ran out. */
  localAckTimeoutErr = 0;
  /** Of `rcvdSeqErr` those that no NAK said: responses were missing. NVIDIA's implied_nak_seq_err. */
  impliedNakSeqErr = 0;
  /** Work requests that failed with RemInvReqErr: the peer sent NAK 0x61. NVIDIA's req_remote_invalid_request. */
  reqRemoteInvalidRequest = 0;
  /** Work requests that failed with RemAccessErr: the peer sent NAK 0x62. NVIDIA's req_remote_access_errors. */
  reqRemoteAccessErrors = 0;
  /** Work requests that failed with RemOpErr: the peer sent NAK 0x63. */
  reqRemoteOperationErrors = 0;

  // Congestion, with the names of NVIDIA's hw_counters in camel case (ref:dcqcn#2).
  /** Congestion notification packets sent. */
  npCnpSent = 0;
  /** Packets that came marked Congestion Experienced, and that a queue pair admitted. */
  npEcnMarkedRocePackets = 0;
  /** Notifications that a queue pair has acted upon. */
  rpCnpHandled = 0;
  /** Notifications for a queue pair that does not react, is in no state to, or whose peer they are not from. */
  rpCnpIgnored = 0;
  /**
   * Notifications that no honest receiver sends: sooner after others than it may, or more than packets were sent.
   * Ignored (`Defences.minCnpIntervalNs`).
   */
  rpCnpExcess = 0;

  /** Requests refused with NAK 0x61, 0x62 or 0x63. */
  refusedRequest = 0;
  /** Requests dropped without a reply: behind a gap that was NAKed, or repetitions that are not remembered any more. */
  droppedRequest = 0;
  /** Responses that acknowledge nothing new: old, beyond what was sent, or reserved. */
  ignoredResponse = 0;
  /**
   * Requests with a PSN further from the expected one than an honest peer's can be (`Defences.psnWindow`), which draw
   * few answers. Those ahead count as out of sequence or dropped as well, those behind as duplicates.
   */
  psnOutsideWindow = 0;
  /** Times that 4096 of them came to one queue pair within a second: somebody guesses PSNs (ref:hostile#SEC-01). */
  psnAlarm = 0;
  /**
   * Responses to PSNs that were never sent, or acknowledged longer ago than an honest peer's can be; among the ignored
   * ones.
   */
  responseOutsideWindow = 0;
  /**
   * Sequence NAKs that came sooner after a retransmission than any answer to it can: acted upon when the round trip is
   * over and what they name was not acknowledged meanwhile.
   */
  earlyNak = 0;
  /** READ responses cut short because the peer showed no sign of life (`Defences.maxReadResponseBytes`). */
  readResponseCut = 0;
  /** Packets in a queue pair state that takes none. */
  badState = 0;
  /** Opcode of another service than the queue pair's. */
  badService = 0;
  /** P_Key of another partition than the queue pair's. */
  badPkey = 0;
  /** Datagrams whose Q_Key is not the queue pair's: verbs' qkey_viol_cntr. */
  qkeyViolation = 0;
  /** Messages of the unreliable services for which no receive was posted. */
  noReceive = 0;
  /** Messages of the unreliable services that did not fit the receive posted for them, which waits for the next one. */
  bufferTooSmall = 0;
  /** Requests of the unreliable services with a length that contradicts itself or the path MTU. */
  badLength = 0;
  /** WRITEs of the unreliable services that the queue pair or the key does not allow. */
  accessRefused = 0;
  /** UC messages of which a part was lost. */
  brokenMessage = 0;
  /** Datagrams longer than the port's MTU, which were not sent. */
  oversizedSend = 0;
  /** Addresses other than those of the connection. */
  badAddress = 0;
  /** A UDP source port other than the connection's, where that is demanded (`Defences.strictUdpSport`). */
  badSourcePort = 0;
}
