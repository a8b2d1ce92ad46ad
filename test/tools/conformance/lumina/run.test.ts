/**
 * Goal: our own stack keeps every rule in every scenario, and what cannot be judged is not passed. Method: all
 * scenarios in virtual time; then a device whose host control are gone, and words that name none.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { inProcessTestbeds } from '../../../../tools/conformance/lumina/in-process.ts';
import { play } from '../../../../tools/conformance/lumina/play.ts';
import { LUMINA_RULES, type LuminaReport, runLumina } from '../../../../tools/conformance/lumina/run.ts';
import { SCENARIOS } from '../../../../tools/conformance/lumina/scenario.ts';
import { findRule } from '../../../../tools/conformance/rules/index.ts';

const [QUIET] = SCENARIOS;
if (QUIET === undefined) throw new Error('there are scenarios');

describe('our own stack', () => {
  let report: LuminaReport | undefined;
  const of = (): LuminaReport => {
    if (report === undefined) throw new Error('the scenarios were not played');
    return report;
  };

  beforeAll(async () => {
    report = await runLumina('in-process', { seed: 1 });
  });

  it('plays every scenario', () => {
    const { runs } = of();
    expect(runs.filter(({ fault }) => fault !== undefined).map(({ scenario, fault }) => [scenario, fault])).toEqual([]);
    expect(runs).toHaveLength(SCENARIOS.length);
  });

  it('keeps every rule, and its counters agree with the trace', () => {
    const { results } = of();
    expect(results.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
    expect(results.map(({ rule, check }) => rule ?? check)).toEqual(expect.arrayContaining([...LUMINA_RULES]));
    expect(results.filter(({ check }) => check.startsWith('counter ')).length).toBeGreaterThan(10);
  });

  it('paces its notifications by flow', () => {
    const figures = of().runs.flatMap(({ results }) =>
      results.filter(({ rule, figures: { marks } }) => rule === 'CNP-07' && Number(marks) > 0),
    );
    expect(figures).toMatchObject([{ figures: { pacedBy: 'flow', flows: 4 } }]);
  });

  it('asks again at once for a READ response that is lost, and by its timer for one that is lost twice', () => {
    expect(of().latencies).toMatchObject([{ device: 'rocev2', readByTimerNs: 4096 * 2 ** 12 }]);
    expect(of().latencies[0]?.readAtOnceNs).toBeLessThan(1e6);
  });
});

describe('a run', () => {
  it('of few scenarios leaves the other rules inconclusive', async () => {
    const { results } = await runLumina('in-process', { seed: 1, scenarios: [QUIET] });
    const of = (id: string) => results.find(({ rule }) => rule === id);
    expect(of('REQ-28')).toMatchObject({ verdict: 'pass', device: 'rocev2' });
    expect(of('RD-18')).toMatchObject({ verdict: 'inconclusive', seen: 0 });
    expect(of('RSP-PSN-04')).toMatchObject({ verdict: 'inconclusive', reason: 'no run has tried it' });
  });

  it('judges nothing when the host control of a device are gone', async () => {
    const stage = await inProcessTestbeds(1).open([]);
    await stage.ends.b.hostControl.close();
    const { fault, results } = await play(stage, QUIET, 'a');
    expect(fault).toBe('this host control was closed');
    expect(results).toEqual([]);
  });

  it('of work that fails is judged, and the failure is one of its results', async () => {
    const rules = [{ on: { direction: 'a-to-b', opcode: 'write', nth: [50, 10_000] }, do: 'drop' }] as const;
    const stage = await inProcessTestbeds(1).open(rules);
    const { fault, results } = await play(stage, QUIET, 'a');
    expect(fault).toBeUndefined();
    const of = (name: string) => results.find(({ rule, check }) => rule === name || check === name);
    expect(of('completion')).toMatchObject({ ok: false, difference: 'work request 1 completed with status 12' });
    expect(of('REQ-27')?.ok).toBe(false);
    expect(of('data')?.seen).toBe(0);
  });

  it('refuses what is no device', async () => {
    await expect(runLumina('lab:2.4', { seed: 1 })).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });

  it('knows the rules that it decides', () => {
    expect(LUMINA_RULES.filter((id) => findRule(id) === undefined)).toEqual([]);
  });
});
