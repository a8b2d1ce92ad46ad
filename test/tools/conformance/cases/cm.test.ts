/**
 * Goal: our connection manager keeps every rule of area CM, and those of RoCEv2 about LIDs. Method: `describeCases`.
 */
import { CM_CASES } from '../../../../tools/conformance/cases/cm.ts';
import { ANX_CM_CASES } from '../../../../tools/conformance/cases/cm-paths.ts';
import { describeCases } from './support.ts';

describeCases('CM', CM_CASES);
describeCases('ANX, connection management', ANX_CM_CASES);
