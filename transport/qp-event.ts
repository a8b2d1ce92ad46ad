/** What a queue pair reports beside completions. Owns the names. */

/** Asynchronous events of a queue pair, names after ibv_event_type. */
export type QpEvent =
  | 'comm-est'
  | 'sq-drained'
  | 'qp-req-err'
  | 'qp-access-err'
  | 'qp-fatal'
  | 'last-wqe-reached'
  | 'path-mig';

/**
 * What `pollEvent` returns to the device: also that the peer has sent its first request, which is as good as the RTU of
 * its CM.
 */
export type QpSignal = QpEvent | 'first-request';
