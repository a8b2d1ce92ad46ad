/**
 * Goal: our own stack keeps the rules of area MC. Method: support.ts.
 */
import { MC_CASES } from '../../../../tools/conformance/cases/mc.ts';
import { describeCases } from './support.ts';

describeCases('MC', MC_CASES);
