/**
 * Goal: a machine on the real clock gets its frames, deadlines and backpressure. Method: a link in memory, a machine
 * that counts.
 */
import { describe, expect, it } from 'vitest';
import { crc32 } from '../../packets/crc32.ts';
import { RoceError } from '../../packets/errors.ts';
import { Medium } from '../../packets/frame.ts';
import type { FrameBatch } from '../../packets/frame-writer.ts';
import type { Link, LinkSink } from '../../src/ground/link.ts';
import { monotonicNs } from '../../src/node/clock.ts';
import { Driver } from '../../src/node/driver.ts';
import { batchOf, frame, Talker, tagOf } from '../sim/support.ts';

/** Takes `room` frames, then none until `drain`. */
class MemoryLink implements Link {
  readonly name = 'memory';
  readonly medium = Medium.Ethernet;
  readonly mtu = 1500;
  readonly sent: number[] = [];
  room = Infinity;
  startError: RoceError | undefined;
  sink: LinkSink | undefined;
  sends = 0;

  start(sink: LinkSink): Promise<void> {
    this.sink = sink;
    return this.startError === undefined ? Promise.resolve() : Promise.reject(this.startError);
  }

  send(batch: FrameBatch, from: number): number {
    this.sends++;
    const count = Math.min(this.room, batch.count - from);
    for (let i = from; i < from + count; i++) this.sent.push(tagOf(batch.bytes.subarray(batch.starts[i])));
    this.room -= count;
    return count;
  }

  close(): Promise<void> {
    this.sink?.closed();
    return Promise.resolve();
  }
}

/** What waits is there to be read. */
class PolledLink extends MemoryLink {
  readonly waiting: Uint8Array[] = [];
  begun = 0;
  polls = 0;
  readonly poller = {
    begin: (): void => void this.begun++,
    poll: (): boolean => {
      this.polls++;
      const [next] = this.waiting.splice(0, 1);
      if (next !== undefined) this.sink?.receive(batchOf(next));
      return next !== undefined;
    },
    end: (): void => {},
  };
}

async function started(): Promise<{ link: MemoryLink; driver: Driver; machine: Talker }> {
  const link = new MemoryLink();
  const driver = new Driver(link);
  const machine = new Talker(driver.host);
  await driver.start(machine);
  await turn();
  return { link, driver, machine };
}

/** One round of the event loop: what was scheduled before has run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe('Driver', () => {
  it('sends what was posted in one round of the loop as one batch', async () => {
    const { link, driver, machine } = await started();
    const before = link.sends;
    machine.post(frame(1, 2, 1));
    machine.post(frame(1, 2, 2), frame(1, 2, 3));
    expect(link.sent).toEqual([]);
    await turn();
    expect([link.sent, link.sends - before]).toEqual([[1, 2, 3], 1]);
    await driver.close();
  });

  it('hands frames over and lets the machine answer them', async () => {
    const { link, driver, machine } = await started();
    machine.onFrame = (tag) => machine.outbox.push(frame(1, 2, tag + 1));
    link.sink?.receive(batchOf(frame(2, 1, 10), frame(2, 1, 20)));
    await turn();
    expect(link.sent).toEqual([11, 21]);
    await driver.close();
  });

  it('sends what an application posts on what arrived before the loop goes on, and all of it at once', async () => {
    const { link, driver, machine } = await started();
    let sentBefore: readonly [readonly number[], number] = [[], 0];
    machine.onFrame = (tag) => {
      // As those who await a completion: some promises later.
      void Promise.resolve()
        .then(() => machine.post(frame(1, 2, tag + 1)))
        .then(() => {})
        .then(() => machine.post(frame(1, 2, tag + 2)));
    };
    const before = link.sends;
    const looked = new Promise<void>((resolve) =>
      setTimeout(() => {
        setImmediate(() => {
          sentBefore = [[...link.sent], link.sends - before];
          resolve();
        });
        link.sink?.receive(batchOf(frame(2, 1, 10)));
      }, 0),
    );
    await looked;
    expect(sentBefore).toEqual([[11, 12], 1]);
    await driver.close();
  });

  it('answers what comes back over a reflecting link before the loop reads on', async () => {
    const link = Object.assign(new MemoryLink(), { reflects: true });
    const driver = new Driver(link);
    const machine = new Talker(driver.host);
    await driver.start(machine);
    await turn();
    machine.onFrame = (tag) => machine.outbox.push(frame(1, 2, tag + 1));
    // Both in one check phase, in which a loopback delivers; its next one comes after more was read.
    const sent = await new Promise((resolve) => {
      setImmediate(() => link.sink?.receive(batchOf(frame(2, 1, 10))));
      setImmediate(() => resolve([...link.sent]));
    });
    expect(sent).toEqual([11]);
    await driver.close();
  });

  it('polls a link that can be polled, and answers in the same round of the loop what it finds', async () => {
    const link = new PolledLink();
    const driver = new Driver(link, monotonicNs, 'busy');
    const machine = new Talker(driver.host);
    machine.onFrame = (tag) => machine.outbox.push(frame(1, 2, tag + 1));
    await driver.start(machine);
    await turn();
    expect(link.begun).toBe(1);
    link.waiting.push(frame(2, 1, 10));
    // The loop's round, and what comes right after it.
    await new Promise<void>((resolve) => setImmediate(() => process.nextTick(resolve)));
    expect([link.waiting.length, link.sent]).toEqual([0, [11]]);
    await driver.close();
    const { polls } = link;
    await turn();
    expect(link.polls).toBe(polls);
  });

  it('keeps what a short send leaves and goes on in order when the link is writable', async () => {
    const { link, driver, machine } = await started();
    link.room = 3;
    machine.post(...range(100).map((tag) => frame(1, 2, tag)));
    await turn();
    expect(link.sent).toEqual([0, 1, 2]);
    machine.post(frame(1, 2, 100));
    await turn();
    expect(link.sent.length).toBe(3);
    link.room = Infinity;
    link.sink?.writable();
    await turn();
    expect(link.sent).toEqual(range(101));
    await driver.close();
  });

  it('lets the loop run between many batches', async () => {
    const { link, driver, machine } = await started();
    machine.post(...range(5000).map((tag) => frame(1, 2, tag)));
    await turn();
    expect(link.sent.length).toBe(1024);
    while (link.sent.length < 5000) await turn();
    expect(link.sent).toEqual(range(5000));
    await driver.close();
  });

  it('calls handleTimeouts at deadlines near and far, and not before', async () => {
    const { driver, machine } = await started();
    for (const delayNs of [0, 100_000, 5_000_000]) {
      const due = monotonicNs() + delayNs;
      const fired = new Promise<number>((resolve) => {
        machine.onTimeout = () => resolve(monotonicNs());
      });
      machine.setDeadline(due);
      // The timer alone does not keep a process alive; here something else does, as a link's socket would.
      const alive = setInterval(() => {}, 1000);
      expect(await fired).toBeGreaterThanOrEqual(due);
      clearInterval(alive);
    }
    expect(machine.timeouts).toBe(3);
    await driver.close();
  });

  it('forgets a far deadline that moves nearer', async () => {
    const { driver, machine } = await started();
    machine.setDeadline(monotonicNs() + 3_600e9);
    await turn();
    const fired = new Promise<void>((resolve) => {
      machine.onTimeout = resolve;
    });
    machine.setDeadline(monotonicNs() + 1000);
    await fired;
    await driver.close();
  });

  it('tells the owner why the link ended, and drives no more', async () => {
    const { link, driver, machine } = await started();
    const reason = new RoceError('ERR_ROCE_CLOSED', 'gone');
    link.sink?.closed(reason);
    expect(await driver.closed).toBe(reason);
    machine.post(frame(1, 2, 1));
    await turn();
    expect(link.sent).toEqual([]);
  });

  it('sends what is due before it closes, and resolves closed without a reason', async () => {
    const { link, driver, machine } = await started();
    machine.post(frame(1, 2, 7));
    await driver.close();
    expect(link.sent).toEqual([7]);
    expect(await driver.closed).toBeUndefined();
  });

  it('passes on why a link cannot start, and starts once only', async () => {
    const link = new MemoryLink();
    link.startError = new RoceError('ERR_ROCE_LINK_UNAVAILABLE', 'no such device');
    const driver = new Driver(link);
    const machine = new Talker(driver.host);
    await expect(driver.start(machine)).rejects.toBe(link.startError);
    expect(await driver.closed).toBe(link.startError);
    await expect(driver.start(machine)).rejects.toThrow(/started once/);
  });

  it('computes the same CRC with the routine of Node', () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i * 7);
    const before = crc32(bytes);
    new Driver(new MemoryLink());
    expect(crc32(bytes)).toBe(before);
  });
});

/** A driver whose clock the test sets, and a machine that waits for an answer until `dueNs`. */
async function stalled(dueNs: number) {
  const clock = { ns: 1e9 };
  const link = new MemoryLink();
  const driver = new Driver(link, () => clock.ns);
  const machine = new Talker(driver.host);
  // As a retransmission: the next try has as long.
  machine.onTimeout = () => machine.setDeadline(driver.host.now() + dueNs);
  machine.onFrame = () => machine.setDeadline(Infinity);
  await driver.start(machine);
  machine.setDeadline(clock.ns + dueNs);
  await turns(2);
  return { clock, link, driver, machine };
}

/** What a timer of the loop does: a turn after the next reading. */
const roundOfLoop = (link: MemoryLink): void => link.sink?.writable();

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await turn();
};

describe('a Driver after the process has stood still', () => {
  it.each([
    ['five seconds', 5e9],
    ['hours, as after SIGSTOP', 7.2e12],
  ])('for %s reads what waits before its deadlines, so that no retry is used up', async (_time, stallNs) => {
    const { clock, link, driver, machine } = await stalled(67e6);
    clock.ns += stallNs;
    // An application that computed, and then posts: its turn comes before anything can be read.
    machine.post(frame(1, 2, 1));
    await turn();
    expect([link.sent, machine.timeouts]).toEqual([[1], 0]);
    link.sink?.receive(batchOf(frame(2, 1, 9)));
    await turns(40);
    expect(machine.timeouts).toBe(0);
    await driver.close();
  });

  it('uses up no retry for an application that computes and posts again and again before the loop can read', async () => {
    const { clock, link, driver, machine } = await stalled(4e6);
    for (let i = 0; i < 8; i++) {
      clock.ns += 10e6;
      machine.post(frame(1, 2, i));
      await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
    }
    expect([link.sent.length, machine.timeouts]).toEqual([8, 0]);
    link.sink?.receive(batchOf(frame(2, 1, 9)));
    await turns(4);
    expect(machine.timeouts).toBe(0);
    await driver.close();
  });

  it('reads on while frames come, of which the awaited one may be the last', async () => {
    const { clock, link, driver, machine } = await stalled(67e6);
    machine.onFrame = (tag) => machine.setDeadline(tag === 9 ? Infinity : machine.deadline);
    clock.ns += 5e9;
    for (let i = 0; i < 10; i++) {
      await turn();
      link.sink?.receive(batchOf(frame(2, 1, i)));
    }
    await turns(40);
    expect(machine.timeouts).toBe(0);
    await driver.close();
  });

  it('fires a timer once where nothing has come', async () => {
    const { clock, link, driver, machine } = await stalled(67e6);
    clock.ns += 3_600e9;
    roundOfLoop(link);
    await turns(40);
    expect(machine.timeouts).toBe(1);
    expect(machine.deadline).toBe(clock.ns + 67e6);
    await driver.close();
  });

  it('fires it also where frames never end', async () => {
    const { clock, link, driver, machine } = await stalled(67e6);
    machine.onFrame = () => {};
    clock.ns += 5e9;
    for (let i = 0; i < 40; i++) {
      link.sink?.receive(batchOf(frame(2, 1, 3)));
      await turn();
    }
    expect(machine.timeouts).toBe(1);
    await driver.close();
  });

  it('lets time stand still while the clock goes back', async () => {
    const { clock, link, driver, machine } = await stalled(67e6);
    const before = driver.host.now();
    clock.ns -= 3_600e9;
    roundOfLoop(link);
    await turns(4);
    expect([driver.host.now(), machine.timeouts]).toEqual([before, 0]);
    clock.ns = before + 67e6;
    roundOfLoop(link);
    await turns(4);
    expect(machine.timeouts).toBe(1);
    await driver.close();
  });
});

/** A driver whose link takes nothing, and a machine with one request that waits for its answer for `dueNs`. */
async function blocked(dueNs: number) {
  const { clock, link, driver, machine } = await stalled(dueNs);
  const held: [number, number][] = [];
  Object.assign(machine, {
    held: (sinceNs: number, untilNs: number) => {
      held.push([sinceNs, untilNs]);
      if (machine.deadline >= sinceNs + dueNs) machine.deadline = Math.max(machine.deadline, untilNs + dueNs);
    },
  });
  link.room = 0;
  machine.post(frame(1, 2, 1));
  machine.setDeadline(clock.ns + dueNs);
  await turns(2);
  expect(link.sent).toEqual([]);
  return { clock, link, driver, machine, held };
}

describe('a Driver whose link takes no frames', () => {
  it('fires no timer for a request that has not left, and starts it when it leaves', async () => {
    const { clock, link, driver, machine } = await blocked(67e6);
    for (let round = 0; round < 3; round++) {
      clock.ns += 68e6;
      roundOfLoop(link);
      await turns(4);
      expect([link.sent, machine.timeouts]).toEqual([[], 0]);
    }
    clock.ns += 60e6;
    link.room = Infinity;
    roundOfLoop(link);
    await turns(4);
    expect([link.sent, machine.timeouts, machine.deadline]).toEqual([[1], 0, clock.ns + 67e6]);
    clock.ns += 67e6;
    roundOfLoop(link);
    await turns(4);
    expect(machine.timeouts).toBe(1);
    await driver.close();
  });

  it('says nothing of a wait that no timer would notice, and nothing once frames have left', async () => {
    const { clock, link, driver, held } = await blocked(67e6);
    clock.ns += 999_999;
    link.room = Infinity;
    roundOfLoop(link);
    await turns(4);
    expect([link.sent, held]).toEqual([[1], []]);
    clock.ns += 68e6;
    roundOfLoop(link);
    await turns(4);
    expect(held).toEqual([]);
    await driver.close();
  });

  it('fires timers where the link takes nothing for seconds: the frames count as lost', async () => {
    const { clock, link, driver, machine } = await blocked(67e6);
    const startedAt = clock.ns;
    for (let round = 0; round < 100 && machine.timeouts === 0; round++) {
      clock.ns += 68e6;
      roundOfLoop(link);
      await turns(4);
    }
    expect(machine.timeouts).toBe(1);
    expect(clock.ns - startedAt).toBeGreaterThanOrEqual(4e9 + 67e6);
    await driver.close();
  });
});

describe('monotonicNs', () => {
  it('is an integer and never goes back', () => {
    let last = monotonicNs();
    for (let i = 0; i < 1000; i++) {
      const now = monotonicNs();
      expect(Number.isInteger(now) && now >= last).toBe(true);
      last = now;
    }
  });
});
