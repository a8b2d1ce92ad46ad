/**
 * Goal: segments are what the kernel takes them for, and no bytes of a stranger do harm.
 * Method: what is written is read back (the kernel reads them in kernel.test.ts); bytes by chance are thrown at a
 * listening stack.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../../../packets/address.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../../packets/frame.ts';
import { FrameWriter } from '../../../../packets/frame-writer.ts';
import {
  readSegment,
  segmentFrame,
  TcpFlag,
  type TcpRoute,
  type TcpSegment,
} from '../../../../src/device/host/tcp/segment.ts';
import { attachDevice, World } from '../../../../src/index.ts';

const FLAGS = Object.values(TcpFlag).reduce((all, flag) => all | flag, 0);

function routeOf(version: 4 | 6, vlanTci?: number): TcpRoute {
  const text = version === 4 ? ['10.0.0.2', '10.0.0.1'] : ['fd00::2', 'fd00::1'];
  const [source, destination] = text.map(IpAddress.parse);
  if (source === undefined || destination === undefined) throw new Error('two addresses');
  return {
    sourceMac: parseMac('02:00:00:00:00:02'),
    destMac: parseMac('02:00:00:00:00:01'),
    vlanTci,
    source,
    destination,
    sourcePort: 40_000,
    destPort: 18_515,
  };
}

function parse(bytes: Uint8Array): Frame {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  expect(parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame)).toBe(FrameStatus.NotUdp);
  return frame;
}

const anySegment = fc.record({
  seq: fc.nat(0xff_ff_ff_ff),
  ack: fc.nat(0xff_ff_ff_ff),
  flags: fc.nat(FLAGS).map((bits) => bits & FLAGS),
  window: fc.nat(0xff_ff),
  data: fc.uint8Array({ maxLength: 1460 }),
});
const anyVersion = fc.constantFrom<4 | 6>(4, 6);

describe('a segment', () => {
  it('is read as it was written, padding or VLAN tag beside it', () => {
    fc.assert(
      fc.property(anySegment, anyVersion, fc.option(fc.nat(0xff_ff)), (segment, version, tci) => {
        const read = readSegment(parse(segmentFrame(routeOf(version, tci ?? undefined), segment)));
        expect(read).toEqual({ ...segment, sourcePort: 40_000, destPort: 18_515 });
      }),
    );
  });

  it('brings its largest size with the SYN', () => {
    const syn: TcpSegment = { seq: 1, ack: 0, flags: TcpFlag.Syn, window: 9, mss: 1460, data: new Uint8Array(0) };
    expect(readSegment(parse(segmentFrame(routeOf(4), syn)))?.mss).toBe(1460);
  });

  it('with one wrong bit is no segment', () => {
    const segment = { seq: 7, ack: 8, flags: TcpFlag.Ack, window: 100, data: Uint8Array.of(1, 2, 3, 4, 5) };
    const good = segmentFrame(routeOf(6), segment);
    const from = 14 + 40;
    for (let bit = 0; bit < (20 + 5) * 8; bit++) {
      const bad = good.slice();
      bad[from + (bit >> 3)] = (bad[from + (bit >> 3)] ?? 0) ^ (1 << (bit & 7));
      expect(readSegment(parse(bad)), `bit ${bit}`).toBeUndefined();
    }
  });

  it('whose checksum was left to an interface that is none counts', () => {
    const bytes = segmentFrame(routeOf(4), { seq: 1, ack: 2, flags: TcpFlag.Ack, window: 3, data: new Uint8Array(4) });
    const view = new DataView(bytes.buffer);
    // Addresses 10.0.0.2 and 10.0.0.1, protocol 6, 24 bytes.
    view.setUint16(14 + 20 + 16, 0x0a_00 + 0x00_02 + 0x0a_00 + 0x00_01 + 6 + 24);
    expect(readSegment(parse(bytes))).toBeDefined();
  });

  it('whose options lie about their length says nothing of sizes', () => {
    const syn: TcpSegment = { seq: 1, ack: 0, flags: TcpFlag.Syn, window: 9, mss: 1460, data: new Uint8Array(0) };
    for (const [kind, length] of [
      [2, 0],
      [2, 1],
      [2, 200],
      [3, 3],
    ] as const) {
      const bytes = segmentFrame(routeOf(4), syn);
      const at = 14 + 20 + 20;
      const view = new DataView(bytes.buffer);
      const before = view.getUint16(at);
      view.setUint16(at, (kind << 8) | length);
      // RFC 1624: the checksum follows the change.
      const sum = (~view.getUint16(14 + 20 + 16) & 0xff_ff) - before + view.getUint16(at) + 0xff_ff;
      view.setUint16(14 + 20 + 16, ~(sum % 0xff_ff) & 0xff_ff);
      const read = readSegment(parse(bytes));
      expect(read).toBeDefined();
      expect(read?.mss).toBeUndefined();
    }
  });
});

describe('a listening stack', () => {
  it('takes any bytes in any order without harm, and forgets them', () => {
    fc.assert(
      fc.property(fc.array(anySegment, { minLength: 1, maxLength: 30 }), fc.nat(), (segments, seed) => {
        const world = new World({ seed });
        const device = attachDevice(world, 'target', { addresses: ['10.0.0.1/24'], mac: '02:00:00:00:00:01' });
        device.tcp?.listen(18_515);
        const writer = new FrameWriter(segments.length, 2048);
        for (const segment of segments) {
          const frame = segmentFrame(routeOf(4), segment);
          writer.appendRaw(frame, 0, frame.length);
        }
        device.receive(writer);
        world.runUntilIdle({ maxTimeNs: 1e13 });
        expect(device.tcp?.size).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps 64 half-open connections, and answers more with cookies', () => {
    const world = new World({ seed: 1 });
    const device = attachDevice(world, 'target', { addresses: ['10.0.0.1/24'], mac: '02:00:00:00:00:01' });
    device.tcp?.listen(18_515);
    const writer = new FrameWriter(100, 2048);
    for (let n = 0; n < 100; n++) {
      const syn = { seq: n, ack: 0, flags: TcpFlag.Syn, window: 9, data: new Uint8Array(0) };
      const frame = segmentFrame({ ...routeOf(4), sourcePort: 1000 + n }, syn);
      writer.appendRaw(frame, 0, frame.length);
    }
    device.receive(writer);
    expect(device.tcp?.size).toBe(64);
    expect(device.tcp?.counters.cookiesSent).toBe(36);
  });
});
