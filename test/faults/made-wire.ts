/** Frames from a to b through an engine and a path, with time as a number. */
import { defined } from '../../packets/defined.ts';
import { Medium } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import { FaultEngine, type FaultEngineOptions } from '../../src/faults/engine.ts';
import { FaultPath, type FaultPathOptions } from '../../src/faults/path.ts';
import type { WireRule } from '../../src/faults/rule.ts';
import { batchOf, Collector, frame as otherFrame } from '../sim/support.ts';
import { A_TO_B, packet } from './support.ts';

type Parts = Omit<FaultEngineOptions, 'medium'> & Partial<FaultPathOptions>;

/** Frames from a to b: in at a time, out in order. */
export class Wire {
  readonly engine: FaultEngine;
  readonly path: FaultPath;
  readonly out = new Collector();
  /** Frames the far end takes before it says stop. */
  credit = Infinity;

  constructor({ maxFrameBytes = 1522, capacity, observer, ...options }: Parts) {
    this.engine = new FaultEngine({ medium: Medium.Ethernet, ...options });
    this.path = new FaultPath(this.engine, A_TO_B, { maxFrameBytes, capacity, observer });
  }

  enter(now: number, ...frames: readonly Uint8Array[]): void {
    const batch = batchOf(...frames);
    this.path.enter(now, batch, 0, batch.count);
    this.flush(now);
  }

  flush(now: number, until = now): boolean {
    const take = (batch: Parameters<Collector['receive']>[0], from: number): number => {
      const taken = Math.min(this.credit, batch.count - from);
      this.credit -= taken;
      const rest = batchOf(
        ...Array.from({ length: taken }, (_, i) => {
          const start = batch.starts[from + i] ?? 0;
          return batch.bytes.slice(start, start + (batch.lengths[from + i] ?? 0));
        }),
      );
      if (taken > 0) this.out.receive(rest);
      return taken;
    };
    return this.path.flush(now, take, until);
  }

  /** Lets time pass until nothing waits. */
  drain(): void {
    for (let steps = 0; this.path.waiting > 0 && steps < 10_000; steps++) {
      const deadline = this.path.nextDeadline();
      if (deadline === Infinity) return;
      this.flush(deadline);
    }
  }
}

export const tagged = (count: number, from = 0) =>
  Array.from({ length: count }, (_, tag) => otherFrame(1, 2, from + tag));
export const write = (psn: number, trafficClass = 0) =>
  packet({ direction: A_TO_B, opcode: Op.WriteMiddle, qpn: 0x22, psn, payloadBytes: 64, trafficClass });
export const any = (rule: Omit<WireRule, 'on'>, nth?: number): WireRule => ({
  on: { opcode: 'any', ...defined({ nth }) },
  ...rule,
});
