/**
 * Goal: our own stack keeps the rules of area ND. Method: support.ts.
 */
import { ND_CASES } from '../../../../tools/conformance/cases/nd.ts';
import { describeCases } from './support.ts';

describeCases('ND', ND_CASES);
