/**
 * Goal: packets of one message are placed by one call, and nobody can tell but by the time that it takes: not who reads
 * what has come, not who waits for the message, not another message. Method: this process as the client, its calls
 * counted, and a page of it that goes away.
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
