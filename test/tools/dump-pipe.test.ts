/**
 * Goal: the command line takes a filter as tcpdump does, and what it writes to a pipe is a capture that tshark follows
 * while it grows. Method: the command as a child process; its standard input is written to packet by packet, and the
 * next packet only goes in when tshark has printed the one before.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { readCapture } from '../../pcap/reader.ts';
import { LinkType } from '../../pcap/types.ts';
import { describeWith } from '../support/need.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));
const COMMAND = ['--import', 'tsx', fileURLToPath(new URL('./dump-command.ts', import.meta.url))];
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...COMMAND, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, lines: stdout.split('\n').slice(0, -1), stderr };
}

describe('roce dump with a filter', () => {
  it('takes all words for it where an option names the file', () => {
    const args = ['-r', SAMPLE, 'cm', 'rep', 'or', 'cm rtu', '-c', '2', '--fields', 'frame.number'];
    expect(run(...args)).toEqual({ status: 0, lines: ['7', '8'], stderr: '' });
  });

  it('behind the file is refused in one line where it makes no sense, with exit code 2', () => {
    expect(run(SAMPLE, 'arp or rnrr')).toEqual({
      status: 2,
      lines: [],
      stderr: "roce dump: filter, column 8: 'rnrr' is not known; did you mean 'rnr'?\n",
    });
  });

  it('prints its language', () => {
    const { status, lines } = run('--filter-help');
    expect(status).toBe(0);
    expect(lines).toContain('  ackreq                requests an ACK (AckReq is set)');
  });
});

describeWith('tshark', 'roce dump into a pipe', () => {
  it('lets tshark see each packet that passes before the next one is there', async () => {
    const node = [process.execPath, ...COMMAND, '-', 'rc', '-w', '-'].map((word) => `'${word}'`).join(' ');
    const tshark = 'tshark -l -n -i - -T fields -e infiniband.bth.psn -e frame.comment';
    // A shell makes the pipe, as it does for users: what Node gives its children is a socket, which dumpcap does not
    // read.
    const both = spawn('sh', ['-c', `${node} | ${tshark}`], { cwd: ROOT, stdio: ['pipe', 'pipe', 'ignore'] });
    const lines = createInterface({ input: both.stdout })[Symbol.asyncIterator]();
    const packets = [...readCapture(readFileSync(SAMPLE))]
      .filter(({ bytes }) => bytes[42] === 4 || bytes[42] === 0x11)
      .slice(0, 3);
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
    for (const { bytes, seconds, nanoseconds } of packets) {
      const psn = new DataView(bytes.buffer, bytes.byteOffset).getUint32(50) & 0xff_ff_ff;
      writer.packet(0, new Uint8Array(20), 0, 20, seconds, nanoseconds);
      writer.packet(0, bytes, 0, bytes.length, seconds, nanoseconds, { comments: [`psn ${psn}`] });
      both.stdin.write(writer.take());
      expect((await lines.next()).value).toBe(`${psn}\tpsn ${psn}`);
    }
    both.stdin.end();
    expect(await exitCode(both)).toBe(0);
  }, 60_000);
});

function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.on('close', resolve));
}
