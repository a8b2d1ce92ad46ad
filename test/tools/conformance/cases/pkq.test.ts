/**
 * Goal: our own stack keeps the rules of area PKQ. Method: support.ts. Its table has one P_Key, so there is no other
 * valid one to try.
 */
import { PKQ_CASES } from '../../../../tools/conformance/cases/pkq.ts';
import { describeCases } from './support.ts';

describeCases('PKQ', PKQ_CASES, { 'PKQ-02': 'has one P_Key' });
