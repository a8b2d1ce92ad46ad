/**
 * Goal: our device keeps the rules of area CNP. Method: the cases of the area against a device of ours with congestion
 * control (support.ts).
 */
import { CNP_CASES } from '../../../../tools/conformance/cases/cnp.ts';
import { describeCases } from './support.ts';

describeCases('CNP', CNP_CASES);
