/**
 * Goal: a stream of bytes arrives as it was sent, whatever the sizes and the wire.
 * Method: pairs of sockets on two devices of the simulated world, with small buffers and queues so that they wrap and
 * stall.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RSocketOptions } from '../../../src/ulp/rsockets/index.ts';
import { closeBoth, connectSockets, pattern, receiveAll } from './support.ts';

const TINY: RSocketOptions = { sendBuffer: 2048, receiveBuffer: 512, sendQueue: 16, receiveQueue: 16, inline: 0 };
const AS_SENDS: RSocketOptions = { ...TINY, inline: 4, messageSend: true };

describe('a stream', () => {
  it.each<[string, number, RSocketOptions, RSocketOptions]>([
    ['one byte', 1, {}, {}],
    ['more than the buffers', 400_000, {}, {}],
    ['between tiny sockets', 20_000, TINY, TINY],
    ['from a large socket to a tiny one', 20_000, {}, TINY],
    ['from a tiny socket to a large one', 20_000, TINY, {}],
    ['with everything inline', 5000, { inline: 512 }, { inline: 512 }],
    ['with messages as SENDs', 20_000, AS_SENDS, AS_SENDS],
  ])('carries %s both ways at the same time', async (_, length, clientOptions, serverOptions) => {
    const pair = await connectSockets({ clientOptions, serverOptions });
    const { world, client, server } = pair;
    const [there, back] = [pattern(length), pattern(length, 99)];
    const [, , atServer, atClient] = await world.run(
      Promise.all([client.send(there), server.send(back), receiveAll(server, length), receiveAll(client, length)]),
    );
    expect(Buffer.compare(atServer, there)).toBe(0);
    expect(Buffer.compare(atClient, back)).toBe(0);
    await closeBoth(world, pair);
    expect([client.error?.code, server.error?.code]).toEqual(['ERR_ROCE_CLOSED', 'ERR_ROCE_CLOSED']);
  });

  it.each([1, 2, 3, 4])('loses no byte on a wire with faults (seed %i)', async (seed) => {
    const faults = { loss: 0.02, duplicate: 0.02, reorder: 0.02, corrupt: 0.02 };
    const pair = await connectSockets({ seed, faults, clientOptions: { receiveBuffer: 8192 } });
    const { world, client, server } = pair;
    const there = pattern(60_000, seed);
    const echo = async (): Promise<void> => server.send(await receiveAll(server, there.length, 1000));
    const [, , back] = await world.run(Promise.all([client.send(there), echo(), receiveAll(client, there.length)]));
    expect(Buffer.compare(back, there)).toBe(0);
    await closeBoth(world, pair);
  });

  it('is the same bytes for any sequence of sends and any way of receiving', async () => {
    const size = fc.integer({ min: 0, max: 500 });
    const options = fc.record({
      sendBuffer: fc.constantFrom(2048, 3000),
      receiveBuffer: fc.constantFrom(2, 100, 512),
      receiveQueue: fc.constantFrom(16, 17, 50),
      sendQueue: fc.constantFrom(16, 40),
      inline: fc.constantFrom(4, 16, 100),
    });
    const sizes = fc.array(size, { minLength: 1, maxLength: 12 });
    const chunks = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(sizes, chunks, options, options, fc.boolean(), fc.nat(1000), async (...drawn) => {
        const [lengths, reads, clientOptions, serverOptions, messageSend, seed] = drawn;
        const { world, client, server } = await connectSockets({
          seed,
          clientOptions: { ...clientOptions, messageSend },
          serverOptions: { ...serverOptions, messageSend },
        });
        const sent = lengths.map((length, i) => pattern(length, i));
        const send = async (): Promise<void> => {
          // Half of them at once, so that they wait for each other in line.
          await Promise.all(sent.slice(0, sent.length >> 1).map((bytes) => client.send(bytes)));
          for (const bytes of sent.slice(sent.length >> 1)) await client.send(bytes);
          await client.shutdown('write');
        };
        const received: Uint8Array[] = [];
        const receive = async (): Promise<void> => {
          for (let i = 0; ; i++) {
            const into = new Uint8Array(reads[i % reads.length] ?? 1);
            const length = await server.recv(into);
            if (length === 0) return;
            received.push(into.slice(0, length));
          }
        };
        await world.run(Promise.all([send(), receive()]));
        expect(Buffer.compare(Buffer.concat(received), Buffer.concat(sent))).toBe(0);
      }),
      { numRuns: 20 },
    );
  });
});

describe('a send', () => {
  it('waits while the peer has no room, and no longer', async () => {
    const { world, client, server } = await connectSockets({ clientOptions: TINY, serverOptions: TINY });
    let sent = false;
    const sending = client.send(pattern(4000)).then(() => {
      sent = true;
    });
    await world.run(world.sleep(1e9));
    expect([sent, server.available]).toEqual([false, 512]);
    await world.run(Promise.all([sending, receiveAll(server, 4000)]));
    expect(sent).toBe(true);
  });

  it('copies: the bytes may be changed as soon as it has resolved', async () => {
    const { world, client, server } = await connectSockets();
    const bytes = pattern(3000);
    await world.run(client.send(bytes));
    bytes.fill(0);
    expect(await world.run(receiveAll(server, 3000))).toEqual(pattern(3000));
  });
});

describe('sizes', () => {
  it.each<[RSocketOptions, string]>([
    [{ sendBuffer: 2047 }, 'sendBuffer'],
    [{ receiveBuffer: 3 }, 'even'],
    [{ sendQueue: 15 }, 'sendQueue'],
    [{ receiveQueue: 70_000 }, 'receiveQueue'],
    [{ inline: 100_000 }, 'inline'],
    [{ inline: 3, messageSend: true }, 'inline'],
    [{ iomaps: 40_000 }, 'iomaps'],
  ])('out of range are refused: %j', async (clientOptions, words) => {
    await expect(connectSockets({ clientOptions })).rejects.toThrow(words);
  });

  it('come out as asked, iomaps rounded as they travel', async () => {
    const { client, server } = await connectSockets({ clientOptions: { iomaps: 300 } });
    expect(client.settings).toMatchObject({ sendBuffer: 1 << 17, receiveBuffer: 1 << 17, inline: 64, iomaps: 256 });
    expect(server.settings).toMatchObject({ sendQueue: 384, receiveQueue: 384, iomaps: 0, messageSend: false });
  });
});
