/**
 * Goal: our stack keeps the order of opcodes on either side, and its matrix is that of the catalogue. Method:
 * support.ts.
 */
import { OPS_CASES } from '../../../../tools/conformance/cases/ops.ts';
import { OPS_IMMEDIATE_CASES } from '../../../../tools/conformance/cases/ops-immediate.ts';
import { describeCases } from './support.ts';

describeCases('OPS', OPS_CASES);
describeCases('OPS, immediate data', OPS_IMMEDIATE_CASES);
