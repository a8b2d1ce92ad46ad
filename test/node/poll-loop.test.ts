/**
 * Goal: a loop polls while traffic is dense and sleeps otherwise, loses no wake-up, and leaves the processor to those
 * who need it. Method: a link that counts, and time that passes with each look at it.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { defaultPollMode, PollLoop } from '../../src/node/poll-loop.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const open: PollLoop[] = [];
afterEach(() => {
  for (const loop of open.splice(0)) loop.stop();
});

/** A look at the link takes a microsecond, a yield as long as `yieldNs` says. */
function rig(mode: 'adaptive' | 'busy') {
  const state = { ns: 1e9, polls: 0, begins: 0, ends: 0, yields: 0, yieldNs: 500, waiting: 0 };
  const link = {
    begin: () => void state.begins++,
    poll: () => {
      state.polls++;
      state.ns += 1000;
      if (state.waiting === 0) return false;
      state.waiting--;
      return true;
    },
    end: () => void state.ends++,
  };
  const host = {
    now: () => state.ns,
    yield: () => {
      state.yields++;
      state.ns += state.yieldNs;
    },
  };
  const loop = new PollLoop(link, mode, host);
  open.push(loop);
  /** Frames that come `gapNs` apart, while the event loop goes round. */
  const traffic = async (count: number, gapNs: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const due = state.ns + gapNs;
      while (loop.polling && state.ns < due) await turn();
      state.ns = Math.max(state.ns, due);
      loop.active();
    }
  };
  return { state, loop, traffic };
}

describe('a loop that polls', () => {
  it('is there by default where the other end can run at the same time', () => {
    expect([1, 2, 64].map(defaultPollMode)).toEqual(['event', 'adaptive', 'adaptive']);
  });

  it('when busy does so from the beginning, whether or not anything comes', async () => {
    const { state, loop } = rig('busy');
    for (let i = 0; i < 10; i++) await turn();
    expect(loop.polling).toBe(true);
    expect(state.polls).toBeGreaterThanOrEqual(400);
    expect([state.begins, state.ends]).toEqual([1, 0]);
  });

  it('adapts: sleeps at first, polls once frames come close together, sleeps again when they end', async () => {
    const { state, loop, traffic } = rig('adaptive');
    await turn();
    expect([loop.polling, state.polls]).toEqual([false, 0]);
    await traffic(5, 40_000);
    expect(loop.polling).toBe(true);
    while (loop.polling) await turn();
    expect(state.ends).toBe(state.begins);
    const slept = state.polls;
    await turn();
    expect(state.polls).toBe(slept);
  });

  it('polls for no longer than 0.25 ms after the last frame', async () => {
    const { state, loop, traffic } = rig('adaptive');
    await traffic(50, 150_000);
    const last = state.ns;
    while (loop.polling) await turn();
    expect(state.ns - last).toBeGreaterThan(150_000);
    expect(state.ns - last).toBeLessThan(260_000);
  });

  it('does not poll for frames that come now and then', async () => {
    const { state, loop, traffic } = rig('adaptive');
    await traffic(10, 40_000);
    await traffic(10, 5_000_000);
    const { polls } = state;
    await traffic(100, 5_000_000);
    expect([loop.polling, state.polls]).toEqual([false, polls]);
  });

  it('tries now and then whether gaps that are a little too long are short while it polls', async () => {
    const { state, loop, traffic } = rig('adaptive');
    // Both ends sleep: their wake-ups are in the gap.
    await traffic(16, 280_000);
    expect(loop.polling).toBe(true);
    await traffic(50, 150_000);
    expect([loop.polling, state.begins]).toEqual([true, 1]);
  });

  it('gives a trial up that was in vain, and spends little on trials', async () => {
    const { state, loop, traffic } = rig('adaptive');
    const began = state.ns;
    await traffic(160, 300_000);
    expect(loop.polling).toBe(false);
    expect(state.polls * 1000).toBeGreaterThan(0);
    expect(state.polls * 1000).toBeLessThan(0.1 * (state.ns - began));
    const { polls } = state;
    await traffic(160, 700_000);
    expect(state.polls).toBe(polls);
  });

  it('lets the rest of the process run every 50 us, and at once when something came', async () => {
    const { state } = rig('busy');
    await turn();
    const { ns, polls } = state;
    await turn();
    expect(state.ns - ns).toBeLessThan(52_000);
    expect(state.polls - polls).toBe(50);
    state.waiting = 1;
    const before = state.polls;
    await turn();
    expect(state.polls - before).toBe(1);
  });

  it('takes turns with another loop of the thread', async () => {
    const one = rig('busy');
    const other = rig('busy');
    await turn();
    const before = [one.state.polls, other.state.polls] as const;
    for (let i = 0; i < 10; i++) await turn();
    expect(one.state.polls - before[0]).toBeLessThanOrEqual(11);
    expect(other.state.polls - before[1]).toBeLessThanOrEqual(11);
  });

  it('lets others have the processor after each round in which nothing came', async () => {
    const { state } = rig('busy');
    await turn();
    const { yields } = state;
    for (let i = 0; i < 3; i++) await turn();
    expect(state.yields - yields).toBe(3);
    state.waiting = 1;
    await turn();
    expect(state.yields - yields).toBe(3);
  });

  it('when stopped polls no more, and does not touch a link that may have ended', async () => {
    const { state, loop } = rig('busy');
    await turn();
    loop.stop();
    const { polls } = state;
    await turn();
    expect([state.polls, state.ends, loop.polling]).toEqual([polls, 0, false]);
  });
});
