/** Goal: options that a target leaves out are those of its documentation, and those out of range are refused by name. */
import { expect, it } from 'vitest';
import { targetSettingsOf } from '../../../../src/ulp/nvme/target/options.ts';

const GIVEN = { subsystems: [], timers: { after: () => () => {} } };

it('has the values of its documentation for what is left out', () => {
  const { timers: _, ...settings } = targetSettingsOf(GIVEN);
  expect(settings).toEqual({
    ...{ subsystems: [], port: 4420, portId: 1, maxQueues: 8, maxEntries: 128, maxControllers: 64, srq: 0 },
    ...{ inCapsuleBytes: 4096, dataBytes: 32 * 1024 * 1024, probeMs: 20_000 },
  });
});

it.each<[name: string, least: number, most: number]>([
  ['maxQueues', 1, 128],
  ['maxEntries', 2, 1024],
  ['maxControllers', 1, 0xff_00],
  ['srq', 16, 65_536],
  ['inCapsuleBytes', 0, 65_536],
  ['probeMs', 0, 0x7f_ff_ff_ff],
  ['dataBytes', 1024 * 1024, Number.MAX_SAFE_INTEGER],
])('takes %s from %i to %i', (name, least, most) => {
  for (const value of [least, most]) expect(targetSettingsOf({ ...GIVEN, [name]: value })).toHaveProperty(name, value);
  for (const value of [least - 1, most + 1, least + 0.5, Number.NaN])
    expect(() => targetSettingsOf({ ...GIVEN, [name]: value })).toThrow(`${name} is a whole number from ${least} to`);
});

it('takes whole blocks in a capsule', () => {
  expect(targetSettingsOf({ ...GIVEN, inCapsuleBytes: 512 }).inCapsuleBytes).toBe(512);
  expect(() => targetSettingsOf({ ...GIVEN, inCapsuleBytes: 513 })).toThrow('inCapsuleBytes is a multiple of 512');
});
