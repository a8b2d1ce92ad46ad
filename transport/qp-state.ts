/**
 * Queue pair states and the transitions that modify allows, as data.
 * The states and their allowed moves are those of ibv_modify_qp(3); RC never enters SQE by itself, the row exists for UC and UD.
 */

export const QpState = { Reset: 0, Init: 1, Rtr: 2, Rts: 3, Sqd: 4, Sqe: 5, Error: 6 } as const;
export type QpState = (typeof QpState)[keyof typeof QpState];

/** Names in the order of the values. */
export const QP_STATE_NAMES = ['RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR'] as const;

const { Reset, Init, Rtr, Rts, Sqd, Error: Err } = QpState;

/** From each state, the states a caller may move to. RESET and ERR can be reached from everywhere. */
const TRANSITIONS: readonly (readonly QpState[])[] = [
  /* RESET */ [Reset, Init, Err],
  /* INIT  */ [Reset, Init, Rtr, Err],
  /* RTR   */ [Reset, Rts, Err],
  /* RTS   */ [Reset, Rts, Sqd, Err],
  /* SQD   */ [Reset, Rts, Sqd, Err],
  /* SQE   */ [Reset, Rts, Err],
  /* ERR   */ [Reset, Err],
];

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
  /** Posted work is flushed at once. */
  readonly flush: boolean;
}

const RIGHTS: readonly StateRights[] = [
  /* RESET */ { postSend: false, postRecv: false, respond: false, request: false, start: false, flush: false },
  /* INIT  */ { postSend: false, postRecv: true, respond: false, request: false, start: false, flush: false },
  /* RTR   */ { postSend: false, postRecv: true, respond: true, request: false, start: false, flush: false },
  /* RTS   */ { postSend: true, postRecv: true, respond: true, request: true, start: true, flush: false },
  /* SQD   */ { postSend: true, postRecv: true, respond: true, request: true, start: false, flush: false },
  /* SQE   */ { postSend: true, postRecv: true, respond: true, request: false, start: false, flush: false },
  /* ERR   */ { postSend: true, postRecv: true, respond: false, request: false, start: false, flush: true },
];

export function rightsOf(state: QpState): StateRights {
  return RIGHTS[state] as StateRights;
}
