/**
 * Goal: datagrams go over UDP until queue pairs know each other and from queue pair to queue pair then; bytes are those
 * of rsocket.c; what anybody may send does no harm. Method: sockets on two devices of the simulated world, with UDP by
 * hand.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RDMA_UDP_QKEY } from '../../../packets/cm/index.ts';
import { Access, type Device, IpAddress, QpState, QpType, RoceError, WrOpcode } from '../../../src/index.ts';
import {
  readDatagramHeader,
  readUdpMessage,
  writeDatagramHeader,
  writeUdpMessage,
} from '../../../src/ulp/rsockets/datagram-protocol.ts';
import { type RDatagramOptions, RDatagramSocket } from '../../../src/ulp/rsockets/index.ts';
import { RsOp } from '../../../src/ulp/rsockets/protocol.ts';
import { makePair, type Pair } from '../../device/support.ts';
import { pattern } from './support.ts';
import { UdpNetwork } from './udp-network.ts';

const A = IpAddress.parse('10.0.0.1');
const B = IpAddress.parse('10.0.0.2');
const V6 = IpAddress.parse('fd00::2');
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('bytes', () => {
  it('over UDP have a tag, a queue pair and the address of the sender', () => {
    const data = Uint8Array.of(1, 2);
    const ipv4 = writeUdpMessage({ op: RsOp.Data, qpn: 0x11_22_33, data }, A);
    expect(hex(ipv4)).toBe('55555555' + '04001000' + '00112233' + '0a000001' + '0102');
    expect(readUdpMessage(ipv4, 4)).toEqual({ op: RsOp.Data, qpn: 0x11_22_33, data });
    const ipv6 = writeUdpMessage({ op: RsOp.Ctrl, qpn: 5, data: new Uint8Array(0) }, V6);
    expect(hex(ipv6)).toBe(`5555555506071c0000000005fd00${'00'.repeat(13)}02`);
    expect(readUdpMessage(ipv6, 6)?.op).toBe(RsOp.Ctrl);
    expect(readUdpMessage(ipv6, 4)).toBeUndefined();
  });

  it('between queue pairs say who sent', () => {
    const view = new DataView(new ArrayBuffer(24));
    expect(writeDatagramHeader(view, 0, { address: A, port: 7174 })).toBe(8);
    expect(hex(new Uint8Array(view.buffer, 0, 8))).toBe('04081c060a000001');
    expect(writeDatagramHeader(view, 0, { address: V6, port: 7174 })).toBe(24);
    expect(hex(new Uint8Array(view.buffer))).toBe(`06181c0600000000fd00${'00'.repeat(13)}02`);
    expect(readDatagramHeader(view, 0, 24)).toEqual({ address: V6, port: 7174, headerBytes: 24 });
    expect(readDatagramHeader(view, 0, 23)).toBeUndefined();
  });

  it('that are no message are undefined, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(4 as const, 6 as const), (bytes, version) => {
        expect(readUdpMessage(bytes, version)).toBeUndefined();
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const header = readDatagramHeader(view, 0, bytes.length);
        if (header !== undefined) expect(bytes[1]).toBe(header.headerBytes);
      }),
    );
  });
});

interface Sockets extends Pair {
  readonly network: UdpNetwork;
  readonly left: RDatagramSocket;
  readonly right: RDatagramSocket;
}

const LEFT_PORT = 1000;
const RIGHT_PORT = 2000;

function makeSockets(options: RDatagramOptions = {}): Sockets {
  const pair = makePair();
  const network = new UdpNetwork();
  const open = (device: Device, port: number): RDatagramSocket => {
    const addresses = device.addresses.map(({ address }) => address);
    return new RDatagramSocket(device, network.open(addresses, port), options);
  };
  return { ...pair, network, left: open(pair.a, LEFT_PORT), right: open(pair.b, RIGHT_PORT) };
}

async function receive({ world }: Pair, socket: RDatagramSocket): Promise<{ bytes: Uint8Array; from: string }> {
  const into = new Uint8Array(4096);
  const { length, address, port } = await world.run(socket.recvFrom(into));
  return { bytes: into.slice(0, length), from: `${address} ${port}` };
}

/** One datagram each way, so that both know the other's queue pair. */
async function introduce(sockets: Sockets): Promise<void> {
  const { world, left, right } = sockets;
  await left.sendTo(pattern(1), B, RIGHT_PORT);
  await receive(sockets, right);
  await world.run(world.sleep(1e6));
}

describe('a datagram socket', () => {
  it.each([
    ['10.0.0.2', '10.0.0.1'],
    ['fd00::2', 'fd00::1'],
  ])('reaches %s over UDP first, then from queue pair to queue pair, both ways', async (to, from) => {
    const sockets = makeSockets();
    const { world, network, left, right } = sockets;
    const address = IpAddress.parse(to);
    await left.sendTo(pattern(100), address, RIGHT_PORT);
    expect(await receive(sockets, right)).toEqual({ bytes: pattern(100), from: `${from} ${LEFT_PORT}` });
    await world.run(world.sleep(1e6));
    // The datagram, and the answer that names a queue pair.
    expect(network.sent).toBe(2);
    for (const size of [0, 1, 500, left.maxBytes(address.version)]) {
      await world.run(left.sendTo(pattern(size), address, RIGHT_PORT));
      expect(await receive(sockets, right)).toEqual({ bytes: pattern(size), from: `${from} ${LEFT_PORT}` });
      await world.run(right.sendTo(pattern(size, 5), IpAddress.parse(from), LEFT_PORT));
      expect(await receive(sockets, left)).toEqual({ bytes: pattern(size, 5), from: `${to} ${RIGHT_PORT}` });
    }
    expect(network.sent).toBe(2);
  });

  it('goes on over UDP as long as nobody has answered', async () => {
    const sockets = makeSockets();
    sockets.network.broken = true;
    for (let i = 0; i < 3; i++) await sockets.left.sendTo(pattern(1), B, RIGHT_PORT);
    expect(sockets.network.sent).toBe(3);
    sockets.network.broken = false;
    await introduce(sockets);
  });

  it('loses what finds no room, and takes the next', async () => {
    const sockets = makeSockets({ receiveQueue: 4, sendQueue: 2 });
    const { world, left, right } = sockets;
    await introduce(sockets);
    await world.run(Promise.all(Array.from({ length: 9 }, (_, i) => left.sendTo(Uint8Array.of(i), B, RIGHT_PORT))));
    await world.run(world.sleep(1e6));
    const received: (number | undefined)[] = [];
    while (right.readable) received.push((await receive(sockets, right)).bytes[0]);
    expect(received).toEqual([0, 1, 2, 3]);
    await world.run(left.sendTo(Uint8Array.of(77), B, RIGHT_PORT));
    expect((await receive(sockets, right)).bytes).toEqual(Uint8Array.of(77));
  });

  it('refuses what is too long, and says what fits', async () => {
    const { left } = makeSockets();
    expect([left.maxBytes(4), left.maxBytes(6)]).toEqual([2040, 2024]);
    await expect(left.sendTo(new Uint8Array(2041), B, RIGHT_PORT)).rejects.toThrow('at most 2040 bytes here, not 2041');
  });

  it('cuts a datagram to what the receiver holds', async () => {
    const sockets = makeSockets();
    await sockets.left.sendTo(pattern(10), B, RIGHT_PORT);
    const into = new Uint8Array(4);
    expect((await sockets.world.run(sockets.right.recvFrom(into))).length).toBe(4);
    expect(into).toEqual(pattern(4));
  });

  it('ends what waits when it is closed, and frees everything', async () => {
    const sockets = makeSockets();
    await introduce(sockets);
    const { left, right, a, b } = sockets;
    const waiting = left.recvFrom(new Uint8Array(1)).catch((error: unknown) => error);
    left.close();
    right.close();
    const error = await waiting;
    expect(error instanceof RoceError && error.code).toBe('ERR_ROCE_CLOSED');
    await expect(left.sendTo(pattern(1), B, RIGHT_PORT)).rejects.toThrow('closed');
    expect([a.qpCount, b.qpCount]).toEqual([0, 0]);
    left.close();
  });

  it.each([[{ sendQueue: 0 }], [{ receiveQueue: 9000 }], [{ inline: 1e6 }]])('refuses sizes %j', (options) => {
    expect(() => makeSockets(options)).toThrow(/whole number|entries/);
  });
});

describe('what anybody may send', () => {
  it('over UDP and is no message is dropped', async () => {
    const sockets = makeSockets();
    const { network, right } = sockets;
    const message = writeUdpMessage({ op: RsOp.Data, qpn: 9, data: pattern(5) }, A);
    for (const at of [0, 4, 5, 6]) {
      const broken = message.slice();
      broken[at] = 0x33;
      network.inject(broken, A, 9, B, RIGHT_PORT);
    }
    network.inject(new Uint8Array(0), A, 9, B, RIGHT_PORT);
    expect([right.dropped, right.readable]).toEqual([5, false]);
  });

  it('from where nobody answers is heard, but costs no more than that', async () => {
    const sockets = makeSockets();
    const { world, network, right } = sockets;
    const stranger = IpAddress.parse('10.0.0.99');
    network.inject(writeUdpMessage({ op: RsOp.Data, qpn: 9, data: pattern(5) }, stranger), stranger, 9, B, RIGHT_PORT);
    expect((await receive(sockets, right)).from).toBe('10.0.0.99 9');
    await world.run(world.sleep(60e9));
    expect(right.dropped).toBe(1);
    await introduce(sockets);
  });

  it('from where nobody answers is looked for once at a time, however often it comes', async () => {
    const sockets = makeSockets();
    const { world, network, right } = sockets;
    const stranger = IpAddress.parse('10.0.0.99');
    for (let qpn = 1; qpn <= 100; qpn++) {
      const message = writeUdpMessage({ op: RsOp.Ctrl, qpn, data: new Uint8Array(0) }, stranger);
      network.inject(message, stranger, 9, B, RIGHT_PORT);
    }
    await world.run(world.sleep(60e9));
    expect(right.dropped).toBe(1);
  });

  it('from more peers than a socket knows is heard: who was first is forgotten, and found again', async () => {
    const sockets = makeSockets();
    const { world, network, right, left } = sockets;
    const flood = (): void => {
      for (let i = 0; i < 5000; i++) {
        const stranger = IpAddress.parse(`10.0.0.${100 + (i % 100)}`);
        const message = writeUdpMessage({ op: RsOp.Ctrl, qpn: 5, data: new Uint8Array(0) }, stranger);
        network.inject(message, stranger, i, B, RIGHT_PORT);
      }
    };
    flood();
    await introduce(sockets);
    flood();
    await world.run(right.sendTo(pattern(9), A, LEFT_PORT));
    expect((await receive(sockets, left)).bytes).toEqual(pattern(9));
    right.close();
    await world.run(world.sleep(60e9));
    expect(sockets.b.qpCount).toBe(0);
  });

  it('to the queue pair without a header is dropped, and its slot is used again', async () => {
    const sockets = makeSockets({ receiveQueue: 1 });
    await introduce(sockets);
    const { world, a, left, right } = sockets;
    // Any host may guess a queue pair and the well-known key.
    const qpn = await queuePairOf(sockets);
    const pd = a.allocPd();
    const cq = a.createCq(16);
    const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
    pd.regMr(1, { access: Access.LocalWrite });
    qp.modifyNow({ state: QpState.Init, qkey: RDMA_UDP_QKEY });
    qp.modifyNow({ state: QpState.Rtr });
    qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
    const ah = await world.run(pd.createAh({ destination: B }));
    for (const inline of [new Uint8Array(0), pattern(7), Uint8Array.of(4, 9, 0, 0, 0, 0, 0, 0, 0)]) {
      qp.postSend({ wrId: 0, opcode: WrOpcode.Send, ah, remoteQpn: qpn, remoteQkey: RDMA_UDP_QKEY, inline });
      await world.run(world.sleep(1e6));
    }
    expect([right.dropped, right.readable]).toEqual([3, false]);
    await world.run(left.sendTo(pattern(3), B, RIGHT_PORT));
    expect((await receive(sockets, right)).bytes).toEqual(pattern(3));
  });
});

/** The queue pair of the right socket, as it names itself over UDP. */
async function queuePairOf(sockets: Sockets): Promise<number> {
  const { world, network, a } = sockets;
  const address = IpAddress.parse('fd00::1');
  const port = network.open([address], 5);
  let qpn = 0;
  port.listen((bytes) => {
    qpn = readUdpMessage(bytes, 6)?.qpn ?? 0;
  });
  expect(a.addresses.some((prefix) => prefix.address.equals(address))).toBe(true);
  port.send(writeUdpMessage({ op: RsOp.Data, qpn: 3, data: new Uint8Array(0) }, address), V6, RIGHT_PORT);
  expect((await receive(sockets, sockets.right)).bytes).toHaveLength(0);
  await world.run(world.sleep(1e6));
  expect(qpn).toBeGreaterThan(0);
  return qpn;
}
