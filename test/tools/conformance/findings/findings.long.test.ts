/**
 * Goal: the kernels that docs/rxe-findings.md names do what it says, and the others do not. Method: every ladder is played against one guest a
 * kernel, those that crash last and each against a fresh one.
 */
import { expect, it } from 'vitest';
import { LabDut } from '../../../../tools/conformance/duts/lab.ts';
import { FINDINGS, ladderOf } from '../../../../tools/conformance/findings/index.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { isForThrowAway, parseScript } from '../../../../tools/conformance/script/parse.ts';
import { scriptCase } from '../../../../tools/conformance/script/play.ts';
import { TESTED_KERNELS } from '../../../lab/support.ts';
import { describeWith } from '../../../support/need.ts';

const ladders = FINDINGS.flatMap((one) => {
  const text = ladderOf(one);
  return text === undefined ? [] : [{ ...one, text, crashes: isForThrowAway(text) }];
}).sort((a, b) => Number(a.crashes) - Number(b.crashes));

describeWith(['lab', 'compiler'], 'the ladders of docs/rxe-findings against rdma_rxe', () => {
  it.each(TESTED_KERNELS)(
    'show on %s what the page says of it',
    async (kernel) => {
      const dut = await LabDut.open({ kernel });
      const wrong: string[] = [];
      try {
        for (const { name, kernels, text, crashes } of ladders) {
          const run = await runCase(dut, scriptCase(name, parseScript(text), { throwAway: crashes }), { seed: 7 });
          // A ladder of FLUSH does not apply to a kernel without it.
          const broken = run.verdict === 'fail';
          const kept = run.verdict === 'pass' || run.verdict === 'not-applicable';
          if (kernels.includes(kernel) ? !broken : !kept) wrong.push(`${name}: ${run.verdict} ${run.reason}`);
          if (dut.gone !== undefined || (crashes && broken)) await dut.renew(name);
        }
      } finally {
        await dut.close();
      }
      expect(wrong).toEqual([]);
    },
    900_000,
  );
});
