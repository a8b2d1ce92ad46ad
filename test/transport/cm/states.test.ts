import { describe, expect, it } from 'vitest';
import { CM_ACTIONS, type CmConnectionMessage, type CmState, cmAction } from '../../../transport/cm/states.ts';

const STATES: readonly CmState[] = [
  'req-sent',
  'mra-req-rcvd',
  'rep-rcvd',
  'mra-rep-sent',
  'req-rcvd',
  'mra-req-sent',
  'rep-sent',
  'mra-rep-rcvd',
  'established',
  'dreq-sent',
  'timewait',
  'rejected',
];

describe('the table of states and messages', () => {
  it('says for every pair what happens', () => {
    const messages = Object.keys(CM_ACTIONS) as CmConnectionMessage[];
    const rows = messages.map((message) =>
      [message.padEnd(5), ...STATES.map((state) => cmAction(message, state).padEnd(16))].join(' ').trimEnd(),
    );
    expect(
      ['      '.concat(STATES.map((state) => state.padEnd(16)).join(' ')).trimEnd(), ...rows].join('\n'),
    ).toMatchInlineSnapshot(`
      "      req-sent         mra-req-rcvd     rep-rcvd         mra-rep-sent     req-rcvd         mra-req-sent     rep-sent         mra-rep-rcvd     established      dreq-sent        timewait         rejected
      REQ   ignore           ignore           ignore           ignore           absorb           answer-again     absorb           absorb           absorb           absorb           reject-stale     answer-again
      REP   respond          respond          absorb           answer-again     ignore           ignore           ignore           ignore           answer-again     absorb           absorb           answer-again
      RTU   ignore           ignore           ignore           ignore           ignore           ignore           establish        establish        absorb           absorb           absorb           ignore
      DREQ  ignore           ignore           ignore           ignore           ignore           ignore           disconnect       disconnect       disconnect       disconnect       drep-again       ignore
      DREP  ignore           ignore           ignore           ignore           ignore           ignore           ignore           ignore           ignore           drep-received    absorb           ignore
      REJ   refused          refused          refused-timewait refused-timewait refused          refused          refused          refused          torn-down        torn-down        absorb           absorb
      MRA   postpone         absorb           ignore           ignore           ignore           ignore           postpone         absorb           ignore           ignore           ignore           ignore"
    `);
  });
});
