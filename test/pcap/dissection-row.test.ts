/**
 * Goal: a dissection that went through a row of numbers is the one that dissecting again would give, or there is none.
 * Method: packets of real captures and of every wrapping of the corpus, moved elsewhere in memory, whole and damaged.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameStatus, frameDestination, frameSource } from '../../packets/index.ts';
import {
  type CapturedPacket,
  DISSECTION_ROW,
  Dissection,
  dissect,
  packDissection,
  readCapture,
  unpackDissection,
} from '../../pcap/index.ts';

const FOLDERS = [new URL('../vectors/', import.meta.url), new URL('../../corpus/', import.meta.url)];
const packets: CapturedPacket[] = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.pcap(ng)?$/.test(name))
    .flatMap((name) => [...readCapture(new Uint8Array(readFileSync(new URL(name, folder))))].slice(0, 100)),
);

const rows = new Int32Array(3 + DISSECTION_ROW);
const memory = new Uint8Array(200_000);
const view = new DataView(memory.buffer);
const [packed, again, used] = [new Dissection(), new Dissection(), new Dissection()];

const [V4, V6] = ([4, 6] as const).map((version) => {
  const used = new Dissection();
  const isOf = (packet: CapturedPacket) =>
    dissect(packet, used) === FrameStatus.Ok && used.frame.ipVersion === version && used.depth === 0;
  return packets.find(isOf) as CapturedPacket;
}) as [CapturedPacket, CapturedPacket];

/** The same packet at another place. */
function moved(packet: CapturedPacket, start: number): CapturedPacket {
  memory.set(packet.bytes, start);
  return { ...packet, bytes: memory.subarray(start, start + packet.bytes.length) };
}

/** All that a dissection says that is no memory. */
function numbersOf({ frame, ...rest }: Dissection): unknown {
  const isValue = ([, value]: readonly [string, unknown]) => typeof value !== 'object';
  const { scratchUsed: _, ...values } = Object.fromEntries(Object.entries(rest).filter(isValue));
  return { ...values, ...Object.fromEntries(Object.entries(frame).filter(isValue)) };
}

/** Whether there was a row. */
function check(packet: CapturedPacket, start: number): boolean {
  const copy = moved(packet, start);
  dissect(packet, packed);
  dissect(copy, again);
  rows.fill(-1);
  if (!packDissection(packet.linkType, packet.bytes.length, packed, rows, 3)) return false;
  const { length } = packet.bytes;
  unpackDissection(rows, 3, { memory, view, start, length, direction: packet.direction }, used);
  expect(numbersOf(used)).toEqual(numbersOf(again));
  expect(used.memory === memory && used.memoryView === view).toBe(true);
  expect(used.frame.bytes === memory && used.frame.view === view).toBe(true);
  return true;
}

describe('a row of a dissection', () => {
  it('has all of it, of every packet of the captures here that is plain', () => {
    let plain = 0;
    for (const packet of packets) {
      const isOk = dissect(packet, again) === FrameStatus.Ok;
      const has = check(packet, 77);
      if (has) expect(isOk).toBe(true);
      plain += has ? 1 : 0;
    }
    expect(plain).toBeGreaterThan(500);
    expect(packets.length - plain).toBeGreaterThan(200);
  });

  it('has all of it after damage anywhere, at any place, cut or with a trailer', () => {
    fc.assert(
      fc.property(
        fc.nat(packets.length - 1),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
        fc.nat(1000),
        fc.integer({ min: -40, max: 20 }),
        (index, flips, start, more) => {
          const packet = packets[index] as CapturedPacket;
          const bytes = new Uint8Array(Math.max(0, packet.bytes.length + more));
          bytes.set(packet.bytes.subarray(0, bytes.length));
          for (const [at, value] of flips) if (bytes.length > 0) bytes[at % Math.min(bytes.length, 80)] = value;
          check({ ...packet, bytes, originalLength: Math.max(packet.originalLength, bytes.length) }, start);
        },
      ),
      { numRuns: 1500 },
    );
  });
});

describe('a dissection', () => {
  it('of a whole packet says nothing of the packet before it', () => {
    for (const before of [V4, V6]) {
      for (const packet of packets) {
        const fresh = new Dissection();
        if (dissect(packet, fresh) !== FrameStatus.Ok) continue;
        dissect(before, again);
        dissect(packet, again);
        expect(numbersOf(again)).toEqual(numbersOf(fresh));
      }
    }
  });

  it('has the identification, the checksum and the numbers of the addresses', () => {
    for (const packet of packets) {
      if (dissect(packet, again) !== FrameStatus.Ok || again.cut) continue;
      const { frame, ipId, udpChecksum, icrcValue, source, destination } = again;
      const word = (at: number) => frame.view.getInt32(frame.ipOffset + at);
      expect(udpChecksum).toBe(frame.view.getUint16(frame.l4Offset + 6));
      expect(icrcValue).toBe(frame.view.getInt32(frame.icrcOffset));
      expect(ipId).toBe(frame.ipVersion === 4 ? word(4) >>> 16 : -1);
      if (frame.ipVersion === 4) expect([source, destination]).toEqual([word(12), word(16)]);
      else expect(source === destination).toBe(frameSource(frame).equals(frameDestination(frame)));
    }
  });
});
