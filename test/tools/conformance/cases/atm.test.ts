/**
 * Goal: our own stack does atomics as every rule says. Method: the cases of area ATM against a device of ours in
 * virtual time.
 */
import { ATM_CASES } from '../../../../tools/conformance/cases/atm.ts';
import { describeCases } from './support.ts';

describeCases('ATM', ATM_CASES);
