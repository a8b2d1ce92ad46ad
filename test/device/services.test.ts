/**
 * Goal: services that have nothing to do cost a turn nothing, and one that has something gets its turn.
 * Method: services that count how often they are asked; a device that says whether it is idle, after everything that
 * may give it work.
 */
import { describe, expect, it } from 'vitest';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { IpAddress } from '../../packets/index.ts';
import { DeviceCounters } from '../../src/device/counters.ts';
import { InternalErrors } from '../../src/device/internal-errors.ts';
import { Services } from '../../src/device/services.ts';
import { attachDevice, World } from '../../src/index.ts';

const writer = new FrameWriter(4, 256);
const noErrors = new InternalErrors(
  new DeviceCounters(),
  () => undefined,
  () => undefined,
);

/** Services of which TCP has a deadline and may owe something; `asked` counts its turns. */
function services() {
  const state = { asked: 0, owes: false, deadline: Infinity, timeouts: 0, pending: false, during: () => {} };
  const none = { transmit: () => false, nextDeadline: () => Infinity, handleTimeouts: () => undefined };
  const tcp = {
    transmit: () => {
      state.asked += 1;
      state.during();
      return state.owes;
    },
    nextDeadline: () => state.deadline,
    handleTimeouts: () => {
      state.timeouts += 1;
    },
  };
  const notification = {
    transmit: () => false,
    get pending() {
      return state.pending;
    },
  };
  const others = { neighbours: undefined, reports: undefined, gsi: none, cm: none, notification };
  const all = new Services({ ...others, tcp }, noErrors);
  const turn = (now: number): number => {
    all.transmit(now, writer);
    all.transmitNeighbours(now, writer);
    return state.asked;
  };
  return { all, state, turn };
}

describe('services that owe nothing', () => {
  it('are asked once, and again when something disturbs them', () => {
    const { all, turn } = services();
    expect([turn(0), turn(0), turn(5), all.isQuiet(1e15)]).toEqual([1, 1, 1, true]);
    all.disturb();
    expect([all.isQuiet(5), turn(5), turn(6)]).toEqual([false, 2, 2]);
  });

  it('are asked again at their deadline, and not before', () => {
    const { all, state, turn } = services();
    state.deadline = 100;
    expect([turn(0), turn(99), all.nextDeadline()]).toEqual([1, 1, 100]);
    all.handleTimeouts(99);
    expect(state.timeouts).toBe(0);
    all.handleTimeouts(100);
    state.deadline = Infinity;
    expect([state.timeouts, turn(100), turn(101), all.nextDeadline()]).toEqual([1, 2, 2, Infinity]);
  });

  it('name the deadline of now while they are disturbed', () => {
    const { all, state, turn } = services();
    turn(0);
    all.disturb();
    state.deadline = 7;
    expect(all.nextDeadline()).toBe(7);
  });

  it('are asked again when they were disturbed in that very turn', () => {
    const { all, state, turn } = services();
    state.during = () => all.disturb();
    expect([turn(0), turn(0)]).toEqual([1, 2]);
  });

  it('are not idle while a notification is owed', () => {
    const { all, state, turn } = services();
    turn(0);
    expect(all.isIdle(0)).toBe(true);
    state.pending = true;
    expect([all.isIdle(0), all.isQuiet(0)]).toEqual([false, true]);
  });
});

it('services that owe something are asked until they do not', () => {
  const { state, turn } = services();
  state.owes = true;
  expect([turn(0), turn(0)]).toEqual([1, 2]);
  state.owes = false;
  expect([turn(0), turn(0)]).toEqual([3, 3]);
});

describe('a device', () => {
  it('is idle when a world has nothing more to do, and not after a call that makes work', async () => {
    const world = new World({ seed: 1 });
    const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
    const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
    world.runUntilIdle();
    expect([a.idle, b.idle]).toEqual([true, true]);
    const resolved = a.resolve(IpAddress.parse('10.0.0.2'));
    expect(a.idle).toBe(false);
    await world.run(resolved);
    world.runUntilIdle();
    expect([a.idle, b.idle]).toEqual([true, true]);
    a.close();
    expect(a.idle).toBe(false);
  });
});
