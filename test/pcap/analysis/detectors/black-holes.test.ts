/**
 * Goal: a path that swallows long packets is named whatever the operation, the direction, the place of the capture and
 * the time at which it begins; loss by chance and a cable that is pulled are no such path. Method: the real stack on a
 * wire that drops what is too long, or what chance says, captured at either host.
 */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../../../packets/frame.ts';
import { Op } from '../../../../packets/opcode.ts';
import { play, type Script } from '../../../../tools/symptoms/scene.ts';
import type { ConnectOptions, Stage } from '../../../../tools/symptoms/stage.ts';
import { alarmIds, analyze, findingOf } from './support.ts';

const HOLE = { match: ({ ipEnd, ipOffset }: Frame) => ipEnd - ipOffset > 1_500, action: 'drop' } as const;

function connect(stage: Stage, more: ConnectOptions = {}) {
  return stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096, retryCnt: 5, ...more });
}

/** So many long messages pass, and then one does not; B captured or A. */
const one =
  (operation: 'write' | 'read', before: number, ipVersion: 4 | 6 = 4): Script =>
  async (stage) => {
    const { a, b } = await connect(stage, { ipVersion });
    await a.write(b, 500);
    for (let i = 0; i < before; i++) await a[operation](b, 9_000);
    stage.rule(HOLE);
    await a[operation](b, 9_000);
    await stage.goOn(40e6);
  };

/** Messages of full packets only, and short ones behind them. */
const fullThenShort: Script = async (stage) => {
  const { a, b } = await connect(stage);
  for (let i = 0; i < 6; i++) await a.write(b, 8_192);
  stage.rule(HOLE);
  await Promise.all([a.write(b, 8_192), a.write(b, 100), a.write(b, 100)]);
  await stage.goOn(40e6);
};

const bothWays: Script = async (stage) => {
  const { a, b } = await connect(stage);
  await a.write(b, 500);
  stage.rule(HOLE);
  await Promise.all([a.write(b, 9_000), b.write(a, 9_000)]);
  await stage.goOn(40e6);
};

/** Three queue pairs, of which one has a path MTU that fits. */
const oneFits: Script = async (stage) => {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const small = await stage.connect(a, b, { mtu: 1024, psns: [7_000, 8_000] });
  const large = [
    await stage.connect(a, b, { mtu: 4096, retryCnt: 3, psns: [100, 200] }),
    await stage.connect(a, b, { mtu: 4096, retryCnt: 3, psns: [30_000, 40_000] }),
  ];
  stage.rule(HOLE);
  await Promise.all([...large.map((pair) => pair.a.write(pair.b, 9_000)), small.a.write(small.b, 20_000)]);
  await small.a.write(small.b, 20_000);
  await stage.goOn(40e6);
};

describe('a black hole', () => {
  it.each<[string, Script, string]>([
    ['of WRITEs over IPv6', one('write', 0, 6), 'black-hole'],
    ['of READ responses over IPv6', one('read', 0, 6), 'black-hole'],
    ['in both directions', bothWays, 'black-hole'],
    ['that one of three queue pairs is not concerned by', oneFits, 'black-hole'],
    ['of WRITEs, which begins midway', one('write', 6), 'black-hole-midway'],
    ['of READ responses, which begins midway', one('read', 6), 'black-hole-midway'],
    ['of WRITEs over IPv6, which begins midway', one('write', 3, 6), 'black-hole-midway'],
    ['of messages without a short end, which begins midway', fullThenShort, 'black-hole-midway'],
  ])('%s is found at either end, and nothing else', async (_, script, sign) => {
    for (const vantage of ['A', 'B']) {
      const analysis = analyze(await play({ vantages: [vantage] }, script));
      expect([vantage, alarmIds(analysis)]).toEqual([vantage, ['mtu-mismatch']]);
      const { severity, evidence } = findingOf(analysis, 'mtu-mismatch');
      expect(severity).toBe('error');
      expect(`${evidence['sign']}`.replace('-behind', '')).toBe(sign);
    }
  });

  it('that swallows two of three queue pairs names these', async () => {
    for (const vantage of ['A', 'B']) {
      const analysis = analyze(await play({ vantages: [vantage] }, oneFits));
      const numbers = findingOf(analysis, 'mtu-mismatch').conversations;
      const mtus = analysis.conversations.filter(({ id }) => numbers.includes(id)).map(({ ends }) => ends[0].requester);
      expect(mtus.map(({ firstPsn }) => firstPsn < 7_000 || firstPsn >= 30_000)).toEqual([true, true]);
    }
  });
});

describe('no black hole', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('is a wire that loses by chance, seed %i', async (seed) => {
    const lossy: Script = async (stage) => {
      const [a, b] = [stage.host('A'), stage.host('B')];
      const pair = await stage.connect(a, b, { mtu: 4096, retryCnt: 7 });
      for (const host of [a, b]) stage.faults(host, { loss: 0.05 * (1 + (seed % 4)) });
      for (let i = 0; i < 8; i++) {
        await pair.a.write(pair.b, 9_000);
        await pair.a.read(pair.b, 9_000);
      }
      await stage.goOn(100e6);
    };
    for (const vantage of ['A', 'B'])
      expect(alarmIds(analyze(await play({ vantages: [vantage], seed }, lossy)))).not.toContain('mtu-mismatch');
  });

  it('is a cable that is pulled, nor one after the repair of a loss', async () => {
    const pulled =
      (lost: boolean): Script =>
      async (stage) => {
        const { a, b } = await connect(stage);
        for (let i = 0; i < 4; i++) await a.write(b, 9_000);
        if (lost) stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteFirst, nth: 1, action: 'drop' });
        await a.write(b, 9_000);
        stage.unplug(b.host);
        await a.write(b, 9_000);
        await stage.goOn(40e6);
      };
    for (const lost of [false, true]) {
      const analysis = analyze(await play({ vantages: ['A'] }, pulled(lost)));
      expect(alarmIds(analysis)).not.toContain('mtu-mismatch');
      expect(alarmIds(analysis)).toContain('retry-exceeded');
    }
  });

  it('is an acknowledgement that is lost again and again while short messages come', async () => {
    const deaf: Script = async (stage) => {
      const { a, b } = await connect(stage);
      for (let i = 0; i < 4; i++) await a.write(b, 9_000);
      stage.rule({ port: 'B', match: ({ opcode }) => opcode === Op.Acknowledge, action: 'drop' });
      await a.write(b, 100);
      await stage.goOn(40e6);
    };
    expect(alarmIds(analyze(await play({ vantages: ['B'] }, deaf)))).not.toContain('mtu-mismatch');
  });
});
