/**
 * Goal: our own stack keeps every rule on keys, bounds and windows. Method: the cases of area KEY against a device of
 * ours in virtual time.
 */
import { KEY_CASES } from '../../../../tools/conformance/cases/key.ts';
import { describeCases } from './support.ts';

describeCases('KEY', KEY_CASES);
