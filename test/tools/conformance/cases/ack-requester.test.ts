/**
 * Goal: our requester keeps the rules of area ACK that are its own. Method: the cases against a device of ours
 * (support.ts).
 */
import { ACK_REQUESTER_CASES } from '../../../../tools/conformance/cases/ack-requester.ts';
import { describeCases } from './support.ts';

describeCases('ACK, requester', ACK_REQUESTER_CASES, {
  // Credits are a matter of the connection manager (end-to-end flow control in REQ and REP); verbs have no attribute
  // for them, and who did not agree on them does not count them.
  'ACK-12': 'with two credits 5 SENDs were sent',
});
