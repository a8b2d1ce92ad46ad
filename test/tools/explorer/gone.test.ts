/**
 * Goal: a packet that came damaged has one line in a ladder and says what it is; it is not lost as well. Method: WRITEs
 * over a wire that drops and damages the packets it is told to, seen where they arrive, in both ladders and the graph.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../packets/opcode.ts';
import { Mark } from '../../../pcap/analysis/facts.ts';
import { WcStatus } from '../../../src/index.ts';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { goneBefore } from '../../../tools/explorer/engine/gone.ts';
import { LadderIndex } from '../../../tools/explorer/engine/ladder-index.ts';
import { LadderTime } from '../../../tools/explorer/engine/ladder-time.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { type LadderRow, lettersOf, wordsOf } from '../../../tools/explorer/ladder/rows.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { demandStatus } from '../../../tools/symptoms/stage.ts';

/** A WRITE of ten packets; what the wire does to its middle packets, by their place among them. */
async function seen(fates: Readonly<Record<number, 'drop' | 'corrupt'>>): Promise<CaptureSession> {
  const bytes = await play({ vantages: ['B'] }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12, cm: true });
    for (const [nth, action] of Object.entries(fates))
      stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth: Number(nth), action });
    demandStatus(await a.write(b, 10 * 1024), WcStatus.Success);
  });
  const session = new CaptureSession('capture', bytesInMemory(new Uint8Array(bytes)));
  while (session.work(5000));
  return session;
}

const wordsOfRow = (row: LadderRow): string[] => {
  if (row.kind === 'lost') return [`lost ${row.psn} ${row.count}`];
  return row.kind === 'packet' && (row.packet.marks & Mark.BadIcrc) !== 0
    ? [`${lettersOf(row.packet)} ${wordsOf(row.packet)}`]
    : [];
};

/** Lost and damaged packets of both ladders, which have to agree. */
function lines(session: CaptureSession): string[] {
  const plain = new LadderIndex(session, 1).window(0, 500).rows.flatMap(wordsOfRow);
  const places = new LadderTime(session, { conversation: 1, fromNs: 0, toNs: 0 }, 0).window(0, 1e6);
  const timed = places.rows.flatMap(({ row }) => wordsOfRow(row));
  expect(timed).toEqual(plain);
  return plain;
}

describe('what is gone before a packet', () => {
  it('is not what came damaged', async () => {
    expect(lines(await seen({ 3: 'corrupt' }))).toEqual(['! WRITE Middle  psn 3  1024 B  wrong ICRC']);
  });

  it('is what was lost', async () => {
    expect(lines(await seen({ 3: 'drop', 4: 'drop' }))).toEqual(['lost 3 2']);
  });

  it('is what was lost around a damaged one', async () => {
    const session = await seen({ 3: 'drop', 4: 'corrupt', 5: 'drop', 6: 'drop' });
    expect(lines(session)).toEqual(['! WRITE Middle  psn 4  1024 B  wrong ICRC', 'lost 3 1', 'lost 5 2']);
    const index = session.table.missing.findIndex((missing) => missing > 0);
    expect(session.table.missing[index]).toBe(4);
    expect(goneBefore(session, index).reduce((sum, { count }) => sum + count, 0)).toBe(3);
  });

  it('is nothing before a packet that lacks nothing', async () => {
    expect(lines(await seen({}))).toEqual([]);
  });
});
