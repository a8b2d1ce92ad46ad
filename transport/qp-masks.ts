/**
 * Which attributes each move of each type of queue pair needs and allows: the masks of ibv_modify_qp(3) as one table,
 * which is linux:core/verbs.c#qp_state_table without what RoCE and this API do not have (port, current state).
 * Moves that are not here are not allowed; `qp-state.ts` has the moves themselves.
 *
 * In one row the table allows more than verbs: a P_Key need not be given on the way to INIT, for there is a default.
 */
import type { QpAttributes } from './qp-attributes.ts';
import { QpState } from './qp-state.ts';
import { QpType } from './qp-type.ts';

export type MaskedAttribute = Exclude<keyof QpAttributes, 'state' | 'migReq' | 'flowControl' | 'msn'>;

export interface AttributeMask {
  readonly required: readonly MaskedAttribute[];
  readonly optional: readonly MaskedAttribute[];
}

/** What a move needs and allows; nothing either way where the table has no row. */
export function maskOf(type: QpType, from: QpState, to: QpState): AttributeMask {
  return MASKS.find((row) => row.from === from && row.to === to && row.types.includes(type)) ?? NOTHING;
}

interface MaskRow extends AttributeMask {
  readonly types: readonly QpType[];
  readonly from: QpState;
  readonly to: QpState;
}

const NOTHING: AttributeMask = { required: [], optional: [] };

const { Reset, Init, Rtr, Rts, Sqd, Sqe } = QpState;
const { Rc, Uc, Ud, XrcSend, XrcRecv } = QpType;
const CONNECTED = [Rc, Uc, XrcSend, XrcRecv];

const TO_PEER = ['path', 'destQpn', 'rqPsn', 'mtu'] as const;
const RESPONDING = ['maxDestRdAtomic', 'minRnrTimer'] as const;
const REQUESTING = ['timeout', 'retryCnt', 'rnrRetry', 'maxRdAtomic'] as const;
const ALTERNATE = ['altPath', 'access', 'pathMigState'] as const;

/** The rows of one type and move stand in one place only; a test holds the table against a printed one. */
export const MASKS: readonly MaskRow[] = [
  { types: CONNECTED, from: Reset, to: Init, required: ['access'], optional: ['pkey'] },
  { types: [Ud], from: Reset, to: Init, required: ['qkey'], optional: ['pkey'] },
  { types: CONNECTED, from: Init, to: Init, required: [], optional: ['pkey', 'access'] },
  { types: [Ud], from: Init, to: Init, required: [], optional: ['pkey', 'qkey'] },
  {
    types: [Rc, XrcRecv],
    from: Init,
    to: Rtr,
    required: [...TO_PEER, ...RESPONDING],
    optional: ['altPath', 'access', 'pkey'],
  },
  { types: [Uc, XrcSend], from: Init, to: Rtr, required: TO_PEER, optional: ['altPath', 'access', 'pkey'] },
  { types: [Ud], from: Init, to: Rtr, required: [], optional: ['pkey', 'qkey'] },
  { types: [Rc], from: Rtr, to: Rts, required: [...REQUESTING, 'sqPsn'], optional: [...ALTERNATE, 'minRnrTimer'] },
  { types: [XrcSend], from: Rtr, to: Rts, required: [...REQUESTING, 'sqPsn'], optional: ALTERNATE },
  { types: [XrcRecv], from: Rtr, to: Rts, required: ['timeout', 'sqPsn'], optional: [...ALTERNATE, 'minRnrTimer'] },
  { types: [Uc], from: Rtr, to: Rts, required: ['sqPsn'], optional: ALTERNATE },
  { types: [Ud], from: Rtr, to: Rts, required: ['sqPsn'], optional: ['qkey'] },
  { types: [Rc, XrcRecv], from: Rts, to: Rts, required: [], optional: [...ALTERNATE, 'minRnrTimer'] },
  { types: [Uc, XrcSend], from: Rts, to: Rts, required: [], optional: ALTERNATE },
  { types: [Ud], from: Rts, to: Rts, required: [], optional: ['qkey'] },
  { types: [...CONNECTED, Ud], from: Rts, to: Sqd, required: [], optional: ['enSqdAsyncNotify'] },
  { types: [Rc, XrcRecv], from: Sqd, to: Rts, required: [], optional: [...ALTERNATE, 'minRnrTimer'] },
  { types: [Uc, XrcSend], from: Sqd, to: Rts, required: [], optional: ALTERNATE },
  { types: [Ud], from: Sqd, to: Rts, required: [], optional: ['qkey'] },
  {
    types: [Rc],
    from: Sqd,
    to: Sqd,
    required: [],
    optional: ['path', ...REQUESTING, ...RESPONDING, ...ALTERNATE, 'pkey'],
  },
  { types: [XrcSend], from: Sqd, to: Sqd, required: [], optional: ['path', ...REQUESTING, ...ALTERNATE, 'pkey'] },
  {
    types: [XrcRecv],
    from: Sqd,
    to: Sqd,
    required: [],
    optional: ['path', 'timeout', ...RESPONDING, ...ALTERNATE, 'pkey'],
  },
  { types: [Uc], from: Sqd, to: Sqd, required: [], optional: ['path', ...ALTERNATE, 'pkey'] },
  { types: [Ud], from: Sqd, to: Sqd, required: [], optional: ['pkey', 'qkey'] },
  { types: [Uc], from: Sqe, to: Rts, required: [], optional: ['access'] },
  { types: [Ud], from: Sqe, to: Rts, required: [], optional: ['qkey'] },
];
