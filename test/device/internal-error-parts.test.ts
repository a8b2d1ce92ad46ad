/**
 * Goal: the parts of the boundary for errors of ours do what each is there for: a service rests, results are delivered
 * all the same, a place is what was done and where, and callbacks of the application are told apart. Method: each part
 * alone, with code that throws.
 */
import { describe, expect, it } from 'vitest';
import { FrameWriter } from '../../packets/index.ts';
import { isOfCallback, markTrace } from '../../src/device/callbacks.ts';
import { DeviceCounters } from '../../src/device/counters.ts';
import { InternalErrors } from '../../src/device/internal-errors.ts';
import { type ServiceParts, Services } from '../../src/device/services.ts';
import { Settling } from '../../src/device/settling.ts';
import { attachDevice, type InternalErrorEvent, QpState, World, WrOpcode } from '../../src/index.ts';
import type { QpTrace } from '../../transport/trace.ts';
import { plantsInternalErrors } from '../support/internal-errors.ts';
import { makeSide, PORT } from './support.ts';

plantsInternalErrors();

function noted() {
  const counters = new DeviceCounters();
  const events: InternalErrorEvent[] = [];
  const errors = new InternalErrors(
    counters,
    (event) => events.push(event),
    () => undefined,
  );
  return { counters, events, errors };
}

const MS = 1e6;

describe('a service that throws', () => {
  /** Services of which TCP alone has something to do, and throws in one of its calls. */
  function throwing(part: 'transmit' | 'nextDeadline' | 'handleTimeouts') {
    let calls = 0;
    const fail = (): never => {
      calls += 1;
      throw new Error('planted');
    };
    const idle = { transmit: () => false, nextDeadline: () => Infinity, handleTimeouts: () => undefined };
    const parts: ServiceParts = {
      ...{ neighbours: undefined, reports: undefined, notification: undefined, gsi: idle, cm: idle },
      tcp: { ...idle, nextDeadline: () => 7, [part]: fail },
    };
    const { counters, errors } = noted();
    return { services: new Services(parts, errors), counters, calls: () => calls };
  }
  const writer = new FrameWriter(1, 64);

  it('in its turn rests 100 ms, then until there is input, and begins anew with that', () => {
    const { services, counters, calls } = throwing('transmit');
    expect([services.nextDeadline(), services.transmit(0, writer), services.transmit(99 * MS, writer)]).toEqual([
      7,
      false,
      false,
    ]);
    expect([calls(), counters.internalErrors, services.nextDeadline()]).toEqual([1, 1, 100 * MS]);
    services.handleTimeouts(100 * MS);
    services.transmit(100 * MS, writer);
    services.transmit(1e15, writer);
    services.handleTimeouts(1e15);
    expect([calls(), services.nextDeadline()]).toEqual([2, Infinity]);
    services.revive();
    expect(services.nextDeadline()).toBe(7);
    services.transmit(1e15, writer);
    expect([calls(), services.nextDeadline(), counters.internalErrors]).toEqual([3, 1e15 + 100 * MS, 3]);
  });

  it('at a deadline rests as well', () => {
    const { services, calls } = throwing('handleTimeouts');
    for (const now of [0, 50 * MS, 100 * MS, 1e15]) services.handleTimeouts(now);
    expect([calls(), services.nextDeadline()]).toEqual([2, Infinity]);
  });

  it.each(['neighbours', 'reports', 'tcp', 'gsi', 'notification'] as const)(
    'leaves the others their turn, and its deadline is dealt with: %s',
    (broken) => {
      const turns: string[] = [];
      const part = (name: string) => {
        const turn = (): boolean => {
          turns.push(name);
          if (name === broken) throw new Error('planted');
          return false;
        };
        const timers = { nextDeadline: () => Infinity, handleTimeouts: () => undefined };
        return { ...timers, transmit: turn, poll: turn, pending: true };
      };
      const names = ['neighbours', 'reports', 'tcp', 'gsi', 'notification'] as const;
      const { counters, errors } = noted();
      const services = new Services(
        {
          ...{ neighbours: part('neighbours'), reports: part('reports'), tcp: part('tcp'), gsi: part('gsi') },
          ...{ notification: part('notification'), cm: part('cm') },
        },
        errors,
      );
      services.transmit(0, writer);
      services.transmitNotifications(0, writer);
      expect([turns, counters.internalErrors, services.nextDeadline()]).toEqual([[...names], 1, 100 * MS]);
      services.handleTimeouts(100 * MS);
      expect(services.nextDeadline()).toBe(Infinity);
      services.transmit(100 * MS, writer);
      services.transmitNotifications(100 * MS, writer);
      expect(turns).toEqual([...names, ...names]);
    },
  );

  it('at a deadline, or when it is to name one, hides nothing of those behind it', () => {
    let polls = 0;
    let handled = 0;
    const fail = (): never => {
      throw new Error('planted');
    };
    const neighbours = { poll: () => (polls++ === 0 ? fail() : false), nextDeadline: fail, handleTimeouts: fail };
    const cm = { nextDeadline: () => 7, handleTimeouts: () => (handled += 1) };
    const others = { reports: undefined, tcp: undefined, notification: undefined, gsi: { transmit: () => false } };
    const services = new Services({ neighbours, cm, ...others }, noted().errors);
    expect(services.nextDeadline()).toBe(7);
    services.revive();
    services.handleTimeouts(0);
    expect(handled).toBe(1);
    services.revive();
    services.transmitNeighbours(0, writer);
    services.transmitNeighbours(99 * MS, writer);
    expect(polls).toBe(1);
  });

  it('when it is to name a deadline has none until there is input', () => {
    const { services, calls } = throwing('nextDeadline');
    expect([services.nextDeadline(), services.nextDeadline(), calls()]).toEqual([Infinity, Infinity, 1]);
    services.revive();
    expect([services.nextDeadline(), calls()]).toEqual([Infinity, 2]);
  });
});

describe('results that throw while they are delivered', () => {
  /** The first part and the last. */
  const settling = (paths: () => void, resources: () => void, errors: InternalErrors): Settling => {
    const parts = {
      paths: { unsettled: true, settle: paths },
      cm: { unsettled: false, settle: () => undefined },
      resources: { unsettled: true, settle: resources },
      services: { disturb: () => undefined },
    };
    return new Settling(parts, () => undefined, errors);
  };

  it('leave those behind them, of their part and of the others, to the same turn', () => {
    const { counters, events, errors } = noted();
    const delivered: number[] = [];
    const queue = [1, 2, 3, 4];
    const part = (): void => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        if (one % 2 === 0) throw new Error('planted');
        delivered.push(one);
      }
    };
    settling(part, () => delivered.push(100), errors).settle();
    expect([delivered, counters.internalErrors, events[0]?.during]).toEqual([[1, 3, 100], 2, 'settle']);
  });

  it('are tried a bounded number of times', () => {
    const { counters, errors } = noted();
    let others = 0;
    const always = (): never => {
      throw new Error('planted');
    };
    settling(always, () => (others += 1), errors).settle();
    expect([counters.internalErrors, others]).toEqual([16, 1]);
  });
});

it('a place is what was done, and where', () => {
  const { events, errors } = noted();
  const error = new Error('one place');
  for (const during of ['receive', 'transmit', 'receive'] as const) errors.caught(during, error);
  errors.caught('settle', 'no Error');
  errors.caught('settle', 'nor this');
  expect(events.map(({ during }) => during)).toEqual(['receive', 'transmit', 'settle']);
});

/** A trace with one function for all. */
const everywhere = (note: () => void): QpTrace => ({
  ...{ stateChanged: note, acknowledged: note, retried: note, rnrWait: note },
  ...{ judged: note, completed: note, notified: note, rate: note },
});

describe('what the trace of an application throws', () => {
  it('is told from errors of ours, in each of its methods', () => {
    const fail = (): never => {
      throw new Error('of the application');
    };
    const trace = markTrace(everywhere(fail));
    const names = Object.keys(trace) as (keyof QpTrace)[];
    expect(names.sort()).toEqual(Object.keys(everywhere(fail)).sort());
    for (const name of names) {
      let thrown: unknown;
      try {
        Reflect.apply(trace[name], trace, []);
      } catch (error) {
        thrown = error;
      }
      expect(isOfCallback(thrown), name).toBe(true);
    }
  });

  it('leaves the machine, and is counted nowhere', async () => {
    const world = new World({ seed: 1 });
    let fails = false;
    const note = (): void => {
      if (fails) throw new RangeError('the disk is full');
    };
    const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'], trace: everywhere(note) });
    const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
    const [left, right] = [makeSide(a), makeSide(b)];
    const accepting = b.cm
      .listen(PORT)
      .next()
      .then(({ value }) => value.accept({ qp: right.qp }));
    await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp }), accepting]));
    fails = true;
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr, offset: 0, length: 100 }] });
    left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: left.mr, offset: 0, length: 100 }] });
    expect(() => world.runFor(1e9, { maxSteps: 20_000 })).toThrow('the disk is full');
    expect([a.counters.internalErrors, left.qp.state]).toEqual([0, QpState.Rts]);
  });
});
