/**
 * What the writer writes is parsed back by the parser and checked by the ICRC code, which the rxe frames vouch for; one
 * rxe frame is also written again byte for byte. Slots hold 0xA5 before, so that a byte left unwritten shows.
 */

import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../packets/address.ts';
import { writeAeth } from '../../packets/aeth.ts';
import { writeBth, writeBthCongestion } from '../../packets/bth.ts';
import { CNP_BYTES, writeCnp } from '../../packets/cnp.ts';
import { useBulkCrc32 } from '../../packets/crc32.ts';
import { InvariantError, RoceError } from '../../packets/errors.ts';
import {
  Frame,
  FrameStatus,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
  Medium,
  parseFrame,
} from '../../packets/frame.ts';
import { type FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate, type PathSpec } from '../../packets/header-template.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { zlibBulkCrc32 } from '../support/zlib-crc32.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';
import { exactView, fromHex, toHex } from './support.ts';

afterEach(() => useBulkCrc32(null));

const V4: PathSpec = {
  medium: Medium.Ethernet,
  sourceMac: parseMac('52:54:00:00:00:01'),
  destMac: parseMac('52:54:00:00:00:02'),
  source: IpAddress.parse('10.77.0.1'),
  destination: IpAddress.parse('10.77.0.2'),
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc1_23,
};
const V6: PathSpec = {
  ...V4,
  source: IpAddress.parse('2001:db8::1'),
  destination: IpAddress.parse('2001:db8::2'),
  flowLabel: 0xf_ab_cd,
};

const PATHS: ReadonlyArray<readonly [string, PathSpec]> = [
  ['IPv4', V4],
  ['IPv6', V6],
  ['IPv4 in a VLAN', { ...V4, vlanTci: 0x60_05 }],
  ['IPv6 in a VLAN', { ...V6, vlanTci: 0x0f_ff }],
  ['IPv4 on the IP medium', { ...V4, medium: Medium.Ip }],
  ['IPv6 on the IP medium', { ...V6, medium: Medium.Ip }],
];

/** Headers from an address such that the IPv4 sum of the template is below the largest traffic class. */
function withSmallSum(spec: PathSpec): HeaderTemplate {
  const template = new HeaderTemplate(spec);
  if (spec.source.version === 6) return template;
  const { ipv4Sum } = template;
  // The last word of the source is 1 now: it is made what is missing to FFFF, and 1 more.
  const low = (1 + 0xff_ff - ipv4Sum + 1) % 0xff_ff;
  return new HeaderTemplate({ ...spec, source: IpAddress.parse(`10.77.${low >> 8}.${low & 255}`) });
}

function dirtyWriter(capacity: number, slotBytes: number): FrameWriter {
  const writer = new FrameWriter(capacity, slotBytes);
  writer.bytes.fill(0xa5);
  return writer;
}

/** Writes a SEND Only with this payload and returns the offset of its BTH. */
function writeSend(writer: FrameWriter, template: HeaderTemplate, payload: Uint8Array, psn = 0xab_cd_ef): number {
  const pad = -payload.length & 3;
  const bth = writer.begin(template);
  writeBth(writer.view, bth, 0x04, 1, 1, pad, 0xff_fe, 0x12_34_56, 1, psn);
  writer.bytes.set(payload, bth + 12);
  writer.bytes.fill(0, bth + 12 + payload.length, bth + 12 + payload.length + pad);
  writer.end(template, bth + 12 + payload.length + pad);
  return bth;
}

function parseSlot(batch: FrameBatch, index: number, medium: Medium): { status: FrameStatus; frame: Frame } {
  const start = batch.starts[index] ?? 0;
  const frame = new Frame();
  return {
    status: parseFrame(batch.bytes, batch.view, start, start + (batch.lengths[index] ?? 0), medium, frame),
    frame,
  };
}

describe('FrameWriter', () => {
  it('writes an ACK of rxe again, byte for byte', () => {
    const golden = fromHex(RXE_FRAMES.find(({ opcode }) => opcode === 0x11)?.hex ?? '');
    const frame = new Frame();
    parseFrame(golden, exactView(golden), 0, golden.length, Medium.Ethernet, frame);
    const writer = dirtyWriter(1, 128);
    writer.nextIpId = frame.view.getUint16(frame.ipOffset + 4);
    const { trafficClass, sourcePort, destQpn, psn, bthOffset } = frame;
    const template = new HeaderTemplate({ ...V4, trafficClass, sourcePort });
    const bth = writer.begin(template);
    writeBth(writer.view, bth, 0x11, 0, 0, 0, 0xff_ff, destQpn, 0, psn);
    writeAeth(writer.view, bth + 12, 0x1f, frame.view.getUint32(bthOffset + 12) & 0xff_ff_ff);
    writer.end(template, bth + 16);
    expect(toHex(writer.bytes.slice(0, writer.lengths[0]))).toBe(toHex(golden));
  });

  it('puts the headers and the ICRC of rxe around the transport bytes of every rxe frame', () => {
    for (const { hex } of RXE_FRAMES) {
      const golden = fromHex(hex);
      const frame = new Frame();
      parseFrame(golden, exactView(golden), 0, golden.length, Medium.Ethernet, frame);
      const template = new HeaderTemplate({
        medium: Medium.Ethernet,
        destMac: golden.slice(0, 6),
        sourceMac: golden.slice(6, 12),
        source: frameSource(frame),
        destination: frameDestination(frame),
        trafficClass: frame.trafficClass,
        hopLimit: frame.hopLimit,
        flowLabel: 0,
        sourcePort: frame.sourcePort,
      });
      const writer = dirtyWriter(1, golden.length);
      writer.nextIpId = frame.view.getUint16(frame.ipOffset + 4);
      const bth = writer.begin(template);
      writer.bytes.set(golden.subarray(frame.bthOffset, frame.icrcOffset), bth);
      writer.end(template, bth + frame.icrcOffset - frame.bthOffset);
      expect(toHex(writer.bytes.slice(0, writer.lengths[0]))).toBe(hex);
    }
  });

  it.each(PATHS)('writes frames that parse back to the same fields with a right ICRC: %s', (_, spec) => {
    const payload = fc.uint8Array({ maxLength: 600 });
    const template = new HeaderTemplate({ ...spec, trafficClass: 0x6a });
    const writer = new FrameWriter(2, 1024);
    fc.assert(
      fc.property(payload, fc.nat(0xff_ff_ff), fc.boolean(), (bytes, psn, bulk) => {
        useBulkCrc32(bulk ? zlibBulkCrc32 : null);
        writer.bytes.fill(0xa5);
        writer.reset();
        const bth = writeSend(writer, template, bytes, psn);
        const { status, frame } = parseSlot(writer, 0, spec.medium);
        expect([status, icrcMatches(frame), frame.bthOffset]).toEqual([FrameStatus.Ok, true, bth]);
        expect(frame).toMatchObject({ opcode: 4, solicited: 1, migReq: 1, padCount: -bytes.length & 3, pkey: 0xff_fe });
        expect(frame).toMatchObject({ destQpn: 0x12_34_56, ackReq: 1, psn, fecn: 0, becn: 0, transportVersion: 0 });
        expect(frame).toMatchObject({ trafficClass: 0x6a, hopLimit: 64, sourcePort: 0xc1_23, destPort: 4791 });
        expect(frame.vlanTci).toBe(spec.medium === Medium.Ethernet ? (spec.vlanTci ?? -1) : -1);
        expect(frameSourceIs(frame, spec.source) && frameDestinationIs(frame, spec.destination)).toBe(true);
        expect(frame.ipEnd).toBe(frame.end);
        expect(writer.bytes.slice(frame.payloadOffset, frame.payloadOffset + frame.payloadLength)).toEqual(bytes);
        expect(writer.bytes.subarray(frame.end, 4096).every((byte) => byte === 0xa5)).toBe(true);
      }),
    );
  });

  it.each(PATHS)('leaves the constant headers as the template has them: %s', (_, spec) => {
    const writer = dirtyWriter(1, 256);
    const template = new HeaderTemplate(spec);
    writeSend(writer, template, Uint8Array.of(1));
    const image = writer.bytes.slice(0, template.length);
    const view = new DataView(image.buffer);
    expect([view.getUint16(template.udpOffset + 4), view.getUint16(template.udpOffset + 6)]).toEqual([
      8 + 12 + 4 + 4,
      0,
    ]);
    // With what the writer fills in set back to 0, only the template is left.
    view.setUint16(template.udpOffset + 4, 0);
    const filled = spec.source.version === 4 ? [2, 4, 10] : [4];
    for (const at of filled) view.setUint16(template.ipOffset + at, 0);
    expect(toHex(image)).toBe(toHex(template.bytes));
  });

  it('carries a CNP with BECN, which the ICRC does not cover', () => {
    const writer = dirtyWriter(2, 128);
    const template = new HeaderTemplate(V4);
    for (const becn of [0, 1] as const) {
      const bth = writer.begin(template);
      writeCnp(writer.view, bth, 0xff_ff, 0xd2, becn);
      writer.nextIpId = 7;
      writer.end(template, bth + CNP_BYTES);
    }
    const [without, withBecn] = [parseSlot(writer, 0, Medium.Ethernet), parseSlot(writer, 1, Medium.Ethernet)];
    expect([without.status, withBecn.status]).toEqual([FrameStatus.Ok, FrameStatus.Ok]);
    expect([without.frame.becn, withBecn.frame.becn, withBecn.frame.payloadLength]).toEqual([0, 1, 0]);
    expect(icrcMatches(without.frame) && icrcMatches(withBecn.frame)).toBe(true);
    const icrc = ({ frame }: { frame: Frame }) => frame.view.getUint32(frame.icrcOffset);
    expect(icrc(without)).toBe(icrc(withBecn));
  });

  it.each(PATHS)('gives a single frame another traffic class than that of its path: %s', (_, spec) => {
    const classes = fc.oneof(fc.constantFrom(0, 3, 255), fc.nat(255));
    const writer = new FrameWriter(2, 256);
    fc.assert(
      fc.property(classes, classes, fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 0xff_ff })), (path, own, id) => {
        // Of the addresses, one with which the sum of the header's constants is almost nothing: the class is taken away
        // from that.
        const template = withSmallSum({ ...spec, trafficClass: path });
        writer.reset();
        writer.nextIpId = id;
        const bth = writer.begin(template);
        writeCnp(writer.view, bth, 0xff_ff, 0xd2, 1);
        writer.end(template, bth + CNP_BYTES, own);
        writeSend(writer, template, Uint8Array.of(1));
        const [first, second] = [parseSlot(writer, 0, spec.medium), parseSlot(writer, 1, spec.medium)];
        expect([first.status, second.status]).toEqual([FrameStatus.Ok, FrameStatus.Ok]);
        expect([first.frame.trafficClass, second.frame.trafficClass]).toEqual([own, path]);
        expect(icrcMatches(first.frame) && icrcMatches(second.frame)).toBe(true);
        if (spec.source.version === 6)
          expect(first.frame.view.getUint32(first.frame.ipOffset) & 0xf_ff_ff).toBe(spec.flowLabel);
      }),
    );
  });

  it('keeps FECN and the other bits of BTH byte 4 as the caller wrote them', () => {
    const writer = dirtyWriter(1, 128);
    const template = new HeaderTemplate(V6);
    const bth = writer.begin(template);
    writeBth(writer.view, bth, 0x11, 0, 0, 0, 0xff_ff, 1, 0, 0);
    writeBthCongestion(writer.view, bth, 1, 0);
    writeAeth(writer.view, bth + 12, 0x1f, 1);
    writer.end(template, bth + 16);
    const { frame } = parseSlot(writer, 0, Medium.Ethernet);
    expect([frame.fecn, frame.becn, icrcMatches(frame)]).toEqual([1, 0, true]);
  });

  it('counts the IPv4 identification up by frame, and over 0', () => {
    const writer = dirtyWriter(4, 128);
    const template = new HeaderTemplate(V4);
    writer.nextIpId = 0xff_fe;
    for (let n = 0; n < 4; n++) writeSend(writer, template, new Uint8Array(4));
    const ids = [0, 1, 2, 3].map((i) => writer.view.getUint16((writer.starts[i] ?? 0) + 14 + 4));
    expect(ids).toEqual([0xff_fe, 0xff_ff, 1, 2]);
  });

  it('fills slots in order, on whole pages, until full, and starts over after a reset', () => {
    const writer = dirtyWriter(3, 4200);
    const template = new HeaderTemplate(V6);
    expect(writer.full).toBe(false);
    for (let n = 0; n < 3; n++) writeSend(writer, template, new Uint8Array(4096).fill(n), n);
    expect([writer.full, writer.count, [...writer.starts]]).toEqual([true, 3, [0, 8192, 16_384]]);
    for (let n = 0; n < 3; n++) {
      const { status, frame } = parseSlot(writer, n, Medium.Ethernet);
      expect([status, icrcMatches(frame), frame.psn, frame.payloadLength]).toEqual([FrameStatus.Ok, true, n, 4096]);
    }
    expect(() => writer.begin(template)).toThrow(InvariantError);
    writer.reset();
    expect([writer.count, writer.full, writer.begin(template)]).toEqual([0, false, template.length]);
  });

  it('drops a frame that was begun and not ended', () => {
    const writer = dirtyWriter(2, 128);
    const template = new HeaderTemplate(V4);
    writer.begin(template);
    writeSend(writer, template, Uint8Array.of(9));
    expect([writer.count, writer.starts[0]]).toEqual([1, 0]);
    expect(icrcMatches(parseSlot(writer, 0, Medium.Ethernet).frame)).toBe(true);
  });

  it('appends raw frames as they are', () => {
    const writer = dirtyWriter(1, 128);
    writer.appendRaw(fromHex('00112233445566'), 2, 5);
    expect([writer.count, writer.lengths[0], toHex(writer.bytes.slice(0, 4))]).toEqual([1, 3, '223344a5']);
    expect(() => writer.appendRaw(new Uint8Array(1), 0, 1)).toThrow(InvariantError);
  });

  it('asserts that a frame ends inside its slot and after its BTH', () => {
    const writer = dirtyWriter(2, 128);
    const template = new HeaderTemplate(V4);
    const bth = writer.begin(template);
    expect(() => writer.end(template, bth + 11)).toThrow(InvariantError);
    expect(() => writer.end(template, 4093)).toThrow(InvariantError);
    expect(() => writer.appendRaw(new Uint8Array(4097), 0, 4097)).toThrow(InvariantError);
    expect(writer.count).toBe(0);
  });

  it.each([
    [0, 100],
    [1.5, 100],
    [1, 0],
  ])('refuses a capacity of %d with slots of %d bytes', (capacity, slotBytes) => {
    expect(() => new FrameWriter(capacity, slotBytes)).toThrow(RoceError);
  });
});
