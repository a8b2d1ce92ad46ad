/**
 * Goal: `batchFrames` bounds what a machine hands over at a time, so that with a rate it reacts before all of a backlog
 * has left.
 */

import { describe, expect, it } from 'vitest';
import { defined } from '../../packets/defined.ts';
import type { FrameWriter } from '../../packets/index.ts';
import type { Machine } from '../../src/ground/machine.ts';
import { World } from '../../src/sim/index.ts';

/** Sends frames until told to stop; tells how many each turn took. */
class Chatterbox implements Machine {
  readonly turns: number[] = [];
  left: number;

  constructor(frames: number) {
    this.left = frames;
  }

  receive(): void {}

  transmit(writer: FrameWriter): boolean {
    let count = 0;
    for (; !writer.full && this.left > 0; count++, this.left--) writer.appendRaw(FRAME, 0, FRAME.length);
    if (count > 0) this.turns.push(count);
    return this.left > 0;
  }

  nextDeadline(): number {
    return Infinity;
  }

  handleTimeouts(): void {}
}

const FRAME = new Uint8Array(100);

function turnsOf(batchFrames: number | undefined): number[] {
  const world = new World({ seed: 1, ...defined({ batchFrames }) });
  const machine = world.attach('a', () => new Chatterbox(150));
  world.runUntilIdle();
  return machine.turns;
}

describe('batchFrames', () => {
  it('is how many frames a machine hands over at a time, 64 unless told otherwise', () => {
    expect(turnsOf(undefined)).toEqual([64, 64, 22]);
    expect(turnsOf(100)).toEqual([100, 50]);
    expect(turnsOf(1)).toHaveLength(150);
  });

  it('lets a machine behind a rate take back what has not left', () => {
    for (const batchFrames of [1, 64]) {
      // 100 bytes a microsecond, one frame at a time.
      const world = new World({ seed: 1, batchFrames, faults: { rateBps: 8e8, queueBytes: 1 } });
      const machine = world.attach('a', () => new Chatterbox(150));
      world.runFor(10_500);
      machine.left = 0;
      world.runUntilIdle();
      const sent = world.network.port('a')?.counters.sent;
      expect([batchFrames, sent]).toEqual([batchFrames, batchFrames === 1 ? 12 : 64]);
    }
  });
});
