/**
 * Goal: a device that nobody acts on can be tested: connections come by the connection manager, from a target that
 * listens there, and memory is looked at through a connection of its own. Method: a device of ours whose host control
 * nobody sees, with a target that they began before; cases of many areas must pass there, and what takes host control
 * does not apply. Devices whose targets lack something must not be blamed.
 */
import { describe, expect, it } from 'vitest';
import { CASES } from '../../../../tools/conformance/cases/index.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import type { Case } from '../../../../tools/conformance/tester/case.ts';
import type { Dut } from '../../../../tools/conformance/tester/dut.ts';

/** A device of ours, and the same as somebody sees it who has no host control there. */
async function wireOnly(
  ports: readonly number[] = [0, 1],
): Promise<{ readonly whole: InProcessDut; readonly bare: Dut }> {
  const whole = new InProcessDut({ seed: 7 });
  for (const [i, receives] of [16, 0].entries()) {
    if (!ports.includes(i)) continue;
    await whole.hostControl.call('cm.listen', {
      listener: i + 1,
      port: whole.targetPort + i,
      receives,
      receiveBytes: 1024,
    });
  }
  const bare = new Proxy(whole, {
    get(device, name) {
      if (name === 'hostControl') return undefined;
      const value: unknown = Reflect.get(device, name, device);
      return typeof value === 'function' ? value.bind(device) : value;
    },
  });
  return { whole, bare };
}

const one = (run: Case['run'], more: Partial<Case> = {}): Case => ({ rules: ['PKT-01'], run, ...more });

describe('a device without host control', () => {
  const passing = [
    'PKT-01',
    'PKT-10',
    'RSP-PSN-04',
    'RSP-PSN-07',
    'OPS-03',
    'LEN-01',
    'KEY-01',
    'KEY-04',
    'RD-01',
    'RD-11',
  ];
  const more = ['ACK-01', 'RNR-03', 'CM-05', 'CM-08', 'CM-10', 'CM-16', 'CM-20', 'ANX-05', 'ANX-34'];
  for (const rule of [...passing, ...more]) {
    it(`is judged by ${rule}`, async () => {
      const cases = CASES.filter(({ rules, needs }) => rules.includes(rule) && needs?.includes('cm') !== true);
      const verdicts: string[] = [];
      for (const each of cases) {
        const { whole, bare } = await wireOnly();
        const { verdict, reason } = await runCase(bare, each, { seed: 7 });
        await whole.close();
        verdicts.push(verdict === 'not-applicable' ? verdict : `${verdict} ${reason}`.trim());
      }
      expect(verdicts).toContain('pass');
      expect(verdicts.filter((verdict) => verdict !== 'pass' && verdict !== 'not-applicable')).toEqual([]);
    });
  }

  it('is not judged where it takes host control', async () => {
    for (const each of CASES.filter(({ rules }) => rules.some((id) => /^(REQ-0[123]|QPS-0[12])$/.test(id)))) {
      const { whole, bare } = await wireOnly();
      const { verdict, reason } = await runCase(bare, each, { seed: 7 });
      await whole.close();
      expect(verdict, each.rules.join()).toBe('not-applicable');
      expect(reason).toContain('agent');
    }
  });

  it('shows its memory, and takes other', async () => {
    const { whole, bare } = await wireOnly();
    const run = await runCase(
      bare,
      one(async (t) => {
        const peer = await t.connect();
        const bytes = Uint8Array.from({ length: 3000 }, (_, i) => i & 0xff);
        await peer.setMemory(100, bytes);
        expect(await peer.memory(99, 3002)).toEqual(Uint8Array.of(0, ...bytes, 0));
        expect(await peer.memory(5, 0)).toEqual(new Uint8Array(0));
        await peer.expectNextPsn(0, 1);
      }),
      { seed: 7 },
    );
    expect(run).toMatchObject({ verdict: 'pass', reason: '' });
    await whole.close();
  });

  it('is left without connections when a case ends', async () => {
    const { whole, bare } = await wireOnly();
    const run = await runCase(
      bare,
      one(async (t) => {
        await t.connect();
        await t.connect({ version: 6 });
      }),
      { seed: 7 },
    );
    expect(run.verdict).toBe('pass');
    const { events } = await whole.hostControl.call('cm.events', {});
    expect(events.filter(({ event }) => event === 'disconnected')).toHaveLength(2);
    await whole.close();
  });

  it('is not blamed when no target listens', async () => {
    const { whole, bare } = await wireOnly([]);
    const run = await runCase(
      bare,
      one(async (t) => void (await t.connect())),
      { seed: 7 },
    );
    expect(run).toMatchObject({ verdict: 'inconclusive', reason: expect.stringContaining('REJ 8') });
    await whole.close();
  });

  it('is not blamed when who listens is no target', async () => {
    const { whole, bare } = await wireOnly([]);
    await whole.hostControl.call('cm.listen', { listener: 9, port: whole.targetPort, regionBytes: 0 });
    const run = await runCase(
      bare,
      one(async (t) => void (await t.connect())),
      { seed: 7 },
    );
    expect(run).toMatchObject({ verdict: 'inconclusive', reason: expect.stringContaining('no target') });
    await whole.close();
  });

  it('is not blamed when what listens never answers', async () => {
    const { whole, bare } = await wireOnly([]);
    await whole.hostControl.call('cm.listen', { listener: 9, port: whole.targetPort, mute: true });
    const run = await runCase(
      bare,
      one(async (t) => void (await t.connect())),
      { seed: 7 },
    );
    expect(run).toMatchObject({ verdict: 'inconclusive', reason: expect.stringContaining('nothing answers') });
    await whole.close();
  });

  it('need not have a target without receives', async () => {
    const { whole, bare } = await wireOnly([0]);
    const run = await runCase(
      bare,
      one(async (t) => void (await t.connect({ receives: 0 }))),
      { seed: 7 },
    );
    expect(run.verdict).toBe('not-applicable');
    await whole.close();
  });

  it('cannot be asked for what only host control can choose', async () => {
    const { whole, bare } = await wireOnly();
    for (const options of [
      { type: 'uc' },
      { state: 'RTR' },
      { psn: 5 },
      { access: [] },
      { receives: 3 },
      { hopLimit: 9 },
    ] as const) {
      const run = await runCase(
        bare,
        one(async (t) => void (await t.connect(options))),
        { seed: 7 },
      );
      expect(run.verdict, JSON.stringify(options)).toBe('not-applicable');
    }
    await whole.close();
  });
});
