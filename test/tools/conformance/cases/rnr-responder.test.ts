/**
 * Goal: as a responder our own stack keeps every rule of area RNR. Method: its cases against a device of ours in
 * virtual time.
 */
import { RNR_RESPONDER_CASES } from '../../../../tools/conformance/cases/rnr-responder.ts';
import { describeCases } from './support.ts';

describeCases('RNR, responder', RNR_RESPONDER_CASES);
