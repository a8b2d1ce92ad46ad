/**
 * Goal: an assertion of ours, brought out by a frame, a turn or a timer, ends at most one queue pair or one message, is
 * counted once and is reported with the frame. Method: connected devices in the simulated world; one method is made to
 * throw for the first object that calls it; the world has to fall silent in bounded steps, and a conversation beside
 * it must go on.
 */
import { describe, expect, it } from 'vitest';
import { InvariantError, IpAddress } from '../../packets/index.ts';
import { Gsi } from '../../src/device/cm/gsi.ts';
import { DeviceCounters } from '../../src/device/counters.ts';
import { GroupReports } from '../../src/device/host/group-reports.ts';
import { Neighbours } from '../../src/device/host/neighbours.ts';
import { TcpConnection } from '../../src/device/host/tcp/connection.ts';
import { TcpStack } from '../../src/device/host/tcp/stack.ts';
import { InternalErrors, MAX_REPORTED_PLACES, replayFrame } from '../../src/device/internal-errors.ts';
import { Paths } from '../../src/device/paths.ts';
import {
  Access,
  attachDevice,
  type Device,
  FlushLevel,
  FlushType,
  type InternalErrorEvent,
  QpState,
  QpType,
  WcStatus,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { CmCore } from '../../transport/cm/core.ts';
import { ConnectionManager } from '../../transport/cm/index.ts';
import { Completer } from '../../transport/completer.ts';
import { NotificationPoint } from '../../transport/congestion/index.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import { Requester } from '../../transport/requester.ts';
import { Responder } from '../../transport/responder.ts';
import { UdQueuePair } from '../../transport/ud-queue-pair.ts';
import { plantsInternalErrors } from '../support/internal-errors.ts';
import { plant, uprootAll } from './planted-errors.ts';
import { type Connected, connect, makePair, makeSide, PORT, type Side } from './support.ts';

plantsInternalErrors();
const STEPS = { maxSteps: 20_000 };
const REMOTE = { address: '10.0.0.2', port: PORT + 1 };

/** A second connection beside the one of `pair`. */
async function besides({ world, a, b }: Connected): Promise<{ left: Side; right: Side }> {
  const left = makeSide(a);
  const right = makeSide(b);
  const listener = b.cm.listen(PORT + 1);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
  await world.run(Promise.all([a.cm.connect({ ...REMOTE, qp: left.qp }), accepting]));
  return { left, right };
}

function postMessage(left: Side, right: Side): void {
  right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr, offset: 0, length: 100 }] });
  left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: left.mr, offset: 0, length: 100 }] });
}

const errorsOf = (...devices: Device[]): number =>
  devices.reduce((sum, { counters }) => sum + counters.internalErrors, 0);

async function nextError(device: Device): Promise<InternalErrorEvent> {
  const { value } = await device.events.next();
  if (typeof value !== 'object') throw new Error(`another event: ${value}`);
  return value;
}

/** The other end does not hear anything: the ACK timer expires. */
function deafen({ right }: Connected): void {
  Object.assign(right.qp.core, { handleFrame: () => undefined });
}

describe('an error of ours in a queue pair', () => {
  const seams: readonly (readonly [string, (pair: Connected) => void])[] = [
    ['the requester', () => plant(Requester.prototype, 'transmit')],
    ['the responder', () => plant(Responder.prototype, 'handle')],
    ['the writing of replies', () => plant(Responder.prototype, 'transmit')],
    ['the completer', () => plant(Completer.prototype, 'handle')],
    [
      'the ACK timer',
      (pair) => {
        deafen(pair);
        plant(Completer.prototype, 'timeout');
      },
    ],
    ['handleFrame', () => plant(RcQueuePair.prototype, 'handleFrame')],
    ['transmit', () => plant(RcQueuePair.prototype, 'transmit')],
    [
      'handleTimeout',
      (pair) => {
        deafen(pair);
        plant(RcQueuePair.prototype, 'handleTimeout');
      },
    ],
  ];
  for (const [seam, plantIt] of seams) {
    it(`ends that one, when it is in ${seam}`, async () => {
      const pair = await connect({ seed: 7 });
      const { world, a, b, left, right } = pair;
      const other = await besides(pair);
      world.runUntilIdle({ maxTimeNs: 600e9 });
      plantIt(pair);
      postMessage(left, right);
      world.runFor(120e9, STEPS);
      expect(errorsOf(a, b)).toBe(1);
      const [victim, second] = [left, right].filter(({ qp }) => qp.core.broken);
      if (victim === undefined || second !== undefined) throw new Error('not one queue pair is broken');
      expect(victim.qp.state).toBe(QpState.Error);
      expect((await victim.cq.next()).value?.status).toBe(WcStatus.WrFlushErr);
      victim.qp.events.drop((event) => event === 'comm-est');
      expect((await victim.qp.events.next()).value).toBe('qp-fatal');
      const report = await nextError(victim === left ? a : b);
      expect([report.qpn, String(report.error)]).toEqual([victim.qp.qpn, expect.stringContaining('a planted fault')]);
      expect(report.frame !== undefined).toBe(report.during === 'receive');
      postMessage(other.left, other.right);
      const [sent, received] = await world.run(Promise.all([other.left.cq.next(), other.right.cq.next()]), STEPS);
      expect([sent.value?.status, received.value?.status]).toEqual([WcStatus.Success, WcStatus.Success]);
      left.qp.destroy();
      right.qp.destroy();
      world.runFor(60e9, STEPS);
      expect([errorsOf(a, b), a.qpCount, b.qpCount]).toEqual([1, 1, 1]);
    });
  }

  for (const property of ['nextDeadline', 'pending'] as const) {
    it(`ends that one, when it is in ${property}`, async () => {
      const pair = await connect();
      const { world, a, b, left, right } = pair;
      postMessage(left, right);
      const get = (): never => {
        throw new InvariantError('a planted fault');
      };
      Object.defineProperty(left.qp.core, property, property === 'pending' ? { get } : { value: get });
      world.runFor(120e9, STEPS);
      expect([errorsOf(a, b), left.qp.state, left.qp.core.broken]).toEqual([1, QpState.Error, true]);
    });
  }

  it('discards what is posted, when flushing it throws as well', async () => {
    const pair = await connect();
    const { world, b, left, right } = pair;
    plant(Responder.prototype, 'handle');
    plant(Responder.prototype, 'abandon');
    postMessage(left, right);
    world.runFor(120e9, STEPS);
    expect([b.counters.internalErrors, right.qp.state]).toEqual([2, QpState.Error]);
    expect([right.qp.core.receivesPosted, right.cq.length]).toEqual([0, 0]);
    expect([(await nextError(b)).qpn, (await nextError(b)).qpn]).toEqual([right.qp.qpn, right.qp.qpn]);
    right.qp.events.drop((event) => event === 'comm-est');
    expect((await right.qp.events.next()).value).toBe('qp-fatal');
    right.qp.destroy();
    expect(b.qpCount).toBe(0);
  });

  it('is over with RESET', async () => {
    const { world, b, left, right } = await connect();
    plant(Responder.prototype, 'handle', 1);
    postMessage(left, right);
    world.runFor(120e9, STEPS);
    right.qp.modifyNow({ state: QpState.Reset });
    expect([right.qp.core.broken, b.counters.internalErrors]).toEqual([false, 1]);
  });
});

describe('an error of ours in a datagram', () => {
  it('ends that queue pair of a group, and the others get their copy', async () => {
    const { world, a, b } = makePair();
    const group = IpAddress.parse('239.1.2.3');
    const sides = [a, b, b].map((device) => {
      const pd = device.allocPd();
      const cq = device.createCq(16);
      const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
      qp.modifyNow({ state: QpState.Init, qkey: 5 });
      qp.modifyNow({ state: QpState.Rtr });
      qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
      const mr = pd.regMr(4096);
      if (device === b) qp.postRecv({ wrId: 1, sges: [{ mr, offset: 0, length: 1024 }] });
      return { pd, cq, qp, mr };
    });
    const [sender, victim, member] = sides;
    if (sender === undefined || victim === undefined || member === undefined) throw new Error('three were made');
    await world.run(Promise.all([victim.qp.attachMcast(group), member.qp.attachMcast(group)]));
    const ah = await world.run(sender.pd.createAh({ destination: group }));
    plant(UdQueuePair.prototype, 'handleFrame');
    const sges = [{ mr: sender.mr, offset: 0, length: 64 }];
    sender.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, ah, remoteQpn: 0xff_ff_ff, remoteQkey: 5, sges });
    const [lost, received] = await world.run(Promise.all([victim.cq.next(), member.cq.next()]), STEPS);
    expect([lost.value?.status, received.value?.status]).toEqual([WcStatus.WrFlushErr, WcStatus.Success]);
    expect([b.counters.internalErrors, victim.qp.state, member.qp.state]).toEqual([1, QpState.Error, QpState.Rts]);
    const { qpn, frame, during } = await nextError(b);
    expect([qpn, during, frame?.length]).toEqual([victim.qp.qpn, 'receive', 14 + 20 + 8 + 12 + 8 + 64 + 4]);
    // It is out of service: another datagram is given to the other member only.
    member.qp.postRecv({ wrId: 3, sges: [{ mr: member.mr, offset: 0, length: 1024 }] });
    sender.qp.postSend({ wrId: 4, opcode: WrOpcode.Send, ah, remoteQpn: 0xff_ff_ff, remoteQkey: 5, sges });
    expect((await world.run(member.cq.next(), STEPS)).value?.wrId).toBe(3);
    expect(b.counters.internalErrors).toBe(1);
  });
});

describe('an error of ours in a service', () => {
  it('costs one MAD, which the peer repeats', async () => {
    const pair = await connect();
    plant(ConnectionManager.prototype, 'handleMad', 1);
    await besides(pair);
    expect(errorsOf(pair.a, pair.b)).toBe(1);
  });

  it('costs one MAD that was to be sent, which is repeated', async () => {
    const pair = await connect();
    plant(ConnectionManager.prototype, 'pollTransmit', 1);
    await besides(pair);
    expect(errorsOf(pair.a, pair.b)).toBe(1);
  });

  it('gives up the connection whose timer throws, and tells the application', async () => {
    const { world, a, b } = await connect();
    Object.assign(b.gsi, { handleFrame: () => undefined });
    plant(CmCore.prototype, 'sendAgain');
    const connecting = a.cm.connect({ ...REMOTE, qp: makeSide(a).qp });
    await expect(world.run(connecting, STEPS)).rejects.toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    expect(errorsOf(a, b)).toBe(1);
  });

  const lasting: readonly (readonly [string, object, string])[] = [
    ['the deadlines of the connection manager', ConnectionManager.prototype, 'pollTimeout'],
    ['what the connection manager sends', Gsi.prototype, 'transmit'],
    ['neighbours that are due', Neighbours.prototype, 'poll'],
    ['the deadlines of neighbours', Neighbours.prototype, 'nextDeadline'],
    ['the reports of groups', GroupReports.prototype, 'poll'],
    ['the deadlines of groups', GroupReports.prototype, 'nextDeadline'],
    ['the turns of TCP', TcpStack.prototype, 'transmit'],
    ['the deadlines of TCP', TcpStack.prototype, 'nextDeadline'],
    ['the delivery of addresses', Paths.prototype, 'settle'],
  ];
  for (const [name, prototype, method] of lasting) {
    it(`that stays is called a few times, and connected queue pairs go on: ${name}`, async () => {
      const { world, a, b, left, right } = await connect();
      world.runUntilIdle({ maxTimeNs: 600e9 });
      plant(prototype, method);
      postMessage(left, right);
      const [sent, received] = await world.run(Promise.all([left.cq.next(), right.cq.next()]), STEPS);
      expect([sent.value?.status, received.value?.status]).toEqual([WcStatus.Success, WcStatus.Success]);
      world.runFor(10e9, STEPS);
      const before = errorsOf(a, b);
      expect(before).toBeGreaterThan(0);
      world.runFor(600e9, STEPS);
      // Nothing came: what rests is not called.
      expect(errorsOf(a, b)).toBe(before);
    });
  }

  it('costs a frame of ARP, which the peer repeats', async () => {
    plant(Neighbours.prototype, 'handleFrame', 1);
    const { a, b } = await connect();
    expect(errorsOf(a, b)).toBe(1);
  });

  it('costs a TCP connection, and others are made', async () => {
    const { world, a, b } = makePair();
    if (a.tcp === undefined || b.tcp === undefined) throw new Error('devices on Ethernet have TCP');
    const listener = b.tcp.listen(80);
    plant(TcpConnection.prototype, 'poll');
    const address = IpAddress.parse('10.0.0.2');
    await expect(world.run(a.tcp.connect(address, 80), STEPS)).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    await world.run(Promise.all([a.tcp.connect(address, 80), listener.next()]), STEPS);
    expect(errorsOf(a, b)).toBe(1);
  });

  it('costs one notification of congestion', async () => {
    const world = new World({ seed: 1 });
    const make = (id: number): Device =>
      attachDevice(world, `${id}`, { addresses: [`10.0.0.${id}/24`], congestion: { reaction: { kind: 'none' } } });
    const [a, b] = [make(1), make(2)];
    const [left, right] = [makeSide(a), makeSide(b)];
    const accepting = b.cm
      .listen(PORT)
      .next()
      .then(({ value }) => value.accept({ qp: right.qp }));
    const address = '10.0.0.2';
    await world.run(Promise.all([a.cm.connect({ address, port: PORT, qp: left.qp }), accepting]));
    plant(NotificationPoint.prototype, 'transmit', 1);
    postMessage(left, right);
    await world.run(Promise.all([left.cq.next(), right.cq.next()]), STEPS);
    expect([errorsOf(a, b), left.qp.state, right.qp.state]).toEqual([1, QpState.Rts, QpState.Rts]);
  });
});

describe('what a callback of the application throws', () => {
  it('leaves the machine, and is no error of ours', async () => {
    const { world, b, left, right } = await connect();
    const access = Access.LocalWrite | Access.RemoteWrite | Access.FlushPersistent;
    const persistent = (): void => {
      throw new RangeError('the disk is full');
    };
    const mr = right.pd.regMr(4096, { access, persistent });
    right.qp.modifyNow({ access });
    const flush = { type: FlushType.Persistent, level: FlushLevel.Range };
    const remote = { remoteAddr: mr.iova, rkey: mr.rkey };
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.Flush, ...remote, length: 64, flush } as never);
    expect(() => world.runFor(1e9, STEPS)).toThrow('the disk is full');
    expect(b.counters.internalErrors).toBe(0);
  });
});

describe('the report', () => {
  it('has the frame, which brings the error out again in a device of the same seed', async () => {
    const frames: Uint8Array[] = [];
    for (const replayed of [false, true]) {
      const { world, b, left, right } = await connect({ seed: 3 });
      plant(Responder.prototype, 'handle');
      if (replayed) for (const frame of frames.splice(0)) replayFrame(b, frame);
      else postMessage(left, right);
      const { frame, qpn } = await world.run(nextError(b), STEPS);
      expect([qpn, b.counters.internalErrors]).toEqual([right.qp.qpn, 1]);
      if (frame !== undefined) frames.push(frame);
      uprootAll();
    }
    expect(frames).toHaveLength(1);
  });

  const ignored = (): void => undefined;

  it('names each place once and counts the rest, with a copy of the frame', () => {
    const counters = new DeviceCounters();
    const events: InternalErrorEvent[] = [];
    const errors = new InternalErrors(counters, (event) => events.push(event), ignored);
    const frame = Uint8Array.of(1, 2, 3);
    for (let i = 0; i < 100; i++) errors.caught('receive', new Error(`number ${i}`), undefined, frame);
    frame.fill(0);
    expect([counters.internalErrors, events.length, events[0]?.frame]).toEqual([100, 1, Uint8Array.of(1, 2, 3)]);
  });

  it('is bounded, however many places fail', () => {
    const events: InternalErrorEvent[] = [];
    const errors = new InternalErrors(new DeviceCounters(), (event) => events.push(event), ignored);
    for (let i = 0; i < 100; i++) {
      const error = new Error('one of many');
      error.stack = `Error: one of many\n    at place${i} (file.ts:${i}:1)`;
      errors.caught('timeout', error);
    }
    expect(events).toHaveLength(MAX_REPORTED_PLACES);
  });
});
