/**
 * Goal: unreliable connections of our stack are silent, and lose whole messages only. Method: support.ts.
 */
import { UC_CASES } from '../../../../tools/conformance/cases/uc.ts';
import { describeCases } from './support.ts';

describeCases('UC', UC_CASES);
