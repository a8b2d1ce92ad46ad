/**
 * Goal: a report names what is wrong, what is known and what was not judged, and its exit code follows. Method: reports
 * made by hand.
 */
import { describe, expect, it } from 'vitest';
import { luminaExitCode, luminaText } from '../../../../tools/conformance/lumina/report.ts';
import type { LuminaReport, LuminaResult } from '../../../../tools/conformance/lumina/run.ts';

const RESULT: LuminaResult = {
  ...{ check: 'gbn-sender', rule: 'REQ-27', device: 'rxe', version: '6.12', verdict: 'pass', reason: '', seen: 3 },
  known: undefined,
};
const report = (...results: Partial<LuminaResult>[]): LuminaReport => ({
  dut: 'lab:6.12',
  results: results.map((one) => ({ ...RESULT, ...one })),
  latencies: [],
  runs: [],
});
const FAILED = { verdict: 'fail', reason: 'write: psn+3 was skipped' } as const;
const known = { device: 'rxe', does: 'Skips.', evidence: 'seen' };
const run = { scenario: 'write', requester: 'a', fault: undefined, results: [], capture: new Uint8Array() } as const;

describe('a report', () => {
  it('says of a pass what the rule says, and of all else why', () => {
    const text = luminaText(report({}, FAILED, { ...FAILED, known }));
    expect(text).toMatch(/rxe 6\.12 +REQ-27 +pass +3 +After a loss packets go out again/);
    expect(text).toMatch(/REQ-27 +FAIL +3 +write: psn\+3 was skipped/);
    expect(text).toContain('fail (known)');
    expect(text).toContain('(known: Skips.)');
    expect(text).toContain('lab:6.12, 0 runs: 1 pass, 0 allowed variations, 1 fail, 1 fail as known');
  });

  it('may leave plain passes out', () => {
    expect(luminaText(report({}, { ...FAILED, rule: 'REQ-28' }), { all: false })).not.toContain('REQ-27');
  });

  it('gives times in acknowledges where one is known to take time', () => {
    const times = { ackNs: 2e6, nakNs: 3e6, reactionNs: undefined, readAtOnceNs: undefined, readByTimerNs: 5e8 };
    const text = luminaText({ ...report({}), latencies: [{ device: 'rxe', version: '6.1', ...times }] });
    expect(text).toContain(
      'rxe 6.1: an ACK takes 2000 us; a NAK 3000 us (1.5 ACKs), a READ again, by the timer 500000 us (250.0 ACKs)',
    );
  });

  it('names runs that were not judged', () => {
    const text = luminaText({ ...report({}), runs: [{ ...run, fault: 'the agent is gone' }] });
    expect(text).toContain('not judged: write, end a asking: the agent is gone');
  });

  it('ends with 0, 1 or 3', () => {
    expect(luminaExitCode({ ...report({}, { ...FAILED, known }), runs: [run] })).toBe(0);
    expect(luminaExitCode(report(FAILED, { verdict: 'inconclusive' }))).toBe(1);
    expect(luminaExitCode(report({ verdict: 'inconclusive' }))).toBe(3);
    expect(luminaExitCode({ ...report({}), runs: [{ ...run, fault: 'lost' }] })).toBe(3);
  });
});
