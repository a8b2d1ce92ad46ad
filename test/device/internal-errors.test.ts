/**
 * Goal: an assertion of ours, brought out by a frame or a timer, ends at most one queue pair or one message, is counted
 * and is reported with the frame. Method: two connected devices in the simulated world; one method of a core is made to
 * throw, and a second conversation beside it must go on.
 */
import { describe, expect, it } from 'vitest';
import { invariant } from '../../packets/index.ts';
import { DeviceCounters } from '../../src/device/counters.ts';
import type { InternalErrorEvent } from '../../src/device/internal-errors.ts';
import { InternalErrors, MAX_REPORTED_PLACES } from '../../src/device/internal-errors.ts';
import { type Device, QpState, WcStatus, WrOpcode } from '../../src/index.ts';
import { type Connected, connect, makeSide, PORT } from './support.ts';

function broken(): never {
  invariant(false, 'a planted fault');
}

/** A second connection beside the one of `pair`. */
async function besides({ world, a, b }: Connected) {
  const left = makeSide(a);
  const right = makeSide(b);
  const listener = b.cm.listen(PORT + 1);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
  await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT + 1, qp: left.qp }), accepting]));
  return { left, right };
}

const ignored = (): void => undefined;

type Side = ReturnType<typeof makeSide>;

function postMessage(left: Side, right: Side): void {
  right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr, offset: 0, length: 100 }] });
  left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: left.mr, offset: 0, length: 100 }] });
}

async function nextError(device: Device): Promise<InternalErrorEvent> {
  const { value } = await device.events.next();
  if (typeof value !== 'object') throw new Error(`another event: ${value}`);
  return value;
}

describe('an error of ours', () => {
  for (const [seam, during] of [
    ['handleFrame', 'receive'],
    ['transmit', 'transmit'],
  ] as const) {
    it(`in ${seam} of a queue pair ends that queue pair, and the one beside it goes on`, async () => {
      const pair = await connect();
      const { world, b, left, right } = pair;
      const other = await besides(pair);
      Object.assign(right.qp.core, { [seam]: broken });
      postMessage(left, right);
      postMessage(other.left, other.right);
      const [flushed, sent, received, event] = await world.run(
        Promise.all([right.cq.next(), other.left.cq.next(), other.right.cq.next(), nextError(b)]),
      );
      expect(flushed.value?.status).toBe(WcStatus.WrFlushErr);
      expect([sent.value?.status, received.value?.status]).toEqual([WcStatus.Success, WcStatus.Success]);
      expect([event.during, event.qpn, String(event.error)]).toEqual([
        during,
        right.qp.qpn,
        expect.stringContaining('a planted fault'),
      ]);
      expect([right.qp.state, other.right.qp.state]).toEqual([QpState.Error, QpState.Rts]);
      expect(b.counters.internalErrors).toBe(1);
      expect(event.frame !== undefined).toBe(during === 'receive');
    });
  }
});

describe('the report', () => {
  it('names each place once and counts the rest, with a copy of the frame', () => {
    const counters = new DeviceCounters();
    const events: InternalErrorEvent[] = [];
    const errors = new InternalErrors(counters, (event) => events.push(event), ignored);
    const frame = Uint8Array.of(1, 2, 3);
    for (let i = 0; i < 100; i++)
      errors.note({ type: 'internal-error', during: 'receive', error: new Error(`number ${i}`), frame });
    frame.fill(0);
    expect([counters.internalErrors, events.length, events[0]?.frame]).toEqual([100, 1, Uint8Array.of(1, 2, 3)]);
  });

  it('is bounded, however many places fail', () => {
    const events: InternalErrorEvent[] = [];
    const errors = new InternalErrors(new DeviceCounters(), (event) => events.push(event), ignored);
    for (let i = 0; i < 100; i++) {
      const error = new Error('one of many');
      error.stack = `Error: one of many\n    at place${i} (file.ts:${i}:1)`;
      errors.note({ type: 'internal-error', during: 'timeout', error });
    }
    expect(events).toHaveLength(MAX_REPORTED_PLACES);
  });
});
