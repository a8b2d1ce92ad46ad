/**
 * Goal: who runs a command learns what looks like an attack, and what was an error of the stack, on standard error and
 * in words. Method: events of every kind, printed.
 */
import { describe, expect, it, vi } from 'vitest';
import { AsyncQueue } from '../../src/ground/async-queue.ts';
import {
  type DeviceEvent,
  type InternalErrorEvent,
  IpAddress,
  SUSPICION_THRESHOLDS,
  type SuspicionCause,
  type SuspiciousEvent,
} from '../../src/index.ts';
import { internalErrorText, printDeviceEvents, suspicionText } from '../../tools/device-events.ts';
import { terminal } from '../../tools/output.ts';

const suspicious = (cause: SuspicionCause, more: Partial<SuspiciousEvent> = {}): SuspiciousEvent => ({
  ...{ kind: 'suspicious', cause, count: 4096, at: 0 },
  ...more,
});

describe('a suspicion', () => {
  it('is a line with how often, what, and by whom', () => {
    const address = IpAddress.parse('10.0.0.9');
    expect(suspicionText(suspicious('psn-outside-window', { address, port: 49_153, qpn: 18 }))).toBe(
      'suspicious: 4,096 PSNs that no honest peer sends, from 10.0.0.9 port 49153, queue pair 18',
    );
    expect(suspicionText(suspicious('neighbour-claim', { address: IpAddress.parse('fe80::1'), count: 4 }))).toBe(
      'suspicious: 4 claims of another MAC address for a known neighbour, from fe80::1',
    );
    expect(suspicionText(suspicious('cm-table-full'))).toBe(
      'suspicious: 4,096 connection requests for which there is no place, from many addresses or none',
    );
  });

  it('has words of its own for each cause', () => {
    const causes = Object.keys(SUSPICION_THRESHOLDS) as SuspicionCause[];
    const lines = causes.map((cause) => suspicionText(suspicious(cause)));
    expect(new Set(lines).size).toBe(causes.length);
    expect(lines.filter((line) => line.includes('undefined'))).toEqual([]);
  });
});

describe('an internal error', () => {
  const event: InternalErrorEvent = { kind: 'internal-error', during: 'receive', error: new RangeError('too far') };

  it('is a line with the stack, and the frame that brings it out', () => {
    const text = internalErrorText({ ...event, qpn: 18, frame: Uint8Array.of(0, 0xa5, 0xff) });
    expect(text).toContain(
      'internal error (receive, queue pair 18 is in ERROR), please report it: RangeError: too far',
    );
    expect(text).toMatch(/\n {4}at .*\nThe frame: 00a5ff$/s);
  });

  it('may have neither, and need be no Error', () => {
    expect(internalErrorText({ ...event, error: 'thrown' })).toBe('internal error (receive), please report it: thrown');
  });
});

it('events are printed on standard error in their order, without what is no news, until the device is closed', async () => {
  const events = new AsyncQueue<DeviceEvent>();
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    const printing = printDeviceEvents(events, terminal);
    events.push(suspicious('bad-qpn', { count: 256 }));
    events.push('port-err');
    events.push({ kind: 'internal-error', during: 'settle', error: 'a \x1b[31m colour' });
    events.close();
    await printing;
    expect(write.mock.calls.map(([text]) => text)).toEqual([
      'suspicious: 256 packets to queue pair numbers that do not exist, from many addresses or none\n',
      expect.stringMatching(/^internal error \(settle\), please report it: a .*colour\n$/),
    ]);
    // Nothing that a peer can cause reaches a terminal as a control sequence.
    expect(write.mock.calls.join()).not.toContain('\x1b');
    expect(out.mock.calls).toEqual([]);
  } finally {
    vi.restoreAllMocks();
  }
});
