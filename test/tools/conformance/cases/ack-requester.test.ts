/**
 * Goal: our requester keeps the rules of area ACK that are its own. Method: the cases against a device of ours
 * (support.ts).
 */
import { ACK_REQUESTER_CASES } from '../../../../tools/conformance/cases/ack-requester.ts';
import { describeCases } from './support.ts';

describeCases('ACK, requester', ACK_REQUESTER_CASES);
