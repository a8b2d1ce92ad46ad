/** Goal: options that a host leaves out are those of its documentation, and those out of range are refused by name. */
import { expect, it } from 'vitest';
import { settingsOf } from '../../../../src/ulp/nvme/host/options.ts';
import { HOST, NQN } from './support.ts';

const GIVEN = { address: '10.0.0.2', subnqn: NQN, ...HOST, timers: { after: () => () => {} } };

it('has the values of its documentation for what is left out', () => {
  const { timers: _, ...settings } = settingsOf(GIVEN);
  expect(settings).toEqual({
    ...{ address: '10.0.0.2', subnqn: NQN, ...HOST, port: 4420, queues: 1, queueSize: 128, keepAliveMs: 5000 },
    ...{ inCapsuleBytes: 4096, maxTransferBytes: 1024 * 1024, commandTimeoutMs: 30_000, reconnectTries: 60 },
    ...{ reconnectDelayMs: 1000, remoteInvalidate: true, credentials: undefined },
  });
});

it.each<[name: string, least: number, most: number]>([
  ['queues', 1, 1024],
  ['queueSize', 2, 1024],
  ['keepAliveMs', 0, 0xff_ff_ff_ff],
  ['inCapsuleBytes', 0, 1024 * 1024],
  ['maxTransferBytes', 4096, 8 * 1024 * 1024],
  ['commandTimeoutMs', 0, 86_400_000],
  ['reconnectTries', 0, 1_000_000],
  ['reconnectDelayMs', 1, 86_400_000],
])('takes %s from %i to %i', (name, least, most) => {
  for (const value of [least, most]) expect(settingsOf({ ...GIVEN, [name]: value })).toHaveProperty(name, value);
  for (const value of [least - 1, most + 1, least + 0.5, Number.NaN])
    expect(() => settingsOf({ ...GIVEN, [name]: value })).toThrow(`${name} is ${value}, and has to be`);
});

it('takes a host identifier of 16 bytes', () => {
  for (const bytes of [15, 17])
    expect(() => settingsOf({ ...GIVEN, hostid: new Uint8Array(bytes) })).toThrow('a host identifier has 16 bytes');
});
