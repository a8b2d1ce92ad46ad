/**
 * Goal: the kernels that a finding names do what it says, and the others do not. Method: every ladder, those of
 * findings that are not published too, is played against one guest a kernel; hazardous ones last, and each against a
 * fresh guest.
 */
import { expect, it } from 'vitest';
import { LabDut } from '../../../../tools/conformance/duts/lab.ts';
import { EMBARGOED, FINDINGS, ladderOf } from '../../../../tools/conformance/findings/index.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { isHazardous, parseScript } from '../../../../tools/conformance/script/parse.ts';
import { scriptCase } from '../../../../tools/conformance/script/play.ts';
import { TESTED_KERNELS } from '../../../lab/support.ts';
import { describeWith } from '../../../support/need.ts';

const ladders = [...FINDINGS, ...EMBARGOED]
  .flatMap((one) => {
    const text = ladderOf(one);
    return text === undefined ? [] : [{ ...one, text, hazardous: isHazardous(text) }];
  })
  .sort((a, b) => Number(a.hazardous) - Number(b.hazardous));

describeWith(['lab', 'compiler'], 'the ladders of the findings against rdma_rxe', () => {
  it.each(TESTED_KERNELS)(
    'show on %s what the findings say of it',
    async (kernel) => {
      const dut = await LabDut.open({ kernel });
      const wrong: string[] = [];
      try {
        for (const { name, kernels, text, hazardous } of ladders) {
          const run = await runCase(dut, scriptCase(name, parseScript(text), { hazardous }), { seed: 7 });
          // A ladder of FLUSH does not apply to a kernel without it.
          const broken = run.verdict === 'fail';
          const kept = run.verdict === 'pass' || run.verdict === 'not-applicable';
          if (kernels.includes(kernel) ? !broken : !kept) wrong.push(`${name}: ${run.verdict} ${run.reason}`);
          if (dut.gone !== undefined || (hazardous && broken)) await dut.renew(name);
        }
      } finally {
        await dut.close();
      }
      expect(wrong).toEqual([]);
    },
    900_000,
  );
});
