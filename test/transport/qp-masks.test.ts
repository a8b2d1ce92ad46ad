/**
 * Goal: every type of queue pair demands and allows, at each move, what ibv_modify_qp(3) says. Method: the whole table
 * printed, once for each type; then each type led to RTS with every attribute left out and every foreign one added in
 * turn.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { checkAttributes } from '../../transport/attribute-checks.ts';
import type { QpAttributes } from '../../transport/qp-attributes.ts';
import { MASKS, maskOf } from '../../transport/qp-masks.ts';
import { canModify, QP_STATE_NAMES, QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { PEER_IP, pathTemplate, SUBJECT_IP } from './support/wire.ts';

const path = { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP };
const VALUES: Required<Omit<QpAttributes, 'state' | 'migReq' | 'flowControl' | 'msn'>> = {
  access: 0,
  pkey: 0xffff,
  qkey: 1,
  path,
  destQpn: 5,
  rqPsn: 0,
  mtu: 1024,
  maxDestRdAtomic: 1,
  minRnrTimer: 1,
  sqPsn: 0,
  timeout: 1,
  retryCnt: 1,
  rnrRetry: 1,
  maxRdAtomic: 1,
  altPath: path,
  pathMigState: 0,
  enSqdAsyncNotify: true,
};
const NAMES = Object.keys(VALUES) as (keyof typeof VALUES)[];
const STATES = Object.values(QpState);

const pick = (names: readonly (keyof typeof VALUES)[]): QpAttributes =>
  Object.fromEntries(names.map((name) => [name, VALUES[name]]));

function codeOf(type: QpType, from: QpState, attributes: QpAttributes): string {
  try {
    checkAttributes(type, from, attributes);
  } catch (error) {
    if (error instanceof RoceError) return `${error.code} ${error.errno}`;
    throw error;
  }
  return 'ok';
}

function printed(type: QpType): string {
  const lines = STATES.flatMap((from) =>
    STATES.flatMap((to) => {
      const { required, optional } = maskOf(type, from, to);
      if (required.length + optional.length === 0) return [];
      const must = required.length > 0 ? `needs ${required.join(' ')}; ` : '';
      return `${QP_STATE_NAMES[from]} to ${QP_STATE_NAMES[to]}: ${must}may ${optional.join(' ')}`;
    }),
  );
  return `\n${lines.join('\n')}\n`;
}

describe('the masks of modify', () => {
  it('QPS-09 RC', () =>
    expect(printed(QpType.Rc)).toMatchInlineSnapshot(`
    "
    RESET to INIT: needs access; may pkey
    INIT to INIT: may pkey access
    INIT to RTR: needs path destQpn rqPsn mtu maxDestRdAtomic minRnrTimer; may altPath access pkey
    RTR to RTS: needs timeout retryCnt rnrRetry maxRdAtomic sqPsn; may altPath access pathMigState minRnrTimer
    RTS to RTS: may altPath access pathMigState minRnrTimer
    RTS to SQD: may enSqdAsyncNotify
    SQD to RTS: may altPath access pathMigState minRnrTimer
    SQD to SQD: may path timeout retryCnt rnrRetry maxRdAtomic maxDestRdAtomic minRnrTimer altPath access pathMigState pkey
    "
  `));
  it('QPS-09 UC', () =>
    expect(printed(QpType.Uc)).toMatchInlineSnapshot(`
    "
    RESET to INIT: needs access; may pkey
    INIT to INIT: may pkey access
    INIT to RTR: needs path destQpn rqPsn mtu; may altPath access pkey
    RTR to RTS: needs sqPsn; may altPath access pathMigState
    RTS to RTS: may altPath access pathMigState
    RTS to SQD: may enSqdAsyncNotify
    SQD to RTS: may altPath access pathMigState
    SQD to SQD: may path altPath access pathMigState pkey
    SQE to RTS: may access
    "
  `));
  it('QPS-09 UD', () =>
    expect(printed(QpType.Ud)).toMatchInlineSnapshot(`
    "
    RESET to INIT: needs qkey; may pkey
    INIT to INIT: may pkey qkey
    INIT to RTR: may pkey qkey
    RTR to RTS: needs sqPsn; may qkey
    RTS to RTS: may qkey
    RTS to SQD: may enSqdAsyncNotify
    SQD to RTS: may qkey
    SQD to SQD: may pkey qkey
    SQE to RTS: may qkey
    "
  `));
  it('QPS-09 XRC initiator', () =>
    expect(printed(QpType.XrcSend)).toMatchInlineSnapshot(`
    "
    RESET to INIT: needs access; may pkey
    INIT to INIT: may pkey access
    INIT to RTR: needs path destQpn rqPsn mtu; may altPath access pkey
    RTR to RTS: needs timeout retryCnt rnrRetry maxRdAtomic sqPsn; may altPath access pathMigState
    RTS to RTS: may altPath access pathMigState
    RTS to SQD: may enSqdAsyncNotify
    SQD to RTS: may altPath access pathMigState
    SQD to SQD: may path timeout retryCnt rnrRetry maxRdAtomic altPath access pathMigState pkey
    "
  `));
  it('QPS-09 XRC target', () =>
    expect(printed(QpType.XrcRecv)).toMatchInlineSnapshot(`
    "
    RESET to INIT: needs access; may pkey
    INIT to INIT: may pkey access
    INIT to RTR: needs path destQpn rqPsn mtu maxDestRdAtomic minRnrTimer; may altPath access pkey
    RTR to RTS: needs timeout sqPsn; may altPath access pathMigState minRnrTimer
    RTS to RTS: may altPath access pathMigState minRnrTimer
    RTS to SQD: may enSqdAsyncNotify
    SQD to RTS: may altPath access pathMigState minRnrTimer
    SQD to SQD: may path timeout maxDestRdAtomic minRnrTimer altPath access pathMigState pkey
    "
  `));

  it('have one row for each type and move, and only for moves there are', () => {
    for (const { types, from, to, required, optional } of MASKS) {
      expect(canModify(from, to)).toBe(true);
      expect(new Set([...required, ...optional]).size).toBe(required.length + optional.length);
      for (const type of types)
        expect(MASKS.filter((row) => row.from === from && row.to === to && row.types.includes(type))).toHaveLength(1);
    }
  });

  it.each(Object.entries(QpType))(
    'QPS-09 %s: each attribute left out or added is refused, with the errno of verbs',
    (_name, type) => {
      for (const from of STATES) {
        for (const to of STATES.filter((state) => canModify(from, state))) {
          const { required, optional } = maskOf(type, from, to);
          const least = { state: to, ...pick(required) };
          expect(codeOf(type, from, least)).toBe('ok');
          expect(codeOf(type, from, { ...least, ...pick(optional) })).toBe('ok');
          for (const name of required) {
            const short = { state: to, ...pick(required.filter((other) => other !== name)) };
            expect(codeOf(type, from, short)).toBe('ERR_ROCE_ARGUMENT EINVAL');
          }
          for (const name of NAMES.filter((other) => !required.includes(other) && !optional.includes(other)))
            expect(codeOf(type, from, { ...least, ...pick([name]) })).toBe('ERR_ROCE_ARGUMENT EINVAL');
        }
      }
    },
  );

  it('UD-12 a Q_Key of management is not permitted', () => {
    expect(codeOf(QpType.Ud, QpState.Reset, { state: QpState.Init, qkey: 0x8001_0000 })).toBe('ERR_ROCE_ACCESS EPERM');
  });
});
