/**
 * Goal: bytes go straight into memory that the peer has mapped, where it said and nowhere else.
 * Method: pairs in the simulated world; the memory is looked at after something was sent behind the writes.
 */
import { describe, expect, it } from 'vitest';
import type { RSocketOptions } from '../../../src/ulp/rsockets/index.ts';
import { connectSockets, pattern, receiveAll, type SocketPair } from './support.ts';

/** The server maps; the client writes. */
async function mapped(clientOptions: RSocketOptions): Promise<SocketPair> {
  return connectSockets({ clientOptions, serverOptions: clientOptions });
}

/** Lets the client know of what the server has mapped. */
async function tell({ world, client, server }: SocketPair): Promise<void> {
  await world.run(Promise.all([server.send(pattern(1)), receiveAll(client, 1)]));
}

describe.each<[string, RSocketOptions]>([
  ['with small work requests', { iomaps: 2, inline: 0 }],
  ['with entries inline', { iomaps: 2, inline: 64 }],
  ['with messages as SENDs', { iomaps: 2, inline: 4, messageSend: true }],
])('a mapped buffer %s', (_, options) => {
  it('takes what is written at its offset', async () => {
    const pair = await mapped(options);
    const { world, client, server } = pair;
    const { region, offset } = server.iomap(5000, 1000n);
    expect(offset).toBe(1000n);
    await tell(pair);
    expect(await world.run(client.iowrite(pattern(4000), 1500n))).toBe(4000);
    await world.run(Promise.all([client.send(pattern(1)), receiveAll(server, 1)]));
    expect(region.bytes.subarray(500, 4500)).toEqual(pattern(4000));
    expect(region.bytes[499]).toBe(0);
    expect(region.bytes[4500]).toBe(0);
  });
});

describe('mapping', () => {
  it('offers the address of the first byte where no offset is named', async () => {
    const pair = await mapped({ iomaps: 1 });
    const memory = new Uint8Array(100);
    const { offset, region } = pair.server.iomap(memory);
    expect(offset).toBe(region.iova);
    await tell(pair);
    await pair.world.run(pair.client.iowrite(pattern(10), offset + 5n));
    await pair.world.run(Promise.all([pair.client.send(pattern(1)), receiveAll(pair.server, 1)]));
    expect(memory.subarray(5, 15)).toEqual(pattern(10));
  });

  it('is limited by the list that the peer has, and frees its places', async () => {
    const pair = await connectSockets({ clientOptions: { iomaps: 2 } });
    const { world, client, server } = pair;
    const first = server.iomap(10, 0n);
    server.iomap(10, 100n);
    expect(() => server.iomap(10, 200n)).toThrow('has no free entry of 2');
    expect(() => client.iomap(10)).toThrow('has no free entry of 0');
    server.iounmap(first);
    expect(() => server.iounmap(first)).toThrow('not mapped');
    server.iomap(10, 300n);
    await tell(pair);
    expect(await world.run(client.iowrite(pattern(4), 300n))).toBe(4);
    expect(await world.run(client.iowrite(pattern(4), 0n))).toBe(0);
  });

  it('tells where writes end: at the end of what is mapped', async () => {
    const pair = await mapped({ iomaps: 2 });
    pair.server.iomap(10, 0n);
    pair.server.iomap(10, 10n);
    await tell(pair);
    expect(await pair.world.run(pair.client.iowrite(pattern(30), 5n))).toBe(15);
    expect(await pair.world.run(pair.client.iowrite(pattern(30), 20n))).toBe(0);
  });

  it('costs no credit in the long run', async () => {
    const pair = await mapped({ iomaps: 1, receiveQueue: 16 });
    for (let i = 0; i < 100; i++) {
      const mapping = pair.server.iomap(10, BigInt(i));
      await tell(pair);
      pair.server.iounmap(mapping);
    }
    expect(pair.server.error).toBeUndefined();
  });
});
