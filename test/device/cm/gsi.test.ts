/**
 * Goal: queue pair 1 takes only what it should and keeps what cannot leave yet. Method: the machine alone, its frames
 * looked at.
 */
import { describe, expect, it } from 'vitest';
import {
  BTH_BYTES,
  Frame,
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  Medium,
  Op,
  parseFrame,
  parseMac,
  writeBth,
  writeDeth,
} from '../../../packets/index.ts';
import { GSI_QKEY } from '../../../packets/management.ts';
import { Gsi } from '../../../src/device/cm/gsi.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { ConnectionManager } from '../../../transport/cm/index.ts';

const OURS = IpAddress.parse('10.0.0.1');
const THEIRS = IpAddress.parse('10.0.0.2');
const MAC = parseMac('02:00:00:00:00:01');
const TEMPLATE = new HeaderTemplate({
  medium: Medium.Ip,
  sourceMac: MAC,
  destMac: MAC,
  source: OURS,
  destination: THEIRS,
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 4791,
});

/** A queue pair 1 whose next hop is known or not. */
function make() {
  const manager = new ConnectionManager({ random: new Prng(1), caGuid: 1n });
  const hop = { known: true, joined: true };
  const doubted: string[] = [];
  const gsi = new Gsi(manager, {
    joins: () => hop.joined,
    templateFor: () => (hop.known ? TEMPLATE : undefined),
    doubt: (destination) => void doubted.push(destination.toString()),
    suspect: () => {},
  });
  return { manager, gsi, hop, doubted, writer: new FrameWriter(8, 512) };
}

/** Posts `count` requests to connect, each of which is one MAD to send. */
function ask(manager: ConnectionManager, count: number): void {
  for (let i = 0; i < count; i++) {
    manager.connect(0, {
      serviceId: BigInt(1000 + i),
      local: OURS,
      remote: THEIRS,
      localPort: 1,
      qpn: 100 + i,
      startingPsn: 0,
      mtu: 3,
      initiatorDepth: 1,
      responderResources: 1,
      retryCount: 7,
      rnrRetryCount: 7,
      ackTimeout: 14,
    });
  }
}

function datagram(opcode: number, qkey: number, bytes: number): Frame {
  const writer = new FrameWriter(1, 512);
  const bth = writer.begin(TEMPLATE);
  writeBth(writer.view, bth, opcode, 0, 1, 0, 0xff_ff, 1, 0, 0);
  writeDeth(writer.view, bth + BTH_BYTES, qkey, 1);
  writer.end(TEMPLATE, bth + BTH_BYTES + 8 + bytes);
  const frame = new Frame();
  parseFrame(writer.bytes, writer.view, 0, writer.lengths[0] ?? 0, Medium.Ip, frame);
  return frame;
}

describe('queue pair 1', () => {
  it('takes UD SEND ONLY with its Q_Key and counts everything else (CM-25)', () => {
    const { gsi, manager, writer } = make();
    gsi.handleFrame(0, datagram(Op.UdSendOnly, GSI_QKEY ^ 1, 256));
    gsi.handleFrame(0, datagram(Op.UdSendOnlyImm, GSI_QKEY, 256));
    gsi.handleFrame(0, datagram(Op.UdSendOnly, GSI_QKEY, 252));
    expect(gsi.counters).toMatchObject({ badQkey: 1, badOpcode: 1, received: 1 });
    expect(manager.counters()).toMatchObject({ BadLength: 1 });
    expect(gsi.transmit(0, writer)).toBe(false);
    expect(writer.count).toBe(0);
  });

  it('sends as many MADs as fit and says that there are more', () => {
    const { gsi, manager, writer } = make();
    ask(manager, 10);
    expect(gsi.transmit(0, writer)).toBe(true);
    expect(writer.count).toBe(8);
    writer.reset();
    expect(gsi.transmit(0, writer)).toBe(false);
    expect(writer.count).toBe(2);
    expect(gsi.counters.sent).toBe(10);
  });

  it('says whose address is in doubt when it has to repeat a MAD, and not before', () => {
    const { gsi, manager, doubted, writer } = make();
    ask(manager, 1);
    gsi.transmit(0, writer);
    expect(doubted).toEqual([]);
    manager.handleTimeout(manager.pollTimeout());
    gsi.transmit(0, writer);
    expect([doubted, writer.count]).toEqual([['10.0.0.2'], 2]);
  });

  it('keeps MADs while their next hop is being asked for', () => {
    const { gsi, manager, hop, writer } = make();
    hop.known = false;
    ask(manager, 3);
    expect(gsi.transmit(0, writer)).toBe(false);
    expect(writer.count).toBe(0);
    hop.known = true;
    expect(gsi.transmit(0, writer)).toBe(false);
    expect(writer.count).toBe(3);
  });

  it('drops them when nobody answers for it, and the oldest when too many wait', () => {
    const { gsi, manager, hop, writer } = make();
    hop.known = false;
    ask(manager, 70);
    gsi.transmit(0, writer);
    expect(gsi.counters.droppedUnresolved).toBe(6);
    gsi.unresolved(OURS);
    expect(gsi.counters.droppedUnresolved).toBe(6);
    gsi.unresolved(THEIRS);
    expect(gsi.counters.droppedUnresolved).toBe(70);
    hop.known = true;
    expect(gsi.transmit(0, writer)).toBe(false);
    expect(writer.count).toBe(0);
  });

  it('drops MADs between addresses that no path joins, and their senders go on by their timers', () => {
    const { gsi, manager, hop, doubted, writer } = make();
    ask(manager, 2);
    hop.joined = false;
    expect(gsi.transmit(0, writer)).toBe(false);
    expect([writer.count, gsi.counters.droppedUnroutable]).toEqual([0, 2]);
    manager.handleTimeout(manager.pollTimeout());
    gsi.transmit(0, writer);
    expect([writer.count, gsi.counters.droppedUnroutable, doubted]).toEqual([0, 4, []]);
    hop.joined = true;
    manager.handleTimeout(manager.pollTimeout());
    gsi.transmit(0, writer);
    expect(writer.count).toBe(2);
  });
});
