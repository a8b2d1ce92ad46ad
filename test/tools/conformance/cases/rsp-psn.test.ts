/**
 * Goal: our responder takes PSNs as area RSP-PSN says, at every border of the number space. Method: support.ts.
 */
import { RSP_PSN_CASES } from '../../../../tools/conformance/cases/rsp-psn.ts';
import { describeCases } from './support.ts';

describeCases('RSP-PSN', RSP_PSN_CASES);
