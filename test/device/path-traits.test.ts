/**
 * Goal: what the IP and UDP headers of a connection carry is what was chosen for it, on every packet; what nobody chose
 * spreads over queue pairs and stays with each.
 * Method: devices of the simulated world and every frame that passes between them.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCmMad } from '../../packets/cm/index.ts';
import { defined } from '../../packets/defined.ts';
import { flowLabelOfQpns, sourcePortOfFlowLabel } from '../../packets/flow-label.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { GSI_QPN } from '../../packets/mad.ts';
import {
  type AcceptOptions,
  attachDevice,
  type ConnectOptions,
  type Device,
  IpAddress,
  IpPrefix,
  type PathTraits,
  QpState,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { makeSide, PORT, type Side } from './support.ts';

/** What the headers of a packet say. */
interface Seen {
  readonly from: string;
  readonly destQpn: number;
  readonly trafficClass: number;
  readonly hopLimit: number;
  readonly flowLabel: number;
  readonly sourcePort: number;
  /** Of the path in a REQ. */
  readonly req: { trafficClass: number; hopLimit: number; flowLabel: number } | undefined;
}

interface Setup {
  readonly world: World;
  readonly a: Device;
  readonly b: Device;
  readonly seen: Seen[];
}

function makeTwo(pathA?: PathTraits, pathB?: PathTraits, seed = 1): Setup {
  const world = new World({ seed });
  const seen = watch(world);
  const device = (id: number, path: PathTraits | undefined): Device =>
    attachDevice(world, `${id}`, {
      addresses: [`10.0.0.${id}/24`, `fd00::${id}/64`],
      ...defined({ path }),
    });
  return { world, a: device(1, pathA), b: device(2, pathB), seen };
}

function watch(world: World): Seen[] {
  const seen: Seen[] = [];
  world.network.tap = {
    frame: (_now, port, direction, bytes, start, end) => {
      const frame = new Frame();
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      if (direction === 'in') return;
      if (parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return;
      const flowLabel = frame.ipVersion === 6 ? view.getUint32(frame.ipOffset) & 0xf_ff_ff : 0;
      const { destQpn, trafficClass, hopLimit, sourcePort } = frame;
      seen.push({ from: port.name, destQpn, trafficClass, hopLimit, flowLabel, sourcePort, req: reqOf(frame) });
    },
  };
  return seen;
}

function reqOf(frame: Frame): Seen['req'] {
  if (frame.destQpn !== GSI_QPN) return undefined;
  const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  if (typeof mad === 'number' || mad.message.kind !== 'REQ') return undefined;
  const { trafficClass, hopLimit, flowLabel } = mad.message.body.primaryPath;
  return { trafficClass, hopLimit, flowLabel };
}

/** Connects, writes 5,000 bytes each way, and gives the distinct headers of the data path, and the path in the REQ. */
async function exchange(
  { world, a, b, seen }: Setup,
  connectOptions: Partial<ConnectOptions> = {},
  acceptOptions: Partial<AcceptOptions> = {},
) {
  const [left, right] = [makeSide(a), makeSide(b)];
  const listener = b.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp, ...acceptOptions }));
  const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp, ...connectOptions });
  await world.run(Promise.all([connecting, accepting]));
  listener.close();
  await world.run(write(left, right));
  await world.run(write(right, left));
  const data = seen.filter(({ destQpn }) => destQpn !== GSI_QPN);
  const distinct = (id: string): string[] => [
    ...new Set(
      data
        .filter(({ from }) => from === id)
        .map((s) => `class ${s.trafficClass} limit ${s.hopLimit} label ${s.flowLabel} port ${s.sourcePort}`),
    ),
  ];
  const counts = ['1', '2'].map((id) => data.filter(({ from }) => from === id).length);
  // Five packets of data and at least one acknowledge, from each.
  expect(Math.min(...counts)).toBeGreaterThan(5);
  return { left: distinct('1'), right: distinct('2'), req: seen.find(({ req }) => req !== undefined)?.req };
}

async function write(from: Side, to: Side): Promise<void> {
  from.qp.postSend({
    wrId: 1,
    opcode: WrOpcode.RdmaWrite,
    sges: [{ mr: from.mr, length: 5000 }],
    remoteAddr: to.mr.iova,
    rkey: to.mr.rkey,
  });
  expect((await from.cq.next()).value.status).toBe(0);
}

describe('the headers of a connection', () => {
  it('carry by default class 0, hop limit 64, label 0, and from both ends the port of the label in the REQ', async () => {
    const { left, right, req } = await exchange(makeTwo());
    const port = sourcePortOfFlowLabel(req?.flowLabel ?? 0);
    expect(left).toEqual([`class 0 limit 64 label 0 port ${port}`]);
    expect(right).toEqual(left);
    expect(req).toMatchObject({ trafficClass: 0, hopLimit: 64 });
    expect(req?.flowLabel).toBeGreaterThan(0);
  });

  it.each(['10.0.0.2', 'fd00::2'])(
    'carry what who connects has chosen, on data and acknowledges alike (%s)',
    async (to) => {
      // DSCP 26, ECT(0).
      const chosen = { trafficClass: (26 << 2) | 2, hopLimit: 7, flowLabel: 0x5_4f_21, sourcePort: 0xd0_01 };
      const { left, right, req } = await exchange(makeTwo(), { address: to, ...chosen });
      const label = to.includes(':') ? chosen.flowLabel : 0;
      expect(left).toEqual([`class 106 limit 7 label ${label} port ${0xd0_01}`]);
      // Class and label are the request's, the hop limit is the other side's own.
      expect(right).toEqual([`class 106 limit 64 label 0 port ${sourcePortOfFlowLabel(chosen.flowLabel)}`]);
      expect(req).toEqual({ trafficClass: 106, hopLimit: 7, flowLabel: chosen.flowLabel });
    },
  );

  it('carry what who accepts has chosen, in its direction', async () => {
    const chosen = { trafficClass: 0x20, hopLimit: 9, flowLabel: 3, sourcePort: 4000 };
    const { left, right } = await exchange(makeTwo(), { address: 'fd00::2', flowLabel: 5, trafficClass: 4 }, chosen);
    expect(left).toEqual([`class 4 limit 64 label 5 port ${0xc0_05}`]);
    expect(right).toEqual(['class 32 limit 9 label 3 port 4000']);
  });

  it('take from a label of the accepting side its port as well', async () => {
    const { right } = await exchange(makeTwo(), { flowLabel: 5 }, { flowLabel: 6 });
    expect(right).toEqual([`class 0 limit 64 label 0 port ${0xc0_06}`]);
  });

  it('follow the device where the connection chooses nothing, before the request of the peer', async () => {
    const setup = makeTwo({ trafficClass: 8, hopLimit: 3 }, { trafficClass: 12, sourcePort: 5555 });
    const { left, right, req } = await exchange(setup, { hopLimit: 2 });
    const port = sourcePortOfFlowLabel(req?.flowLabel ?? 0);
    expect(left).toEqual([`class 8 limit 2 label 0 port ${port}`]);
    expect(right).toEqual(['class 12 limit 64 label 0 port 5555']);
    expect(req).toMatchObject({ trafficClass: 8, hopLimit: 2 });
    // Connection management is of the device's class, too.
    const mads = setup.seen.filter(({ destQpn, from }) => destQpn === GSI_QPN && from === '2');
    expect(new Set(mads.map((mad) => mad.trafficClass))).toEqual(new Set([12]));
  });

  it('derive the port from both queue pair numbers when the label is 0, the same at both ends', async () => {
    const setup = makeTwo();
    const { left, right } = await exchange(setup, { flowLabel: 0 });
    const [a, b] = ['1', '2'].map((id) => setup.seen.find((s) => s.from !== id && s.destQpn !== GSI_QPN)?.destQpn ?? 0);
    expect(left).toEqual([`class 0 limit 64 label 0 port ${sourcePortOfFlowLabel(flowLabelOfQpns(a ?? 0, b ?? 0))}`]);
    expect(right).toEqual(left);
  });

  it.each([
    [{ trafficClass: 256 }, /trafficClass is a whole number from 0 to 255, not 256/],
    [{ hopLimit: 0 }, /hopLimit is a whole number from 1 to 255/],
    [{ flowLabel: 0x10_00_00 }, /flowLabel is a whole number/],
    [{ sourcePort: 0 }, /sourcePort is a whole number from 1 to 65535/],
  ])('refuse %o, at whatever level it is chosen', async (chosen, message) => {
    const { world, a, b } = makeTwo();
    const options = { address: '10.0.0.2', port: PORT, qp: makeSide(a).qp };
    await expect(a.cm.connect({ ...options, ...chosen })).rejects.toThrow(message);
    const refusing = b.cm
      .listen(PORT)
      .next()
      .then(({ value }) => value.accept({ qp: makeSide(b).qp, ...chosen }));
    const connecting = a.cm.connect(options).catch(() => {});
    await expect(world.run(refusing)).rejects.toThrow(message);
    a.close();
    await connecting;
    expect(() => makeTwo(chosen)).toThrow(message);
  });
});

describe('source ports', () => {
  /** A device alone on the IP medium, where no next hop has to be found. */
  function makeAlone(sourcePort?: number, path?: PathTraits): Device {
    const world = new World({ seed: 3, medium: Medium.Ip });
    return attachDevice(world, 'alone', {
      addresses: ['10.0.0.1/24'],
      ...defined({ path, sourcePort }),
    });
  }

  const portOf = (device: Device, qpn: number, destQpn: number, traits: PathTraits = {}): number => {
    const { template } = device.paths.pathTo(qpn, { destination: IpAddress.parse('10.0.0.2'), ...traits }, destQpn);
    return new DataView(template.bytes.buffer).getUint16(template.udpOffset);
  };

  it('are the same for a queue pair whenever its path is made', () => {
    const device = makeAlone();
    const qpn = fc.integer({ min: 2, max: 0xff_ff_fe });
    fc.assert(
      fc.property(qpn, qpn, (a, b) => {
        const port = portOf(device, a, b);
        expect([portOf(device, a, b), portOf(makeAlone(), b, a)]).toEqual([port, port]);
        expect(port).toBeGreaterThanOrEqual(0xc0_00);
      }),
    );
  });

  it('spread: 1,000 queue pairs, connected by hand or by connection management, have more than 900 of them', async () => {
    const { world, a, b } = makeTwo();
    const [left, right] = [makeSide(a, 64), makeSide(b, 64)];
    const listener = b.cm.listen(PORT);
    const managed = new Set<number>();
    for (let i = 0; i < 1000; i++) {
      const ends = [left, right].map(({ pd, cq }) =>
        pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 1, maxRecvWr: 1 }),
      );
      const [qp, other] = ends;
      if (qp === undefined || other === undefined) throw new Error('two ends');
      const accepting = listener.next().then(({ value }) => value.accept({ qp: other }));
      await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT, qp }), accepting]));
      const template = qp.core.config.path?.template;
      if (template !== undefined) managed.add(new DataView(template.bytes.buffer).getUint16(template.udpOffset));
    }
    expect(managed.size).toBeGreaterThan(900);
    const alone = makeAlone();
    const { pd, cq } = makeSide(alone, 64);
    const qpns = Array.from({ length: 1000 }, () => pd.createQp({ sendCq: cq, recvCq: cq }).qpn);
    const byHand = new Set(qpns.map((qpn, i) => portOf(alone, qpn, qpns[(i + 1) % 1000] ?? 2)));
    expect(byHand.size).toBeGreaterThan(900);
    // Peers that number their queue pairs from 17 on, as rdma_rxe does.
    expect(new Set(qpns.map((qpn, i) => portOf(alone, qpn, 17 + i))).size).toBeGreaterThan(900);
  });

  it('are the one of the link where the link has only one, whoever chooses another', async () => {
    const device = makeAlone(4791, { sourcePort: 50_000 });
    expect(portOf(device, 5, 6, { sourcePort: 60_000, flowLabel: 7 })).toBe(4791);
  });

  it('are those of the address vector, else those its label gives, with the verbs alone', async () => {
    const device = makeAlone();
    const { qp } = makeSide(device);
    await qp.modify({ state: QpState.Init, access: 0 });
    const rtr = { state: QpState.Rtr, destQpn: 9, rqPsn: 0, mtu: 1024, maxDestRdAtomic: 0, minRnrTimer: 0 } as const;
    const av = { destination: IpAddress.parse('10.0.0.2') };
    await expect(qp.modify({ ...rtr, av: { ...av, hopLimit: 256 } })).rejects.toThrow(/hopLimit/);
    await qp.modify({ ...rtr, av: { ...av, flowLabel: 0x4001, trafficClass: 0x69 } });
    expect(qp.core.config.path?.template).toMatchObject({ trafficClass: 0x69, hopLimit: 64 });
    expect(portOf(device, qp.qpn, 9, { flowLabel: 0x4001 })).toBe(0xc0_00);
    expect(portOf(device, qp.qpn, 9, { flowLabel: 0x4001, sourcePort: 77 })).toBe(77);
  });
});

it('the IP medium has nothing to wait for: the kernel knows the next hop', async () => {
  const world = new World({ seed: 1, medium: Medium.Ip });
  const [a, b] = [1, 2].map((id) => attachDevice(world, `${id}`, { addresses: [`10.0.0.${id}/24`] }));
  if (a === undefined || b === undefined) throw new Error('two devices');
  await a.resolve(IpAddress.parse('192.168.7.7'));
  const listener = b.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: makeSide(b).qp }));
  await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT, qp: makeSide(a).qp }), accepting]));
  // Three messages at the latency of the wire: nobody has asked for anything before.
  expect(world.now).toBeLessThanOrEqual(3 * world.network.latencyNs);
  expect([a.paths.neighbours, a.cm.size]).toEqual([undefined, 1]);
});

it('a device that leaves Ethernet to the kernel has no VLAN and no neighbours of its own', () => {
  const world = new World({ seed: 1, medium: Medium.Ip });
  const addresses = ['10.0.0.1/24'];
  const neighbours = [{ address: IpPrefix.parse('10.0.0.2/24').address, mac: Uint8Array.of(2, 0, 0, 0, 0, 2) }];
  expect(() => attachDevice(world, 'vlan', { addresses, vlan: { id: 5 } })).toThrow(/no VLAN tag/);
  expect(() => attachDevice(world, 'static', { addresses, neighbours })).toThrow(/neighbours to the kernel/);
});
