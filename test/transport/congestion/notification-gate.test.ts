/**
 * Goal: every notification that an honest receiver can send counts, and of a flood one in a millisecond
 * (ref:hostile#SEC-13). Method: the gate of one flow, with times by hand.
 */
import { describe, expect, it } from 'vitest';
import { NotificationGate } from '../../../transport/congestion/notification-gate.ts';

const US = 1000;
const MS = 1_000_000;
const INTERVAL = 4 * US;

/** A gate of a flow that has sent so many frames. */
function gateAfter(frames: number): NotificationGate {
  const gate = new NotificationGate();
  for (let i = 0; i < frames; i++) gate.sent();
  return gate;
}

describe('an honest receiver', () => {
  it.each([4, 50])('that sends one every %i us is heeded every time, for as long as frames are sent', (us) => {
    const gate = gateAfter(1);
    for (let now = 0; now < 100 * MS; now += us * US) {
      gate.sent();
      expect(gate.takes(now, INTERVAL)).toBe(true);
    }
  });

  it('whose notifications come two at a time is heeded, too', () => {
    const gate = gateAfter(64);
    for (let now = 0; now < 100 * US; now += 2 * INTERVAL)
      expect([gate.takes(now, INTERVAL), gate.takes(now, INTERVAL)]).toEqual([true, true]);
  });

  it('whose notifications come 60 at once, as a host was busy, loses most of these and none after them', () => {
    const gate = gateAfter(64);
    let taken = 0;
    for (let i = 0; i < 60; i++) if (gate.takes(MS, INTERVAL)) taken += 1;
    expect(taken).toBe(16);
    for (let now = MS + 300 * US; now < 2 * MS; now += 50 * US) {
      gate.sent();
      expect(gate.takes(now, INTERVAL)).toBe(true);
    }
  });
});

describe('SEC-13', () => {
  it('of a flood at ten times the rate of an honest receiver one in a millisecond counts', () => {
    const gate = gateAfter(0);
    let taken = 0;
    for (let now = 0; now < 100 * MS; now += INTERVAL / 10) {
      gate.sent();
      if (gate.takes(now, INTERVAL)) taken += 1;
    }
    expect(taken).toBeGreaterThanOrEqual(100);
    expect(taken).toBeLessThan(130);
  });

  it('more than one for each frame are a flood, however slow', () => {
    const gate = gateAfter(0);
    let taken = 0;
    for (let now = 0; now < 100 * MS; now += 100 * US) {
      gate.sent();
      for (let i = 0; i < 3; i++) if (gate.takes(now + 30 * i * US, INTERVAL)) taken += 1;
    }
    expect(taken).toBeGreaterThanOrEqual(90);
    expect(taken).toBeLessThan(200);
  });

  it('a millisecond after the last of a flood an honest receiver is heeded again', () => {
    const gate = gateAfter(64);
    for (let i = 0; i < 1000; i++) gate.takes(MS, INTERVAL);
    for (let i = 0; i < 64; i++) gate.sent();
    for (let now = 2 * MS; now < 3 * MS; now += 50 * US) expect(gate.takes(now, INTERVAL)).toBe(true);
  });
});
