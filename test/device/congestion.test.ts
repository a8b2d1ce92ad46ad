/**
 * Goal: a device does its part of congestion control whatever the way its packets go: VLANs, both versions of IP, every
 * service; and a queue pair that is destroyed while its data waits does not take back its answers.
 * Method: two devices on a simulated Ethernet that marks what the first one sends; the wire is read.
 */
import { describe, expect, it } from 'vitest';
import { Frame, FrameStatus, frameDestination, frameSource, Medium, parseFrame } from '../../packets/frame.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { Op } from '../../packets/opcode.ts';
import {
  attachDevice,
  type Device,
  QpState,
  QpType,
  type SimulatedDeviceOptions,
  WcStatus,
  WorkCompletion,
  World,
  WrOpcode,
} from '../../src/index.ts';
import type { CongestionOptions } from '../../transport/congestion/index.ts';
import { ALL, makeSide, type Side } from './support.ts';

const QKEY = 0x1111_1111;

interface Seen {
  readonly opcode: number;
  readonly from: string;
  readonly to: string;
  readonly trafficClass: number;
  readonly vlanTci: number;
  readonly destQpn: number;
  readonly sourcePort: number;
  readonly bytes: number;
}

/** Two devices; what the first one sends is marked on its way, and it alone may react. */
class Marked {
  readonly world: World;
  readonly wire: Seen[] = [];
  readonly a: Device;
  readonly b: Device;

  constructor(
    version: 4 | 6,
    reacting: CongestionOptions = {},
    { batchFrames = 64, ...more }: Partial<SimulatedDeviceOptions> & { readonly batchFrames?: number } = {},
  ) {
    this.world = new World({ seed: 1, batchFrames });
    const frame = new Frame();
    this.world.network.tap = {
      frame: (_now, _port, direction, bytes, start, end) => {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        if (direction !== 'in' || parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok)
          return;
        expect(icrcMatches(frame)).toBe(true);
        const { opcode, trafficClass, vlanTci, destQpn, sourcePort } = frame;
        const [from, to] = [`${frameSource(frame)}`, `${frameDestination(frame)}`];
        this.wire.push({ opcode, from, to, trafficClass, vlanTci, destQpn, sourcePort, bytes: end - start });
      },
    };
    const device = (n: number, ceMark: number, congestion: CongestionOptions) =>
      attachDevice(this.world, `device ${n}`, {
        addresses: [version === 4 ? `10.0.0.${n}/24` : `fd00::${n}/64`],
        congestion,
        faults: { ceMark },
        ...more,
      });
    this.a = device(1, 1, reacting);
    this.b = device(2, 0, {});
  }

  async connect(left: Side, right: Side): Promise<void> {
    const up = async ({ qp }: Side, peer: Side, to: Device): Promise<void> => {
      await qp.modify({ state: QpState.Init, access: ALL });
      const destination = destinationOf(to);
      const rtr = { destQpn: peer.qp.qpn, rqPsn: 0, mtu: 1024, maxDestRdAtomic: 4, minRnrTimer: 1 } as const;
      await qp.modify({ state: QpState.Rtr, av: { destination }, ...rtr });
      await qp.modify({ state: QpState.Rts, sqPsn: 0, timeout: 14, retryCnt: 3, rnrRetry: 3, maxRdAtomic: 4 });
    };
    await this.world.run(Promise.all([up(left, right, this.b), up(right, left, this.a)]));
  }

  /** UD queue pairs: so many of the first device each send a datagram to one of the second. */
  async datagram(senders = 1): Promise<{ from: Side; to: Side; grh: Uint8Array; wc: WorkCompletion }> {
    const side = (device: Device): Side => {
      const made = makeSide(device);
      made.qp.destroy();
      const qp = made.pd.createQp({ sendCq: made.cq, recvCq: made.cq, type: QpType.Ud });
      qp.modifyNow({ state: QpState.Init, qkey: QKEY });
      qp.modifyNow({ state: QpState.Rtr });
      qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
      return { ...made, qp };
    };
    const [from, to] = [side(this.a), side(this.b)];
    to.qp.postRecv({ wrId: 1, sges: [{ mr: to.mr, length: 100 }] });
    for (const { qp, pd, mr } of [from, ...Array.from({ length: senders - 1 }, () => side(this.a))]) {
      const ah = await this.world.run(pd.createAh({ destination: destinationOf(this.b) }));
      const where = { ah, remoteQpn: to.qp.qpn, remoteQkey: QKEY };
      qp.postSend({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr, length: 8 }], ...where });
    }
    this.world.runUntilIdle({ maxTimeNs: 1e9 });
    const wc = new WorkCompletion();
    expect(to.cq.poll(wc)).toBe(true);
    return { from, to, grh: to.mr.bytes.slice(0, 40), wc };
  }

  seen(opcode: number): Seen[] {
    return this.wire.filter((each) => each.opcode === opcode);
  }
}

function destinationOf({ addresses }: Device) {
  const [prefix] = addresses;
  if (prefix === undefined) throw new Error('a device has an address');
  return prefix.address;
}

const WAYS = [
  ['IPv4', 4, undefined],
  ['IPv6', 6, undefined],
  ['IPv4 on a VLAN', 4, { id: 5, priority: 3 }],
  ['IPv6 on a VLAN', 6, { id: 4094, priority: 0 }],
] as const;

describe.each(WAYS)('a CNP over %s', (_name, version, vlan) => {
  const make = () => new Marked(version, {}, vlan === undefined ? {} : { vlan });
  // The class of DSCP 48 is 6, and the VLAN is that of the data.
  const vlanTci = vlan === undefined ? -1 : (6 << 13) | vlan.id;
  const addresses = version === 4 ? ['10.0.0.2', '10.0.0.1'] : ['fd00::2', 'fd00::1'];
  const bytes = 14 + (vlan === undefined ? 0 : 4) + (version === 4 ? 20 : 40) + 8 + 12 + 16 + 4;
  const expected = { from: addresses[0], to: addresses[1], trafficClass: 48 << 2, vlanTci, bytes };

  it('names the connection whose data came marked', async () => {
    const net = make();
    const [left, right] = [makeSide(net.a), makeSide(net.b)];
    await net.connect(left, right);
    const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr, length: 100 }], ...remote });
    net.world.runUntilIdle({ maxTimeNs: 1e9 });
    const [data] = net.seen(Op.WriteOnly);
    expect(data).toMatchObject({
      trafficClass: (26 << 2) | 3,
      vlanTci: vlan === undefined ? -1 : (vlan.priority << 13) | vlan.id,
    });
    expect(net.seen(Op.Cnp)).toEqual([
      { opcode: Op.Cnp, destQpn: left.qp.qpn, sourcePort: data?.sourcePort, ...expected },
    ]);
    expect(net.a.portCounters).toMatchObject({ rpCnpIgnored: 1, sentPkts: 1, rcvdPkts: 2 });
    expect(net.b.portCounters).toMatchObject({ npCnpSent: 1, sentPkts: 2, rcvdPkts: 1 });
  });

  it('names who sent a datagram that came marked, from the port that it came from', async () => {
    const net = make();
    const { from } = await net.datagram();
    const [data] = net.seen(Op.UdSendOnly);
    expect(net.seen(Op.Cnp)).toEqual([
      { opcode: Op.Cnp, destQpn: from.qp.qpn, sourcePort: data?.sourcePort, ...expected },
    ]);
  });
});

it('packets say that they are ECN-capable, unless paths choose otherwise or nobody asked for congestion control', () => {
  const world = new World({ seed: 1 });
  const open = (n: number, more: Partial<SimulatedDeviceOptions>) =>
    attachDevice(world, `device ${n}`, { addresses: [`10.0.0.${n}/24`], ...more }).pathTraits.trafficClass;
  expect(open(1, { congestion: {} })).toBe((26 << 2) | 2);
  expect(open(2, { congestion: {}, path: { hopLimit: 3 } })).toBe((26 << 2) | 2);
  expect(open(3, { congestion: {}, path: { trafficClass: 0x61 } })).toBe(0x61);
  expect(open(4, {})).toBeUndefined();
});

it('every queue pair of a device has the same congestion control, XRC targets included', () => {
  const { a } = new Marked(4);
  const { congestion } = makeSide(a).qp.core.config;
  expect(congestion).toBeDefined();
  expect(a.openXrcd().createQp().core.config.congestion).toBe(congestion);
});

it('CNPs for which there was no room leave as soon as there is, though nothing else does', async () => {
  const net = new Marked(4, {}, { batchFrames: 1 });
  await net.datagram(3);
  expect(new Set(net.seen(Op.Cnp).map(({ destQpn }) => destQpn)).size).toBe(3);
});

it('an answer to a datagram that came marked does not leave marked', async () => {
  const net = new Marked(4);
  const { to, grh, wc } = await net.datagram();
  expect(grh[21]).toBe((26 << 2) | 3);
  const back = await net.world.run(to.pd.createAhFromWc(wc, grh));
  expect(back.av.trafficClass).toBe((26 << 2) | 2);
});

it('a queue pair that is destroyed while its answers wait for their rate still gives them', async () => {
  // An answer to an atomic is 70 bytes and takes a millisecond.
  const reaction = { kind: 'fixed-rate', rateBps: 560e3 } as const;
  const net = new Marked(4, { reaction, maxBurstBytes: 0 });
  const [left, right] = [makeSide(net.a), makeSide(net.b)];
  await net.connect(left, right);
  for (const wrId of [1, 2]) {
    const sges = [{ mr: right.mr, offset: 8 * wrId, length: 8 }];
    const remote = { remoteAddr: left.mr.iova, rkey: left.mr.rkey, compareAdd: 1n };
    right.qp.postSend({ wrId, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...remote });
  }
  net.world.runFor(10_000);
  expect([net.seen(Op.FetchAdd).length, right.cq.length, left.qp.core.pending]).toEqual([2, 1, false]);
  left.qp.destroy();
  net.world.runFor(10_000);
  expect(right.cq.length).toBe(2);
  const wc = new WorkCompletion();
  while (right.cq.poll(wc)) expect(wc.status).toBe(WcStatus.Success);
});

it('a queue pair shares its port with others while its data waits', async () => {
  const reaction = { kind: 'fixed-rate', rateBps: 1e6 } as const;
  const net = new Marked(4, { reaction, maxBurstBytes: 0, notification: false });
  const flows = [0, 1, 2].map(() => [makeSide(net.a), makeSide(net.b)] as const);
  for (const [left, right] of flows) await net.connect(left, right);
  for (const [left, right] of flows) {
    const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr, length: 3000 }], ...remote });
  }
  net.world.runUntilIdle({ maxTimeNs: 1e9 });
  // Each of them begins at once, and goes on when its own time has come: in turns.
  const data = net.wire.map(({ opcode }) => opcode).filter((opcode) => opcode < Op.Acknowledge);
  expect(data).toEqual([Op.WriteFirst, Op.WriteMiddle, Op.WriteLast].flatMap((opcode) => [opcode, opcode, opcode]));
  for (const [left] of flows) expect(left.cq.length).toBe(1);
});
