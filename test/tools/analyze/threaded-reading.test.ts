/**
 * Goal: two threads find in a capture what one finds, whatever the capture is. Method: both read the same files, sound,
 * damaged and odd ones, and the analyses are compared.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { type CapturedPacket, LinkType, PcapngWriter, PcapWriter } from '../../../pcap/index.ts';
import { type Analyzed, analyzeBy, analyzeChunks } from '../../../tools/analyze/analyze.ts';
import { filePieces } from '../../../tools/analyze/file-pieces.ts';
import { readThreaded } from '../../../tools/analyze/threaded-reading.ts';
import { transfersCapture } from '../../../tools/bench/transfers-capture.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-threads-'));
afterAll(() => rmSync(scratch, { recursive: true }));

function fileOf(...parts: readonly Uint8Array[]): string {
  const path = join(scratch, 'capture');
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

function analyzeThreaded(path: string, verifyIcrc = true): Promise<Analyzed> {
  return analyzeBy((take) => readThreaded(path, verifyIcrc, take, () => undefined), { verifyIcrc });
}

async function expectSame(path: string, verifyIcrc = true): Promise<Analyzed> {
  const one = await analyzeChunks(filePieces(path), { verifyIcrc });
  const two = await analyzeThreaded(path, verifyIcrc);
  expect(two).toEqual(one);
  return two;
}

const TRANSFERS = await transfersCapture(40);
const RXE = readFileSync(fileURLToPath(new URL('../../vectors/rxe-6.12.pcap', import.meta.url)));
const VECTORS: readonly Uint8Array[] = await Promise.all(allScenes().map(async (scene) => await scene.make()));

describe('a capture read by a thread of its own', () => {
  it('has the same analysis as one read here: packets that lie across pieces, wrong ICRCs', async () => {
    const bytes = TRANSFERS.slice();
    // Somewhere in payloads; what it hits besides is found by both.
    for (let at = 50_000; at < bytes.length; at += 300_000) bytes[at] = (bytes[at] ?? 0) ^ 1;
    const { analysis, damage } = await expectSame(fileOf(bytes));
    expect(damage).toBeUndefined();
    expect(bytes.length).toBeGreaterThan(3_000_000);
    expect(analysis.capture.badIcrc).toBeGreaterThan(0);
    expect(analysis.capture.goodIcrc).toBeGreaterThan(1000);
  });

  it('has it for every scene of the symptoms, sections behind each other with comments and statistics', async () => {
    const { analysis } = await expectSame(fileOf(...VECTORS));
    expect(analysis.findings.length).toBeGreaterThan(20);
  });

  it('has it in classic pcap, and without a look at the ICRCs', async () => {
    const { analysis } = await expectSame(fileOf(RXE));
    expect(analysis.capture.goodIcrc).toBeGreaterThan(0);
    const { analysis: unverified } = await expectSame(fileOf(RXE), false);
    expect(unverified.capture.goodIcrc).toBe(0);
  });

  it('has it where records are longer than pieces, and where they have what few have', async () => {
    const writer = new PcapngWriter();
    const id = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
    for (const length of [60, 1_000_000, 3_000_000, 200_000, 200_000, 200_000, 64, 2_000_000, 70]) {
      const bytes = Uint8Array.from({ length }, (_, i) => i & 0xff);
      writer.packet(id, bytes, 0, length, 1, length, { comments: [`${length} bytes`], dropCount: 3 });
    }
    const { analysis } = await expectSame(fileOf(writer.take()));
    expect(analysis.capture.packets).toBe(9);
    expect(analysis.capture.captureDrops).toBe(27);
  });

  it('has it up to any place where the file is cut or damaged, and the defect', async () => {
    for (const cut of [0, 100, 1_048_576, 1_048_577, 2_000_001]) await expectSame(fileOf(TRANSFERS.subarray(0, cut)));
    const { damage } = await expectSame(fileOf(TRANSFERS.subarray(0, 1_500_000), RXE));
    expect(damage).toMatchObject({ name: 'RoceError', code: 'ERR_ROCE_CAPTURE' });
    await expectSame(fileOf(new TextEncoder().encode('no capture at all')));
  });

  it('says what the system says', async () => {
    await expect(analyzeThreaded(join(scratch, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
    const { damage } = await analyzeThreaded(scratch);
    expect(damage).toMatchObject({ code: 'EISDIR', syscall: 'read' });
  });

  it('says how far it is, to the last byte', async () => {
    const seen: number[] = [];
    await readThreaded(
      fileOf(TRANSFERS),
      true,
      () => undefined,
      (bytes) => seen.push(bytes),
    );
    expect(seen.length).toBe(Math.ceil(TRANSFERS.length / 1_048_576));
    expect(seen.at(-1)).toBe(TRANSFERS.length);
  });

  it('ends with the error of who looks at the packets', async () => {
    const fault = new Error('ours');
    const taking = readThreaded(
      fileOf(TRANSFERS),
      true,
      () => {
        throw fault;
      },
      () => undefined,
    );
    await expect(taking).rejects.toBe(fault);
  });

  it('has it where records are as short as they can be: as many packets as fit into a piece', async () => {
    const writer = new PcapWriter(LinkType.Ethernet);
    for (let i = 0; i < 140_000; i++) writer.packet(new Uint8Array(0), 0, 0, i, i);
    const seen: number[] = [];
    const take = ({ number, seconds }: CapturedPacket) => void (number === seconds + 1 && seen.push(number));
    await readThreaded(fileOf(writer.take()), false, take, () => undefined);
    expect([seen.length, seen.at(-1)]).toEqual([140_000, 140_000]);
  });

  it('ends with the error of the thread that is a mistake of ours', async () => {
    // Asks for memory that there is not, which the thread looks at when it has filled all that there is.
    process.once('worker', (worker: Worker) => worker.postMessage(99));
    await expect(analyzeThreaded(fileOf(TRANSFERS, TRANSFERS))).rejects.toThrow('slots are positions in the list');
  });

  it('ends with an error where its thread is gone', async () => {
    process.once('worker', (worker: Worker) => {
      void worker.terminate();
    });
    await expect(analyzeThreaded(fileOf(TRANSFERS))).rejects.toThrow('the thread that reads the capture has ended');
  });
});
