/**
 * Goal: whatever a client sends, or does not send, ends its own connection at most; sockets' names and processes are
 * what the kernel says. Method: bytes on the socket by hand, beside an honest client that must notice nothing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadLibc } from '../../../src/node/links/libc.ts';
import { ClientMemory } from '../../../src/node/uverbs/process-memory.ts';
import { RingFile } from '../../../src/node/uverbs/ring-file.ts';
import { type ServedUverbs, serveUverbs } from '../../../src/node/uverbs/serve.ts';
import {
  ARMED,
  FileKind,
  FrameReader,
  FrameType,
  MAX_BODY,
  PAGE_BYTES,
  RECORD_BYTES,
  TOKEN_BYTES,
  WIRE_VERSION,
} from '../../../src/node/uverbs/wire.ts';
import { Armed } from '../../../src/uverbs/host.ts';
import { describeWith } from '../../support/need.ts';
import { SHIM } from './clients.ts';
import { FakeServer } from './fake-server.ts';
import { frame, header, Peer, words } from './peer.ts';

describe('the wire', () => {
  it('is what the shim has', () => {
    const text = readFileSync(join(SHIM, 'wire.h'), 'utf8');
    const defined = Object.fromEntries(
      [...text.matchAll(/^#define (\w+) (\d+)u$/gm)].map(([, name, value]) => [name, Number(value)]),
    );
    expect(defined).toEqual({ WIRE_VERSION, MAX_BODY, TOKEN_BYTES, RECORD_BYTES, PAGE_BYTES, ARMED });
    const [, frames = '', files = '', arms = ''] =
      /enum \{([^}]*)\};\s*enum \{([^}]*)\};\s*enum \{([^}]*)\};/.exec(text) ?? [];
    const camel = (name: string): string =>
      name.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter) => letter.toUpperCase());
    const names = [...frames.matchAll(/FRAME_(\w+)/g)].map(([, name = '']) => camel(name));
    expect(Object.fromEntries(names.map((name, at) => [name, at + 1]))).toEqual(FrameType);
    expect(files.match(/\d/g)?.map(Number)).toEqual([FileKind.Uverbs, FileKind.RdmaCm]);
    expect(arms.match(/\d/g)?.map(Number)).toEqual([Armed.Solicited, Armed.Any, Armed.Queue]);
  });

  it('gives the same frames however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 5 }),
        fc.array(fc.nat(5000)),
        (bodies, cuts) => {
          const stream = Buffer.concat(bodies.map((body, id) => frame(FrameType.Command, body, id)));
          const reader = new FrameReader();
          const seen: Buffer[] = [];
          for (let at = 0; at < stream.length; ) {
            const most = reader.room.length - reader.used;
            const count = Math.min(Math.max(cuts.pop() ?? most, 1), most, stream.length - at);
            stream.copy(reader.room, reader.used, at, at + count);
            at += count;
            const good = reader.push(count, ({ view, start, length }) => {
              seen.push(Buffer.from(new Uint8Array(view.buffer, start, length)));
              return true;
            });
            expect(good).toBe(true);
          }
          expect(seen).toEqual(bodies.map((body) => Buffer.from(body)));
        },
      ),
    );
  });
});

describeWith('koffi', 'a server of verbs', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-serve-'));
  let served: ServedUverbs;
  let honest: Peer;

  beforeAll(async () => {
    served = await serveUverbs({ server: new FakeServer(), path: join(directory, 'socket') });
    honest = await Peer.connect(served.path);
    await honest.open();
  });
  afterAll(() => {
    served.close();
    rmSync(directory, { recursive: true });
  });

  const NONSENSE: readonly (readonly [string, (peer: Peer) => void])[] = [
    ['text', (peer) => peer.send(Buffer.from('GET / HTTP/1.0\r\n\r\n'))],
    ['a frame that is too long', (peer) => peer.send(header(MAX_BODY + 1, FrameType.Open))],
    ['a frame of another version', (peer) => peer.send(frame(FrameType.Open, words(1)).fill(9, 6, 8))],
    ['a command before any file', (peer) => peer.send(frame(FrameType.Command, words(2, 0, 0, 0)))],
    ['a kind of file that there is not', (peer) => peer.send(frame(FrameType.Open, words(3)))],
    ['an answer', (peer) => peer.send(frame(FrameType.Answer, words(1)))],
    ['a token that it has made up', (peer) => peer.send(frame(FrameType.Join, new Uint8Array(TOKEN_BYTES)))],
    ['half a token', (peer) => peer.send(frame(FrameType.Join, new Uint8Array(8)))],
    ['a channel of a made-up file', (peer) => peer.send(frame(FrameType.Channel, new Uint8Array(TOKEN_BYTES + 4)))],
    [
      'a channel that the file does not have',
      (peer) => peer.send(frame(FrameType.Channel, Buffer.concat([honest.token, words(99)]))),
    ],
    ['a file, twice', (peer) => peer.send(Buffer.concat([frame(1, words(1)), frame(1, words(1))]))],
    ['a command without a header', (peer) => peer.send(Buffer.concat([frame(1, words(1)), frame(4, words(1))]))],
    ['a doorbell of the wrong size', (peer) => peer.send(Buffer.concat([frame(1, words(1)), frame(5, words(1, 2))]))],
    ['half a frame, and then its end', (peer) => peer.end(header(100, FrameType.Open))],
    ['nothing, and then its end', (peer) => peer.end(Buffer.alloc(0))],
  ];

  it.each(NONSENSE)('cuts off who sends %s', async (_, send) => {
    const peer = await Peer.connect(served.path);
    send(peer);
    await peer.closed;
    expect(await honest.command(2)).toEqual([0]);
    await expect.poll(() => served.sizes).toMatchObject({ connections: 1, files: 1 });
  });

  it('survives any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (bytes, afterOpen) => {
        const peer = await Peer.connect(served.path);
        if (afterOpen) await peer.open();
        peer.end(bytes);
        await peer.closed;
        expect(await honest.command(2)).toEqual([0]);
      }),
    );
  });

  it('lets a child join with its token, and closes the file with the last of them', async () => {
    const parent = await Peer.connect(served.path);
    await parent.open();
    const child = await Peer.connect(served.path);
    expect(await child.ask(FrameType.Join, parent.token)).toHaveLength(0);
    parent.end(Buffer.alloc(0));
    await parent.closed;
    expect(await child.command(2)).toEqual([0]);
    child.end(Buffer.alloc(0));
    await child.closed;
    await expect.poll(() => served.sizes).toMatchObject({ connections: 1, files: 1 });
  });

  it('opens a channel once', async () => {
    const [channel = 0] = await honest.command(17);
    const [first, second] = [await Peer.connect(served.path), await Peer.connect(served.path)];
    const body = Buffer.concat([honest.token, words(channel)]);
    expect(await first.ask(FrameType.Channel, body)).toHaveLength(0);
    second.send(frame(FrameType.Channel, body));
    await second.closed;
    // A channel is not written to.
    first.send(frame(FrameType.Doorbell, words(1)));
    await first.closed;
  });

  it('cuts off who asks and does not read', async () => {
    const peer = await Peer.connect(served.path);
    await peer.open();
    peer.pause();
    const much = frame(FrameType.Command, words(16, 0, 0, 0, 60_000));
    for (let count = 0; count < 100; count++) peer.send(much);
    await expect.poll(() => served.sizes).toMatchObject({ connections: 1, files: 1 });
  });

  it('is there for its user alone, with the files that clients read', () => {
    expect(statSync(served.path).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${served.path}.sys/class/infiniband_verbs/uverbs0/ibdev`, 'utf8')).toBe('rxe0\n');
    expect(statSync(`${served.path}.sys`).mode & 0o077).toBe(0);
  });

  it('refuses a name that is in use, and leaves what is there alone', async () => {
    const server = new FakeServer();
    await expect(serveUverbs({ server, path: served.path })).rejects.toThrow(/is in use by another server/);
    expect(await honest.command(2)).toEqual([0]);
    const file = join(directory, 'file');
    writeFileSync(file, 'mine');
    await expect(serveUverbs({ server, path: file })).rejects.toThrow(/is there already, and no socket/);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const foreign = createServer().listen(join(directory, 'foreign'));
    await new Promise((resolve) => foreign.once('listening', resolve));
    await expect(serveUverbs({ server, path: join(directory, 'foreign') })).rejects.toThrow(
      /in use by another program/,
    );
    foreign.close();
    await expect(serveUverbs({ server, path: join(directory, 'x'.repeat(120)) })).rejects.toThrow(/is longer than/);
    await expect(serveUverbs({ server, path: join(directory, 'no', 'where') })).rejects.toThrow(/ENOENT/);
  });

  it('takes over the name of a server that was killed', async () => {
    const path = join(directory, 'stale');
    const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', program]);
    expect(existsSync(path)).toBe(true);
    const again = await serveUverbs({ server: new FakeServer(), path });
    again.close();
    expect(existsSync(path)).toBe(false);
  });
});

describeWith('koffi', 'the memory of a client', () => {
  it('is read and written where it is, and nowhere else', async () => {
    const libc = await loadLibc();
    const memory = new ClientMemory(libc, process.pid);
    const theirs = Uint8Array.from({ length: 100 }, (_, at) => at);
    const address = libc.address(theirs);
    const ours = new Uint8Array(50);
    expect(memory.read(address + 10, ours, 20, 30)).toBe(true);
    expect([...ours.subarray(18, 23), ours[49]]).toEqual([0, 0, 10, 11, 12, 39]);
    expect(memory.write(address, ours, 20, 2)).toBe(true);
    expect([...theirs.subarray(0, 3)]).toEqual([10, 11, 2]);
    // A view of a larger buffer; nothing at all; what is not there; what a caller does not have.
    expect(memory.read(address, new Uint8Array(new ArrayBuffer(64), 8, 8), 4, 4)).toBe(true);
    expect(memory.read(0, ours, 0, 0)).toBe(true);
    for (const bad of [0, 4096, 2 ** 47 - 1, 2 ** 47, 2 ** 60, -1, Number.NaN]) {
      expect(memory.read(bad, ours, 0, 8)).toBe(false);
      expect(memory.write(bad, ours, 0, 8)).toBe(false);
    }
    expect(memory.read(address, ours, 45, 6)).toBe(false);
    expect(memory.read(address, ours, -1, 6)).toBe(false);
    memory.close();
    memory.close();
    expect(memory.read(address, ours, 0, 8)).toBe(false);
  });
});

describeWith('koffi', 'the memory of a client, a message at a time', () => {
  const PACKET = 100;
  const setUp = async () => {
    const libc = await loadLibc();
    const theirs = Uint8Array.from({ length: 3 * PACKET }, () => 1);
    const address = libc.address(theirs);
    const memory = new ClientMemory(libc, process.pid);
    /** The first byte of packet `n` of the message, as it is read in its turn. */
    const packet = (n: number): number => {
      const into = new Uint8Array(PACKET);
      expect(memory.read(address + n * PACKET, into, 0, PACKET, (3 - n) * PACKET)).toBe(true);
      expect(new Set(into).size).toBe(1);
      return into[0] as number;
    };
    return { theirs, address, memory, packet };
  };

  it('is fetched with the second packet, as it is then', async () => {
    const { theirs, packet } = await setUp();
    expect([packet(0), theirs.fill(2)[0], packet(1), theirs.fill(3)[0], packet(2)]).toEqual([1, 2, 2, 3, 2]);
  });

  it('is fetched again in another turn', async () => {
    const { theirs, packet } = await setUp();
    packet(0);
    packet(1);
    theirs.fill(2);
    await Promise.resolve();
    expect(packet(2)).toBe(2);
  });

  it('is fetched again after a write, for another message, and for one that begins anew', async () => {
    const { theirs, address, memory, packet } = await setUp();
    packet(0);
    packet(1);
    memory.write(address + 2 * PACKET, new Uint8Array(PACKET).fill(4), 0, PACKET);
    expect(packet(2)).toBe(4);
    packet(0);
    packet(1);
    theirs.fill(5);
    expect([packet(0), packet(2)]).toEqual([5, 5]);
    packet(0);
    packet(1);
    theirs.fill(6);
    expect([packet(0), packet(1), packet(2)]).toEqual([6, 6, 6]);
  });

  it('is another one of each client', async () => {
    const [one, other] = [await setUp(), await setUp()];
    other.theirs.fill(9);
    expect([one.packet(0), other.packet(0), one.packet(1), other.packet(1), one.packet(2), other.packet(2)]).toEqual([
      1, 9, 1, 9, 1, 9,
    ]);
  });

  it('is read as far as it is there, and not after the end of its process', async () => {
    const { address, memory, packet } = await setUp();
    const into = new Uint8Array(PACKET);
    const FAR = 2 ** 40;
    expect(memory.read(address, into, 0, PACKET, FAR)).toBe(true);
    expect(memory.read(address + PACKET, into, 0, PACKET, FAR)).toBe(true);
    packet(0);
    packet(1);
    memory.close();
    expect(memory.read(address + 2 * PACKET, into, 0, PACKET, PACKET)).toBe(false);
  });
});

describeWith('koffi', 'the file of a client', () => {
  it('has room for rings, up to a limit, and gives their memory back', async () => {
    const file = RingFile.create(await loadLibc());
    const first = file.allocate(1);
    expect(first).toMatchObject({ offset: PAGE_BYTES });
    expect(first?.bytes).toEqual(new Uint8Array(PAGE_BYTES));
    const large = file.allocate(2 ** 29);
    expect(file.allocate(2 ** 29)).toBeUndefined();
    expect(file.allocate(0)).toBeUndefined();
    expect(file.allocate(Number.NaN)).toBeUndefined();
    if (large === undefined) throw new Error('there was room');
    large.bytes[5] = 1;
    file.free(large);
    // What is kept by mistake reads zeros.
    expect(large.bytes[5]).toBe(0);
    expect(file.allocate(2 ** 29)?.offset).toBe(2 * PAGE_BYTES + 2 ** 29);
    file.completed();
    expect(file.armed).toHaveLength(ARMED);
    // Behind the words of those who poll, in the first page.
    expect(file.armed.byteOffset).toBe(32 * 4);
    expect(file.armed.byteOffset + file.armed.byteLength).toBe(PAGE_BYTES);
    file.close();
  });
});
