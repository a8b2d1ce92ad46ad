/**
 * States of a connection and what each message does in each of them, as data.
 *
 * State names follow ib_core: "mra-req-sent" has sent an MRA for a REQ, "mra-rep-rcvd" has got one for its REP.
 * `rejected` is ours: we refused, and say so again when the peer's message is repeated.
 * Pairs that are not listed do nothing but count.
 *
 * Sources: rdma:cm.c (cm_dup_req_handler, cm_rep_handler, cm_dup_rep_handler, cm_rtu_handler, cm_dreq_handler,
 * cm_drep_handler, cm_rej_handler, cm_mra_handler), ref:conformance#CM.
 */

/** States of the active side, of the passive side, and of both. */
export type CmState =
  | 'req-sent'
  | 'mra-req-rcvd'
  | 'rep-rcvd'
  | 'mra-rep-sent'
  | 'req-rcvd'
  | 'mra-req-sent'
  | 'rep-sent'
  | 'mra-rep-rcvd'
  | 'established'
  | 'dreq-sent'
  | 'timewait'
  | 'rejected';

/** What a message that belongs to a known connection makes us do. */
export type CmAction =
  | 'ignore' // not expected in this state
  | 'absorb' // a repetition that needs no answer: ours is on its way or will be repeated by its own timer
  | 'answer-again' // a repetition: send the same answer once more
  | 'reject-stale' // the connection of this REQ is over
  | 'respond' // REP: reported to the application
  | 'establish'
  | 'postpone' // MRA: wait longer
  | 'refused' // REJ: the attempt is over
  | 'refused-timewait' // REJ when both queue pairs know each other
  | 'torn-down' // REJ on a connection
  | 'disconnect' // DREQ: DREP, TIMEWAIT
  | 'drep-again'
  | 'drep-received';

/** Messages about a connection, as `CmMessage.kind` has them. */
export type CmConnectionMessage = 'REQ' | 'REP' | 'RTU' | 'DREQ' | 'DREP' | 'REJ' | 'MRA';

type ActionRow = { readonly [S in CmState]?: CmAction };

/** Message by state. */
export const CM_ACTIONS: Readonly<Record<CmConnectionMessage, ActionRow>> = {
  // CM-02, CM-03, CM-04
  REQ: {
    'req-rcvd': 'absorb',
    'mra-req-sent': 'answer-again',
    'rep-sent': 'absorb',
    'mra-rep-rcvd': 'absorb',
    established: 'absorb',
    'dreq-sent': 'absorb',
    timewait: 'reject-stale',
    rejected: 'answer-again',
  },
  // CM-06
  REP: {
    'req-sent': 'respond',
    'mra-req-rcvd': 'respond',
    'rep-rcvd': 'absorb',
    'mra-rep-sent': 'answer-again',
    established: 'answer-again',
    'dreq-sent': 'absorb',
    timewait: 'absorb',
    rejected: 'answer-again',
  },
  // CM-08
  RTU: {
    'rep-sent': 'establish',
    'mra-rep-rcvd': 'establish',
    established: 'absorb',
    'dreq-sent': 'absorb',
    timewait: 'absorb',
  },
  // CM-10, CM-13
  DREQ: {
    'rep-sent': 'disconnect',
    'mra-rep-rcvd': 'disconnect',
    established: 'disconnect',
    'dreq-sent': 'disconnect',
    timewait: 'drep-again',
  },
  // CM-14
  DREP: { 'dreq-sent': 'drep-received', timewait: 'absorb' },
  REJ: {
    'req-sent': 'refused',
    'mra-req-rcvd': 'refused',
    'req-rcvd': 'refused',
    'mra-req-sent': 'refused',
    'rep-sent': 'refused',
    'mra-rep-rcvd': 'refused',
    'rep-rcvd': 'refused-timewait',
    'mra-rep-sent': 'refused-timewait',
    established: 'torn-down',
    'dreq-sent': 'torn-down',
    timewait: 'absorb',
    rejected: 'absorb',
  },
  // Only the first MRA counts: a peer that keeps sending them cannot delay us infinitely.
  MRA: { 'req-sent': 'postpone', 'rep-sent': 'postpone', 'mra-req-rcvd': 'absorb', 'mra-rep-rcvd': 'absorb' },
};

/** What `message` does in `state`. */
export function cmAction(message: CmConnectionMessage, state: CmState): CmAction {
  return CM_ACTIONS[message][state] ?? 'ignore';
}
