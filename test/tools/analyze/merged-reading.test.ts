/**
 * Goal: captures of several places are analyzed as the one capture that mergecap would make of them, with no tool between,
 * and a bad one among them is named. Method: what the stack sends is captured at both hosts and split into a file for
 * each, in several formats; the analysis of the files is compared with that of one file; mergecap is asked where it is.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Op } from '../../../packets/index.ts';
import {
  type Analysis,
  type CapturedPacket,
  LinkType,
  PcapngWriter,
  PcapWriter,
  readCapture,
} from '../../../pcap/index.ts';
import { type AnalyzeFlags, analyzeFiles } from '../../../tools/analyze/command.ts';
import { type NamedFeed, readMerged } from '../../../tools/analyze/merged-reading.ts';
import { ChunkFeed } from '../../../tools/analyze/read-chunks.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { itWith } from '../../support/need.ts';
import { chunksOf, Sink } from '../../support/sink.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-merged-'));
afterAll(() => rmSync(scratch, { recursive: true }));

async function analyze(files: readonly string[], flags: Partial<AnalyzeFlags> = {}, stdin = chunksOf()) {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await analyzeFiles(files, { icrc: true, ...flags }, { stdin, stdout, stderr });
  return { code, text: stdout.bytes.toString('utf8'), complaint: stderr.bytes.toString('utf8') };
}

async function analysisOf(files: readonly string[], flags: Partial<AnalyzeFlags> = {}): Promise<Analysis> {
  return JSON.parse((await analyze(files, { json: true, ...flags })).text);
}

function file(name: string, bytes: Uint8Array): string {
  const path = join(scratch, name);
  writeFileSync(path, bytes);
  return path;
}

/** How much the clock of host B is ahead. */
const AHEAD_NS = 3_000_000;

/** WRITEs and READs, of which some packets are lost between the two hosts, captured at both. */
const both = [
  ...readCapture(
    await play({ seed: 5, vantages: ['A', 'B'] }, async (stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true, timeout: 12 });
      for (const nth of [7, 40])
        stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth, action: 'drop' });
      for (let round = 0; round < 12; round++) {
        await a.write(b, 20_000);
        await a.read(b, 16_000);
      }
    }),
  ),
].map(({ seconds, nanoseconds, ...packet }) => {
  // Microseconds are what all formats have.
  const timeNs = Math.floor((nanoseconds + (packet.interfaceIndex === 1 ? AHEAD_NS : 0)) / 1000) * 1000;
  return { ...packet, seconds: 1_000 + seconds + Math.floor(timeNs / 1e9), nanoseconds: timeNs % 1e9 };
});

/** By time; of equal times host A first. */
const inOrder = [...both].sort(
  (one, other) =>
    one.seconds - other.seconds || one.nanoseconds - other.nanoseconds || one.interfaceIndex - other.interfaceIndex,
);

function pcapng(packets: readonly CapturedPacket[], names: readonly string[]): Uint8Array {
  const writer = new PcapngWriter();
  for (const name of names) writer.addInterface({ name, linkType: LinkType.Ethernet });
  for (const { interfaceIndex, bytes, seconds, nanoseconds } of packets)
    writer.packet(names.length === 1 ? 0 : interfaceIndex, bytes, 0, bytes.length, seconds, nanoseconds);
  return writer.take();
}

function pcap(packets: readonly CapturedPacket[], micro: boolean): Uint8Array {
  const writer = new PcapWriter(LinkType.Ethernet);
  for (const { bytes, seconds, nanoseconds } of packets)
    writer.packet(bytes, 0, bytes.length, seconds, micro ? nanoseconds / 1000 : nanoseconds);
  const bytes = writer.take();
  if (micro) new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, 0xa1_b2_c3_d4, true);
  return bytes;
}

const at = (index: number) => both.filter(({ interfaceIndex }) => interfaceIndex === index);
const A = at(0);
const B = at(1);
const one = file('both.pcapng', pcapng(inOrder, ['a.pcap', 'b.pcapng']));
const a = file('a.pcap', pcap(A, true));
const b = file('b.pcapng', pcapng(B, ['eth7']));

describe('roce analyze of several files', () => {
  it('is the analysis of the capture that they are together, in any format and with any number of threads', async () => {
    const expected = await analysisOf([one]);
    expect(await analysisOf([a, b])).toEqual(expected);
    expect(await analysisOf([file('a-nano.pcap', pcap(A, false)), b])).toEqual(expected);
    for (const jobs of [1, 2, 3]) expect(await analysisOf([a, b], { jobs })).toEqual(expected);
    expect(expected.paths.map(({ frames, effects }) => [frames > 100, effects.dropped])).toEqual([
      [true, 2],
      [true, 0],
    ]);
    const clock = expected.paths[0]?.clock;
    expect(Math.abs((clock?.offsetNs ?? 0) - AHEAD_NS)).toBeLessThanOrEqual(clock?.uncertaintyNs ?? 0);
    expect(expected.limits.map(({ kind }) => kind)).toContain('clock-offset');
  });

  it('calls interfaces by their files, and says which files it is about', async () => {
    const { text } = await analyze([a, b]);
    const lines = text.split('\n');
    expect(lines[0]).toMatch(`${a}, ${b}: `);
    expect(text).toMatch(/a\.pcap to b\.pcapng/);
    // There is no file in which these packets have these numbers.
    expect(lines.filter((line) => /roce dump/.test(line))).toEqual(
      lines.filter((line) => /roce dump .*\bFILE\b/.test(line)),
    );
    mkdirSync(join(scratch, 'other'), { recursive: true });
    const same = file('other/a.pcap', pcapng(B, ['eth7', 'eth8']));
    const { text: alike } = await analyze([a, same]);
    expect(alike).toContain(`${a} to ${same} eth8`);
  });

  it('takes one of them from standard input', async () => {
    const { text, code } = await analyze([a, '-'], { json: true }, chunksOf(pcapng(B, ['eth7'])));
    expect([code, JSON.parse(text)]).toEqual([3, await analysisOf([a, b])]);
  });

  it.each([1, 2])('names the bad one, with %i threads', async (jobs) => {
    const none = file('none.pcap', new TextEncoder().encode('no capture at all'));
    expect(await analyze([a, none], { jobs })).toEqual({
      code: 2,
      text: '',
      complaint: expect.stringMatching(/^roce analyze: none\.pcap: capture file, byte 0: [^\n]*\n$/),
    });
    expect(await analyze([a, join(scratch, 'missing.pcap')], { jobs })).toEqual({
      code: 2,
      text: '',
      complaint: expect.stringMatching(/^roce analyze: ENOENT: [^\n]*missing\.pcap'\n$/),
    });
    const cut = file('cut.pcap', pcap(A, true).subarray(0, 100_000));
    const { code, text, complaint } = await analyze([cut, b], { jobs, json: true });
    expect(code).toBe(2);
    expect(complaint).toMatch(/^roce analyze: cut\.pcap: capture file, byte \d+: [^\n]*\n$/);
    const { capture }: Analysis = JSON.parse(text);
    expect(capture.packets).toBeGreaterThan(B.length + 50);
  });

  itWith('tshark', 'has the packets in the order in which mergecap puts them', async () => {
    const merged = join(scratch, 'mergecap.pcapng');
    execFileSync('mergecap', ['-w', merged, a, b]);
    const packets = [...readCapture(readFileSync(merged))];
    const seen: CapturedPacket[] = [];
    await readMerged([feed('a', readFileSync(a)), feed('b', readFileSync(b))], (packet) => seen.push(packet));
    expect(seen.length).toBe(both.length);
    for (const [index, packet] of packets.entries())
      expect(seen[index]).toMatchObject({
        number: packet.number,
        interfaceIndex: packet.interfaceIndex,
        bytes: new Uint8Array(packet.bytes),
      });
  });
});

function feed(name: string, bytes: Uint8Array): NamedFeed {
  return { name, feed: new ChunkFeed(chunksOf(bytes)) };
}

describe('readMerged', () => {
  const times = fc.array(fc.nat(6), { maxLength: 12 });

  /** Packets whose bytes say where they come from: file, place in it. */
  function capture(index: number, of: readonly number[]): Uint8Array {
    const writer = new PcapngWriter();
    const ids = ['x', 'y'].map((name) => writer.addInterface({ name, linkType: LinkType.Ethernet }));
    of.forEach((seconds, place) => {
      writer.packet(ids[place % 2] ?? 0, Uint8Array.of(index, place), 0, 2, seconds, 0);
    });
    return writer.take();
  }

  it('takes the earliest of what comes next in each file, and the first file where they are equal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(times, { minLength: 1, maxLength: 4 }), async (all) => {
        const seen: (readonly [file: number, place: number])[] = [];
        const numbers: number[] = [];
        const interfaces = new Map<number, string>();
        const read = await readMerged(
          all.map((each, index) => feed(`f${index}`, capture(index, each))),
          ({ bytes, number, interfaceIndex }) => {
            const [from = 0, place = 0] = bytes;
            seen.push([from, place]);
            numbers.push(number);
            interfaces.set(interfaceIndex, `f${from} ${place % 2 === 0 ? 'x' : 'y'}`);
          },
        );
        const left = all.map((each, index) => each.map((seconds, place) => ({ seconds, index, place })));
        const expected: (readonly [number, number])[] = [];
        for (;;) {
          const heads = left.flatMap(([head]) => (head === undefined ? [] : [head]));
          const next = heads.reduce<(typeof heads)[number] | undefined>(
            (best, head) => (best === undefined || head.seconds < best.seconds ? head : best),
            undefined,
          );
          if (next === undefined) break;
          left[next.index]?.shift();
          expected.push([next.index, next.place]);
        }
        expect(seen).toEqual(expected);
        expect(numbers).toEqual(expected.map((_, place) => place + 1));
        expect(read.interfaces.length).toBe(2 * all.length);
        for (const [index, name] of interfaces) expect(read.interfaces[index]?.name).toBe(name);
      }),
      { numRuns: 60 },
    );
  });

  it('closes all captures, also where the taker throws', async () => {
    const closed: string[] = [];
    const captures = ['one', 'two'].map((name) => {
      const { feed: inner } = feed(name, pcap(A, true));
      const close = inner.close.bind(inner);
      inner.close = async () => {
        closed.push(name);
        await close();
      };
      return { name, feed: inner };
    });
    const fault = new Error('ours');
    await expect(
      readMerged(captures, () => {
        throw fault;
      }),
    ).rejects.toBe(fault);
    expect(closed).toEqual(['one', 'two']);
  });
});
