/**
 * Goal: packets of one message are placed by one call and fetched by one, and nobody can tell but by the time that it
 * takes: not who reads what has come, not who waits for the message, not another message. Method: this process as the
 * client, its calls counted, and a page of it that goes away.
 */
import { beforeAll, expect, it } from 'vitest';
import { type Libc, loadLibc } from '../../../src/node/links/libc.ts';
import { ClientMemory } from '../../../src/node/uverbs/process-memory.ts';
import { describeWith } from '../../support/need.ts';

const PACKET = 1024;
const PAGE = 4096;
const [READ_AND_WRITE, PRIVATE_AND_ANONYMOUS] = [3, 0x22];
/** Bytes that wait at most. */
const MOST = 0x1_00_00;

describeWith('koffi', 'packets of one message', () => {
  let libc: Libc;
  let calls = 0;

  beforeAll(async () => {
    const real = await loadLibc();
    libc = new Proxy(real, {
      get: (of, name) => {
        if (name === 'processVmWritev') calls += 1;
        return Reflect.get(of, name, of);
      },
    });
  });

  const setUp = (length = 8 * PACKET) => {
    const theirs = new Uint8Array(length);
    const address = libc.address(theirs);
    const memory = new ClientMemory(libc, process.pid);
    /** Packet `n` of a message at byte `at`, full of `n + 1`. */
    const place = (writer: object, n: number, more: boolean, at = 0): boolean =>
      memory.write(address + at + n * PACKET, new Uint8Array(PACKET).fill(n + 1), 0, PACKET, more, writer);
    const firstBytes = (count: number, at = 0): number[] =>
      Array.from({ length: count }, (_, n) => theirs[at + n * PACKET] as number);
    calls = 0;
    return { theirs, address, memory, place, firstBytes };
  };

  it('are placed by one call, with the last', () => {
    const { place, firstBytes } = setUp();
    const message = {};
    expect([place(message, 0, true), place(message, 1, true)]).toEqual([true, true]);
    expect([calls, ...firstBytes(3)]).toEqual([0, 0, 0, 0]);
    expect(place(message, 2, false)).toBe(true);
    expect([calls, ...firstBytes(4)]).toEqual([1, 1, 2, 3, 0]);
  });

  it('are placed at the end of the turn where the message does not go on, and go on in another', async () => {
    const { place, firstBytes } = setUp();
    const message = {};
    place(message, 0, true);
    await Promise.resolve();
    expect([calls, ...firstBytes(2)]).toEqual([1, 1, 0]);
    place(message, 1, true);
    await Promise.resolve();
    expect([calls, place(message, 2, false), ...firstBytes(3)]).toEqual([2, true, 1, 2, 3]);
  });

  it('are there for who reads them', () => {
    const { address, memory, place } = setUp();
    place({}, 0, true);
    const into = new Uint8Array(8);
    expect([memory.read(address + PACKET - 4, into, 0, 8), [...into]]).toEqual([true, [1, 1, 1, 1, 0, 0, 0, 0]]);
  });

  it('of two messages, and of two clients, take turns', () => {
    const [one, other] = [setUp(), setUp()];
    const [first, second] = [{}, {}];
    for (const n of [0, 1, 2, 3])
      expect([
        one.place(first, n, n < 3),
        one.place(second, n, n < 3, 4 * PACKET),
        other.place(first, n, n < 3),
      ]).toEqual([true, true, true]);
    expect([...one.firstBytes(8), ...other.firstBytes(5)]).toEqual([1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 0]);
  });

  it('of a message that begins behind another are its own', () => {
    const { place, firstBytes } = setUp();
    place({}, 0, true);
    place({}, 1, true);
    expect(firstBytes(2)).toEqual([1, 0]);
  });

  it('are as many as they are', () => {
    const packets = MOST / PACKET + 3;
    const { place, firstBytes } = setUp(packets * PACKET);
    const message = {};
    for (let n = 0; n < packets; n++) expect(place(message, n, n < packets - 1)).toBe(true);
    expect(calls).toBe(2);
    expect(firstBytes(packets)).toEqual(Array.from({ length: packets }, (_, n) => (n + 1) & 0xff));
  });

  it('of which a caller does not have the bytes are refused', () => {
    const { address, memory } = setUp();
    for (const [at, length] of [
      [-1, 4],
      [6, 4],
      [0, MOST + 1],
    ] as const)
      expect(memory.write(address, new Uint8Array(8), at, length, true, {})).toBe(false);
    expect(calls).toBe(0);
  });
});

describeWith('koffi', 'a message that is read', () => {
  /** A client whose memory is ours, the bytes that each call asked it for, and where they went. */
  const setUp = async () => {
    const theirs = new Uint8Array(MOST + 8 * PACKET);
    const real = await loadLibc();
    const fetched: number[] = [];
    const places: number[] = [];
    const libc: Libc = {
      ...real,
      processVmReadv: (pid, local, remote) => {
        const vector = new DataView(real.view(Number(local), 16));
        places.push(Number(vector.getBigUint64(0, true)));
        fetched.push(vector.getUint32(8, true));
        return real.processVmReadv(pid, local, remote);
      },
    };
    const address = libc.address(theirs);
    const memory = new ClientMemory(libc, process.pid);
    const into = new Uint8Array(PACKET);
    /** Packet `n` of a message of `packets`: its first byte. */
    const read = (n: number, packets: number): number | undefined =>
      memory.read(address + n * PACKET, into, 0, PACKET, (packets - n) * PACKET) ? into[0] : undefined;
    const readAll = (packets: number): (number | undefined)[] =>
      Array.from({ length: packets }, (_, n) => read(n, packets));
    for (let n = 0; n < theirs.length / PACKET; n++) theirs[n * PACKET] = n + 1;
    return { theirs, libc, address, memory, into, fetched, places, read, readAll };
  };

  it('is fetched by two calls when it is the first, and then by one', async () => {
    const { fetched, readAll } = await setUp();
    expect(readAll(4)).toEqual([1, 2, 3, 4]);
    expect(fetched.splice(0)).toEqual([PACKET, 3 * PACKET]);
    await Promise.resolve();
    for (const _ of [1, 2]) expect(readAll(4)).toEqual([1, 2, 3, 4]);
    expect(fetched).toEqual([4 * PACKET, 4 * PACKET]);
  });

  it('of two packets is fetched by two calls when it is the first, and then by one', async () => {
    const { fetched, readAll } = await setUp();
    for (const _ of [1, 2, 3]) expect(readAll(2)).toEqual([1, 2]);
    expect(fetched).toEqual([PACKET, PACKET, 2 * PACKET, 2 * PACKET]);
  });

  it('is not what it was in another turn, nor what it was for the message before', async () => {
    const { theirs, read, readAll } = await setUp();
    readAll(4);
    theirs[0] = 91;
    expect([read(0, 4), read(1, 4)]).toEqual([91, 2]);
    await Promise.resolve();
    theirs[2 * PACKET] = 93;
    expect(read(2, 4)).toBe(93);
  });

  it('is what was written into it meanwhile', async () => {
    const { address, memory, read, readAll } = await setUp();
    readAll(4);
    expect(read(0, 4)).toBe(1);
    memory.write(address + PACKET, Uint8Array.of(92), 0, 1);
    expect(read(1, 4)).toBe(92);
  });

  it('is gone with its process, what was fetched of it as well', async () => {
    const { memory, read, readAll } = await setUp();
    readAll(4);
    expect(read(0, 4)).toBe(1);
    memory.close();
    expect(read(1, 4)).toBeUndefined();
  });

  it('is fetched packet by packet where each has a turn of its own', async () => {
    const { fetched, read, readAll } = await setUp();
    readAll(4);
    await Promise.resolve();
    fetched.splice(0);
    for (const n of [0, 1, 2, 3]) {
      expect(read(n, 4)).toBe(n + 1);
      await Promise.resolve();
    }
    // Once too much: then it is known.
    expect(fetched).toEqual([4 * PACKET, PACKET, PACKET, PACKET]);
  });

  it('is fetched 64 KiB at a time', async () => {
    const packets = MOST / PACKET + 2;
    const { fetched, readAll } = await setUp();
    for (const _ of [1, 2]) expect(readAll(packets)).toEqual(Array.from({ length: packets }, (_, n) => (n + 1) & 0xff));
    expect(fetched).toEqual([PACKET, MOST, PACKET, MOST, 2 * PACKET]);
  });

  it('is fetched to where copies of it are no slow ones, and goes to where it belongs', async () => {
    const { libc, address, memory, places, readAll } = await setUp();
    readAll(2);
    for (const toAt of [0, 16, 1040, 4080]) {
      const slots = new Uint8Array(2 * PAGE + 2 * PACKET);
      const own = libc.address(slots);
      memory.read(address, slots, toAt, PACKET, 2 * PACKET);
      memory.read(address + PACKET, slots, toAt + PACKET, PACKET, PACKET);
      expect([slots[toAt], slots[toAt + PACKET]]).toEqual([1, 2]);
      const apart = ((((places.at(-1) ?? 0) - own - toAt) % PAGE) + PAGE) % PAGE;
      expect(apart).toBe(PAGE / 2);
    }
  });

  it('has no bytes beyond what the caller has room for', async () => {
    const { address, memory, readAll } = await setUp();
    readAll(4);
    const short = new Uint8Array(8);
    for (const [at, length] of [
      [-1, 4],
      [6, 4],
    ] as const)
      expect(memory.read(address, short, at, length, 4 * PACKET)).toBe(false);
    expect([...short]).toEqual(Array.from({ length: 8 }, () => 0));
  });

  it('is not what another client has of a message that ends before its memory does', async () => {
    const { libc, into, read, readAll } = await setUp();
    const gone = libc.mmap(null, 2 * PAGE, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0);
    libc.munmap(gone + PAGE, PAGE);
    const other = new ClientMemory(libc, process.pid);
    const readOther = (n: number): boolean => other.read(gone + n * PACKET, into, 0, PACKET, (8 - n) * PACKET);
    readAll(4);
    await Promise.resolve();
    // Their packets take turns in one turn of the device; the call for the rest of the other's fails half way.
    expect([read(0, 4), readOther(0), readOther(1), read(1, 4), read(2, 4)]).toEqual([1, true, true, 2, 3]);
  });

  it('ends before a page that is gone, also where it would be fetched at once', async () => {
    const { libc, memory, into, readAll } = await setUp();
    readAll(4);
    const gone = libc.mmap(null, 2 * PAGE, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0);
    libc.munmap(gone + PAGE, PAGE);
    const read = (n: number): boolean => memory.read(gone + n * PACKET, into, 0, PACKET, (8 - n) * PACKET);
    expect([0, 1, 2, 3, 4].map(read)).toEqual([true, true, true, true, false]);
  });
});

describeWith('koffi', 'packets of a message whose memory is gone', () => {
  const WORDS = new Uint8Array(PAGE);
  const setUp = async () => {
    const libc = await loadLibc();
    const address = libc.mmap(null, 3 * PAGE, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0);
    libc.munmap(address + PAGE, PAGE);
    return { address, memory: new ClientMemory(libc, process.pid) };
  };
  /** The pages of a message of three, of which the second is not there. */
  const place = ({ address, memory }: Awaited<ReturnType<typeof setUp>>, writer: object, page: number): boolean =>
    memory.write(address + page * PAGE, WORDS, 0, PAGE, page < 2, writer);

  it('fail with the last', async () => {
    const process = await setUp();
    const message = {};
    expect([0, 1, 2].map((page) => place(process, message, page))).toEqual([true, true, false]);
    // Once: it begins anew when its queue pair does.
    expect(place(process, message, 0)).toBe(true);
  });

  it('fail with the next where they were placed early', async () => {
    const process = await setUp();
    const message = {};
    expect([0, 1].map((page) => place(process, message, page))).toEqual([true, true]);
    await Promise.resolve();
    // It is nobody else's failure.
    expect(place(process, {}, 2)).toBe(true);
    expect([place(process, message, 2), place(process, message, 2)]).toEqual([false, true]);
  });

  it('fail each, where several messages lose some in turns', async () => {
    const process = await setUp();
    const messages = [{}, {}, {}];
    for (const message of messages) for (const page of [0, 1]) expect(place(process, message, page)).toBe(true);
    await Promise.resolve();
    expect(messages.map((message) => place(process, message, 2))).toEqual([false, false, false]);
  });

  it('are no failure of the next message of the same queue pair, wherever that begins', async () => {
    const process = await setUp();
    const slot = {};
    for (const page of [0, 1]) place(process, slot, page);
    await Promise.resolve();
    // The message was given up: another begins, and then one where the first would have gone on.
    expect([place(process, slot, 0), place(process, slot, 2)]).toEqual([true, true]);
  });

  it('fail where more of them come than may wait', async () => {
    const process = await setUp();
    const { address, memory } = process;
    const message = {};
    const large = new Uint8Array(MOST);
    expect(memory.write(address, large, 0, MOST, true, message)).toBe(true);
    expect(memory.write(address + MOST, large, 0, MOST, true, message)).toBe(false);
  });

  it('fail at the end of their process', async () => {
    const process = await setUp();
    const message = {};
    expect(place(process, message, 0)).toBe(true);
    process.memory.close();
    expect(place(process, message, 2)).toBe(false);
  });
});
