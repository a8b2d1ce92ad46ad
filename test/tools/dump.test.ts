// Goal: `roce dump` prints what is in a file in three forms, copies it, fails with one line and exit code 2, and stops
// when nobody reads. Method: dumpFrames with sources and streams in memory; the command as a child process, on the
// committed sample of rdma_rxe traffic.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { readCapture } from '../../pcap/reader.ts';
import { type CapturedPacket, Direction, LinkType } from '../../pcap/types.ts';
import { type CaptureSource, type DumpOptions, dumpFrames, FileSource } from '../../tools/dump/index.ts';
import { chunksOf, Sink } from '../support/sink.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));
const COMMAND = fileURLToPath(new URL('./dump-command.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'roce-dump-'));
afterAll(() => rmSync(scratch, { recursive: true }));

async function dump(source: CaptureSource, options: DumpOptions = {}): Promise<string[]> {
  const sink = new Sink();
  await dumpFrames(source, options, sink);
  return sink.lines;
}

const sample = () => new FileSource(chunksOf(readFileSync(SAMPLE)));

/** The command as a user runs it, without what npm adds. */
function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', COMMAND, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('dumpFrames', () => {
  it('prints a line a frame: number, seconds since the first, words', async () => {
    const lines = await dump(sample());
    expect(lines).toHaveLength([...readCapture(readFileSync(SAMPLE))].length);
    expect(lines.slice(3, 7)).toEqual([
      '    4    8.810959000 52:54:00:00:00:02 > ff:ff:ff:ff:ff:ff: ARP who has 10.77.0.1 tell 10.77.0.2',
      '    5    8.816301000 52:54:00:00:00:01 > 52:54:00:00:00:02: ARP 10.77.0.1 is at 52:54:00:00:00:01',
      '    6    8.908255000 10.77.0.2 > 10.77.0.1: UD SEND Only qpn 0x000001 psn 0 ackreq from qpn 0x000001 qkey 0x80010000 CM REQ comm 0xae46b463 service 0x0000000001061c06 qpn 0x000011 psn 15902200 len 256',
      '    7    8.958825000 10.77.0.1 > 10.77.0.2: UD SEND Only qpn 0x000001 psn 0 ackreq from qpn 0x000001 qkey 0x80010000 CM REP comm 0x2351d992 for 0xae46b463 qpn 0x000011 psn 13918763 len 256',
    ]);
    expect(lines.join('\n')).not.toMatch(/BAD ICRC|malformed/);
  });

  it('prints all fields with verbose', async () => {
    const lines = await dump(sample(), { verbose: true, count: 6 });
    expect(lines).toContain('    infiniband.deth: q_key 0x80010000, srcqp 0x000001');
    expect(lines).toContain('    roce: frame.status Ok, opcode.name UD SEND Only, payload.len 256, icrc.status good');
  });

  it('prints an object a line with json', async () => {
    const objects = (await dump(sample(), { json: true })).map((line): Record<string, unknown> => JSON.parse(line));
    expect(objects[6]).toMatchObject({
      'frame.number': 7,
      'frame.time_epoch': '1795230354.000391000',
      'frame.len': 322,
      'ip.src': '10.77.0.1',
      'infiniband.bth.psn': 0,
      'infiniband.cm.rep.startpsn': 13918763,
      'roce.icrc.status': 'good',
    });
    const withBth = objects.filter((fields) => 'infiniband.bth.psn' in fields);
    expect(withBth.every((fields) => fields['roce.icrc.status'] === 'good')).toBe(true);
    expect(withBth.length).toBeGreaterThan(40);
  });

  it('stops after count frames', async () => {
    expect(await dump(sample(), { count: 2 })).toHaveLength(2);
    expect(await dump(sample(), { count: 0 })).toHaveLength(0);
  });

  it('shows comments, direction, interface and that a packet was cut', async () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet, snapLength: 60 });
    const options = { direction: Direction.Outbound, comments: ['dropped\nhere', 'twice'] };
    writer.packet(0, new Uint8Array(100), 0, 100, 7, 5, options);
    writer.packet(0, new Uint8Array(60), 0, 60, 7, 4);
    const file = writer.take();
    expect(await dump(new FileSource(chunksOf(file)))).toEqual([
      '    1    0.000000000 00:00:00:00:00:00 > 00:00:00:00:00:00: ethertype 0x0000 len 60 [60 of 100 bytes captured] # dropped here # twice',
      '    2   -0.000000001 00:00:00:00:00:00 > 00:00:00:00:00:00: ethertype 0x0000 len 60',
    ]);
    const [line = ''] = await dump(new FileSource(chunksOf(file)), { json: true });
    expect(JSON.parse(line)).toMatchObject({
      'frame.interface_name': 'wire',
      'frame.packet_flags_direction': 2,
      'frame.cap_len': 60,
      'frame.len': 100,
      'frame.comment': 'dropped\nhere\ntwice',
    });
  });

  it('says which link type it cannot read', async () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: '', linkType: 147 });
    writer.packet(0, new Uint8Array(9), 0, 9, 0, 0);
    const [line] = await dump(new FileSource(chunksOf(writer.take())));
    expect(line).toContain('link type 147 is not one this tool reads');
  });

  it('copies packets as they are into a pcapng file', async () => {
    const capture = new Sink();
    await dump(sample(), { capture });
    expect([...readCapture(capture.bytes)]).toEqual([...readCapture(readFileSync(SAMPLE))]);
  });

  it('prints what came before a malformed record, then throws', async () => {
    const sink = new Sink();
    const cut = new FileSource(chunksOf(readFileSync(SAMPLE).subarray(0, 24 + 16 + 90 + 10)));
    await expect(dumpFrames(cut, {}, sink)).rejects.toMatchObject({ code: 'ERR_ROCE_CAPTURE' });
    expect(sink.lines).toHaveLength(1);
  });

  it('stops asking the source when the reader goes away, without an error', async () => {
    const pipe = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' })),
    });
    let asked = 0;
    const endless: CaptureSource = {
      async *[Symbol.asyncIterator](): AsyncGenerator<CapturedPacket> {
        const [packet] = [...readCapture(readFileSync(SAMPLE))];
        while (packet !== undefined) {
          asked++;
          yield packet;
        }
      },
    };
    await dumpFrames(endless, {}, pipe);
    // What is gathered before it is written, twice over.
    expect(asked).toBeLessThan(5000);
  });

  it('throws any other failure to write', async () => {
    const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('no space left')) });
    await expect(dumpFrames(sample(), {}, full)).rejects.toThrow('no space left');
  });
});

describe('roce dump', () => {
  it('prints a file and exits with 0', () => {
    const { status, stdout, stderr } = run(SAMPLE, '-c', '3');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n')).toHaveLength(4);
  });

  it.each<[string, string[], RegExp]>([
    ['a file that is not there', [join(scratch, 'none.pcap')], /^roce dump: ENOENT: .*none\.pcap'\n$/],
    ['a directory', [scratch], /^roce dump: .*: this is a folder, and a file is needed\n$/],
    [
      'a file that is no capture',
      [COMMAND],
      /^roce dump: .*: capture file, byte 0: 0x[0-9a-f]{8} is neither [^\n]*\n$/,
    ],
    ['a count that is no number', [SAMPLE, '-c', '-1'], /^error: option '-c, --count <count>' [^\n]*\n$/],
    ['no input', [], /^error: give a capture file or --link, and only one\n$/],
    ['an unknown option', [SAMPLE, '--frobnicate'], /^error: unknown option '--frobnicate'\n$/],
    [
      'an output that cannot be made',
      [SAMPLE, '-c', '1', '--write', join(scratch, 'no', 'dir')],
      /^roce dump: ENOENT: [^\n]*\n$/,
    ],
  ])('says %s in one line on stderr and exits with 2', (_what, args, line) => {
    const { status, stderr } = run(...args);
    expect(stderr).toMatch(line);
    expect(status).toBe(2);
  });

  it('exits with 2 after the packets of a file that is cut short', () => {
    const file = join(scratch, 'cut.pcap');
    writeFileSync(file, readFileSync(SAMPLE).subarray(0, 200));
    const { status, stdout, stderr } = run(file);
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stderr).toBe(
      `roce dump: ${file}: capture file, byte 130: the file ends inside a record, 70 bytes into it\n`,
    );
    expect(status).toBe(2);
  });

  it('never writes over the capture that it reads', () => {
    const file = join(scratch, 'dear.pcap');
    writeFileSync(file, readFileSync(SAMPLE));
    const named = run(file, '-w', file);
    const redirected = spawnSync(process.execPath, ['--import', 'tsx', COMMAND, '-', '-w', file], {
      cwd: ROOT,
      stdio: [openSync(file, 'r'), 'pipe', 'pipe'],
      encoding: 'utf8',
    });
    const complaint = `roce dump: ${file} is the capture that is read: write to another file\n`;
    for (const { status, stderr } of [named, redirected]) expect([status, stderr]).toEqual([2, complaint]);
    expect(readFileSync(file)).toEqual(readFileSync(SAMPLE));
  });

  it('reads standard input, and writes a capture to standard output', () => {
    const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', COMMAND, '-', '--write', '-'], {
      cwd: ROOT,
      input: readFileSync(SAMPLE),
    });
    expect(status).toBe(0);
    expect([...readCapture(stdout)].length).toBe([...readCapture(readFileSync(SAMPLE))].length);
  });

  it('exits with 0 when its reader goes away', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', COMMAND, SAMPLE, '-v'], { cwd: ROOT });
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString('utf8');
    });
    child.stdout.destroy();
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect({ status, complaints }).toEqual({ status: 0, complaints: '' });
  });
});
