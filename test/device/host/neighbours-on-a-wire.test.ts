/**
 * Goal: connected queue pairs stay with a neighbour that moves, and devices on different VLANs are not there for each
 * other. Method: devices of the simulated world, one of them behind a mask that changes its MAC address, and every
 * frame that passes.
 */

import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress, IpPrefix, type MacAddress, parseMac } from '../../../packets/address.ts';
import { defined } from '../../../packets/defined.ts';
import { ETHERTYPE_ARP, readVlanTag, writeMac } from '../../../packets/ethernet.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { type FrameBatch, FrameWriter } from '../../../packets/frame-writer.ts';
import { vlanTci } from '../../../packets/vlan.ts';
import { echoReplyFrame, solicitationFrame } from '../../../src/device/host/neighbour-frames.ts';
import { Neighbours } from '../../../src/device/host/neighbours.ts';
import {
  attachDevice,
  Device,
  type Machine,
  type SimulatedDeviceOptions,
  type VlanOptions,
  WcStatus,
  World,
  WrOpcode,
} from '../../../src/index.ts';
import { makeSide, PORT, type Side } from '../support.ts';

const SECOND = 1e9;
const NEW_MAC = parseMac('02:00:00:00:00:99');
const ARP_SENDER_MAC_AT = 22;

/** A device that believes in one MAC address and has another on the wire, for IPv4. */
class Masked implements Machine {
  readonly device: Device;
  mac: MacAddress;

  constructor(device: Device) {
    this.device = device;
    this.mac = device.mac;
  }

  receive(batch: FrameBatch): void {
    const copies = new FrameWriter(Math.max(1, batch.count), 9000);
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      const bytes = batch.bytes.slice(start, start + (batch.lengths[i] ?? 0));
      const to = formatMac(bytes);
      // What is sent to the MAC address it no longer has does not arrive.
      if (to === formatMac(this.mac)) writeMac(new DataView(bytes.buffer), 0, this.device.mac);
      else if (to === formatMac(this.device.mac)) continue;
      copies.appendRaw(bytes, 0, bytes.length);
    }
    this.device.receive(copies);
  }

  transmit(writer: FrameWriter): boolean {
    const before = writer.count;
    const more = this.device.transmit(writer);
    for (let i = before; i < writer.count; i++) {
      const start = writer.starts[i] ?? 0;
      writeMac(writer.view, start + 6, this.mac);
      if (writer.view.getUint16(start + 12) === ETHERTYPE_ARP)
        writeMac(writer.view, start + ARP_SENDER_MAC_AT, this.mac);
    }
    return more;
  }

  nextDeadline(): number {
    return this.device.nextDeadline();
  }

  handleTimeouts(): void {
    this.device.handleTimeouts();
  }
}

interface Wire {
  readonly world: World;
  readonly masked: Masked;
  readonly plain: Device;
  /** Source, destination and kind of each frame that is not RoCE. */
  readonly questions: string[];
}

/** The masked device is 10.0.0.1, the plain one 10.0.0.2. */
function makeWire(options: Partial<SimulatedDeviceOptions> = {}): Wire {
  const world = new World({ seed: 1 });
  const questions: string[] = [];
  world.network.tap = {
    frame: (_now, port, direction, bytes, start) => {
      const isArp = new DataView(bytes.buffer).getUint16(start + 12) === ETHERTYPE_ARP;
      if (direction === 'out' && isArp) questions.push(`${port.name} to ${formatMac(bytes, start)}`);
    },
  };
  const masked = world.attach('masked', (host, port, random) => {
    const mac = parseMac('02:00:00:00:00:01');
    const addresses = [IpPrefix.parse('10.0.0.1/24')];
    return new Masked(new Device({ host, random, medium: port.medium, mac, addresses, mtu: port.mtu }));
  });
  const plain = attachDevice(world, 'plain', { addresses: ['10.0.0.2/24'], ...options });
  return { world, masked, plain, questions };
}

/** Connects `from` to `to`; what was asked for that is forgotten. */
async function connected({ world, questions }: Wire, from: Device, to: Device): Promise<[Side, Side]> {
  const [left, right] = [makeSide(from), makeSide(to)];
  const listener = to.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
  const address = to.addresses[0]?.address ?? '';
  await world.run(Promise.all([from.cm.connect({ address, port: PORT, qp: left.qp }), accepting]));
  listener.close();
  questions.length = 0;
  return [left, right];
}

async function write(world: World, from: Side, to: Side): Promise<WcStatus> {
  from.qp.postSend({
    wrId: 1,
    opcode: WrOpcode.RdmaWrite,
    sges: [{ mr: from.mr, length: 100 }],
    remoteAddr: to.mr.iova,
    rkey: to.mr.rkey,
  });
  return (await world.run(from.cq.next())).value.status;
}

const PLAIN_MAC = '02:00:00:00:00:02';
const MASKED_MAC = '02:00:00:00:00:01';
const EVERYBODY = 'ff:ff:ff:ff:ff:ff';
/** What the known MAC address is asked before another one counts. */
const PROBE = Array.from({ length: 3 }, () => `plain to ${MASKED_MAC}`);

describe('a connection whose peer has got another MAC address', () => {
  it('finds it again by asking when the peer falls silent, and loses nothing', async () => {
    const wire = makeWire();
    const [left, right] = await connected(wire, wire.plain, wire.masked.device);
    wire.world.runFor(2 * SECOND);
    wire.masked.mac = NEW_MAC;
    expect(await write(wire.world, left, right)).toBe(WcStatus.Success);
    expect(wire.questions).toEqual([...PROBE, `plain to ${EVERYBODY}`, `masked to ${PLAIN_MAC}`]);
    expect(wire.plain.paths.neighbours?.counters).toMatchObject({ moved: 1, lost: 0 });
    // The first repetition begins the probe of the known MAC address, and the third comes after the answer.
    expect(wire.plain.portCounters.localAckTimeoutErr).toBe(3);
    expect(formatMac(left.qp.core.config.path?.template.bytes ?? NEW_MAC)).toBe(formatMac(NEW_MAC));
  });

  it('is found again by a side that only answers, from the question of the other', async () => {
    const wire = makeWire();
    const [left, right] = await connected(wire, wire.masked.device, wire.plain);
    wire.world.runFor(2 * SECOND);
    wire.masked.mac = NEW_MAC;
    expect(await write(wire.world, left, right)).toBe(WcStatus.Success);
    expect(wire.plain.paths.neighbours?.counters.moved).toBe(1);
    expect(await write(wire.world, right, left)).toBe(WcStatus.Success);
  });

  it('finds it when the peer announces itself and the known MAC address stays silent', async () => {
    const wire = makeWire();
    const [left, right] = await connected(wire, wire.plain, wire.masked.device);
    wire.masked.mac = NEW_MAC;
    const announcement = solicitationFrame(
      { mac: NEW_MAC, address: IpAddress.parse('10.0.0.1') },
      IpAddress.parse('10.0.0.1'),
    );
    const batch = new FrameWriter(1, 64);
    batch.appendRaw(announcement, 0, announcement.length);
    const before = wire.world.now;
    wire.plain.receive(batch);
    expect(await write(wire.world, left, right)).toBe(WcStatus.Success);
    expect(wire.questions).toEqual([...PROBE, `plain to ${EVERYBODY}`, `masked to ${PLAIN_MAC}`]);
    // The answer is there after 0.75 s; the second repetition of the WRITE is the first one behind it.
    expect(wire.world.now - before).toBeLessThan(1.2 * SECOND);
    expect(wire.plain.portCounters.localAckTimeoutErr).toBe(2);
  });

  it('fails when the neighbour was given and not asked for', async () => {
    const wire = makeWire({ neighbours: [{ address: IpAddress.parse('10.0.0.1'), mac: parseMac(MASKED_MAC) }] });
    const [left, right] = await connected(wire, wire.plain, wire.masked.device);
    expect(wire.plain.paths.neighbours?.counters.questions).toBe(0);
    wire.world.runFor(2 * SECOND);
    wire.masked.mac = NEW_MAC;
    expect(await write(wire.world, left, right)).toBe(WcStatus.RetryExcErr);
    expect(wire.questions).toEqual([]);
  });
});

it('a peer that has got another MAC address since is connected to again', async () => {
  const wire = makeWire();
  const [left] = await connected(wire, wire.plain, wire.masked.device);
  left.qp.destroy();
  wire.world.runFor(2 * SECOND);
  wire.masked.mac = NEW_MAC;
  const before = wire.world.now;
  await connected(wire, wire.plain, wire.masked.device);
  // The second repetition of the request arrives: one came too early for the answer to the question it raised.
  expect(Math.round((wire.world.now - before) / SECOND)).toBe(9);
  expect(wire.plain.paths.neighbours?.counters.moved).toBe(1);
});

describe('a connection that lives on', () => {
  it('asks its neighbour itself once in 30 s of use, and never while it is idle', async () => {
    const wire = makeWire();
    const [left, right] = await connected(wire, wire.plain, wire.masked.device);
    for (let i = 0; i < 29; i++) {
      expect(await write(wire.world, left, right)).toBe(WcStatus.Success);
      wire.world.runFor(SECOND);
    }
    expect(wire.questions).toEqual([]);
    wire.world.runFor(600 * SECOND);
    expect(wire.questions).toEqual([]);
    expect(await write(wire.world, left, right)).toBe(WcStatus.Success);
    wire.world.runFor(5 * SECOND);
    // One question and its answer; who was asked knows by that that the other is there.
    expect(wire.questions).toEqual([`plain to ${MASKED_MAC}`, `masked to ${PLAIN_MAC}`]);
    expect(wire.plain.nextDeadline()).toBeGreaterThan(wire.world.now + SECOND);
  });

  it('lets go of its next hop with its last queue pair', async () => {
    const wire = makeWire();
    const [left] = await connected(wire, wire.plain, wire.masked.device);
    expect(left.qp.nextHop?.users.size).toBe(1);
    const hop = left.qp.nextHop;
    left.qp.destroy();
    expect([left.qp.nextHop, hop?.users.size]).toEqual([undefined, 0]);
  });
});

describe('devices on a VLAN', () => {
  interface Lan {
    readonly world: World;
    readonly a: Device;
    readonly b: Device;
    readonly untagged: Device;
    readonly other: Device;
    /** Name of the sender and its tag control, -1 without a tag. */
    readonly tags: Set<string>;
  }

  function makeLan(): Lan {
    const world = new World({ seed: 1 });
    const tags = new Set<string>();
    world.network.tap = {
      frame: (_now, port, direction, bytes, start, end) => {
        if (direction === 'in') return;
        const frame = new Frame();
        parseFrame(bytes, new DataView(bytes.buffer), start, end, Medium.Ethernet, frame);
        tags.add(`${port.name} ${frame.vlanTci}`);
      },
    };
    const device = (id: number, vlan?: VlanOptions): Device =>
      attachDevice(world, `${id}`, {
        addresses: [`10.0.0.${id}/24`, `fd00::${id}/64`],
        ...defined({ vlan }),
      });
    return {
      world,
      tags,
      a: device(1, { id: 5, priority: 3 }),
      b: device(2, { id: 5 }),
      untagged: device(3),
      other: device(4, { id: 6 }),
    };
  }

  it.each(['10.0.0.2', 'fd00::2'])('connect and tag every frame, and nobody else hears them (%s)', async (address) => {
    const { world, a, b, untagged, other, tags } = makeLan();
    const [left, right] = [makeSide(a), makeSide(b)];
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
    await world.run(Promise.all([a.cm.connect({ address, port: PORT, qp: left.qp }), accepting]));
    expect(await write(world, left, right)).toBe(WcStatus.Success);
    expect(tags).toEqual(new Set([`1 ${vlanTci(5, 3)}`, '2 5']));
    for (const { counters } of [untagged, other]) {
      expect(counters.otherVlan).toBeGreaterThan(0);
      expect(counters.otherVlan + counters.otherHost).toBe(counters.receivedFrames);
    }
    expect(b.counters.otherVlan).toBe(0);
  });

  it('do not reach those on another one, or on none, nor these them', async () => {
    const { world, a, untagged, other } = makeLan();
    for (const [from, to] of [
      [a, '10.0.0.3'],
      [a, 'fd00::4'],
      [untagged, '10.0.0.1'],
      [other, '10.0.0.1'],
    ] as const) {
      await expect(world.run(from.resolve(IpAddress.parse(to)))).rejects.toThrow(/no answer/);
    }
    expect(await world.run(untagged.resolve(IpAddress.parse('10.0.0.3')))).toBeUndefined();
  });

  it('are refused numbers that no VLAN has', () => {
    const world = new World({ seed: 1 });
    const addresses = ['10.0.0.1/24'];
    expect(() => attachDevice(world, 'a', { addresses, vlan: { id: 0 } })).toThrow(/VLAN id is a whole number from 1/);
    expect(() => attachDevice(world, 'b', { addresses, vlan: { id: 4095 } })).toThrow(/from 1 to 4094, not 4095/);
    expect(() => attachDevice(world, 'c', { addresses, vlan: { id: 1, priority: 8 } })).toThrow(/VLAN priority/);
  });

  it('answer pings and questions in their own tag, whatever priority these had', () => {
    const us = { mac: parseMac('02:00:00:00:00:01'), address: IpAddress.parse('10.0.0.1') };
    const peer = { mac: parseMac('02:00:00:00:00:02'), address: IpAddress.parse('10.0.0.2'), vlanTci: vlanTci(5, 7) };
    const neighbours = new Neighbours({
      mac: us.mac,
      addresses: [IpPrefix.parse('10.0.0.1/24')],
      vlan: { id: 5, priority: 2 },
    });
    const echo = { reply: false, identifier: 1, sequence: 2, data: new Uint8Array(10) };
    const pinging = echoReplyFrame(peer, us, echo, 0);
    // An echo request is its reply with another type and the checksum that goes with it.
    const view = new DataView(pinging.buffer);
    view.setUint8(18 + 20, 8);
    view.setUint16(18 + 20 + 2, (view.getUint16(18 + 20 + 2) - 0x0800 + 0xff_ff) % 0xff_ff);
    for (const bytes of [
      solicitationFrame(peer, us.address),
      pinging,
      solicitationFrame({ ...peer, vlanTci: 6 }, us.address),
    ]) {
      const frame = new Frame();
      const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
      neighbours.handleFrame(0, frame, status);
    }
    const writer = new FrameWriter(8, 128);
    neighbours.poll(0, writer);
    expect(writer.count).toBe(2);
    for (let i = 0; i < 2; i++) {
      const start = writer.starts[i] ?? 0;
      expect(writer.lengths[i]).toBe(64);
      expect(readVlanTag(writer.view, start + 14)).toMatchObject({ vid: 5, pcp: 2 });
      expect(formatMac(writer.bytes, start)).toBe(formatMac(peer.mac));
    }
    const answer = new Frame();
    const [start = 0] = [writer.starts[1]];
    expect(parseFrame(writer.bytes, writer.view, start, start + 64, Medium.Ethernet, answer)).toBe(FrameStatus.NotUdp);
  });

  it('need not exist for a frame that only has a priority', async () => {
    const { world, untagged } = makeLan();
    const { address } = untagged.addresses[0] ?? { address: IpAddress.parse('::') };
    const question = solicitationFrame(
      { mac: NEW_MAC, address: IpAddress.parse('10.0.0.77'), vlanTci: vlanTci(0, 6) },
      address,
    );
    const batch = new FrameWriter(1, 128);
    batch.appendRaw(question, 0, question.length);
    untagged.receive(batch);
    await world.run(untagged.resolve(IpAddress.parse('10.0.0.77')));
    expect([untagged.paths.neighbours?.counters.learnt, untagged.counters.otherVlan]).toEqual([1, 0]);
  });
});
