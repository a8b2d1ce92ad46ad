/**
 * Goal: a file comes whole and in order, in pieces that stay what they are as long as promised, and an analysis over
 * such pieces is that of the whole. Method: files of bytes that count up; a capture whose records are larger than the
 * pieces.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PcapngWriter } from '../../../pcap/pcapng-writer.ts';
import { LinkType } from '../../../pcap/types.ts';
import { analyzeChunks } from '../../../tools/analyze/analyze.ts';
import { filePieces } from '../../../tools/analyze/file-pieces.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';
import { chunksOf } from '../../support/sink.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-pieces-'));
afterAll(() => rmSync(scratch, { recursive: true }));

function fileOf(bytes: Uint8Array): string {
  const path = join(scratch, 'file');
  writeFileSync(path, bytes);
  return path;
}

describe('filePieces', () => {
  it.each([0, 1, 99, 100, 101, 1000, 1234])('gives %i bytes in pieces of 100', async (length) => {
    const bytes = Uint8Array.from({ length }, (_, i) => i % 251);
    const pieces: Uint8Array[] = [];
    for await (const piece of filePieces(fileOf(bytes), 100)) pieces.push(piece.slice());
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(pieces.map((piece) => piece.length).filter((size) => size !== 100)).toEqual(
      length % 100 === 0 ? [] : [length % 100],
    );
  });

  it('reads into none of the piece at hand and the two before it, with four buffers in all', async () => {
    const buffers: ArrayBufferLike[] = [];
    for await (const piece of filePieces(fileOf(new Uint8Array(1000)), 100)) buffers.push(piece.buffer);
    expect(buffers).toHaveLength(10);
    // The next piece is being read while one is at hand.
    for (let i = 3; i < buffers.length; i++) expect(new Set(buffers.slice(i - 3, i + 1)).size).toBe(4);
    expect(new Set(buffers).size).toBe(4);
  });

  it('may be left in the middle', async () => {
    for await (const piece of filePieces(fileOf(new Uint8Array(1000)), 100)) {
      expect(piece).toHaveLength(100);
      break;
    }
  });

  it('says what the system says', async () => {
    await expect(filePieces(join(scratch, 'none')).next()).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' });
    await expect(filePieces(scratch).next()).rejects.toMatchObject({ code: 'EISDIR', syscall: 'read' });
  });

  it('is all that an analysis needs, with records longer than several pieces too', async () => {
    const writer = new PcapngWriter();
    const id = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
    const scene = await allScenes()
      .find(({ name }) => name === 'sequence-error-loss-at-receiver')
      ?.make();
    for (let i = 0; i < 5; i++) {
      const bytes = new Uint8Array(3 * PIECE_BYTES + i * 40_000).fill(i);
      writer.packet(id, bytes, 0, bytes.length, i, 0);
    }
    const file = Buffer.concat([scene ?? new Uint8Array(0), writer.take(), scene ?? new Uint8Array(0)]);
    const whole = await analyzeChunks(chunksOf(file));
    expect(whole.damage).toBeUndefined();
    expect(whole.analysis.capture.packets).toBeGreaterThan(20);
    expect(await analyzeChunks(filePieces(fileOf(file), PIECE_BYTES))).toEqual(whole);
  });
});

/** As many as the reader needs to take a piece as it is, without a copy. */
const PIECE_BYTES = 65_536;
