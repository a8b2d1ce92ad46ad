/**
 * Goal: two processes share a wire in memory, and neither can harm the other by what it writes there. Method: both ends
 * in this process, as every link; then a peer that writes rings and messages by hand.
 */
import { ftruncateSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RoceError } from '../../../packets/errors.ts';
import type { LinkSink } from '../../../src/ground/link.ts';
import { receiveWithDescriptor, sendWithDescriptor } from '../../../src/node/links/descriptor-message.ts';
import { loadLibc } from '../../../src/node/links/libc.ts';
import { Mapping } from '../../../src/node/links/mapping.ts';
import { createSealed } from '../../../src/node/links/sealed-memory.ts';
import { ShmLink } from '../../../src/node/links/shm.ts';
import { SHARED_BYTES } from '../../../src/node/links/shm-connection.ts';
import { RING_BYTES, RingProducer } from '../../../src/node/links/shm-ring.ts';
import { connectToUnix, Listener } from '../../../src/node/links/unix-listener.ts';
import { batchOf, Collector, frame } from '../../sim/support.ts';
import { describeWith } from '../../support/need.ts';
import { linkCompliance } from './compliance.ts';

let directory = '';
let sockets = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rocev2-shm-'));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const freshPath = (): string => join(directory, `${sockets++}.sock`);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

class Watcher extends Collector implements LinkSink {
  error: RoceError | undefined;

  override closed(error?: RoceError): void {
    super.closed();
    this.error = error;
  }
}

async function started(options: { path: string; connect?: boolean }): Promise<{ link: ShmLink; sink: Watcher }> {
  const link = new ShmLink(options);
  const sink = new Watcher();
  await link.start(sink);
  return { link, sink };
}

async function pair() {
  const path = freshPath();
  const one = await started({ path });
  const other = await started({ path, connect: true });
  await until(() => one.link.connected);
  return { path, one, other, close: () => Promise.all([one.link.close(), other.link.close()]) };
}

/** The listening end of a wire whose other end is the test: its socket, and the memory. */
async function byHand() {
  const path = freshPath();
  const one = await started({ path });
  const libc = await loadLibc();
  const socket = connectToUnix(libc, path);
  await until(() => one.link.connected);
  const hello = receiveWithDescriptor(libc, socket, new Uint8Array(13));
  const memory = hello?.descriptor ?? -1;
  const mapping = Mapping.open(libc, memory, SHARED_BYTES);
  if (mapping === undefined) throw new Error('the memory cannot be mapped');
  libc.close(memory);
  return {
    ...one,
    path,
    producer: new RingProducer(mapping.buffer, RING_BYTES),
    words: new Int32Array(mapping.buffer, RING_BYTES, RING_BYTES / 4),
    ring: () => libc.sendto(socket, Uint8Array.of(1), 1, 0, null, 0),
    leave: () => libc.close(socket),
    close: () => one.link.close(),
  };
}

describeWith('koffi', 'a link in shared memory', () => {
  linkCompliance(
    'a shm link',
    async () => {
      const path = freshPath();
      const b = new ShmLink({ path });
      const a = new ShmLink({ path, connect: true });
      // The suite starts b, which listens, before a.
      const ready = (): Promise<void> => until(() => b.connected);
      return { a, b, ready, pump: turn, dispose: () => Promise.resolve() };
    },
    { lossless: true, unavailable: () => new ShmLink({ path: '/nonexistent/x.sock' }) },
  );

  it('asks the kernel for nothing while the other side is awake', async () => {
    const { one, other, close } = await pair();
    const { poller } = other.link;
    poller?.begin();
    for (let tag = 0; tag < 1000; tag++) {
      one.link.send(batchOf(frame(1, 2, tag)), 0);
      expect(poller?.poll()).toBe(true);
    }
    expect(other.sink.tags.length).toBe(1000);
    expect(one.link.counters.wakes).toBeLessThanOrEqual(1);
    expect(poller?.poll()).toBe(false);
    poller?.end();
    one.link.send(batchOf(frame(1, 2, 7)), 0);
    await until(() => other.sink.tags.length === 1001);
    expect(one.link.counters.wakes).toBeLessThanOrEqual(2);
    await close();
  });

  it('delivers what came between the last poll and the end of polling', async () => {
    const { one, other, close } = await pair();
    other.link.poller?.begin();
    one.link.send(batchOf(frame(1, 2, 5)), 0);
    other.link.poller?.end();
    await until(() => other.sink.tags.length === 1);
    await close();
  });

  it('is an unplugged cable before and after a peer, and takes the next', async () => {
    const { path, one, other } = await pair();
    other.link.send(batchOf(frame(2, 1, 1)), 0);
    await other.link.close();
    await until(() => !one.link.connected);
    expect(one.sink.tags).toEqual([1]);
    expect(one.link.send(batchOf(frame(1, 2, 1)), 0)).toBe(1);
    expect(one.link.counters.unplugged).toBe(1);
    const next = await started({ path, connect: true });
    await until(() => one.link.connected);
    one.link.send(batchOf(frame(1, 2, 9)), 0);
    await until(() => next.sink.tags.length === 1);
    await one.link.close();
    await until(() => next.sink.closedCalls === 1);
    expect(next.sink.error?.code).toBe('ERR_ROCE_CLOSED');
  });

  it('turns a third end away', async () => {
    const { path, one, close } = await pair();
    await expect(started({ path, connect: true })).rejects.toThrow(/no other end of a shm link, or has one/);
    expect(one.link.counters.refused).toBe(1);
    await close();
  });

  it('says what is wrong with a path', async () => {
    const file = freshPath();
    await writeFile(file, 'precious');
    await expect(started({ path: file })).rejects.toThrow(/is there already, and no socket/);
    await expect(started({ path: file, connect: true })).rejects.toMatchObject({ code: 'ERR_ROCE_LINK_UNAVAILABLE' });
    const path = freshPath();
    const server = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    await expect(started({ path, connect: true })).rejects.toThrow(/no other end of a shm link/);
    server.close();
  });

  it.each([
    ['can be made shorter', SHARED_BYTES, false],
    ['is too short', SHARED_BYTES - 4096, true],
  ])('maps no memory that %s, which would end this process', async (_name, bytes, sealed) => {
    const libc = await loadLibc();
    const path = freshPath();
    const memory = sealed ? createSealed(libc, 'short', bytes) : libc.memfdCreate('unsealed', 0);
    if (!sealed) ftruncateSync(memory, bytes);
    const hello = new TextEncoder().encode('rocev2-shm 1\n');
    let theirs = -1;
    const listener = Listener.open(
      libc,
      path,
      (fd) => {
        theirs = fd;
        expect(sendWithDescriptor(libc, fd, hello, memory)).toBe(true);
      },
      () => {},
    );
    await expect(started({ path, connect: true })).rejects.toThrow(/no other end of a shm link/);
    listener.close();
    for (const fd of [theirs, memory]) libc.close(fd);
  });

  it.each([
    ['a cursor far ahead', ({ words }: { words: Int32Array }) => Atomics.store(words, 0, 0x40_00_01)],
    ['a cursor behind', ({ words }: { words: Int32Array }) => Atomics.store(words, 0, -64)],
    [
      'a length of nothing',
      ({ words }: { words: Int32Array }) => {
        words[1024] = 0;
        Atomics.store(words, 0, 128);
      },
    ],
    [
      'a length beyond what was written',
      ({ words }: { words: Int32Array }) => {
        words[1024] = 1000;
        Atomics.store(words, 0, 128);
      },
    ],
    [
      'an absurd length',
      ({ words }: { words: Int32Array }) => {
        words[1024] = 0x7f_ff_ff_ff;
        Atomics.store(words, 0, 0x40_00_00);
      },
    ],
    [
      'nothing but an empty end',
      ({ words }: { words: Int32Array }) => {
        words[1024] = -1;
        Atomics.store(words, 0, 128);
      },
    ],
  ])('ends with an error at %s, not before the frames that were whole', async (_name, spoil) => {
    const peer = await byHand();
    spoil(peer);
    peer.ring();
    await until(() => peer.sink.closedCalls === 1);
    expect(peer.sink.error?.message).toMatch(/no ring of frames/);
    expect(peer.sink.frames).toEqual([]);
    peer.leave();
    await peer.close();
  });

  it('delivers what a peer wrote before it died', async () => {
    const peer = await byHand();
    peer.producer.put(batchOf(frame(2, 1, 3)), 0);
    peer.producer.publish();
    peer.leave();
    await until(() => !peer.link.connected);
    expect(peer.sink.tags).toEqual([3]);
    await peer.close();
  });
});
