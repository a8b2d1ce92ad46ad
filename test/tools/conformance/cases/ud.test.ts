/**
 * Goal: our own stack keeps the rules of area UD. Method: support.ts.
 */
import { UD_CASES } from '../../../../tools/conformance/cases/ud.ts';
import { describeCases } from './support.ts';

describeCases('UD', UD_CASES);
