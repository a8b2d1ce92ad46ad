/**
 * Goal: an error of ours is blamed on the queue pair it happened in and on no other, is reported with its own frame,
 * and costs nobody else theirs; a queue pair that is out of service is left alone. Method: batches handed to devices of
 * the simulated world, with one method or one queue pair made to throw.
 */
import { describe, expect, it } from 'vitest';
import { FrameWriter, InvariantError, IpAddress } from '../../packets/index.ts';
import { buildFrame, request } from '../../packets/kit/index.ts';
import { CmService } from '../../src/device/cm/service.ts';
import { solicitationFrame } from '../../src/device/host/neighbour-frames.ts';
import { Neighbours } from '../../src/device/host/neighbours.ts';
import { Multicast } from '../../src/device/multicast.ts';
import { type Device, type InternalErrorEvent, Medium, QpState, QpType, WcStatus, WrOpcode } from '../../src/index.ts';
import { Completer } from '../../transport/completer.ts';
import { plantsInternalErrors } from '../support/internal-errors.ts';
import { plant } from './planted-errors.ts';
import { type Connected, connect, makePair, makeSide, PORT, type Side } from './support.ts';

plantsInternalErrors();

const STEPS = { maxSteps: 20_000 };
const RESERVED_OPCODE = 0x15;

/** From now on the method of this object throws, and its calls are counted. */
function breaks(target: object, method: string): () => number {
  let calls = 0;
  const value = (): never => {
    calls += 1;
    throw new InvariantError(`a planted fault in ${method}`);
  };
  Object.defineProperty(target, method, { configurable: true, writable: true, value });
  return () => calls;
}

function post({ qp, mr }: Side, to: Side, wrId = 1): void {
  to.qp.postRecv({ wrId, sges: [{ mr: to.mr, offset: 0, length: 100 }] });
  qp.postSend({ wrId, opcode: WrOpcode.Send, sges: [{ mr, offset: 0, length: 100 }] });
}

/** Two connections from a to b that have been silent for long. */
async function twoConnections() {
  const pair = await connect();
  const { world, a, b } = pair;
  const [left, right] = [makeSide(a), makeSide(b)];
  const accepting = b.cm
    .listen(PORT + 1)
    .next()
    .then(({ value }) => value.accept({ qp: right.qp }));
  await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT + 1, qp: left.qp }), accepting]));
  world.runUntilIdle({ maxTimeNs: 600e9 });
  return { ...pair, other: { left, right } };
}

/** What a device sends in one turn. */
function framesOf(device: Device): FrameWriter {
  const writer = new FrameWriter(16, 4400);
  device.transmit(writer);
  return writer;
}

const bytesOf = ({ bytes, starts, lengths }: FrameWriter, i: number): Uint8Array =>
  bytes.slice(starts[i], (starts[i] ?? 0) + (lengths[i] ?? 0));

/** Of a frame over IPv4. */
const destQpnOf = (bytes: Uint8Array): number => new DataView(bytes.buffer).getUint32(14 + 20 + 8 + 4) & 0xff_ff_ff;

async function nextError(device: Device): Promise<InternalErrorEvent> {
  const { value } = await device.events.next();
  if (typeof value !== 'object' || value.kind !== 'internal-error') throw new Error('another event');
  return value;
}

/** A frame to the queue pair of `to` with an opcode that RC does not have. */
function reserved({ a, b }: Connected, to: Side): Uint8Array {
  const ends = { source: IpAddress.parse('10.0.0.1'), destination: IpAddress.parse('10.0.0.2') };
  const fields = { trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_00 };
  const route = { medium: Medium.Ethernet, sourceMac: a.mac, destMac: b.mac, ...ends, ...fields };
  return buildFrame(request(RESERVED_OPCODE, { psn: 0 }), route, to.qp.qpn, 0);
}

describe('in a batch, an error of ours', () => {
  it('is blamed on the queue pair of its frame, with that frame, and the frames behind it are handled', async () => {
    const { a, b, left, right, other } = await twoConnections();
    for (const [from, to] of [
      [other.left, other.right],
      [left, right],
      [other.left, other.right],
    ] as const)
      post(from, to);
    const made = framesOf(a);
    const frames = Array.from({ length: made.count }, (_, i) => bytesOf(made, i));
    const broken = frames.filter((bytes) => destQpnOf(bytes) === right.qp.qpn);
    const [before, after] = frames.filter((bytes) => destQpnOf(bytes) === other.right.qp.qpn);
    const batch = new FrameWriter(3, 4400);
    for (const bytes of [before, ...broken, after]) if (bytes !== undefined) batch.appendRaw(bytes, 0, bytes.length);
    expect([broken.length, batch.count]).toEqual([1, 3]);
    breaks(right.qp.core, 'handleFrame');
    b.receive(batch);
    const { qpn, frame } = await nextError(b);
    expect([qpn, frame, b.counters.internalErrors]).toEqual([right.qp.qpn, broken[0], 1]);
    expect([right.qp.state, other.right.qp.state, other.right.cq.length]).toEqual([QpState.Error, QpState.Rts, 2]);
  });

  it('that is of no queue pair is not blamed on the one whose frame came before', async () => {
    const { a, b, left, right } = await twoConnections();
    post(left, right);
    const batch = framesOf(a);
    const us = { mac: a.mac, address: IpAddress.parse('10.0.0.1') };
    const arp = solicitationFrame(us, IpAddress.parse('10.0.0.2'));
    batch.appendRaw(arp, 0, arp.length);
    plant(Neighbours.prototype, 'handleFrame');
    b.receive(batch);
    const { qpn, frame } = await nextError(b);
    expect([qpn, frame, right.qp.state, right.cq.length]).toEqual([undefined, arp, QpState.Rts, 1]);
  });

  it('is blamed on the queue pair of a reserved opcode, too, once', async () => {
    const pair = await twoConnections();
    const { b, right } = pair;
    const frame = reserved(pair, right);
    const calls = breaks(right.qp.core, 'handleReserved');
    for (let i = 0; i < 2; i++) {
      const batch = new FrameWriter(1, 200);
      batch.appendRaw(frame, 0, frame.length);
      b.receive(batch);
    }
    expect([calls(), b.counters.internalErrors, b.counters.unknownOpcode]).toEqual([1, 1, 2]);
    expect(await nextError(b)).toMatchObject({ qpn: right.qp.qpn, during: 'receive', frame });
  });

  it('in what is looped back leaves the datagrams behind it', async () => {
    const { world, b } = makePair();
    const group = IpAddress.parse('239.1.2.3');
    const [sender, member] = [0, 1].map(() => {
      const side = { pd: b.allocPd(), cq: b.createCq(16) };
      const qp = side.pd.createQp({ type: QpType.Ud, sendCq: side.cq, recvCq: side.cq });
      for (const state of [QpState.Init, QpState.Rtr, QpState.Rts])
        qp.modifyNow({
          state,
          ...(state === QpState.Init ? { qkey: 5 } : {}),
          ...(state === QpState.Rts ? { sqPsn: 0 } : {}),
        });
      return { ...side, qp, mr: side.pd.regMr(4096) };
    });
    if (sender === undefined || member === undefined) throw new Error('two were made');
    await world.run(member.qp.attachMcast(group));
    const ah = await world.run(sender.pd.createAh({ destination: group }));
    for (const wrId of [1, 2]) member.qp.postRecv({ wrId, sges: [{ mr: member.mr, offset: 0, length: 1024 }] });
    plant(Multicast.prototype, 'membersOf', 1);
    const sges = [{ mr: sender.mr, offset: 0, length: 8 }];
    for (const wrId of [3, 4])
      sender.qp.postSend({ wrId, opcode: WrOpcode.Send, ah, remoteQpn: 0xff_ff_ff, remoteQkey: 5, sges });
    framesOf(b);
    expect([b.counters.internalErrors, member.cq.length]).toEqual([1, 1]);
  });
});

describe('a queue pair that is out of service', () => {
  it('is given no frame, no turn and is asked for no deadline', async () => {
    const { a, b, left, right } = await twoConnections();
    post(left, right);
    framesOf(a);
    // An ACK timer runs, a request waits for its turn, and then a frame brings an error out.
    post(left, right, 2);
    post(right, left, 3);
    const [turns, deadlines] = [breaks(left.qp.core, 'transmit'), breaks(left.qp.core, 'nextDeadline')];
    const frames = breaks(left.qp.core, 'handleFrame');
    const batch = framesOf(b);
    a.receive(batch);
    a.receive(batch);
    framesOf(a);
    a.nextDeadline();
    expect([frames(), turns(), deadlines(), a.counters.internalErrors]).toEqual([1, 0, 0, 1]);
    expect([left.qp.state, a.portCounters.badState]).toEqual([QpState.Error, 1]);
  });
});

describe('what a service does for a queue pair', () => {
  it('is not blamed on it: confirming its neighbour in its turn, which is tried again a second later', async () => {
    const { world, a, left, right } = await twoConnections();
    plant(Neighbours.prototype, 'use');
    for (let wrId = 0; wrId < 4; wrId++) {
      post(left, right, wrId);
      await world.run(Promise.all([left.cq.next(), right.cq.next()]), STEPS);
    }
    expect([a.counters.internalErrors, left.qp.state]).toEqual([1, QpState.Rts]);
    expect(await nextError(a)).not.toHaveProperty('qpn');
    world.runFor(1e9, STEPS);
    post(left, right);
    await world.run(Promise.all([left.cq.next(), right.cq.next()]), STEPS);
    expect([a.counters.internalErrors, left.qp.state]).toEqual([2, QpState.Rts]);
  });

  it('is not blamed on it: doubting its neighbour when its timer has expired', async () => {
    const { world, a, left, right } = await twoConnections();
    Object.assign(right.qp.core, { handleFrame: () => undefined });
    plant(Neighbours.prototype, 'doubt');
    post(left, right);
    const { value } = await world.run(left.cq.next(), STEPS);
    expect([value?.status, left.qp.core.broken]).toEqual([WcStatus.RetryExcErr, false]);
    expect(await nextError(a)).toMatchObject({ during: 'timeout' });
    expect(a.counters.internalErrors).toBeGreaterThan(0);
  });

  it('is not blamed on it: the note that its first request has come', async () => {
    plant(CmService.prototype, 'notifyTraffic');
    const { world, b, left, right } = await connect();
    post(left, right);
    expect((await world.run(right.cq.next(), STEPS)).value?.status).toBe(WcStatus.Success);
    expect(right.qp.state).toBe(QpState.Rts);
    expect(b.counters.internalErrors).toBe(1);
  });
});

it('an error at a timer of a queue pair is one of that time, and of that queue pair', async () => {
  const { world, a, left, right } = await twoConnections();
  Object.assign(right.qp.core, { handleFrame: () => undefined });
  plant(Completer.prototype, 'timeout');
  post(left, right);
  world.runFor(120e9, STEPS);
  expect(await nextError(a)).toMatchObject({ during: 'timeout', qpn: left.qp.qpn });
});
