/** Goal: what waits for a rate is bounded as `FaultSpec` says, at both ends of a wire. Method: time as a number. */
import { describe, expect, it } from 'vitest';
import { Medium } from '../../packets/frame.ts';
import { Fate } from '../../src/faults/fault-spec.ts';
import { Wire } from '../../src/faults/wire.ts';
import { Prng } from '../../src/sim/index.ts';

/** A byte a nanosecond. */
const RATE = { rateBps: 8e9 };
const FRAME = new Uint8Array(1000);
const VIEW = new DataView(FRAME.buffer);

const fateOn = (wire: Wire, now: number): number =>
  wire.decide(now, FRAME, VIEW, 0, FRAME.length, Medium.Ethernet) & Fate.Dropped;

describe('a wire with a rate and no word of its queue', () => {
  it('is full for a sender at 262,144 bytes, and takes frames again when half of them have left', () => {
    const wire = new Wire('send', RATE, 0, new Prng(1));
    wire.exitTime(0, 262_143);
    expect(wire.full(0)).toBe(false);
    wire.exitTime(0, 1);
    expect([wire.full(0), wire.backlogBytes(0), wire.drainTime(0)]).toEqual([true, 262_144, 131_072]);
    expect([wire.full(1), wire.backlogBytes(131_072)]).toEqual([false, 131_072]);
  });

  it('drops nothing on its way to a receiver', () => {
    const wire = new Wire('receive', RATE, 0, new Prng(1));
    wire.exitTime(0, 1e9);
    expect([wire.full(0), fateOn(wire, 0)]).toEqual([false, 0]);
  });
});

describe('a wire with a rate and a queue', () => {
  it('drops at its tail what is for a receiver, until there is room again', () => {
    const wire = new Wire('receive', { ...RATE, queueBytes: 2000 }, 0, new Prng(1));
    wire.exitTime(0, 1000);
    expect(fateOn(wire, 0)).toBe(0);
    wire.exitTime(0, 1000);
    expect([fateOn(wire, 0), wire.overflowed, wire.counters.overflowed]).toEqual([Fate.Dropped, true, 1]);
    expect([fateOn(wire, 1), wire.overflowed, wire.counters.overflowed]).toEqual([0, false, 1]);
  });
});
