/**
 * Goal: our requester keeps the rules of area RNR that are its own. Method: the cases against a device of ours
 * (support.ts).
 */
import { RNR_REQUESTER_CASES } from '../../../../tools/conformance/cases/rnr-requester.ts';
import { describeCases } from './support.ts';

describeCases('RNR, requester', RNR_REQUESTER_CASES);
