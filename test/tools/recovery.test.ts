/**
 * Goal: what fails under a running device ends in typed errors, and nothing hangs (ref:hostile#6.2 has all cases
 * and their tests). Method: a peer process killed with -9 in the middle of WRITEs over UDP; a disk of
 * 160 KiB; a wall clock that jumps by days.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Medium } from '../../packets/frame.ts';
import { readCapture } from '../../pcap/reader.ts';
import type { Link, LinkSink } from '../../src/ground/link.ts';
import { openDevice, QpState, type RoceError, WcStatus, WrOpcode } from '../../src/index.ts';
import { runBump } from '../../tools/bump/run.ts';
import { CaptureFile } from '../../tools/capture-file.ts';
import { makeNetnsPair, type NetnsPair } from '../../tools/netns.ts';
import { WallClock } from '../../tools/wall-clock.ts';
import { type Cable, freshPort, makeSide, OURS, openCable } from '../node/worker/support.ts';
import { batchOf, frame } from '../sim/support.ts';
import { describeWith } from '../support/need.ts';
import { within } from '../support/netns.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Repetitions before a queue pair gives up; the ACK timeout is 17 ms. */
const RETRIES = 3;

describeWith(['netns', 'koffi'], 'a peer process that is killed in the middle of traffic', () => {
  let pair: NetnsPair;
  beforeAll(() => {
    pair = makeNetnsPair();
  });
  afterAll(() => pair.remove());

  it('ends the work requests with status 12 after all retries, the connection with a timeout, and not the device', async () => {
    const [command = '', ...words] = [...pair.b.prefix, process.execPath, '--import', 'tsx'];
    const peer = spawn(command, [...words, 'test/tools/recovery-peer.ts', 'udp6:[fd99::2]'], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => peer.once('exit', (_code, signal) => resolve(signal)));
    await new Promise((resolve) => peer.stdout.once('data', resolve));
    const open = await within(pair.a, () => openDevice({ link: 'udp6:[fd99::1]' }));
    const { device } = open;
    const pd = device.allocPd();
    const cq = device.createCq(64);
    const mr = pd.regMr(1 << 16);
    const qp = pd.createQp({ sendCq: cq, recvCq: cq });
    // Two seconds: a live peer of a busy machine must not look dead.
    const patience = { ackTimeout: 16, retryCount: RETRIES, cmResponseTimeout: 17, maxCmRetries: 2 };
    const attempt = { address: 'fd99::2', port: 7471, ...patience };
    const connection = await device.cm.connect({ ...attempt, qp });
    const where = new DataView(connection.privateData.buffer, connection.privateData.byteOffset);
    const [remoteAddr, rkey] = [where.getBigUint64(0), where.getUint32(8)];
    const write = (wrId: number): void =>
      qp.postSend({ wrId, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr, rkey });
    let written = 0;
    const statuses: number[] = [];
    for (let wrId = 0; wrId < 8; wrId++) write(wrId);
    while (statuses.length < 8) {
      const { value, done } = await cq.next();
      if (done === true) break;
      if (value.status === WcStatus.Success && ++written === 100) peer.kill('SIGKILL');
      if (value.status === WcStatus.Success) write(value.wrId);
      else statuses.push(value.status);
    }
    peer.kill('SIGKILL');
    expect([await ended, written]).toEqual(['SIGKILL', expect.toSatisfy((count: number) => count >= 100)]);
    // The oldest has used up its retries, and those behind it are flushed.
    expect(statuses).toEqual([WcStatus.RetryExcErr, ...new Array(7).fill(WcStatus.WrFlushErr)]);
    expect(qp.state).toBe(QpState.Error);
    expect(device.portCounters.localAckTimeoutErr).toBeGreaterThanOrEqual(RETRIES + 1);
    expect(await connection.disconnect()).toBe('timeout');
    expect(await connection.closed).toBe('timeout');
    qp.destroy();
    const again = pd.createQp({ sendCq: cq, recvCq: cq });
    await expect(device.cm.connect({ ...attempt, qp: again })).rejects.toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    again.destroy();
    await open.close();
    expect(await open.closed).toBeUndefined();
  });
});

/** A link that its owner feeds. */
class FedLink implements Link {
  readonly medium = Medium.Ethernet;
  readonly mtu = 1500;
  readonly name: string;
  sink: LinkSink | undefined;
  sent = 0;

  constructor(name: string) {
    this.name = name;
  }

  start(sink: LinkSink): Promise<void> {
    this.sink = sink;
    return Promise.resolve();
  }

  send(batch: { readonly count: number }, from: number): number {
    this.sent += batch.count - from;
    return batch.count - from;
  }

  close(): Promise<void> {
    this.sink?.closed();
    return Promise.resolve();
  }
}

describeWith('tmpfs', 'a disk of 160 KiB that fills up', () => {
  const disk = mkdtempSync(join(tmpdir(), 'roce-disk-'));
  beforeAll(() => {
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=160k', 'tmpfs', disk]);
    expect(status, String(stderr)).toBe(0);
  });
  afterAll(() => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  it('leaves a capture of whole frames, a typed error, and room that is used', () => {
    const path = join(disk, 'full.pcapng');
    const failures: RoceError[] = [];
    const file = new CaptureFile(path, { interfaceName: 'wire', ethernet: true }, (failure) => failures.push(failure));
    const bytes = frame(1, 2, 7, 1000);
    for (let i = 0; i < 300; i++) file.frame(i * 1000, 'in', bytes, 0, bytes.length);
    file.close();
    expect(failures).toMatchObject([{ code: 'ERR_ROCE_CAPTURE', cause: { code: 'ENOSPC' } }]);
    const packets = [...readCapture(readFileSync(path))];
    // 64 KiB at a time: two of them fit.
    expect(packets.length).toBeGreaterThan(110);
    expect(packets.length).toBeLessThan(160);
    expect(packets.every((packet) => Buffer.compare(packet.bytes, bytes) === 0)).toBe(true);
    rmSync(path);
  });

  it('ends the capture of a bump, which says so once, names it in the account, and forwards on', async () => {
    const [a, b] = [new FedLink('a'), new FedLink('b')];
    const capturePath = join(disk, 'bump.pcapng');
    const failures: RoceError[] = [];
    const running = await runBump({ a, b, capturePath, captureFailed: (failure) => failures.push(failure) });
    expect(running.account().captureError).toBeUndefined();
    for (let i = 0; i < 300; i++) a.sink?.receive(batchOf(frame(1, 2, i, 1000)));
    while (b.sent < 300) await new Promise((resolve) => setImmediate(resolve));
    const account = await running.stop();
    expect(b.sent).toBe(300);
    expect(failures).toHaveLength(1);
    expect(account.captureError).toBe(failures[0]?.message);
    expect(account.captureError).toMatch(/bump\.pcapng ends at byte \d+: ENOSPC/);
    expect(failures[0]).toMatchObject({ code: 'ERR_ROCE_CAPTURE' });
    expect(statSync(capturePath).size).toBe(Number(/byte (\d+)/.exec(account.captureError ?? '')?.[1]));
    expect(() => [...readCapture(readFileSync(capturePath))]).not.toThrow();
  });
});

describe('a wall clock that jumps', () => {
  const DAY_MS = 86_400_000;
  let cable: Cable | undefined;
  afterEach(async () => {
    vi.restoreAllMocks();
    await cable?.close();
  });

  it('forward and back by days changes no timer of a connection', async () => {
    cable = await openCable('application');
    const { ours, theirs } = cable;
    const [left, right] = [makeSide(theirs.device), makeSide(ours.device)];
    const port = freshPort();
    const accepting = ours.device.cm
      .listen(port)
      .next()
      .then(({ value }) => value.accept({ qp: right.qp }));
    const connection = await theirs.device.cm.connect({ address: OURS, port, qp: left.qp, ackTimeout: 20 });
    await accepting;
    const real = Date.now();
    for (const [wrId, days] of [0, 3, -30, 3650, 0].entries()) {
      vi.spyOn(Date, 'now').mockReturnValue(real + days * DAY_MS);
      left.qp.postSend({
        wrId,
        opcode: WrOpcode.RdmaWrite,
        sges: [{ mr: left.mr, length: 8 }],
        remoteAddr: right.mr.iova,
        rkey: right.mr.rkey,
      });
      expect((await left.cq.next()).value).toMatchObject({ wrId, status: WcStatus.Success });
    }
    expect(theirs.device.portCounters.localAckTimeoutErr).toBe(0);
    expect(await connection.disconnect()).toBe('drep');
  });

  it('does not move the times of a capture, which begin at one time of day and go on by the monotonic clock', () => {
    vi.spyOn(Date, 'now').mockReturnValue(1_700_000_000_000);
    const clock = new WallClock();
    const first = clock.at(5e9);
    vi.spyOn(Date, 'now').mockReturnValue(1_600_000_000_000);
    expect(first).toEqual({ seconds: 1_700_000_000, nanoseconds: 0 });
    expect(clock.at(6.5e9)).toEqual({ seconds: 1_700_000_001, nanoseconds: 500_000_000 });
  });

  it('is read by nothing but what prints a date', () => {
    const readers = ['packets', 'transport', 'pcap', 'src', 'tools'].flatMap((room) =>
      readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !file.startsWith('explorer/') && !file.includes('node_modules'))
        .map((file) => `${room}/${file}`)
        .filter((file) => /\bDate\.now\(|new Date\(\)/.test(readFileSync(join(ROOT, file), 'utf8'))),
    );
    expect(readers.sort()).toEqual(['tools/experiment/run.ts', 'tools/wall-clock.ts']);
  });
});
