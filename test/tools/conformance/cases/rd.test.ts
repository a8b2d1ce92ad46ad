/**
 * Goal: our own stack answers READs, and asks for them, as every rule of area RD says. Method: its cases against a
 * device of ours in virtual time.
 */
import { RD_CASES } from '../../../../tools/conformance/cases/rd.ts';
import { RD_DEPTH_CASES } from '../../../../tools/conformance/cases/rd-depth.ts';
import { describeCases } from './support.ts';

describeCases('RD', RD_CASES);
describeCases('RD, responder resources', RD_DEPTH_CASES);
