/**
 * Goal: our responder takes PSNs as area RSP-PSN says, at every border of the number space. Method: support.ts.
 */

import { FORMER_LIFE_CASES } from '../../../../tools/conformance/cases/former-life.ts';
import { RSP_PSN_CASES } from '../../../../tools/conformance/cases/rsp-psn.ts';
import { describeCases } from './support.ts';

describeCases('RSP-PSN', RSP_PSN_CASES);
describeCases('RSP-PSN, after RESET', FORMER_LIFE_CASES);
