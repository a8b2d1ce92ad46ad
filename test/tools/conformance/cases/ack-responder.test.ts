/**
 * Goal: as a responder our own stack keeps every rule of area ACK. Method: its cases against a device of ours in
 * virtual time.
 */

import { ACK_MERGED_CASES } from '../../../../tools/conformance/cases/ack-merged.ts';
import { ACK_RESPONDER_CASES } from '../../../../tools/conformance/cases/ack-responder.ts';
import { describeCases } from './support.ts';

describeCases('ACK, responder', ACK_RESPONDER_CASES);
describeCases('ACK, merged', ACK_MERGED_CASES);
