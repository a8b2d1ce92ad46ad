/**
 * Goal: a stream of bytes arrives as it was sent, whatever the sizes and the wire, and ends as sockets end.
 * Method: pairs of sockets on two devices of the simulated world, with small buffers and queues so that they wrap and stall.
 */
import { describe, expect, it } from 'vitest';
import type { RSocketOptions } from '../../src/rsockets/index.ts';
import { closeBoth, connectSockets, pattern, receiveAll } from './support.ts';

const TINY: RSocketOptions = { sendBuffer: 2048, receiveBuffer: 512, sendQueue: 16, receiveQueue: 16, inline: 0 };

describe('a stream', () => {
  it.each<[string, number, RSocketOptions, RSocketOptions]>([
    ['one byte', 1, {}, {}],
    ['more than the buffers', 400_000, {}, {}],
    ['between tiny sockets', 20_000, TINY, TINY],
    ['from a large socket to a tiny one', 20_000, {}, TINY],
    ['from a tiny socket to a large one', 20_000, TINY, {}],
    ['with everything inline', 5000, { inline: 512 }, { inline: 512 }],
    [
      'with messages as SENDs',
      50_000,
      { ...TINY, inline: 4, messageSend: true },
      { ...TINY, inline: 4, messageSend: true },
    ],
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
  });
});
