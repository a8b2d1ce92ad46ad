/**
 * Goal: our queue pairs keep the rules of area QPS. Method: the cases of the area against a device of ours
 * (support.ts).
 */
import { QPS_CASES } from '../../../../tools/conformance/cases/qps.ts';
import { SOLICITED_CASES } from '../../../../tools/conformance/cases/solicited.ts';
import { describeCases } from './support.ts';

describeCases('QPS', QPS_CASES);
describeCases('QPS and REQ, solicited events', SOLICITED_CASES);
