/**
 * Goal: our stack sends and takes the sizes of area LEN, and no others. Method: support.ts.
 */
import { LEN_CASES } from '../../../../tools/conformance/cases/len.ts';
import { describeCases } from './support.ts';

describeCases('LEN', LEN_CASES);
