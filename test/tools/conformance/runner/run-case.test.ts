/**
 * Goal: a case ends with what was seen, and nothing hangs. Method: cases of the test's own against simulated devices.
 */
import { describe, expect, it } from 'vitest';
import { analyzeChunks } from '../../../../tools/analyze/index.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import type { Case } from '../../../../tools/conformance/tester/case.ts';
import { Inconclusive, NotApplicable, Violation } from '../../../../tools/conformance/tester/outcome.ts';
import { caseOf, inTurn, must } from './made-up-cases.ts';
import { StubDut } from './stub-dut.ts';

async function* chunks(...bytes: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* bytes;
}

describe('a case', () => {
  const virtual = () => new InProcessDut({ seed: 1 });

  it.each([
    ['passes when it returns', undefined, 'pass', ''],
    ['fails for a violation', new Violation('it spoke'), 'fail', 'it spoke'],
    ['is inconclusive when it says so', new Inconclusive('no probe'), 'inconclusive', 'no probe'],
    ['does not apply when it says so', new NotApplicable('none here'), 'not-applicable', 'none here'],
  ])('%s', async (_, error, verdict, reason) => {
    const run = await runCase(virtual(), caseOf(must, inTurn(error)), { seed: 1 });
    expect([run.verdict, run.reason]).toEqual([verdict, reason]);
  });

  it('is a variation when the device did something that is allowed and unusual', async () => {
    const run = await runCase(
      virtual(),
      caseOf(must, async (t) => {
        t.observe();
        t.variation('credits of 3');
      }),
      { seed: 1 },
    );
    expect([run.verdict, run.reason]).toEqual(['variation', 'credits of 3']);
  });

  it('is no pass when it has looked at nothing of the device', async () => {
    const run = await runCase(
      virtual(),
      caseOf(must, async (t) => void (await t.connect())),
      { seed: 1 },
    );
    expect([run.verdict, run.reason]).toEqual(['inconclusive', 'nothing of the device was observed']);
  });

  it('is no pass when its premise did not occur, and fails all the same when the rule was broken', async () => {
    const limited = (occurs: boolean, error?: Error): Case =>
      caseOf(must, async (t) => {
        const occurred = t.premise('the device gives credits');
        t.observe();
        if (occurs) occurred();
        if (error !== undefined) throw error;
      });
    const without = await runCase(virtual(), limited(false), { seed: 1 });
    expect(`${without.verdict} ${without.reason}`).toBe(
      'inconclusive its premise did not occur: the device gives credits',
    );
    expect((await runCase(virtual(), limited(true), { seed: 1 })).verdict).toBe('pass');
    expect((await runCase(virtual(), limited(false, new Violation('bad')), { seed: 1 })).verdict).toBe('fail');
  });

  it('does not turn a bug of the tester into a verdict', async () => {
    await expect(runCase(virtual(), caseOf(must, inTurn(new TypeError('oops'))), { seed: 1 })).rejects.toThrow('oops');
  });

  it('does not apply where the device lacks what it needs', async () => {
    const dut = new InProcessDut({ seed: 1, congestion: false });
    const run = await runCase(dut, caseOf(must, inTurn(undefined), { needs: ['cnp'] }), { seed: 1 });
    expect([run.verdict, run.reason]).toEqual(['not-applicable', 'the device has no cnp']);
  });

  it('does not apply either where nobody says what the device can do', async () => {
    const dut = new StubDut();
    Object.defineProperty(dut, 'features', { value: undefined });
    const run = await runCase(dut, caseOf(must, inTurn(undefined), { needs: ['atomics'] }), { seed: 1 });
    expect(run).toMatchObject({ verdict: 'not-applicable', reason: expect.stringContaining('--features') });
  });

  it('that waits for ever is given up', async () => {
    const run = await runCase(
      new StubDut(),
      caseOf(must, () => new Promise(() => undefined)),
      { seed: 1, limitMs: 5 },
    ).catch(String);
    // In a simulated world silence is seen before the limit: either way nothing hangs.
    expect(typeof run === 'string' ? run : run.reason).toMatch(/fell silent|did not end within/);
  });

  it('leaves a capture that says what was sent and how it ended', async () => {
    const run = await runCase(
      virtual(),
      caseOf(must, async (t) => {
        const peer = await t.connect();
        await peer.expectNextPsn(0, 1);
        throw new Violation('for the capture');
      }),
      { seed: 1 },
    );
    const text = new TextDecoder('latin1').decode(run.capture);
    expect(text).toContain('fail: for the capture');
    expect(text).toMatch(/tx [A-Z]+ \w+ psn\+0/);
    const { analysis } = await analyzeChunks(chunks(run.capture));
    expect(analysis.capture.packets).toBeGreaterThanOrEqual(2);
  });
});
