/**
 * Goal: a packet where it lies is dissected as one with bytes of its own, whatever chunks the file came in. Method: all
 * captures of the symptoms and one of rxe, in chunks that cut records anywhere; both dissections are compared.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { unpackDissection } from '../../pcap/dissection-row.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, Dissection, dissect, dissectPlaced, packDissection } from '../../pcap/read.ts';
import { LinkType } from '../../pcap/types.ts';
import { allScenes } from '../../tools/symptoms/index.ts';

const RXE = readFileSync(fileURLToPath(new URL('../vectors/rxe-6.12.pcap', import.meta.url)));
const FILES: readonly Uint8Array[] = [
  RXE,
  ...(await Promise.all(
    allScenes()
      .slice(0, 12)
      .map((scene) => scene.make()),
  )),
];
/** Of each file. */
const MOST_PACKETS = 200;

/** All that a dissection says, its frame as seen from the first byte of the packet. */
function saidBy({ frame, status, linkKnown, cut, depth, unreadable, direction, ...rest }: Dissection): unknown {
  const at = (offset: number): number => (offset < 0 ? -1 : offset - rest.packetOffset);
  const { bytes: _bytes, view: _view, start, end, ipOffset, ipEnd, l4Offset, bthOffset, ...fields } = frame;
  const { payloadOffset, icrcOffset, ...values } = fields;
  const offsets = [start, end, ipOffset, ipEnd, l4Offset, bthOffset, payloadOffset, icrcOffset, rest.capturedEnd].map(
    at,
  );
  return { values, offsets, status, linkKnown, cut, depth, unreadable, direction, cooked: rest.cookedInterface };
}

/** In chunks of this many bytes, each in memory of its own, or all in one. */
function check(file: Uint8Array, chunkBytes: number, apart: boolean): number {
  const [own, placed] = [new Dissection(), new Dissection()];
  const [one, other] = [new CaptureReader(), new CaptureReader()];
  let packets = 0;
  for (let at = 0; at < file.length && packets < MOST_PACKETS; at += chunkBytes) {
    const chunk = apart ? file.slice(at, at + chunkBytes) : file.subarray(at, at + chunkBytes);
    one.push(chunk);
    other.push(chunk);
    for (let packet = one.next(); packet !== undefined; packet = one.next(), packets++) {
      const there = other.nextPlaced();
      if (there === undefined) throw new Error('both read the same');
      dissect(packet, own);
      dissectPlaced(there, placed);
      expect(saidBy(placed)).toEqual(saidBy(own));
      expect(Buffer.compare(there.bytes, packet.bytes)).toBe(0);
      const { bytes, dropCount, packetId, ...rest } = packet;
      expect(there).toMatchObject({ ...rest, dropCount, packetId });
    }
  }
  return packets;
}

it.each([
  [100_000, true],
  [100_000, false],
  [70_001, true],
  [999, true],
  [1_000_000_000, false],
])('a packet is dissected where it lies, in chunks of %i bytes', (chunkBytes, apart) => {
  const packets = FILES.map((file) => check(file, chunkBytes, apart));
  expect(Math.min(...packets)).toBeGreaterThan(0);
});

it('is dissected where it lies after another dissection has used the same object', () => {
  const reader = new CaptureReader();
  reader.push(RXE);
  const [used, wanted] = [new Dissection(), new Dissection()];
  const rows = new Int32Array(12);
  const memory = new Uint8Array(4096);
  const elsewhere = { memory, view: new DataView(memory.buffer), start: 0, length: 1000, direction: 0 } as const;
  let plain = 0;
  for (let packet = reader.nextPlaced(); packet !== undefined; packet = reader.nextPlaced()) {
    dissect(packet, wanted);
    dissectPlaced(packet, used);
    expect(saidBy(used)).toEqual(saidBy(wanted));
    if (!packDissection(packet.linkType, packet.captured, used, rows, 0)) continue;
    plain++;
    unpackDissection(rows, 0, elsewhere, used);
    dissectPlaced(packet, used);
    expect(used.frame.bytes.buffer).toBe(packet.memory.buffer);
    expect(saidBy(used)).toEqual(saidBy(wanted));
  }
  expect(plain).toBeGreaterThan(0);
});

it('has nothing of the packet before it', () => {
  const writer = new PcapngWriter();
  const id = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
  writer.packet(id, new Uint8Array(60), 0, 60, 1, 0, { comments: ['first'], dropCount: 3, direction: 1 });
  writer.packet(id, new Uint8Array(60), 0, 60, 1, 0);
  const reader = new CaptureReader();
  reader.push(writer.take());
  expect(reader.next()).toMatchObject({ comments: ['first'], dropCount: 3, direction: 1 });
  const second = reader.next();
  expect(second).toMatchObject({ comments: [], direction: 0 });
  expect(second).not.toHaveProperty('dropCount');
});
