/**
 * Goal: our own stack keeps the rules of area ANX, but for those of connection management. Method: support.ts.
 * A packet without DF is taken: the ICRC covers the flag, so its sender has meant it, and nothing is lost by being generous.
 */
import { ANX_CASES } from '../../../../tools/conformance/cases/anx.ts';
import { describeCases } from './support.ts';

const GENEROUS = ANX_CASES.filter(({ title }) => title === 'may be fragmented');

describeCases(
  'ANX',
  ANX_CASES.filter((one) => !GENEROUS.includes(one)),
  { 'ANX-43': 'no GID of the older RoCE' },
);
describeCases('ANX, where it is generous', GENEROUS, { 'ANX-07': 'may be fragmented is accepted' });
