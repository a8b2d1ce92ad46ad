/**
 * Goal: the checks judge live traffic with rdma_rxe: what our stack does is right on a real wire as well, and of rxe
 * only what we know of is not. Method: all scenarios between a guest and a device of ours over a bump, each end asking
 * once.
 */
import { beforeAll, expect, it } from 'vitest';
import {
  LUMINA_RULES,
  type LuminaReport,
  type LuminaResult,
  runLumina,
} from '../../../../tools/conformance/lumina/run.ts';
import { SCENARIOS } from '../../../../tools/conformance/lumina/scenario.ts';
import { describeWith } from '../../../support/need.ts';

describeWith(['lab', 'compiler'], 'Linux 6.12 and our own stack over a bump', () => {
  let report: LuminaReport | undefined;
  const of = (): LuminaReport => {
    if (report === undefined) throw new Error('the scenarios were not played');
    return report;
  };
  const ofDevice = (name: string): LuminaResult[] => of().results.filter(({ device }) => device === name);

  beforeAll(async () => {
    report = await runLumina('lab:6.12', { seed: 1 });
  }, 600_000);

  it('play every scenario in both roles', () => {
    const { runs } = of();
    expect(runs.filter(({ fault }) => fault !== undefined).map(({ scenario, fault }) => [scenario, fault])).toEqual([]);
    expect(runs).toHaveLength(2 * SCENARIOS.length);
  });

  it('find nothing wrong with our own stack', () => {
    expect(ofDevice('rocev2').filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
  });

  it('find of rdma_rxe what is known of it, and nothing else', () => {
    const odd = ofDevice('rxe').filter(({ verdict }) => verdict !== 'pass');
    expect(odd.map(({ rule, check, verdict }) => [rule ?? check, verdict])).toEqual([
      ['REQ-14', 'variation'],
      ['REQ-24', 'variation'],
      ['CNP-07', 'not-applicable'],
      ['counter rcvd_pkts', 'fail'],
      ['counter rcvd_seq_err', 'fail'],
    ]);
    const failed = odd.filter(({ verdict }) => verdict === 'fail');
    expect(failed.filter(({ known }) => known === undefined)).toEqual([]);
  });

  it('judge each rule in each role', () => {
    for (const device of ['rocev2', 'rxe'])
      expect(ofDevice(device).map(({ rule }) => rule)).toEqual(expect.arrayContaining([...LUMINA_RULES]));
  });
});
