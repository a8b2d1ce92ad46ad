/**
 * Goal: our XRC targets keep the rules of area XRC. Method: the cases of the area against a device of ours
 * (support.ts).
 */
import { XRC_CASES } from '../../../../tools/conformance/cases/xrc.ts';
import { describeCases } from './support.ts';

describeCases('XRC', XRC_CASES);
