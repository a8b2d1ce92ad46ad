/**
 * Goal: what a crash or a full disk leaves of a capture is readable up to its last whole record, and said. Method: the
 * calls of the system played by the test, with a disk that fills up in the middle of a block; a process that is killed
 * while it captures; a device file that is always full; a file that is cut at every place of its last block.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { readCapture } from '../../pcap/reader.ts';
import { CaptureFile } from '../../tools/capture-file.ts';
import type { FileCalls } from '../../tools/record-file.ts';
import { itWith } from '../support/need.ts';
import { startProgram } from '../support/running.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'roce-record-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** A disk with this much room, which takes what fits of a write before it says no. */
class Disk implements FileCalls {
  bytes = Buffer.alloc(0);
  closed = 0;
  room: number;

  constructor(room: number) {
    this.room = room;
  }

  open(): number {
    return 1;
  }

  write(_file: number, bytes: Uint8Array): number {
    const count = Math.min(bytes.length, this.room);
    if (count === 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    this.bytes = Buffer.concat([this.bytes, bytes.subarray(0, count)]);
    this.room -= count;
    return count;
  }

  truncate(_file: number, length: number): void {
    this.bytes = this.bytes.subarray(0, length);
  }

  close(): void {
    this.closed++;
  }
}

const FRAME = new Uint8Array(1000).fill(7);
const options = { interfaceName: 'wire', ethernet: true };

describe('a capture on a disk that fills up', () => {
  it('ends behind the last whole write, says so once as an error, and lets the device go on', () => {
    const disk = new Disk(100_000);
    const failures: RoceError[] = [];
    const file = new CaptureFile('full.pcapng', options, (failure) => failures.push(failure), disk);
    for (let i = 0; i < 300; i++) file.frame(i * 1000, 'in', FRAME, 0, FRAME.length);
    file.close();
    file.close();
    // 64 KiB were written at a time; the second time did not fit.
    const packets = [...readCapture(disk.bytes)];
    expect(packets.length).toBeGreaterThan(60);
    expect(packets.every(({ bytes }) => Buffer.compare(bytes, FRAME) === 0)).toBe(true);
    expect(failures).toEqual([file.failure]);
    expect(file.failure).toBeInstanceOf(RoceError);
    expect(file.failure).toMatchObject({
      code: 'ERR_ROCE_CAPTURE',
      message: `full.pcapng ends at byte ${disk.bytes.length}: ENOSPC: no space left on device, write`,
      cause: { code: 'ENOSPC' },
    });
    expect(disk.closed).toBe(1);
  });

  it('goes on after writes that took a part only', () => {
    const disk = new Disk(1e9);
    const slow: FileCalls = {
      open: () => 1,
      write: (file, bytes) => disk.write(file, bytes.subarray(0, 777)),
      truncate: () => {},
      close: () => {},
    };
    const file = new CaptureFile('slow.pcapng', options, undefined, slow);
    for (let i = 0; i < 100; i++) file.frame(i * 1000, 'in', FRAME, 0, FRAME.length);
    file.close();
    expect([...readCapture(disk.bytes)]).toHaveLength(100);
  });

  it('is never empty: its header is there before the first frame', () => {
    const disk = new Disk(1e9);
    const file = new CaptureFile('new.pcapng', options, undefined, disk);
    expect([...readCapture(disk.bytes)]).toEqual([]);
    file.close();
  });

  it('ends roce dump with 2 and names the file that is full', async () => {
    expect(existsSync('/dev/full')).toBe(true);
    const { code, stderr } = await startProgram('tools/roce.ts', ['dump', SAMPLE, '-q', '-w', '/dev/full']).ended;
    expect([code, stderr]).toEqual([2, 'roce dump: /dev/full: ENOSPC: no space left on device, write\n']);
  });
});

describe('a process that is killed while it captures', () => {
  it('leaves every frame that is older than the bound', async () => {
    const path = join(scratch, 'killed.pcapng');
    const module = fileURLToPath(new URL('../../tools/capture-file.ts', import.meta.url));
    const script = `
      import { CaptureFile } from ${JSON.stringify(module)};
      const file = new CaptureFile(process.argv[1], { interfaceName: 'wire', ethernet: true });
      for (let i = 0; i < 3; i++) file.frame(i * 1000, 'in', new Uint8Array(100), 0, 100);
      setInterval(() => {}, 1000);`;
    const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script, path];
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    // No close, no exit handler: only the timer of the file can have written them.
    while ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < 300)
      await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    expect([...readCapture(readFileSync(path))]).toHaveLength(3);
  });
});

describe('a capture that is cut in the middle of a block', () => {
  const whole = join(scratch, 'whole.pcapng');
  const cut = join(scratch, 'cut.pcapng');
  const file = new CaptureFile(whole, options);
  for (let i = 0; i < 3; i++) file.frame(i * 1000, 'in', FRAME, 0, FRAME.length);
  file.close();
  const bytes = readFileSync(whole);
  writeFileSync(cut, bytes.subarray(0, bytes.length - 500));

  it('shows in roce dump what is whole, and where it ends', async () => {
    const { code, stdout, stderr } = await startProgram('tools/roce.ts', ['dump', cut]).ended;
    expect([code, stdout.trim().split('\n').length]).toEqual([2, 2]);
    expect(stderr).toMatch(/^roce dump: .*cut\.pcapng: .*the file ends inside a record, \d+ bytes into it\n$/);
  });

  itWith('tshark', 'shows in tshark what is whole, too', () => {
    const { stdout, stderr, status } = spawnSync('tshark', ['-r', cut], { encoding: 'utf8' });
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(stderr).toContain('cut short');
    expect(status).not.toBe(0);
  });
});
