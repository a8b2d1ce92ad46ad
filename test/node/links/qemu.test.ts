/**
 * Goal: the wire to QEMU keeps to the framing whatever the stream does, and its socket to the file system. Method: raw
 * sockets as the guest.
 */
import { mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RoceError } from '../../../packets/errors.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { LinkSink } from '../../../src/ground/link.ts';
import { openLink } from '../../../src/node/links/index.ts';
import { FrameSplitter, MAX_FRAME_BYTES, packFrames } from '../../../src/node/links/length-framing.ts';
import { QemuLink } from '../../../src/node/links/qemu.ts';
import { batchOf, Collector, frame } from '../../sim/support.ts';
import { linkCompliance } from './compliance.ts';

let directory = '';
let sockets = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rocev2-qemu-'));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const freshPath = (): string => join(directory, `${sockets++}.sock`);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

/** A guest as raw as can be. */
function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket));
    socket.once('error', reject);
  });
}

function framed(...frames: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(frames.reduce((sum, bytes) => sum + 4 + bytes.length, 0));
  packFrames(batchOf(...frames), 0, frames.length, out, new DataView(out.buffer));
  return out;
}

class Watcher extends Collector implements LinkSink {
  error: RoceError | undefined;

  override closed(error?: RoceError): void {
    super.closed();
    this.error = error;
  }
}

async function listening(): Promise<{ link: QemuLink; sink: Watcher; path: string }> {
  const path = freshPath();
  const link = new QemuLink({ path });
  const sink = new Watcher();
  await link.start(sink);
  return { link, sink, path };
}

linkCompliance(
  'a qemu link',
  async () => {
    const path = freshPath();
    const b = new QemuLink({ path });
    const a = new QemuLink({ path, connect: true });
    // The suite starts b, which listens, before a.
    const ready = (): Promise<void> => until(() => b.connected);
    return { a, b, ready, pump: turn, dispose: () => Promise.resolve() };
  },
  { lossless: true, unavailable: () => new QemuLink({ path: '/nonexistent/x.sock' }) },
);

describe('framing', () => {
  it('finds the same frames however the stream is cut', () => {
    const frames = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { maxLength: 150 });
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 50 }), (all, cuts) => {
        const collector = new Collector();
        const splitter = new FrameSplitter((batch) => collector.receive(batch));
        const stream = framed(...all);
        for (let at = 0, i = 0; at < stream.length; i++) {
          const count = cuts[i % cuts.length] ?? 1;
          expect(splitter.push(stream.subarray(at, at + count))).toBeUndefined();
          at += count;
        }
        expect(collector.frames).toEqual(all);
        expect(Math.max(0, ...collector.batches.map((batch) => batch.length))).toBeLessThanOrEqual(64);
      }),
    );
  });

  it('takes chunks larger than its buffer and frames up to the limit of QEMU', () => {
    const collector = new Collector();
    const splitter = new FrameSplitter((batch) => collector.receive(batch));
    const all = Array.from({ length: 10 }, (_, i) => new Uint8Array(MAX_FRAME_BYTES - i).fill(i));
    expect(splitter.push(framed(...all))).toBeUndefined();
    expect(collector.frames).toEqual(all);
  });

  it('reports a length of zero or beyond the limit, after the frames before it', () => {
    for (const absurd of [0, MAX_FRAME_BYTES + 1, 0xff_ff_ff_ff]) {
      const collector = new Collector();
      const splitter = new FrameSplitter((batch) => collector.receive(batch));
      const stream = new Uint8Array([...framed(frame(1, 2, 7)), 0, 0, 0, 0, 1, 2, 3]);
      new DataView(stream.buffer).setUint32(68, absurd);
      expect(splitter.push(stream)).toBe(absurd);
      expect(collector.tags).toEqual([7]);
    }
  });

  it('delivers what is whole of any bytes and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        let delivered = 0;
        const splitter = new FrameSplitter((batch: FrameBatch) => {
          for (let i = 0; i < batch.count; i++) delivered += 4 + (batch.lengths[i] ?? 0);
        });
        splitter.push(bytes);
        expect(delivered).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});

describe('QemuLink', () => {
  it('loses and counts what is sent while no guest is connected, and takes guests one after the other', async () => {
    const { link, sink, path } = await listening();
    expect(link.send(batchOf(frame(1, 2, 1), frame(1, 2, 2)), 0)).toBe(2);
    expect([link.counters.unplugged, link.connected]).toEqual([2, false]);
    for (let visit = 1; visit <= 3; visit++) {
      const guest = await dial(path);
      guest.write(framed(frame(2, 1, visit)));
      await until(() => sink.tags.length === visit);
      const heard: Buffer[] = [];
      guest.on('data', (chunk) => heard.push(chunk));
      expect(link.send(batchOf(frame(1, 2, 10 * visit)), 0)).toBe(1);
      await until(() => Buffer.concat(heard).length === 68);
      expect(new Uint8Array(Buffer.concat(heard))).toEqual(framed(frame(1, 2, 10 * visit)));
      guest.destroy();
      await until(() => !link.connected);
    }
    expect([sink.tags, sink.closedCalls]).toEqual([[1, 2, 3], 0]);
    await link.close();
    expect([sink.closedCalls, sink.error]).toEqual([1, undefined]);
    await expect(stat(path)).rejects.toThrow(/ENOENT/);
  });

  it('forgets half a frame with the guest that sent it', async () => {
    const { link, sink, path } = await listening();
    const first = await dial(path);
    first.write(framed(frame(2, 1, 1)).subarray(0, 40));
    await until(() => link.connected);
    first.destroy();
    await until(() => !link.connected);
    const second = await dial(path);
    second.write(framed(frame(2, 1, 2)));
    await until(() => sink.tags.length > 0);
    expect(sink.tags).toEqual([2]);
    second.destroy();
    await link.close();
  });

  it('turns a second guest away while the first is there', async () => {
    const { link, path } = await listening();
    const first = await dial(path);
    await until(() => link.connected);
    const second = await dial(path);
    await new Promise((resolve) => second.resume().once('close', resolve));
    expect([link.counters.refused, link.connected]).toEqual([1, true]);
    first.destroy();
    await link.close();
  });

  it('ends with an error when the stream makes no sense', async () => {
    const { sink, path } = await listening();
    const guest = await dial(path);
    guest.on('error', () => {});
    guest.write(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 1));
    await until(() => sink.closedCalls === 1);
    expect(sink.error?.code).toBe('ERR_ROCE_CLOSED');
    expect(sink.error?.message).toMatch(/4294967295 bytes/);
    await expect(dial(path)).rejects.toThrow();
    guest.destroy();
  });

  it('holds back when the guest does not read, and goes on when it does or leaves', async () => {
    const { link, sink, path } = await listening();
    const guest = await dial(path);
    await until(() => link.connected);
    guest.pause();
    const batch = batchOf(...Array.from({ length: 64 }, (_, tag) => frame(1, 2, tag, 1500)));
    while (link.send(batch, 0) === 64);
    await turn();
    expect(sink.writableCalls).toBe(0);
    guest.resume();
    await until(() => sink.writableCalls === 1);
    while (link.send(batch, 0) === 64);
    guest.destroy();
    await until(() => sink.writableCalls === 2);
    await link.close();
  });

  it('ends a connecting link with its peer, and says when there is none', async () => {
    const path = freshPath();
    await expect(new QemuLink({ path, connect: true }).start(new Watcher())).rejects.toMatchObject({
      code: 'ERR_ROCE_LINK_UNAVAILABLE',
    });
    const qemu = createServer((socket) => socket.end(framed(frame(2, 1, 5))));
    await new Promise<void>((resolve) => qemu.listen(path, resolve));
    const link = new QemuLink({ path, connect: true });
    const sink = new Watcher();
    await link.start(sink);
    await until(() => sink.closedCalls === 1);
    expect([sink.tags, sink.error?.code]).toEqual([[5], 'ERR_ROCE_CLOSED']);
    await new Promise((resolve) => qemu.close(resolve));
  });

  it('removes a socket that nobody listens on, and nothing else', async () => {
    const stale = freshPath();
    await leaveStaleSocket(stale);
    const link = new QemuLink({ path: stale });
    await link.start(new Watcher());
    await expect(new QemuLink({ path: stale }).start(new Watcher())).rejects.toThrow(/another process listens/);
    await link.close();

    const file = freshPath();
    await writeFile(file, 'precious');
    await expect(new QemuLink({ path: file }).start(new Watcher())).rejects.toThrow(/not a socket/);
    const pointer = freshPath();
    await symlink(file, pointer);
    await expect(new QemuLink({ path: pointer }).start(new Watcher())).rejects.toThrow(/not a socket/);
    expect((await stat(file)).size).toBe(8);
    await expect(new QemuLink({ path: '/nonexistent/x.sock' }).start(new Watcher())).rejects.toMatchObject({
      code: 'ERR_ROCE_LINK_UNAVAILABLE',
    });
  });

  it('leaves nobody listening when it is closed while it starts', async () => {
    const path = freshPath();
    const link = new QemuLink({ path });
    const starting = expect(link.start(new Watcher())).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    await link.close();
    await starting;
    await expect(dial(path)).rejects.toMatchObject({ code: 'ENOENT' });
    const next = new QemuLink({ path });
    await next.start(new Watcher());
    await next.close();
  });

  it('is started once', async () => {
    const { link } = await listening();
    await expect(link.start(new Watcher())).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
    await link.close();
    await link.close();
  });
});

describe('openLink', () => {
  it('reads kind, path and options', () => {
    expect(openLink('qemu:/tmp/a.sock')).toMatchObject({ name: 'qemu:/tmp/a.sock', mtu: 1500 });
    expect(openLink('qemu:x,connect,mtu=4200', { mtu: 9000 })).toMatchObject({ name: 'qemu:x,connect', mtu: 4200 });
    expect(openLink('qemu:x', { mtu: 9000 }).mtu).toBe(9000);
  });

  it.each(['', 'qemu', 'qemu:', 'tun:x', 'qemu:x,listen', 'qemu:x,mtu=', 'qemu:x,mtu=67'])(
    'refuses %j and lists what there is',
    (spec) => {
      expect(() => openLink(spec)).toThrow(/qemu:PATH/);
      expect(() => openLink(spec)).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }));
    },
  );
});

/** A socket file as a process that was killed leaves it. */
async function leaveStaleSocket(path: string): Promise<void> {
  const server = createServer();
  const hidden = `${path}.moved`;
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await rename(path, hidden);
  await new Promise((resolve) => server.close(resolve));
  await rename(hidden, path);
}
