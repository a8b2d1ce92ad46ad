/**
 * Goal: connections begin and end as those of sockets, in whatever order both sides end them; nothing is left behind.
 * Method: pairs in the simulated world; what promises say, and what the devices still hold.
 */
import { describe, expect, it } from 'vitest';
import { CmAttribute, CmRejReason } from '../../../packets/cm/index.ts';
import type { Frame } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { IpAddress, RoceError } from '../../../src/index.ts';
import { RListener, RSocket } from '../../../src/ulp/rsockets/index.ts';
import { makePair } from '../../device/support.ts';
import { closeBoth, connectSockets, PORT, pattern, receiveAll } from './support.ts';

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof RoceError ? error.code : error),
  );

describe('shutting down', () => {
  it('the sending side leaves the other way open, then ends it', async () => {
    const pair = await connectSockets();
    const { world, client, server } = pair;
    const serve = async (): Promise<void> => {
      const request = await receiveAll(server, 1000);
      expect(request).toEqual(pattern(500));
      await server.send(pattern(800, 1));
      await server.shutdown('write');
    };
    const ask = async (): Promise<Uint8Array> => {
      await client.send(pattern(500));
      await client.shutdown('write');
      return receiveAll(client, 1000);
    };
    const [, answer] = await world.run(Promise.all([serve(), ask()]));
    expect(answer).toEqual(pattern(800, 1));
    expect([client.ended, server.ended]).toEqual([true, true]);
    await closeBoth(world, pair);
  });

  it('the receiving side says nothing as long as the other is open', async () => {
    const { world, client, server } = await connectSockets();
    await world.run(client.shutdown('read'));
    expect(await client.recv(new Uint8Array(1))).toBe(0);
    await world.run(client.send(pattern(10)));
    expect(await world.run(receiveAll(server, 10))).toEqual(pattern(10));
    await world.run(client.shutdown('write'));
    expect(await world.run(server.recv(new Uint8Array(1)))).toBe(0);
    expect(server.ended).toBe(true);
  });

  it('waits until everything has arrived', async () => {
    const { world, client, server } = await connectSockets({ serverOptions: { receiveBuffer: 512 } });
    let down = false;
    void client.send(pattern(3000));
    const ending = client.shutdown('write').then(() => {
      down = true;
    });
    await world.run(world.sleep(1e9));
    expect(down).toBe(false);
    const [, bytes] = await world.run(Promise.all([ending, receiveAll(server, 5000)]));
    expect(bytes).toEqual(pattern(3000));
  });

  it('twice is once', async () => {
    const { world, client, server } = await connectSockets();
    await world.run(Promise.all([client.shutdown('write'), client.shutdown('write')]));
    expect(await world.run(server.recv(new Uint8Array(1)))).toBe(0);
    expect([server.ended, await world.run(codeOf(server.send(pattern(1))))]).toEqual([false, 'no error']);
  });
});

describe('closing', () => {
  it('by both at once frees everything', async () => {
    const pair = await connectSockets();
    await closeBoth(pair.world, pair);
    expect([pair.a.qpCount, pair.b.qpCount]).toEqual([0, 0]);
    await pair.client.close();
  });

  it('lets the peer read what had arrived, then tells the end', async () => {
    const { world, client, server } = await connectSockets();
    await world.run(client.send(pattern(100)));
    await world.run(client.close());
    expect(await world.run(receiveAll(server, 200))).toEqual(pattern(100));
    expect(await world.run(codeOf(server.send(pattern(1))))).toBe('ERR_ROCE_CLOSED');
    expect(server.error).toBeUndefined();
    await world.run(server.close());
  });

  it('ends a receive that waits', async () => {
    const { world, client } = await connectSockets();
    const waiting = client.recv(new Uint8Array(1));
    await world.run(client.close());
    expect(await waiting).toBe(0);
    expect(await codeOf(client.recv(new Uint8Array(1)))).toBe('ERR_ROCE_CLOSED');
    expect(await codeOf(client.send(pattern(1)))).toBe('ERR_ROCE_CLOSED');
  });

  it('by destroy rejects what waits, and the peer is not left waiting either', async () => {
    const { world, client, server } = await connectSockets({ serverOptions: { receiveBuffer: 512 } });
    const sending = codeOf(client.send(pattern(100_000)));
    const receiving = codeOf(client.recv(new Uint8Array(1)));
    const peer = codeOf(receiveAll(server, 100_000).then(() => server.recv(new Uint8Array(1))));
    await world.run(Promise.all([client.destroy(), sending, receiving]));
    expect([await sending, await receiving, await world.run(peer)]).toEqual(Array(3).fill('ERR_ROCE_CLOSED'));
    expect(server.error?.message).toContain('without a word');
    await world.run(server.close());
  });

  it('of the device ends its sockets', async () => {
    const { client, a } = await connectSockets();
    const waiting = codeOf(client.recv(new Uint8Array(1)));
    a.close();
    expect(await waiting).toBe('ERR_ROCE_CLOSED');
  });
});

describe('a peer that is gone', () => {
  it('fails the connection when retries are used up', async () => {
    const { world, client, b } = await connectSockets();
    b.close();
    const waiting = codeOf(client.recv(new Uint8Array(1)));
    await world.run(client.send(pattern(10)));
    expect(await world.run(waiting)).toBe('ERR_ROCE_CLOSED');
    expect(client.error?.message).toContain('transport retry counter exceeded');
  });

  it('is asked for a sign of life by keepalive, which nobody notices as long as it lives', async () => {
    const { world, client, server, b } = await connectSockets();
    client.keepalive();
    await world.run(client.send(pattern(10)));
    expect(await world.run(receiveAll(server, 10))).toEqual(pattern(10));
    b.close();
    client.keepalive();
    expect(await world.run(codeOf(client.recv(new Uint8Array(1))))).toBe('ERR_ROCE_CLOSED');
    client.keepalive();
  });
});

describe('listening', () => {
  it('takes one after the other until it is closed', async () => {
    const { world, a, b } = makePair();
    const listener = RListener.listen(b, { port: PORT });
    const sockets: RSocket[] = [];
    const serving = (async () => {
      for await (const socket of listener) sockets.push(socket);
    })();
    for (let i = 1; i <= 3; i++) {
      await world.run(RSocket.connect(a, { address: '10.0.0.2', port: PORT }));
      await world.run(world.sleep(1e6));
      expect(sockets).toHaveLength(i);
    }
    expect(sockets[0]?.remoteAddress.toString()).toBe('10.0.0.1');
    await listener.close();
    await world.run(serving);
    expect(await world.run(codeOf(RSocket.connect(a, { address: '10.0.0.2', port: PORT })))).toBe('ERR_ROCE_REJECTED');
  });

  it('goes on when a client disconnects before it was ready', async () => {
    const { world, a, b } = makePair();
    const listener = RListener.listen(b, { port: PORT });
    const taken: RSocket[] = [];
    const serving = (async () => {
      for await (const socket of listener) taken.push(socket);
    })();
    // Neither RTU nor data.
    const match = (frame: Frame): boolean =>
      frame.destQpn > GSI_QPN ||
      (frame.destQpn === GSI_QPN && frame.view.getUint16(frame.payloadOffset + 16) === CmAttribute.RTU);
    const silence = world.network.addRule({ match, action: 'drop' });
    const hasty = await world.run(RSocket.connect(a, { address: '10.0.0.2', port: PORT }));
    await world.run(hasty.destroy());
    world.network.removeRule(silence);
    expect([taken.length, b.qpCount]).toEqual([0, 0]);
    await world.run(RSocket.connect(a, { address: '10.0.0.2', port: PORT }));
    await world.run(world.sleep(1e6));
    expect(taken).toHaveLength(1);
    await listener.close();
    await world.run(serving);
  });

  it('refuses a client for whom nothing is left', async () => {
    const { world, a, b } = makePair();
    const listener = RListener.listen(b, { port: PORT });
    const accepting = codeOf(listener.accept());
    b.allocPd = () => {
      throw new RoceError('ERR_ROCE_LIMIT', 'no protection domain is left');
    };
    const refused = RSocket.connect(a, { address: '10.0.0.2', port: PORT }).catch((error: unknown) => error);
    expect(await world.run(refused)).toMatchObject({ reason: CmRejReason.NoResources });
    expect(await accepting).toBe('ERR_ROCE_LIMIT');
  });

  it('refuses who waits when it is closed', async () => {
    const { world, a, b } = makePair();
    const listener = RListener.listen(b, { port: PORT });
    const connecting = codeOf(RSocket.connect(a, { address: '10.0.0.2', port: PORT }));
    await world.run(world.sleep(1e7));
    await listener.close();
    expect(await world.run(connecting)).toBe('ERR_ROCE_REJECTED');
    expect(await codeOf(listener.accept())).toBe('ERR_ROCE_CLOSED');
    expect([a.qpCount, b.qpCount]).toEqual([0, 0]);
  });

  it('on one address refuses those who ask for another', async () => {
    const { world, a, b } = makePair();
    const address = IpAddress.parse('fd00::2');
    const listener = RListener.listen(b, { port: PORT, address });
    const accepting = listener.accept();
    expect(await world.run(codeOf(RSocket.connect(a, { address: '10.0.0.2', port: PORT })))).toBe('ERR_ROCE_REJECTED');
    await world.run(Promise.all([RSocket.connect(a, { address: 'fd00::2', port: PORT }), accepting]));
    expect(() => RListener.listen(b, { port: 1, address: IpAddress.parse('10.0.0.9') })).toThrow('not an address');
  });
});
