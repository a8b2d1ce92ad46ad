/**
 * Goal: whatever arrives, a device answers only what the protocol asks for, counts every drop, and never throws.
 * Method: the device stands alone; the test hands it frames and looks at everything that leaves it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BTH_BYTES,
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  IpPrefix,
  Medium,
  Op,
  parseMac,
  writeBth,
} from '../../packets/index.ts';
import { Prng } from '../../src/ground/prng.ts';
import { Device, QpState } from '../../src/index.ts';
import { ALL } from './support.ts';

const OURS = { mac: parseMac('02:00:00:00:00:01'), ip: IpAddress.parse('10.0.0.1') };
const THEIRS = { mac: parseMac('02:00:00:00:00:02'), ip: IpAddress.parse('10.0.0.2') };
const FIRST_PSN = 0xff_ff_fe;
const THEIR_QPN = 77;

/** A device without a wire, with one queue pair in RTS towards THEIRS on the IP medium. */
function makeDevice(medium: Medium = Medium.Ip) {
  const host = { now: () => 0, wake: () => {} };
  const addresses = [IpPrefix.parse('10.0.0.1/24')];
  const device = new Device({ host, random: new Prng(7), medium, mac: OURS.mac, addresses, mtu: 4200 });
  const pd = device.allocPd();
  const cq = device.createCq(64);
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  if (medium === Medium.Ip) {
    qp.modifyNow({ state: QpState.Init, access: ALL });
    const av = { destination: THEIRS.ip };
    qp.modifyNow({
      state: QpState.Rtr,
      av,
      destQpn: THEIR_QPN,
      rqPsn: FIRST_PSN,
      mtu: 1024,
      maxDestRdAtomic: 4,
      minRnrTimer: 1,
    });
    qp.modifyNow({ state: QpState.Rts, sqPsn: 0, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 });
  }
  return { device, qp, cq, mr: pd.regMr(4096, { access: ALL }) };
}

function template(medium: Medium = Medium.Ip): HeaderTemplate {
  return new HeaderTemplate({
    medium,
    sourceMac: THEIRS.mac,
    destMac: OURS.mac,
    source: THEIRS.ip,
    destination: OURS.ip,
    trafficClass: 0,
    hopLimit: 64,
    flowLabel: 0,
    sourcePort: 0xc1_23,
  });
}

/** One RC packet with this opcode and extra bytes behind the BTH. */
function packet(opcode: number, qpn: number, psn: number, behindBth = 0, medium: Medium = Medium.Ip): FrameWriter {
  const writer = incoming;
  writer.reset();
  const path = template(medium);
  const bth = writer.begin(path);
  writeBth(writer.view, bth, opcode, 0, 1, 0, 0xff_ff, qpn, 1, psn);
  writer.bytes.fill(0, bth + BTH_BYTES, bth + BTH_BYTES + behindBth);
  writer.end(path, bth + BTH_BYTES + behindBth);
  return writer;
}

/** One for all tests: a slab of this size is too much to allocate for every run of a property. */
const outgoing = new FrameWriter(64, 4300);
const incoming = new FrameWriter(1, 4300);

/** Opcodes of all that the device wants to send (on the IP medium). */
function sent(device: Device): number[] {
  const writer = outgoing;
  writer.reset();
  while (device.transmit(writer)) expect(writer.count).toBeGreaterThan(0);
  return Array.from({ length: writer.count }, (_, i) => writer.view.getUint8((writer.starts[i] ?? 0) + 28));
}

/** Sum of everything that says where frames went. */
function accounted(device: Device): number {
  const { receivedFrames: _, ...drops } = device.counters;
  return Object.values(drops).reduce((sum, value) => sum + value, 0) + device.portCounters.rcvdPkts;
}

describe('a device', () => {
  it.each([
    [300, undefined],
    [336, 256],
    [1500, 1024],
    [2200, 2048],
    [4175, 2048],
    [4176, 4096],
    [9000, 4096],
  ])('on a link of %i bytes has path MTU %s', (mtu, expected) => {
    const host = { now: () => 0, wake: () => {} };
    const make = () =>
      new Device({
        host,
        random: new Prng(1),
        medium: Medium.Ip,
        mac: OURS.mac,
        addresses: [IpPrefix.parse('10.0.0.1/24')],
        mtu,
      });
    if (expected === undefined) expect(make).toThrow(/carries no RoCE packet/);
    else expect(make().activeMtu).toBe(expected);
  });

  it('answers a SEND to a queue pair that has a receive', () => {
    const { device, qp, mr } = makeDevice();
    qp.postRecv({ wrId: 1, sges: [{ mr }] });
    device.receive(packet(Op.SendOnly, qp.qpn, FIRST_PSN));
    expect(sent(device)).toEqual([Op.Acknowledge]);
  });

  it('says nothing to a queue pair number nobody has, to QP0 and to multicast (SEC-05)', () => {
    const { device, qp } = makeDevice();
    for (const qpn of [0, 2, qp.qpn ^ 1, 0xff_ff_ff]) device.receive(packet(Op.SendOnly, qpn, FIRST_PSN));
    expect(sent(device)).toEqual([]);
    expect([device.counters.badQpn, device.counters.otherGroup]).toEqual([3, 1]);
  });

  it('says nothing to a wrong ICRC, whatever bit is wrong (SEC-20)', () => {
    const { device, qp } = makeDevice();
    const writer = packet(Op.SendOnly, qp.qpn, FIRST_PSN, 8);
    const bth = (writer.starts[0] ?? 0) + 28;
    const end = (writer.starts[0] ?? 0) + (writer.lengths[0] ?? 0);
    let flipped = 0;
    for (let at = bth; at < end; at++) {
      for (let bit = 0; bit < 8; bit++) {
        if (at === bth + 4) continue; // FECN, BECN and reserved bits are outside the ICRC
        writer.view.setUint8(at, writer.view.getUint8(at) ^ (1 << bit));
        device.receive(writer);
        writer.view.setUint8(at, writer.view.getUint8(at) ^ (1 << bit));
        flipped += 1;
      }
    }
    expect(sent(device)).toEqual([]);
    expect(accounted(device)).toBe(flipped);
    expect(device.portCounters.rcvdPkts).toBe(0);
  });

  it('refuses each reserved opcode of its service once with NAK 0x61 and is silent afterwards (SEC-09)', () => {
    for (const opcode of [0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f]) {
      const { device, qp } = makeDevice();
      const writer = packet(opcode, qp.qpn, FIRST_PSN, 28);
      device.receive(writer);
      device.receive(writer);
      expect(sent(device)).toEqual([Op.Acknowledge]);
      expect(qp.state).toBe(QpState.Error);
    }
  });

  it('ignores opcodes of other services and congestion notifications', () => {
    const { device, qp } = makeDevice();
    for (const opcode of [0x24, 0x64, 0xa4, 0xe0, Op.Cnp]) device.receive(packet(opcode, qp.qpn, FIRST_PSN, 28));
    expect(sent(device)).toEqual([]);
    expect(qp.state).toBe(QpState.Rts);
    expect(device.portCounters.rpCnpIgnored).toBe(1);
  });

  it('passes over Ethernet frames to other stations', () => {
    const { device, qp } = makeDevice(Medium.Ethernet);
    const writer = packet(Op.SendOnly, qp.qpn, FIRST_PSN, 0, Medium.Ethernet);
    writer.view.setUint8((writer.starts[0] ?? 0) + 5, 9);
    device.receive(writer);
    expect(device.counters.otherHost).toBe(1);
  });

  it('survives any bytes, on both media, and sends nothing for them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(Medium.Ip, Medium.Ethernet), (bytes, medium) => {
        const { device } = makeDevice(medium);
        const writer = incoming;
        writer.reset();
        writer.appendRaw(bytes, 0, bytes.length);
        device.receive(writer);
        expect(sent(device)).toEqual([]);
        expect(device.counters.receivedFrames).toBe(1);
      }),
    );
  });

  it('survives any damage to a good packet and counts where each one went', () => {
    const damage = fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(fc.nat(255), fc.nat(40), damage, fc.nat(100), (opcode, behindBth, bytes, cut) => {
        const { device, qp, mr } = makeDevice();
        const before = mr.bytes.slice();
        const writer = packet(opcode, qp.qpn, FIRST_PSN, behindBth);
        const start = writer.starts[0] ?? 0;
        for (const [at, value] of bytes) writer.view.setUint8(start + at, value);
        if (cut < 60) writer.lengths[0] = Math.min(writer.lengths[0] ?? 0, cut);
        device.receive(writer);
        expect(accounted(device)).toBeGreaterThanOrEqual(1);
        expect(sent(device).every((reply) => reply === Op.Acknowledge || reply === Op.ReadResponseOnly)).toBe(true);
        expect(Buffer.compare(mr.bytes, before)).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });

  it('sees every opcode at the expected PSN with every length without harm', () => {
    for (let opcode = 0; opcode < 256; opcode++) {
      for (const behindBth of [0, 4, 8, 16, 20, 28, 32]) {
        const { device, qp } = makeDevice();
        device.receive(packet(opcode, qp.qpn, FIRST_PSN, behindBth));
        expect(sent(device).length).toBeLessThanOrEqual(1);
        expect(accounted(device)).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it('gives queue pairs numbers that are not reserved, not in use and not in a row (ref:hostile#3)', () => {
    const { device } = makeDevice();
    const pd = device.allocPd();
    const cq = device.createCq(1);
    const numbers = Array.from({ length: 500 }, () => pd.createQp({ sendCq: cq, recvCq: cq }).qpn);
    expect(new Set(numbers).size).toBe(500);
    expect(numbers.every((qpn) => qpn > 1 && qpn < 0xff_ff_ff)).toBe(true);
    const steps = new Set(numbers.slice(1).map((qpn, i) => qpn - (numbers[i] ?? 0)));
    expect(steps.size).toBeGreaterThan(490);
  });
});
