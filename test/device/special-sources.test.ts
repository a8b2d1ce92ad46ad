/**
 * Goal: a frame whose source cannot be the address of another host draws no answer and ends nothing, whatever it
 * carries. Method: a device alone, frames handed over by hand, over both media and IP versions; one frame of each kind
 * that is answered otherwise, then arbitrary MADs from arbitrary sources. FC_RUNS sets the runs.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RdmaPortSpace, rdmaServiceId } from '../../packets/cm/index.ts';
import {
  BROADCAST_MAC,
  BTH_BYTES,
  Frame,
  FrameStatus,
  FrameWriter,
  frameDestination,
  HeaderTemplate,
  IpAddress,
  IpPrefix,
  Medium,
  Op,
  parseFrame,
  parseMac,
  writeBth,
  writeDeth,
} from '../../packets/index.ts';
import { GSI_QKEY } from '../../packets/management.ts';
import { ETHERNET_BYTES, ETHERTYPE_ARP, readArp } from '../../packets/network.ts';
import { segmentFrame, TcpFlag } from '../../src/device/host/tcp/segment.ts';
import { Prng } from '../../src/ground/prng.ts';
import { Device, type DeviceOptions, QpState, QpType } from '../../src/index.ts';
import { ConnectionManager } from '../../transport/cm/index.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { PORT } from './support.ts';

const MAC = parseMac('02:00:00:00:00:01');
const THEIR_MAC = parseMac('02:00:00:00:00:02');
const UD_QKEY = 5;

/** A network with what in it is no other host's address. */
interface Network {
  readonly prefix: string;
  readonly ours: string;
  readonly theirs: string;
  readonly farAway: string;
  readonly gateway: string;
  /** No source on any wire. */
  readonly special: readonly string[];
  /** No source on a wire of our own; on the kernel's it may be this host speaking to itself. */
  readonly self: readonly string[];
}

const V4: Network = {
  prefix: '10.0.0.1/24',
  ours: '10.0.0.1',
  theirs: '10.0.0.2',
  farAway: '192.0.2.7',
  gateway: '10.0.0.9',
  special: ['0.0.0.0', '0.1.2.3', '255.255.255.255', '224.0.0.1', '239.1.2.3', '10.0.0.255'],
  self: ['10.0.0.1', '127.0.0.1'],
};
const V6: Network = {
  prefix: 'fd00::1/64',
  ours: 'fd00::1',
  theirs: 'fd00::2',
  farAway: '2001:db8::7',
  gateway: 'fd00::9',
  special: ['::', 'ff02::1', 'ff0e::1'],
  self: ['fd00::1', '::1'],
};
/** ::ffff:10.0.0.2, which `parse` would take for IPv4. */
const MAPPED = new IpAddress(6, 0, 0, 0xff_ff, 0x0a00_0002);

const CASES = [Medium.Ethernet, Medium.Ip].flatMap((medium) =>
  [V4, V6].map((network) => ({
    medium,
    network,
    where: `${medium === Medium.Ethernet ? 'Ethernet' : 'IP'}, ${network.prefix}`,
  })),
);

function specialOf(medium: Medium, { special, self }: Network): IpAddress[] {
  const own = medium === Medium.Ethernet ? self : [];
  return [...[...special, ...own].map((text) => IpAddress.parse(text)), ...(special === V6.special ? [MAPPED] : [])];
}

/** A device whose every next hop is known, and the frames that it is given and gives. */
class Station {
  time = 0;
  readonly #out = new FrameWriter(16, 1514);
  readonly device: Device;
  readonly medium: Medium;
  readonly network: Network;

  constructor(medium: Medium, network: Network, options: Partial<DeviceOptions> = {}) {
    this.medium = medium;
    this.network = network;
    const known = [network.theirs, network.gateway].map((text) => ({ address: IpAddress.parse(text), mac: THEIR_MAC }));
    this.device = new Device({
      host: { now: () => this.time, wake: () => {} },
      random: new Prng(1),
      medium,
      mac: MAC,
      addresses: [IpPrefix.parse(network.prefix)],
      mtu: 1500,
      ...(medium === Medium.Ethernet ? { neighbours: known, gateway: IpAddress.parse(network.gateway) } : {}),
      ...options,
    });
    this.device.cm.listen(PORT);
  }

  /** A datagram to a queue pair of ours, with a right ICRC. */
  tell(from: IpAddress, to: IpAddress, payload: Uint8Array, { qpn = 1, qkey = GSI_QKEY, destMac = MAC, ecn = 0 } = {}) {
    const template = new HeaderTemplate({
      ...{ medium: this.medium, sourceMac: THEIR_MAC, destMac, source: from, destination: to },
      ...{ trafficClass: ecn, hopLimit: 64, flowLabel: 0, sourcePort: 4791 },
    });
    const writer = new FrameWriter(1, 1000);
    const bth = writer.begin(template);
    writeBth(writer.view, bth, Op.UdSendOnly, 0, 1, 0, 0xff_ff, qpn, 0, 0);
    writeDeth(writer.view, bth + BTH_BYTES, qkey, 1);
    writer.bytes.set(payload, bth + BTH_BYTES + 8);
    writer.end(template, bth + BTH_BYTES + 8 + payload.length);
    this.device.receive(writer);
  }

  /** A whole frame. */
  hand(frame: Uint8Array): void {
    const writer = new FrameWriter(1, 1000);
    writer.appendRaw(frame, 0, frame.length);
    this.device.receive(writer);
  }

  /** Where to the device sends, IP and ARP. */
  hear(): string[] {
    const writer = this.#out;
    writer.reset();
    const heard: string[] = [];
    for (let more = true; more; writer.reset()) {
      more = this.device.transmit(writer);
      for (let i = 0; i < writer.count; i++) {
        const start = writer.starts[i] ?? 0;
        const frame = new Frame();
        const status = parseFrame(
          writer.bytes,
          writer.view,
          start,
          start + (writer.lengths[i] ?? 0),
          this.medium,
          frame,
        );
        const arp = status === FrameStatus.NotIp && frame.etherType === ETHERTYPE_ARP;
        const asked = arp ? readArp(writer.view, start + ETHERNET_BYTES, frame.end)?.targetIp : frameDestination(frame);
        heard.push(`${asked}`);
      }
    }
    return heard;
  }

  /** Lets the next `count` deadlines pass. */
  pass(count: number): void {
    for (let i = 0; i < count && this.device.nextDeadline() < Infinity; i++) {
      this.time = Math.max(this.time, this.device.nextDeadline());
      this.device.handleTimeouts();
    }
  }
}

/** A REQ as a peer at `from` would send it; to a port that nobody listens on unless said otherwise. */
function request(from: IpAddress, to: IpAddress, port = PORT + 1): Uint8Array {
  const liar = new ConnectionManager({ random: new Prng(2), caGuid: 2n });
  liar.connect(0, {
    ...{ serviceId: rdmaServiceId(RdmaPortSpace.Tcp, port), local: from, remote: to, localPort: 1, qpn: 100 },
    ...{ startingPsn: 0, mtu: 3, initiatorDepth: 1, responderResources: 1 },
    ...{ retryCount: 7, rnrRetryCount: 7, ackTimeout: 14 },
  });
  return liar.pollTransmit(0)?.bytes ?? new Uint8Array(0);
}

describe.each(CASES)('queue pair 1 on $where', ({ medium, network }) => {
  const [ours, theirs, farAway] = [network.ours, network.theirs, network.farAway].map((text) => IpAddress.parse(text));
  if (ours === undefined || theirs === undefined || farAway === undefined) throw new Error('three addresses');

  it('answers another host, near and far', () => {
    for (const from of [theirs, farAway]) {
      const station = new Station(medium, network);
      station.tell(from, ours, request(from, ours));
      expect(station.hear()).toEqual([`${from}`]);
    }
  });

  it.each(specialOf(medium, network).map((from) => [`${from}`, from] as const))('does not hear %s', (_, from) => {
    for (const port of [PORT, PORT + 1]) {
      const station = new Station(medium, network);
      station.tell(from, ours, request(from, ours, port), { destMac: BROADCAST_MAC });
      expect(station.hear()).toEqual([]);
      expect(station.device.counters.badSource).toBe(1);
      expect([station.device.gsi.counters.received, station.device.cm.size]).toEqual([0, 0]);
    }
  });

  it.each(network.special.concat(network.theirs, network.farAway))('takes nothing that is addressed to %s', (text) => {
    const station = new Station(medium, network);
    const to = IpAddress.parse(text);
    station.tell(theirs, to, request(theirs, to), { destMac: BROADCAST_MAC });
    expect(station.hear()).toEqual([]);
    expect([station.device.counters.otherAddress, station.device.gsi.counters.received]).toEqual([1, 0]);
  });

  it('is not ended by the broadcast that once ended it', () => {
    const station = new Station(medium, network);
    const [from, to] = network === V4 ? ['255.255.255.255', '10.9.9.9'] : ['ff02::1', 'fd09::9'];
    const [source, destination] = [IpAddress.parse(from), IpAddress.parse(to)];
    station.tell(source, destination, request(source, destination), { destMac: BROADCAST_MAC });
    expect(station.hear()).toEqual([]);
  });

  it.each(specialOf(medium, network).map((from) => [`${from}`, from] as const))(
    'and a marked datagram from %s draws no CNP',
    (_, from) => {
      const station = new Station(medium, network, { congestion: {} });
      const pd = station.device.allocPd();
      const cq = station.device.createCq(4);
      const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
      qp.modifyNow({ state: QpState.Init, qkey: UD_QKEY });
      qp.modifyNow({ state: QpState.Rtr });
      const marked = { qpn: qp.qpn, qkey: UD_QKEY, ecn: 3 };
      station.tell(from, ours, new Uint8Array(8), marked);
      expect(station.hear()).toEqual([]);
      expect(station.device.counters.badSource).toBe(1);
      station.tell(theirs, ours, new Uint8Array(8), marked);
      expect(station.hear()).toEqual([`${theirs}`]);
    },
  );
});

describe.each([V4, V6])('TCP of $ours', (network) => {
  const [ours, theirs] = [IpAddress.parse(network.ours), IpAddress.parse(network.theirs)];

  it.each([...specialOf(Medium.Ethernet, network).map((from) => [`${from}`, from] as const)])(
    'has no answer for a SYN from %s',
    (_, source) => {
      const station = new Station(Medium.Ethernet, network);
      const listener = station.device.tcp?.listen(5);
      const ends = { sourceMac: THEIR_MAC, destMac: MAC, destination: ours, sourcePort: 9, vlanTci: undefined };
      const syn = { seq: 1, ack: 0, flags: TcpFlag.Syn, window: 1, data: new Uint8Array(0) };
      for (const destPort of [5, 6]) station.hand(segmentFrame({ ...ends, source, destPort }, syn));
      expect(station.hear()).toEqual([]);
      for (const destPort of [5, 6]) station.hand(segmentFrame({ ...ends, source: theirs, destPort }, syn));
      expect(station.hear()).toEqual([`${theirs}`, `${theirs}`]);
      listener?.close();
    },
  );
});

it('whatever MADs come from wherever, nothing throws and nothing leaves towards what is no host', () => {
  const mad = fc.record({
    from: fc.oneof({ weight: 3, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.constant(-1) }),
    to: fc.oneof({ weight: 6, arbitrary: fc.constant(-1) }, { weight: 1, arbitrary: fc.nat(20) }),
    raw: fc.tuple(fc.integer(), fc.integer(), fc.integer(), fc.integer()),
    random: fc.boolean(),
    broadcast: fc.boolean(),
    listening: fc.boolean(),
    attribute: fc.integer({ min: 0x0f, max: 0x1c }),
    changes: fc.array(fc.tuple(fc.nat(255), fc.nat(255)), { maxLength: 6 }),
    bytes: fc.oneof({ weight: 9, arbitrary: fc.constant(256) }, { weight: 1, arbitrary: fc.nat(80).map((n) => 4 * n) }),
    deadlines: fc.nat(3),
  });
  const scene = fc.record({ wire: fc.constantFrom(...CASES), mads: fc.array(mad, { minLength: 1, maxLength: 8 }) });
  fc.assert(
    fc.property(scene, ({ wire: { medium, network }, mads }) => {
      const station = new Station(medium, network);
      const special = specialOf(medium, network);
      const some = [...special, ...[network.theirs, network.farAway].map((text) => IpAddress.parse(text))];
      const forbidden = new Set(special.map(String));
      for (const { from, to, raw, random, broadcast, listening, attribute, changes, bytes, deadlines } of mads) {
        const [w0, w1, w2, w3] = raw;
        const any = network === V4 ? new IpAddress(4, 0, 0, 0xff_ff, w3) : new IpAddress(6, w0, w1, w2, w3);
        const source = some[from % some.length] ?? any;
        const destination = to < 0 ? IpAddress.parse(network.ours) : (some[to % some.length] ?? any);
        const payload = new Uint8Array(bytes);
        payload.set(request(source, destination, listening ? PORT : PORT + 1).subarray(0, bytes));
        if (random && bytes === 256) payload[17] = attribute;
        for (const [at, value] of changes) if (at < bytes) payload[at] = value;
        station.tell(source, destination, payload, { destMac: broadcast ? BROADCAST_MAC : MAC });
        for (const heard of station.hear()) expect(forbidden).not.toContain(heard);
        station.pass(deadlines);
        for (const heard of station.hear()) expect(forbidden).not.toContain(heard);
      }
    }),
    { numRuns: fcRuns(80) },
  );
});
