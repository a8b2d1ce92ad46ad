/**
 * Goal: the kernel's TCP does not notice that ours is on the other side, in both roles, and neither does a file's worth
 * of bytes. Method: a device on AF_PACKET on one end of a veth pair, with addresses of its own, and sockets of node:net
 * in the namespace of the other end. A veth pair also leaves checksums to an interface that never fills them in; it
 * would leave the cutting of segments to it as well, which is switched off: frames longer than the MTU are no frames to
 * a link.
 */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RdmaTcp, TcpSocket } from '../../../../src/device/host/tcp/index.ts';
import { IpAddress, type OpenDevice, openDevice } from '../../../../src/index.ts';
import type { NetnsPair } from '../../../../tools/netns.ts';
import { kernelTcp } from '../../../../tools/tcp.ts';
import { settledPair } from '../../../node/links/netns-link.ts';
import { describeWith } from '../../../support/need.ts';
import { within } from '../../../support/netns.ts';

const PORT = 18_515;
const BYTES = 200_000;

describeWith('netns', 'TCP to the kernel', () => {
  let pair: NetnsPair;
  let open: OpenDevice;
  let ours: RdmaTcp;

  beforeAll(async () => {
    pair = await settledPair();
    pair.b.exec('ip', 'link', 'set', 'dev', pair.b.device, 'gso_max_segs', '1');
    open = await within(pair.a, () =>
      openDevice({ link: `packet-ring:${pair.a.device}`, addresses: ['10.99.0.7/24', 'fd99::7/64'] }),
    );
    const { tcp } = open.device;
    if (tcp === undefined) throw new Error('a device on Ethernet has TCP');
    ours = tcp;
  });

  afterAll(async () => {
    await open?.close();
    pair?.remove();
  });

  it.each(['10.99.0.2', 'fd99::2'])('connects to a server at %s', async (address) => {
    const listener = await within(pair.b, async () => {
      const made = kernelTcp.listen(PORT, { address: IpAddress.parse(address) });
      // The kernel listens a moment later; whoever comes before is refused.
      await new Promise((resolve) => setImmediate(resolve));
      return made;
    });
    const [client, accepted] = await Promise.all([ours.connect(IpAddress.parse(address), PORT), listener.next()]);
    if (accepted.done === true) throw new Error('nobody came');
    await talk(client, accepted.value);
    listener.close();
  });

  it.each(['10.99.0.7', 'fd99::7'])('takes a client at %s', async (address) => {
    const listener = ours.listen(PORT, { address: IpAddress.parse(address) });
    const [client, accepted] = await Promise.all([
      within(pair.b, () => kernelTcp.connect(IpAddress.parse(address), PORT)),
      listener.next(),
    ]);
    if (accepted.done === true) throw new Error('nobody came');
    await talk(accepted.value, client);
    listener.close();
  });

  it('refuses and is refused where nobody listens', async () => {
    const theirs = within(pair.b, () => kernelTcp.connect(IpAddress.parse('10.99.0.7'), PORT + 1));
    await expect(theirs).rejects.toMatchObject({ code: 'ERR_ROCE_REJECTED' });
    await expect(ours.connect(IpAddress.parse('10.99.0.2'), PORT + 1)).rejects.toMatchObject({
      code: 'ERR_ROCE_REJECTED',
    });
  });

  it('takes a client whose address has a zone, as link-local ones have in the kernel', async () => {
    const listener = await within(pair.b, async () => {
      pair.b.exec('ip', '-6', 'address', 'add', 'fe80::99/64', 'dev', pair.b.device, 'nodad');
      const made = kernelTcp.listen(PORT);
      await new Promise((resolve) => setImmediate(resolve));
      return made;
    });
    const socket = await within(pair.b, async () => {
      const made = createConnection({ host: `fe80::99%${pair.b.device}`, port: PORT });
      await once(made, 'connect');
      return made;
    });
    const { value } = await listener.next();
    expect(value?.remoteAddress.toString()).toBe('fe80::99');
    socket.destroy();
    value?.abort();
    listener.close();
  });

  it('keeps no more clients than its backlog holds', async () => {
    const listener = await within(pair.b, async () => {
      const made = kernelTcp.listen(PORT, { backlog: 2 });
      await new Promise((resolve) => setImmediate(resolve));
      return made;
    });
    const address = IpAddress.parse('10.99.0.2');
    const clients: TcpSocket[] = [];
    for (let i = 0; i < 3; i++) clients.push(await ours.connect(address, PORT));
    await expect(clients[2]?.read(1)).rejects.toThrow(/has reset the connection/);
    const first = await listener.next();
    expect(first.value?.remotePort).toBe(clients[0]?.localPort);
    clients[1]?.abort();
    first.value?.abort();
    listener.close();
  });

  it('is told of a reset', async () => {
    const listener = ours.listen(PORT);
    const [client, accepted] = await Promise.all([
      within(pair.b, () => kernelTcp.connect(IpAddress.parse('10.99.0.7'), PORT)),
      listener.next(),
    ]);
    listener.close();
    if (accepted.done === true) throw new Error('nobody came');
    const reading = accepted.value.read(1);
    client.abort();
    await expect(reading).rejects.toThrow(/has reset the connection/);
  });
});

/** Bytes in both directions at once, then the end from the first side. */
async function talk(first: TcpSocket, second: TcpSocket): Promise<void> {
  const there = Uint8Array.from({ length: BYTES }, (_, i) => (i * 7) & 0xff);
  const back = there.map((byte) => byte ^ 0xff);
  const [heard, answered] = await Promise.all([
    readAll(second, BYTES),
    readAll(first, BYTES),
    first.write(there),
    second.write(back),
  ]);
  expect(Buffer.compare(heard, there)).toBe(0);
  expect(Buffer.compare(answered, back)).toBe(0);
  const closed = first.close();
  await expect(second.read(1)).rejects.toThrow(/has closed the connection/);
  await Promise.all([closed, second.close()]);
}

async function readAll(socket: TcpSocket, length: number): Promise<Uint8Array> {
  const all = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const piece = await socket.read(Math.min(10_000, length - at));
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
