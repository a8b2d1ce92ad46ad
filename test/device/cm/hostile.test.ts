/**
 * Goal: a peer that takes back what it has just said, in the same batch of frames or over and over, ends nothing but
 * its own attempt and leaves nothing behind. Method: a peer that is a bare connection manager and queue pair 1, whose
 * frames are handed over by hand; an alternate path in the simulated world.
 */
import { describe, expect, it } from 'vitest';
import { RdmaPortSpace, rdmaServiceId } from '../../../packets/cm/index.ts';
import {
  Frame,
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  IpPrefix,
  Medium,
  parseFrame,
  parseMac,
} from '../../../packets/index.ts';
import { Gsi } from '../../../src/device/cm/gsi.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { Device, QpState } from '../../../src/index.ts';
import { ConnectionManager } from '../../../transport/cm/index.ts';
import { connect, makeSide, PORT } from '../support.ts';

const OURS = IpAddress.parse('10.0.0.1');
const THEIRS = IpAddress.parse('10.0.0.2');
const MAC = parseMac('02:00:00:00:00:01');
const SERVICE = rdmaServiceId(RdmaPortSpace.Tcp, PORT);

/** A device at 10.0.0.1, and who speaks to it from 10.0.0.2. */
class Meeting {
  time = 0;
  readonly device: Device;
  readonly liar = new ConnectionManager({ random: new Prng(2), caGuid: 2n });
  readonly #gsi: Gsi;
  #qpn = 100;

  constructor() {
    const random = new Prng(1);
    this.device = new Device({
      host: { now: () => this.time, wake: () => {} },
      random,
      medium: Medium.Ip,
      mac: MAC,
      addresses: [IpPrefix.parse(`${OURS}/24`)],
      mtu: 1500,
    });
    const path = { sourceMac: MAC, destMac: MAC, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 4791 };
    const template = new HeaderTemplate({ medium: Medium.Ip, ...path, source: THEIRS, destination: OURS });
    const port = { joins: () => true, templateFor: () => template, doubt: () => {}, suspect: () => {} };
    this.#gsi = new Gsi(this.liar, port);
  }

  /** What the liar has to say, in one batch. */
  tell(): void {
    const writer = new FrameWriter(64, 2000);
    this.#gsi.transmit(this.time, writer);
    this.device.receive(writer);
  }

  /** What the device has to say. */
  hear(): void {
    const writer = new FrameWriter(64, 2000);
    this.device.transmit(writer);
    const frame = new Frame();
    for (let i = 0; i < writer.count; i++) {
      const start = writer.starts[i] ?? 0;
      parseFrame(writer.bytes, writer.view, start, start + (writer.lengths[i] ?? 0), Medium.Ip, frame);
      this.#gsi.handleFrame(this.time, frame);
    }
  }

  /** The liar asks for a connection. */
  ask(mtu = 3): number {
    this.#qpn += 1;
    return this.liar.connect(this.time, {
      serviceId: SERVICE,
      local: THEIRS,
      remote: OURS,
      localPort: 1,
      qpn: this.#qpn,
      startingPsn: 0,
      mtu,
      initiatorDepth: 1,
      responderResources: 1,
      retryCount: 7,
      rnrRetryCount: 7,
      ackTimeout: 14,
    });
  }
}

describe('in one batch', () => {
  it.each([
    ['one that could be accepted', 3],
    ['one of an MTU that we refuse', 5],
  ])('a request taken back, %s, is none', (_, mtu) => {
    const meeting = new Meeting();
    const { device, liar } = meeting;
    device.cm.listen(PORT);
    liar.destroy(0, meeting.ask(mtu));
    meeting.tell();
    expect(device.cm.size).toBe(0);
    expect(device.cm.counters()).toMatchObject({ Ok: 2 });
  });

  it('an answer taken back refuses the connection', async () => {
    const meeting = new Meeting();
    const { device, liar } = meeting;
    liar.listen(SERVICE, 1);
    const { qp } = makeSide(device, 64);
    const connecting = device.cm.connect({ address: THEIRS, port: PORT, qp }).catch((error: unknown) => error);
    await device.resolve(THEIRS);
    meeting.hear();
    const asked = liar.pollEvent();
    if (asked?.type !== 'connect-request') throw new Error('the liar was asked');
    liar.accept(0, asked.id, { qpn: 7, startingPsn: 0, initiatorDepth: 1, responderResources: 1, rnrRetryCount: 7 });
    liar.destroy(0, asked.id);
    meeting.tell();
    expect(await connecting).toMatchObject({ code: 'ERR_ROCE_REJECTED' });
    expect(qp.state).toBe(QpState.Error);
  });
});

describe('a request taken back', () => {
  it('is not handed out, however many there were, and the next one is', async () => {
    const meeting = new Meeting();
    const { device, liar } = meeting;
    const listener = device.cm.listen(PORT);
    for (let i = 0; i < 50; i++) {
      const id = meeting.ask();
      meeting.tell();
      liar.destroy(0, id);
      meeting.tell();
    }
    meeting.ask();
    meeting.tell();
    expect(listener.requests.length).toBe(1);
    const { value: request } = await listener.next();
    expect(request.req.localQpn).toBe(151);
    request.reject();
  });

  it('is not handed out when it was a lookup of a datagram service that nobody answered in time', () => {
    const meeting = new Meeting();
    const { device, liar } = meeting;
    const listener = device.cm.listenUd(PORT);
    const serviceId = rdmaServiceId(RdmaPortSpace.Udp, PORT);
    liar.resolve(0, { serviceId, local: THEIRS, remote: OURS, localPort: 1 });
    meeting.tell();
    expect(listener.requests.length).toBe(1);
    meeting.time = device.nextDeadline();
    device.handleTimeouts();
    expect(listener.requests.length).toBe(0);
  });
});

describe('an alternate path asked for', () => {
  it('is not granted by who disconnects while the way there is looked for', async () => {
    const { world, b, active, passive } = await connect();
    const av = { destination: IpAddress.parse('fd00::2'), source: IpAddress.parse('fd00::1') };
    const asked = active.loadAlternatePath(av).catch((error: unknown) => error);
    const before = b.cm.counters()['Ok'];
    // Step by step, so that nobody has had a turn between the message and the call.
    while (b.cm.counters()['Ok'] === before) {
      await Promise.resolve();
      world.step();
    }
    const ending = passive.disconnect();
    expect(await world.run(Promise.all([asked, ending]))).toMatchObject([{ code: 'ERR_ROCE_CLOSED' }, 'drep']);
  });
});
