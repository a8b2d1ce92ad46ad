/**
 * Goal: severity and words fit what happened: long waits are warnings, READs that overtake each other are no error, a
 * capture at the receiver speaks of no losses behind it, and cut packets make no conversations. Method: the real stack
 * with faults by chance, many seeds, captured at the hosts.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { play, type Script } from '../../../../tools/symptoms/scene.ts';
import { analyze, findingOf } from './support.ts';

describe('RNR timer 0', () => {
  /** So many refusals of 655 ms each, of which the capture has the last one for so long. */
  const refused =
    (refusals: number, lastNs: number): Script =>
    async (stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), {
        rnrRetry: 7,
        minRnrTimer: 0,
        timeout: 20,
      });
      b.receive();
      await a.send(100);
      void a.send(100);
      await stage.sleep((refusals - 1) * 655.4e6);
      await stage.goOn(lastNs);
    };

  it.each([
    [2, 10e6],
    [3, 300e6],
  ])('is a warning while nothing else happens, %i times and the capture ends %i ns later', async (count, lastNs) => {
    const finding = findingOf(analyze(await play({ vantages: ['A'] }, refused(count, lastNs))), 'rnr-exceeded');
    expect(finding).toMatchObject({ severity: 'warning', evidence: { naks: count } });
  });

  it.each([20e6, 600e6])(
    'is a note after one refusal, behind which the requester may have given up',
    async (lastNs) => {
      const finding = findingOf(analyze(await play({ vantages: ['A'] }, refused(1, lastNs))), 'rnr-exceeded');
      expect(finding).toMatchObject({ severity: 'note', evidence: { naks: 1 } });
    },
  );
});

describe('READs one or two at a time', () => {
  it.each([1, 2])('that overtake each other and are repeated exceed no limit, seed %i', async (seed) => {
    const reads: Script = async (stage) => {
      const depth = 1 + (seed % 2);
      const options = { cm: true, maxRdAtomic: depth, maxDestRdAtomic: depth, timeout: 9 } as const;
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), options);
      for (let nth = 1 + seed; nth < 24; nth += 4) {
        const request = { port: 'A', match: ({ opcode }: { opcode: number }) => opcode === Op.ReadRequest } as const;
        stage.rule({ ...request, nth, action: 'delay', delayNs: 2_097_152 + 400_000 * seed });
        stage.rule({ ...request, nth: nth + 1, action: 'duplicate', delayNs: 5_000 });
      }
      stage.faults(b.host, { loss: 0.02 });
      await Promise.all(Array.from({ length: 24 }, () => a.read(b, 6_000)));
    };
    for (const vantage of ['A', 'B']) {
      const { findings } = analyze(await play({ vantages: [vantage], seed, rateBps: 1e9 }, reads));
      expect(findings.filter(({ id, severity }) => id === 'read-stall' && severity === 'error')).toEqual([]);
    }
  });
});

describe('a capture at the receiver', () => {
  it.each([1, 2, 3, 4, 5, 6])('speaks of no losses behind it, seed %i', async (seed) => {
    const traffic: Script = async (stage) => {
      const [a, b] = [stage.host('A'), stage.host('B')];
      const pair = await stage.connect(a, b, { timeout: 9 });
      const faults = [{ loss: 0.04 }, { reorder: 0.1 }, { loss: 0.02, duplicate: 0.05 }][seed % 3] ?? {};
      stage.faults(a, faults);
      pair.b.receive(64);
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? pair.a.write(pair.b, 5_000) : pair.a.send(3_000))),
      );
    };
    const { findings, events } = analyze(await play({ vantages: ['B'], seed }, traffic));
    expect(events.length).toBeGreaterThan(2);
    for (const { text, id } of findings)
      expect([id, text]).not.toEqual([id, expect.stringContaining('this capture point')]);
    expect(events.filter(({ reason }) => reason === 'seen-then-nak' || reason === 'behind-capture')).toEqual([]);
  });
});

describe('packets cut to 96 bytes', () => {
  it.each([4, 6] as const)('make no conversations of their own over IPv%i', async (ipVersion) => {
    const traffic: Script = async (stage) => {
      const [a, b] = [stage.host('A', { congestion: {} }), stage.host('B', { congestion: {} })];
      const { a: left, b: right } = await stage.connect(a, b, { ipVersion, cm: true });
      stage.faults(b, { ceMark: 0.3, loss: 0.02 }, 'receive');
      right.receive(8);
      await left.send(4_000);
      await Promise.all([
        left.write(right, 9_000),
        left.read(right, 9_000),
        left.fetchAdd(right),
        right.write(left, 3_000),
      ]);
    };
    const [whole, cut] = await Promise.all([0, 96].map((snapLength) => play({ vantages: ['A'], snapLength }, traffic)));
    const names = (file: Uint8Array | undefined) =>
      analyze(file ?? new Uint8Array(0)).conversations.map(({ service, ends }) => [
        service,
        ...ends.map(({ qpn }) => qpn),
      ]);
    expect(names(cut)).toEqual(names(whole));
    expect(names(cut).flat()).not.toContain(0);
  });
});
