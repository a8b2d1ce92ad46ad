/**
 * Goal: every queue pair that has something to send gets its turn, in the order in which it became ready, whatever the
 * number of those that wait. Method: more queue pairs than the list holds before it is compacted, and a writer with
 * room for a few frames at a time.
 */
import { expect, it } from 'vitest';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { DeviceCounters } from '../../src/device/counters.ts';
import { InternalErrors } from '../../src/device/internal-errors.ts';
import { Scheduler } from '../../src/device/scheduler.ts';
import type { Qp } from '../../src/device/verbs/index.ts';

const QPS = 5000;
const ROOM = 7;
const FRAME = new Uint8Array(64);

/** A queue pair that sends one frame each turn for so many turns, and writes its number down. */
function sender(qpn: number, turns: number, sent: number[]): Qp {
  const core = {
    ...{ qpn, broken: false, listed: false, heapDeadline: Infinity, left: turns },
    get pending(): boolean {
      return this.left > 0;
    },
    nextDeadline: () => Infinity,
    transmit(_now: number, writer: FrameWriter) {
      this.left--;
      sent.push(qpn);
      writer.appendRaw(FRAME, 0, FRAME.length);
    },
  };
  return { core } as never;
}

it('compacts its list and loses nobody: thousands wait, some of them twice, and are served in order', () => {
  const sent: number[] = [];
  const qps = new Map(Array.from({ length: QPS }, (_, qpn) => [qpn, sender(qpn, qpn % 3 === 0 ? 2 : 1, sent)]));
  const errors = new InternalErrors(
    new DeviceCounters(),
    ({ error }) => {
      throw error;
    },
    () => undefined,
  );
  const scheduler = new Scheduler(qps, errors);
  for (const qp of qps.values()) scheduler.note(qp);
  expect(scheduler.ready).toBe(true);
  for (let more = true; more; ) more = scheduler.transmit(0, new FrameWriter(ROOM, 128), (qp) => scheduler.note(qp));
  expect(scheduler.ready).toBe(false);
  const all = [...qps.keys()];
  expect(sent).toEqual([...all, ...all.filter((qpn) => qpn % 3 === 0)]);
  // The list begins anew.
  scheduler.note(sender(QPS, 1, sent));
  expect(scheduler.transmit(0, new FrameWriter(ROOM, 128), () => undefined)).toBe(false);
  expect(sent.at(-1)).toBe(QPS);
});
