/**
 * Goal: a verdict is what was seen, and nothing hangs. Method: cases of the test's own against a device that passes,
 * fails, fails once, dies, loses its agent, or answers nonsense; what the run says of each rule.
 */
import { describe, expect, it } from 'vitest';
import { read } from '../../../../tools/conformance/cases/answers.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import type { Feature } from '../../../../tools/conformance/host-control/host-control.ts';
import { RULES } from '../../../../tools/conformance/rules/index.ts';
import type { ConformanceRule } from '../../../../tools/conformance/rules/types.ts';
import { junit, resultFile } from '../../../../tools/conformance/runner/files.ts';
import { exitCodeOf, progressLine, summaryLine, verdictTable } from '../../../../tools/conformance/runner/report.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { runSuite, type SuiteResult } from '../../../../tools/conformance/runner/suite.ts';
import type { Case } from '../../../../tools/conformance/tester/case.ts';
import type { Dut } from '../../../../tools/conformance/tester/dut.ts';
import { Inconclusive, NotApplicable, Violation } from '../../../../tools/conformance/tester/outcome.ts';
import type { Tester } from '../../../../tools/conformance/tester/tester.ts';
import { caseOf, inTurn, knownOfRxe, must, ruleOf, should, suite } from './made-up-cases.ts';
import { StubDut } from './stub-dut.ts';

const verdicts = ({ rules }: SuiteResult): string[] =>
  rules.map(({ rule, verdict, reason }) => `${rule.id} ${verdict} ${reason}`.trim());

describe('a suite', () => {
  it('takes the worst of the cases of a rule, and what does not apply for nothing', async () => {
    const dut = new InProcessDut({ seed: 1 });
    const result = await suite(dut, caseOf(must, inTurn(undefined)), caseOf(must, inTurn(new NotApplicable('no'))));
    expect(verdicts(result)).toEqual([`${must.id} pass`]);
    const worse = await suite(dut, caseOf(must, inTurn(undefined)), caseOf(must, inTurn(new Violation('bad'))));
    expect(verdicts(worse)).toEqual([`${must.id} fail bad`]);
  });

  it('calls the breach of a rule that is no must a variation', async () => {
    const result = await suite(
      new InProcessDut({ seed: 1 }),
      caseOf(should, inTurn(new Violation('reserved bits count'))),
    );
    expect(verdicts(result)).toEqual([`${should.id} variation reserved bits count`]);
  });

  it('fails a must for a variation, exit code and all', async () => {
    const vary = (rule: ConformanceRule): Case =>
      caseOf(rule, async (t) => {
        t.observe();
        t.variation('it does otherwise');
      });
    const broken = await suite(new InProcessDut({ seed: 1 }), vary(must));
    expect(verdicts(broken)).toEqual([`${must.id} fail it does otherwise`]);
    expect(exitCodeOf(broken)).toBe(1);
    const allowed = await suite(new InProcessDut({ seed: 1 }), vary(should));
    expect(verdicts(allowed)).toEqual([`${should.id} variation it does otherwise`]);
    expect([exitCodeOf(allowed), exitCodeOf(allowed, { strict: true })]).toEqual([0, 1]);
  });

  it('counts known deviations of any level as breaches when it is strict, and what a may leaves open not', async () => {
    const known = await suite(new StubDut('rxe'), caseOf(knownOfRxe, inTurn(new Violation('completed'))));
    expect([exitCodeOf(known), exitCodeOf(known, { strict: true })]).toEqual([0, 1]);
    const free = await suite(new StubDut(), caseOf(ruleOf('CNP-08'), inTurn(new Violation('it does'))));
    expect([exitCodeOf(free), exitCodeOf(free, { strict: true })]).toEqual([0, 0]);
  });

  it('hands notes to table, JSON and JUnit, each once', async () => {
    const noting = caseOf(
      must,
      async (t) => {
        t.observe();
        t.note('64 packets draw 3 ACKs');
      },
      { psnSweep: true },
    );
    const result = await suite(new InProcessDut({ seed: 1 }), noting);
    expect(result.rules[0]?.notes).toEqual(['64 packets draw 3 ACKs']);
    expect(verdictTable(result)).toMatch(/\n +note: 64 packets draw 3 ACKs/);
    expect(resultFile(result).rules[0]?.notes).toEqual(['64 packets draw 3 ACKs']);
    expect(junit(result)).toContain('<system-out>note: 64 packets draw 3 ACKs</system-out>');
  });

  it('says of a run of some rules that it is partial, wherever it reports', async () => {
    const result = await suite(new InProcessDut({ seed: 1 }), caseOf(must, inTurn(undefined)));
    const why = `1 of ${RULES.length} rules were run`;
    expect(result.partial).toEqual([why]);
    expect(verdictTable(result)).toContain('verdict (partial run)');
    expect(summaryLine(result)).toContain(`partial: ${why}`);
    expect(resultFile(result)).toMatchObject({ partial: true, partialBecause: [why] });
    expect(junit(result)).toContain(`<property name="partial" value="${why}"/>`);
    const whole = await runSuite(new InProcessDut({ seed: 1 }), { seed: 1, rules: RULES, cases: [], now: () => 0 });
    expect(whole.partial).toEqual([]);
    expect(verdictTable(whole)).not.toContain('partial');
  });

  it('tells the progress in the words of the table', async () => {
    const lines: string[] = [];
    const both: Case = { rules: [must.id, should.id], run: inTurn(new Violation('bad')) };
    const result = await runSuite(new InProcessDut({ seed: 1 }), {
      ...{ seed: 1, rules: [must, should], cases: [both, caseOf(must, inTurn(undefined))], now: () => 0 },
      progress: (one, _run, judged, done, all) => void lines.push(progressLine(one, judged, done, all)),
    });
    expect(lines).toEqual([`1/2 ${must.id} FAIL, ${should.id} variation`, `2/2 ${must.id}: pass`]);
    expect(verdicts(result)).toEqual([`${must.id} fail bad`, `${should.id} variation bad`]);
  });

  it('says what the registry knows of a failure, of the device it knows it of', async () => {
    const one = caseOf(knownOfRxe, inTurn(new Violation('completed')));
    expect((await suite(new StubDut('rxe'), one)).rules[0]?.known).toBeDefined();
    expect((await suite(new StubDut('mlx5_core'), one)).rules[0]?.known).toBeUndefined();
  });

  it('looks twice at what fails: once is no verdict', async () => {
    const result = await suite(new StubDut(), caseOf(must, inTurn(new Violation('once'), undefined)));
    expect(verdicts(result)).toEqual([`${must.id} inconclusive it failed once and not when repeated (pass): once`]);
    const twice = await suite(new StubDut(), caseOf(must, inTurn(new Violation('always'))));
    expect(verdicts(twice)).toEqual([`${must.id} fail always`]);
  });

  it('looks twice at what was open', async () => {
    const result = await suite(new StubDut(), caseOf(must, inTurn(new Inconclusive('slow'), undefined)));
    expect(verdicts(result)).toEqual([`${must.id} pass`]);
  });

  it('goes on with a fresh device when one dies, and says after what', async () => {
    const dut = new StubDut();
    const kill = caseOf(must, async (t) => {
      const peer = await t.connect();
      peer.ack(0, 0);
      await t.sleep(1000);
      dut.gone = 'Kernel panic - not syncing';
    });
    const after = caseOf(should, async (t) => {
      await (await t.connect()).expectNextPsn(0, 1);
    });
    const result = await suite(dut, kill, after);
    expect(verdicts(result)).toEqual([
      `${must.id} fail the device died: Kernel panic - not syncing; the last packets sent: ACK psn+0 msn 0`,
      `${should.id} pass`,
    ]);
    // Looked at twice.
    expect(result.deaths).toHaveLength(2);
    expect(dut.renewals).toBe(2);
  });

  it('fails a rule that is no must when the device dies of it, and knows it only where the registry says that it does', async () => {
    const kill = (rule: ConformanceRule) =>
      caseOf(rule, async (t) => {
        const stub = t.dut;
        if (stub instanceof StubDut) stub.gone = 'panic';
      });
    const [soft] = (await suite(new StubDut(), kill(should))).rules;
    expect([soft?.verdict, soft?.known]).toEqual(['fail', undefined]);
    const [other] = (await suite(new StubDut(), kill(knownOfRxe))).rules;
    expect([other?.verdict, other?.known]).toEqual(['fail', undefined]);
    const deadly = { device: 'rxe', does: 'It ends.', evidence: 'the source', kills: true };
    const rules = [{ ...should, deviations: [deadly] }];
    const [known] = (await runSuite(new StubDut(), { seed: 1, rules, cases: [kill(should)], now: () => 0 })).rules;
    expect([known?.verdict, known?.known?.kills]).toEqual(['fail', true]);
  });

  it('goes on with a fresh device when the agent is gone', async () => {
    const dut = new StubDut();
    const vanish = caseOf(must, async (t) => {
      dut.deaf = true;
      await t.hostControl.call('events', {});
    });
    const result = await suite(dut, vanish, caseOf(should, inTurn(undefined)));
    expect(verdicts(result)).toEqual([
      `${must.id} inconclusive the device serves no more afterwards: the host control: the agent does not answer`,
      `${should.id} pass`,
    ]);
    expect(dut.renewals).toBeGreaterThan(0);
  });

  it('leaves everything open when there is no other device', async () => {
    const dut = new StubDut();
    dut.renewalsMax = 0;
    const kill = caseOf(must, async () => {
      dut.gone = 'gone';
    });
    const result = await suite(dut, kill, caseOf(should, inTurn(undefined)));
    expect(verdicts(result)[1]).toBe(`${should.id} inconclusive the device was lost: there is no other`);
  });

  it('runs a case with every starting PSN that it asks for', async () => {
    const psns: number[] = [];
    const note = async (t: Tester): Promise<void> => {
      t.observe();
      psns.push(t.psn);
    };
    const one = caseOf(must, note, { psnSweep: true });
    await suite(new InProcessDut({ seed: 1 }), one);
    expect(psns).toEqual([0, 0x7f_ff_ff, 0x80_00_00, 0xff_ff_fe, 0xff_ff_ff]);
  });

  it('says that nothing was run for a rule without a case', async () => {
    const result = await runSuite(new InProcessDut({ seed: 1 }), { seed: 1, rules: [must], cases: [], now: () => 0 });
    expect(verdicts(result)).toEqual([`${must.id} inconclusive nothing was run`]);
  });

  it('judges a rule that stands for others by them', async () => {
    const whole = ruleOf('ANX-23');
    const part = ruleOf('PKT-01');
    const run = (error?: Error) =>
      runSuite(new InProcessDut({ seed: 1 }), {
        seed: 1,
        rules: [whole],
        cases: [caseOf(part, inTurn(error))],
        now: () => 0,
      });
    expect(verdicts(await run())).toEqual(['ANX-23 pass']);
    expect(verdicts(await run(new Violation('x')))).toEqual(['ANX-23 fail broken: PKT-01']);
    expect(verdicts(await run(new Inconclusive('x')))).toEqual(['ANX-23 inconclusive open: PKT-01']);
  });
});

describe('a hazardous case', () => {
  const precious = (): Dut => Object.assign(new InProcessDut({ seed: 1 }), { throwAway: false });
  const risky = (rule: ConformanceRule, error?: Error): Case => caseOf(rule, inTurn(error), { hazardous: true });

  it('is not run against a device that may not be crashed, and the run says that it is partial', async () => {
    const runs: string[] = [];
    const one = caseOf(must, async (t) => void runs.push(t.dut.name), { hazardous: true });
    const result = await suite(precious(), one, caseOf(should, inTurn(undefined)));
    expect(runs).toEqual([]);
    expect(verdicts(result)).toEqual([`${must.id} not-run the device may not survive it`, `${should.id} pass`]);
    expect(result.notRun).toBe(1);
    expect(summaryLine(result)).toContain('partial: 1 hazardous cases of 1 rules were not run; --hazardous runs them');
    expect(verdictTable(result)).toMatch(/RSP-PSN-04 +not run: hazardous/);
    expect(resultFile(result)).toMatchObject({ partial: true, notRun: 1 });
    expect(junit(result)).toContain('<skipped message="not run: hazardous: the device may not survive it"/>');
    expect(junit(result)).toMatch(/<property name="partial" value="[^"]*1 hazardous cases of 1 rules were not run/);
    expect(exitCodeOf(result)).toBe(0);
  });

  it('is run where that is allowed, and against our own stack', async () => {
    const options = { seed: 1, rules: [must], cases: [risky(must)], now: () => 0 };
    for (const result of [
      await runSuite(precious(), { ...options, hazardous: true }),
      await runSuite(new InProcessDut({ seed: 1 }), options),
    ]) {
      expect(verdicts(result)).toEqual([`${must.id} pass`]);
      expect(result.notRun).toBe(0);
      expect(summaryLine(result)).not.toContain('hazardous');
    }
  });

  it('keeps its rule from a pass, and never hides a failure', async () => {
    const passed = await suite(precious(), caseOf(must, inTurn(undefined)), risky(must));
    expect(verdicts(passed)).toEqual([`${must.id} not-run the device may not survive it`]);
    const failed = await suite(precious(), caseOf(must, inTurn(new Violation('bad'))), risky(must));
    expect(verdicts(failed)).toEqual([`${must.id} fail bad`]);
    expect(failed.notRun).toBe(1);
  });

  it('leaves a rule open that stands for its own', async () => {
    const options = { seed: 1, rules: [ruleOf('ANX-23')], cases: [risky(ruleOf('PKT-01'))], now: () => 0 };
    expect(verdicts(await runSuite(precious(), options))).toEqual(['ANX-23 not-run hazardous cases of PKT-01']);
  });

  it('does not apply where the device lacks what it needs, as any other', async () => {
    const one = caseOf(must, inTurn(undefined), { hazardous: true, needs: ['mw2'] });
    const dut = precious();
    Object.defineProperty(dut, 'features', { value: [] });
    expect((await runCase(dut, one, { seed: 1 })).verdict).toBe('not-applicable');
  });
});

/** The same device, but who speaks for it says that it has no congestion management. */
class ModestDut extends InProcessDut {
  override get features(): readonly Feature[] {
    return super.features.filter((feature) => feature !== 'cnp');
  }
}

describe('the rules that every packet of a run is held to', () => {
  const reading = caseOf(must, async (t) => {
    await read(await t.connect({ trafficClass: 2 }), 0, 0, 100);
  });

  it.each([
    ['that has congestion management', InProcessDut, 'pass'],
    ['of which somebody says that it has none', ModestDut, 'fail ECN 2, in packet 1'],
  ])('judge the ECN bits of a device %s', async (_, Device, verdict) => {
    const rules = [must, ruleOf('ANX-05')];
    const result = await runSuite(new Device({ seed: 1 }), { seed: 1, rules, cases: [reading], now: () => 0 });
    expect(verdicts(result)[1]).toMatch(new RegExp(`^ANX-05 ${verdict}`));
  });
});
