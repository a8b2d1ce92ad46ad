/**
 * Header decode: every length checked and every BTH field read, against tshark printing four fields of the same
 * packets.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Frame, FrameStatus, type FrameWriter, invariant, Medium, parseFrame } from 'rocev2/packets';
import { LinkType, PcapngWriter } from 'rocev2/pcap';
import { tsharkAvailable } from '../tshark.ts';
import { type Bench, contest, scaled, secondsOf } from './bench.ts';
import { manyPackets } from './packets.ts';

const PAYLOAD_BYTES = 1024;
const PACKETS = 20_000;
const PASSES = 50;

export const decodeBench: Bench = {
  name: 'decode',
  title: 'header decode, 1 KiB packets',
  async run(settings) {
    const { available, reason } = tsharkAvailable();
    if (!available) return { name: this.name, skipped: reason };
    const packets = manyPackets(scaled(PACKETS, settings, 100), PAYLOAD_BYTES);
    const passes = scaled(PASSES, settings);
    const directory = mkdtempSync(join(tmpdir(), 'roce-bench-'));
    try {
      const full = join(directory, 'full.pcapng');
      const empty = join(directory, 'empty.pcapng');
      writeFileSync(full, captureOf(packets, packets.count));
      writeFileSync(empty, captureOf(packets, 0));
      return await contest(this.name, settings, {
        unit: 'packets/s',
        peer: `tshark -T fields, ${packets.count} packets, start-up subtracted`,
        goal: { sense: '>=', ratio: 50 },
        ours: () => (packets.count * passes) / secondsOf(() => decodeAll(packets, passes)),
        // A machine that stutters may give the empty file more time than the full one.
        theirs: () => packets.count / Math.max(1e-3, secondsOfTshark(full) - secondsOfTshark(empty)),
      });
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
};

/** Parses all packets and uses what came of it, so that none of the work can be left out. */
function decodeAll(packets: FrameWriter, passes: number): void {
  const frame = new Frame();
  const { bytes, view, starts, lengths, count } = packets;
  let sum = 0;
  for (let pass = 0; pass < passes; pass++) {
    for (let i = 0; i < count; i++) {
      const start = starts[i] ?? 0;
      const status = parseFrame(bytes, view, start, start + (lengths[i] ?? 0), Medium.Ethernet, frame);
      sum += status === FrameStatus.Ok ? frame.psn + frame.payloadLength : -1;
    }
  }
  invariant(
    sum === passes * ((count * (count - 1)) / 2 + count * PAYLOAD_BYTES),
    'all packets are parsed, and rightly',
  );
}

function secondsOfTshark(file: string): number {
  const fields = ['opcode', 'destqp', 'psn', 'a'].flatMap((name) => ['-e', `infiniband.bth.${name}`]);
  return secondsOf(() => {
    const { status } = spawnSync('tshark', ['-n', '-r', file, '-T', 'fields', ...fields], { stdio: 'ignore' });
    invariant(status === 0, 'tshark reads what PcapngWriter writes');
  });
}

function captureOf({ bytes, starts, lengths }: FrameWriter, count: number): Uint8Array {
  const writer = new PcapngWriter();
  const wire = writer.addInterface({ name: 'bench', linkType: LinkType.Ethernet });
  for (let i = 0; i < count; i++) {
    const start = starts[i] ?? 0;
    writer.packet(wire, bytes, start, start + (lengths[i] ?? 0), 0, i);
  }
  return writer.take();
}
