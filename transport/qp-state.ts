/**
 * Queue pair states and the transitions that modify allows, as data.
 * The states and their allowed moves are those of ibv_modify_qp(3). Into SQE leads no move: UC and UD fall into it when
 * a send fails locally (ref:conformance#QPS-07, QPS-21), RC falls into ERROR.
 */

export const QpState = {
  /** Made, or reset: does nothing. */
  Reset: 0,
  /** Takes receives, and no packets yet. */
  Init: 1,
  /** Ready to receive. */
  Rtr: 2,
  /** Ready to send as well. */
  Rts: 3,
  /** Send queue drained: what had begun goes on, nothing new begins. */
  Sqd: 4,
  /** Send queue in error: of the unreliable services. */
  Sqe: 5,
  /** All work is flushed. */
  Error: 6,
} as const;
export type QpState = (typeof QpState)[keyof typeof QpState];

/** Names in the order of the values. */
export const QP_STATE_NAMES = ['RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR'] as const;

const { Reset, Init, Rtr, Rts, Sqd, Error: Err } = QpState;

/**
 * From each state, the states a caller may move to. RESET can be reached from everywhere, ERR from everywhere but RESET
 * (linux:core/verbs.c#qp_state_table).
 */
const TRANSITIONS: readonly (readonly QpState[])[] = [
  /* RESET */ [Reset, Init],
  /* INIT  */ [Reset, Init, Rtr, Err],
  /* RTR   */ [Reset, Rts, Err],
  /* RTS   */ [Reset, Rts, Sqd, Err],
  /* SQD   */ [Reset, Rts, Sqd, Err],
  /* SQE   */ [Reset, Rts, Err],
  /* ERR   */ [Reset, Err],
];

/** Whether a queue pair may be moved from one state to another (ibv_modify_qp(3)). */
export function canModify(from: QpState, to: QpState): boolean {
  return TRANSITIONS[from]?.includes(to) ?? false;
}

/** What a queue pair does in each state: the columns of the verbs table. */
interface StateRights {
  readonly postSend: boolean;
  readonly postRecv: boolean;
  /** Requests of the peer are executed. */
  readonly respond: boolean;
  /** Work already started is transmitted, retried and completed. */
  readonly request: boolean;
  /** New send work is started. */
  readonly start: boolean;
  /** Posted sends are flushed at once. */
  readonly flushSends: boolean;
  /** Posted receives are flushed at once. */
  readonly flushRecvs: boolean;
}

const RIGHTS: readonly StateRights[] = [
  /* RESET */ rights(''),
  /* INIT  */ rights('postRecv'),
  /* RTR   */ rights('postRecv respond'),
  /* RTS   */ rights('postSend postRecv respond request start'),
  /* SQD   */ rights('postSend postRecv respond request'),
  /* SQE   */ rights('postSend postRecv respond flushSends'),
  /* ERR   */ rights('postSend postRecv flushSends flushRecvs'),
];

/** What a queue pair does in a state. */
export function rightsOf(state: QpState): StateRights {
  return RIGHTS[state] as StateRights;
}

function rights(words: string): StateRights {
  const has = (right: keyof StateRights): boolean => words.split(' ').includes(right);
  return {
    postSend: has('postSend'),
    postRecv: has('postRecv'),
    respond: has('respond'),
    request: has('request'),
    start: has('start'),
    flushSends: has('flushSends'),
    flushRecvs: has('flushRecvs'),
  };
}
