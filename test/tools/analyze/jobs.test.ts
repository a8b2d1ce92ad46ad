/**
 * Goal: `--jobs` changes nothing but the time: the report is the same to the letter. Method: the command with one, two
 * and three threads over every capture of the vectors and of the corpus (those of one format in one file, since a thread
 * costs more than such a capture), and over generated ones with many queue pairs and losses.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type CapturedPacket, PcapngWriter, readCapture } from '../../../pcap/index.ts';
import { analyzeFiles } from '../../../tools/analyze/command.ts';
import { queuePairsCapture } from '../../../tools/bench/queue-pairs-capture.ts';
import { chunksOf, Sink } from '../../support/sink.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-jobs-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** What the command prints, and how it ends. */
async function reportOf(file: string, jobs: number): Promise<readonly [code: number, text: string, complaint: string]> {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await analyzeFiles([file], { icrc: true, json: true, jobs }, { stdin: chunksOf(), stdout, stderr });
  return [code, stdout.bytes.toString(), stderr.bytes.toString()];
}

async function expectSame(name: string, bytes: Uint8Array): Promise<number> {
  const file = join(scratch, name);
  writeFileSync(file, bytes);
  const one = await reportOf(file, 1);
  for (const jobs of [2, 3]) {
    const more = await reportOf(file, jobs);
    // Long texts: their difference would be longer.
    expect([name, jobs, more[0], more[1] === one[1], more[2]]).toEqual([name, jobs, one[0], true, one[2]]);
  }
  return JSON.parse(one[1]).capture.packets;
}

/** All captures below a folder of the repository. */
function captures(folder: string, ending: string): Uint8Array[] {
  const root = fileURLToPath(new URL(`../../../${folder}`, import.meta.url));
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => new Uint8Array(readFileSync(join(root, name))));
}

/** What can be read of a capture. */
function packetsOf(bytes: Uint8Array): CapturedPacket[] {
  const packets: CapturedPacket[] = [];
  try {
    for (const packet of readCapture(bytes)) packets.push(packet);
  } catch {
    // The corpus has captures that end in the middle.
  }
  return packets;
}

describe('--jobs', () => {
  it('leaves the report as it is: pcapng files of vectors and corpus, a section each', async () => {
    const whole = [...captures('test/vectors', '.pcapng'), ...captures('corpus', '.pcapng')];
    expect(await expectSame('sections.pcapng', Buffer.concat(whole))).toBeGreaterThan(300);
  });

  it('leaves it as it is: pcap files of vectors and corpus, an interface each', async () => {
    const writer = new PcapngWriter();
    const whole = [...captures('test/vectors', '.pcap'), ...captures('corpus', '.pcap')].map(packetsOf);
    for (const [index, packets] of whole.entries()) {
      const linkType = packets[0]?.linkType ?? 1;
      const id = writer.addInterface({ name: `file ${index}`, linkType });
      for (const { bytes, seconds, nanoseconds, originalLength } of packets)
        writer.packet(id, bytes, 0, bytes.length, seconds, nanoseconds, { originalLength });
    }
    expect(await expectSame('interfaces.pcapng', writer.take())).toBeGreaterThan(1000);
  });

  it('leaves it as it is: an old file with two byte orders, one that is cut, one that is none', async () => {
    const [first = new Uint8Array(), second = new Uint8Array()] = captures('test/vectors', '.pcap');
    await expectSame('first.pcap', first);
    await expectSame('cut.pcap', second.subarray(0, second.length - 7));
  });

  it('leaves it as it is: many queue pairs, losses, packets out of order', async () => {
    expect(await expectSame('many.pcapng', await queuePairsCapture(24, 4, 7))).toBeGreaterThan(2000);
  });
});
