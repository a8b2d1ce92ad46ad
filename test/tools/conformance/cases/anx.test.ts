/**
 * Goal: our own stack keeps the rules of area ANX, but for those of connection management. Method: support.ts.
 * A packet without DF is taken: the ICRC covers the flag, so its sender has meant it, and nothing is lost by being
 * generous.
 */
import { describe, expect, it } from 'vitest';
import { ANX_CASES } from '../../../../tools/conformance/cases/anx.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { findRule } from '../../../../tools/conformance/rules/index.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { describeCases } from './support.ts';

describeCases('ANX', ANX_CASES, { 'ANX-43': 'no GID of the older RoCE' });

/** Here what its user asks for is sent, which the registry knows: switches may then mark what others react to. */
describe('without congestion management', () => {
  const ecn = ANX_CASES.filter(({ rules }) => rules.some((id) => id === 'ANX-05' || id === 'ANX-14'));

  it('has four cases of ECN bits', () => expect(ecn).toHaveLength(4));

  it.each(ecn)('$rules: $title', async (one) => {
    const dut = new InProcessDut({ seed: 1, congestion: false });
    const run = await runCase(dut, one, { seed: 1 });
    await dut.close();
    const asked = one.title === 'asked for';
    expect(`${run.verdict} ${run.reason}`.trim()).toBe(asked ? 'fail ECN 3 without congestion management' : 'pass');
    const known = findRule(one.rules[0] ?? '')?.deviations?.some(({ device }) => device === 'rocev2');
    expect(known).toBe(true);
  });
});
