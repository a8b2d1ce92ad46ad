/**
 * Goal: the ladder true to time is true: distances are times but for what is folded, slopes are the time on the way,
 * and no two words cover each other. Method: the capture with losses, every place held against the times of the packets;
 * rows made by hand for the shapes.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { LadderTime } from '../../../tools/explorer/engine/ladder-time.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { transitOf } from '../../../tools/explorer/engine/transit.ts';
import { captureAt, layoutTimeLadder, type PlacedRow } from '../../../tools/explorer/ladder/time-layout.ts';
import { lossyCapture } from './lossy-capture.ts';

const WHOLE = { conversation: 1, fromNs: 0, toNs: 0 };
const RAILS = { left: 130, right: 740, narrow: false };

describe('the ladder true to time', () => {
  let session: CaptureSession;
  beforeAll(async () => {
    session = new CaptureSession('lossy.pcapng', bytesInMemory(new Uint8Array(await lossyCapture())));
    while (session.work(1000));
  });

  const all = (ladder: LadderTime) => ladder.window(0, 1e9);
  const packets = (rows: readonly PlacedRow[]) =>
    rows.flatMap(({ row, place }) => (row.kind === 'packet' ? [{ place, timeNs: row.packet.timeNs }] : []));

  it.each([-2, 0, 3])('has a distance for each time, the same everywhere but at folds; zoom %i', (zoom) => {
    const { rows, pixelsPerNs } = all(new LadderTime(session, WHOLE, zoom));
    expect(packets(rows)).toHaveLength(session.packetsOf(1).length);
    for (const [at, { place, row }] of rows.entries()) {
      const next = rows[at + 1];
      if (next === undefined) break;
      expect(next.place).toBeGreaterThanOrEqual(place);
      if (row.kind !== 'packet' || next.row.kind !== 'packet') continue;
      expect(next.place - place).toBeCloseTo((next.row.packet.timeNs - row.packet.timeNs) * pixelsPerNs, 6);
    }
  });

  it('folds the 16 ms of silence into a line that says so, and no more than that', () => {
    const { rows, height } = all(new LadderTime(session, WHOLE, 0));
    const folds = rows.flatMap(({ row }) => (row.kind === 'silence' ? [row.durationNs] : []));
    expect(Math.max(...folds)).toBeGreaterThan(16e6);
    expect(height).toBeLessThan(60 * rows.length);
    const texts = layoutTimeLadder(rows, { rails: RAILS, transitNs: [0, 0], pixelsPerNs: 1, clock: String }).map(
      ({ text }) => text,
    );
    expect(texts.filter((text) => /^16\.\d ms until the timeout, folded$/.test(text))).toHaveLength(1);
  });

  it('takes the way from what an end was seen to answer: the capture is next to 10.0.0.2', () => {
    const [toLeft, toRight] = transitOf(session, 1);
    expect(toRight).toBe(0);
    // What the wire and two store-and-forward ports take, and not much more.
    expect(toLeft).toBeGreaterThan(1000);
    expect(toLeft).toBeLessThan(5000);
    expect(captureAt({ rails: RAILS, transitNs: [toLeft, toRight], pixelsPerNs: 1, clock: String })).toBe(740);
  });

  it('writes no words over others of the same side, and what is remarkable first', () => {
    for (const zoom of [-3, -1, 0, 2]) {
      const { rows } = all(new LadderTime(session, WHOLE, zoom));
      for (const side of [0, 1]) {
        const worded = rows.filter(
          ({ row, worded }) =>
            worded && (row.kind === 'packet' ? row.packet.sender : row.kind === 'lost' ? row.sender : -1) === side,
        );
        for (const [at, { place }] of worded.entries())
          expect((worded[at + 1]?.place ?? Number.POSITIVE_INFINITY) - place).toBeGreaterThanOrEqual(13);
      }
      const nak = rows.find(({ row }) => row.kind === 'packet' && row.packet.number === 16);
      expect(nak?.worded).toBe(true);
    }
  });

  it('gives the part that is asked for, with the arrows that reach into it', () => {
    const ladder = new LadderTime(session, WHOLE, 0);
    const { rows } = all(ladder);
    const place = ladder.placeOf(50);
    const part = ladder.window(place, 100).rows.map(({ line }) => line);
    const reach = 91;
    const wanted = rows.filter((row) => row.place >= place - reach && row.place < place + 100 + reach);
    expect(wanted.map(({ line }) => line).filter((line) => !part.includes(line))).toEqual([]);
    expect(ladder.placeOf(1)).toBe(packets(rows)[0]?.place);
    expect(ladder.placeOf(1e6)).toBe(rows.at(-1)?.place);
  });

  it('shows only the time that is asked for', () => {
    const { rows } = all(new LadderTime(session, { conversation: 1, fromNs: 20_000, toNs: 30_000 }, 0));
    const times = packets(rows).map(({ timeNs }) => timeNs);
    expect(times.length).toBeGreaterThan(5);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(20_000);
    expect(Math.max(...times)).toBeLessThanOrEqual(30_000);
  });
});

describe('layoutTimeLadder', () => {
  const packet = {
    number: 5,
    timeNs: 1000,
    sender: 0,
    opcode: 7,
    psn: 3,
    syndrome: -1,
    payload: 1024,
    marks: 0,
    missing: 0,
    refersTo: -1,
  } as const;
  const placed: PlacedRow = { line: 0, row: { kind: 'packet', packet }, place: 500, worded: true, timed: true };
  const arrow = (transitNs: readonly [number, number], sender: 0 | 1 = 0) => {
    const row: PlacedRow = { ...placed, row: { kind: 'packet', packet: { ...packet, sender } } };
    const shapes = layoutTimeLadder([row], { rails: RAILS, transitNs, pixelsPerNs: 0.1, clock: String })[0]?.shapes;
    const found = shapes?.find((shape) => shape.kind === 'line' && shape.class.startsWith('arrow '));
    return found?.kind === 'line' ? [found.x1, found.y1, found.x2, found.y2] : [];
  };

  it('begins an arrow as long before the capture, and ends it as long after, as the ways take', () => {
    expect(arrow([300, 200])).toEqual([130, 470, 740, 520]);
    expect(arrow([300, 200], 1)).toEqual([740, 480, 130, 530]);
  });

  it('draws a way that is not known level', () => {
    expect(arrow([Number.NaN, Number.NaN])).toEqual([130, 500, 740, 500]);
    expect(captureAt({ rails: RAILS, transitNs: [Number.NaN, 0], pixelsPerNs: 1, clock: String })).toBe(undefined);
  });
});
