/**
 * The post-dissector for Wireshark: captures of any frames, read by tshark with the script, many inputs at a time. An
 * input is a list of frames; flags 1: lengths, checksums and ICRC are made right; 2: bare IP. Our own dissection and
 * analysis of the same frames guide it. Needs tshark with Lua.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Medium } from '../../../packets/index.ts';
import { Analyzer, LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { readCapture } from '../../../pcap/reader.ts';
import { everyFrame } from '../../tools/verify/every-frame.ts';
import { RXE_FRAMES } from '../../vectors/rxe-frames.ts';
import { packRecords, unpackRecords } from '../engine/records.ts';
import type { FuzzTarget } from '../engine/target.ts';
import { fixFrame } from './support/fix-up.ts';

const SCRIPT = fileURLToPath(new URL('../../../tools/wireshark/rocev2.lua', import.meta.url));
const Flag = { Fix: 1, BareIp: 2 } as const;

/** Two interfaces for each input: one of Ethernet and one of bare IP. */
function captureOf(inputs: readonly Uint8Array[]): Uint8Array {
  const writer = new PcapngWriter({ application: 'fuzz' });
  for (const index of inputs.keys()) {
    writer.addInterface({ name: `${index}e`, linkType: LinkType.Ethernet });
    writer.addInterface({ name: `${index}i`, linkType: LinkType.Raw });
  }
  for (const [index, input] of inputs.entries()) {
    for (const [number, { flags, bytes }] of unpackRecords(input).slice(0, 16).entries()) {
      const bareIp = (flags & Flag.BareIp) !== 0;
      if ((flags & Flag.Fix) !== 0) fixFrame(bytes, !bareIp);
      writer.packet(index * 2 + (bareIp ? 1 : 0), bytes, 0, bytes.length, 1, number * 1000);
    }
  }
  return writer.take();
}

function run(input: Uint8Array): string {
  const analyzer = new Analyzer();
  const capture = captureOf([input]);
  for (const packet of readCapture(capture)) {
    analyzer.packet(packet);
  }
  const { conversations } = analyzer.finish();
  return `${Math.min(conversations.length, 3)} conversations`;
}

/** What is wrong in what tshark says of the inputs. */
async function check(inputs: readonly Uint8Array[]): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), 'roce-fuzz-lua-'));
  try {
    const file = join(directory, 'inputs.pcapng');
    writeFileSync(file, captureOf(inputs));
    const plain = ['-n', '--disable-protocol', 'rpcordma', '-r', file, '-X', `lua_script:${SCRIPT}`];
    const fields = ['-e', 'frame.number', '-e', '_ws.lua.error', '-e', 'rocev2.icrc.status'];
    const { status, stdout, stderr } = await tshark([...plain, '-Y', '_ws.lua.error', '-T', 'fields', ...fields]);
    const complaint = stderr.split('\n').find((line) => /lua|error/i.test(line) && !/^Running as user/.test(line));
    if (status !== 0) return `tshark ends with ${status}: ${complaint ?? ''}`;
    return stdout.trim() === '' ? complaint : `Lua Error: ${stdout.trim().split('\n')[0]}`;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function tshark(args: readonly string[]) {
  const child = spawn('tshark', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { ...texts, status };
}

export const target: FuzzTarget = {
  name: 'lua',
  records: true,
  maxBytes: 4000,
  batch: { size: 400, check },
  seeds: () => {
    const frames = everyFrame(31).map(({ medium, bytes }) => ({
      flags: medium === Medium.Ip ? Flag.Fix | Flag.BareIp : Flag.Fix,
      bytes,
    }));
    const real = RXE_FRAMES.map(({ hex }) => ({ flags: 0, bytes: Uint8Array.from(Buffer.from(hex, 'hex')) }));
    const groups = [...frames, ...real].flatMap((_, index, all) =>
      index % 8 === 0 ? [all.slice(index, index + 8)] : [],
    );
    return groups.map(packRecords);
  },
  run,
};
