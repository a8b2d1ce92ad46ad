/** Tests of the UDP links that need two addresses, and so namespaces. */
import { expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { Access, type Cq, type OpenDevice, openDevice, QpState, WcStatus, WrOpcode } from '../../../src/index.ts';
import { loadLibc } from '../../../src/node/links/libc.ts';
import { makeNetnsPair, type Netns, type NetnsPair } from '../../../tools/netns.ts';
import { Collector } from '../../sim/support.ts';
import { within } from '../../support/netns.ts';
import { linkCompliance } from './compliance.ts';
import { bound, type MakeUdpLink, turn, type UdpLink } from './udp-support.ts';

export function suiteInNamespaces(name: string, make: MakeUdpLink, mtu = 4200): void {
  it(`${name} has the address and the MTU of its interface, ${mtu}`, async () => {
    const pair = makeNetnsPair({ mtu });
    try {
      const link = await within(pair.a, async () => make({ address: '[fd99::1]' }));
      expect([link.addresses, link.mtu]).toEqual([['fd99::1/64'], mtu]);
    } finally {
      pair.remove();
    }
  });

  linkCompliance(
    `${name} between two hosts with an MTU of ${mtu}`,
    async () => {
      const pair = makeNetnsPair({ mtu });
      const a = await within(pair.a, async () => make({ address: 'fd99::1' }));
      const b = await within(pair.b, async () => make({ address: 'fd99::2' }));
      return {
        a,
        b,
        addresses: ['fd99::1', 'fd99::2'],
        start: (link, start) => within(link === a ? pair.a : pair.b, start),
        ready: () => reach(pair),
        pump: turn,
        dispose: async () => pair.remove(),
      };
    },
    { lossless: false, window: 64, unavailable: () => make({ address: '2001:db8::77' }) },
  );
}

/**
 * Sends until something has arrived at both ends: a wire just made has no carrier yet, and the kernels have to find
 * each other.
 */
async function reach(pair: NetnsPair): Promise<void> {
  const [a, b] = [await within(pair.a, () => bound(9, 'fd99::1')), await within(pair.b, () => bound(9, 'fd99::2'))];
  let heard = 0;
  for (const socket of [a, b]) socket.once('message', () => heard++);
  while (heard < 2) {
    a.send('?', 9, 'fd99::2');
    b.send('?', 9, 'fd99::1');
    for (let round = 0; round < 100 && heard < 2; round++) await turn();
  }
  for (const socket of [a, b]) socket.close();
}

interface Unchecked {
  readonly link: UdpLink;
  readonly sink: Collector;
  /** Sends a datagram full of a byte, with UDP checksum 0. */
  sendUnchecked(byte: number): void;
  sendChecked(byte: number): void;
}

/**
 * A link on a host, and a sender on the same host that can leave the checksum out as rdma_rxe does (UDP_NO_CHECK6_TX).
 */
export async function withoutChecksum(make: MakeUdpLink, body: (unchecked: Unchecked) => Promise<void>): Promise<void> {
  const pair = makeNetnsPair();
  const libc = await loadLibc();
  try {
    await within(pair.a, async () => {
      const link = make({ address: 'fd99::1' });
      const sink = new Collector();
      await link.start(sink);
      const to = new Uint8Array(28);
      const view = new DataView(to.buffer);
      view.setUint16(0, AF_INET6, true);
      view.setUint16(2, 4791);
      IpAddress.parse('fd99::1').writeGid(view, 8);
      const fd = libc.socket(AF_INET6, SOCK_DGRAM, 0);
      const send = (byte: number, leaveOut: number): void => {
        expect(libc.setsockopt(fd, SOL_UDP, UDP_NO_CHECK6_TX, Uint8Array.of(leaveOut, 0, 0, 0), 4)).toBe(0);
        expect(libc.sendto(fd, new Uint8Array(32).fill(byte), 32, 0, to, to.length)).toBe(32);
      };
      await body({ link, sink, sendUnchecked: (byte) => send(byte, 1), sendChecked: (byte) => send(byte, 0) });
      libc.close(fd);
      await link.close();
    });
  } finally {
    pair.remove();
  }
}

/**
 * Runs of `udp-offload` from `from` to `to` go over the wire packet by packet, and the kernel there may merge them
 * again: on a veth it does only where that is asked for and the sender's side joins no TCP segments
 * (linux:drivers/net/veth.c#veth_skb_is_eligible_for_gro).
 */
export async function mergeOnArrival({ a: from, b: to }: NetnsPair): Promise<void> {
  from.exec('ip', 'link', 'set', from.device, 'gso_max_segs', '1');
  // A queue lets many packets go at once.
  from.exec('tc', ...`qdisc replace dev ${from.device} root tbf rate 200mbit burst 64k limit 4m`.split(' '));
  await within(from, () => setOffload(from.device, ETHTOOL_STSO, 0));
  await within(to, () => setOffload(to.device, ETHTOOL_SGRO, 1));
}

/** What `ethtool -K` does (linux/ethtool.h). */
async function setOffload(device: string, command: number, value: number): Promise<void> {
  const libc = await loadLibc();
  const fd = libc.socket(AF_INET6, SOCK_DGRAM, 0);
  const wish = Uint32Array.of(command, value).buffer;
  const request = new DataView(new ArrayBuffer(40));
  for (let i = 0; i < device.length; i++) request.setUint8(i, device.charCodeAt(i));
  request.setBigUint64(16, BigInt(libc.address(wish)), true);
  expect(libc.ioctl(fd, SIOCETHTOOL, request.buffer)).toBe(0);
  libc.close(fd);
}

/** Work with a peer that is gone ends with an error, and the device goes on with the next. */
export function peerThatDies(kind: string): void {
  it('works again with a peer that has died and come back', async () => {
    const pair = makeNetnsPair({ mtu: 4200 });
    const open = (netns: Netns, address: string): Promise<OpenDevice> =>
      within(netns, () => openDevice({ link: `${kind}:[${address}]` }));
    const a = await open(pair.a, 'fd99::1');
    try {
      for (let life = 0; life < 2; life++) {
        const b = await open(pair.b, 'fd99::2');
        const { cq, write } = await connect(a, b);
        for (let wrId = 0; wrId < 3; wrId++) write(wrId);
        for (let wrId = 0; wrId < 3; wrId++)
          expect((await cq.next()).value).toMatchObject({ wrId, status: WcStatus.Success });
        // Not a word to the peer, as of a process that was killed.
        await b.link.close();
        expect(await b.closed).toBeUndefined();
        write(3);
        write(4);
        expect((await cq.next()).value).toMatchObject({ wrId: 3, status: WcStatus.RetryExcErr });
        expect((await cq.next()).value).toMatchObject({ wrId: 4, status: WcStatus.WrFlushErr });
      }
    } finally {
      await a.close();
      pair.remove();
    }
  });
}

/** A connection by the connection manager, and a WRITE of 1 MiB over it. */
async function connect(a: OpenDevice, b: OpenDevice): Promise<{ cq: Cq; write: (wrId: number) => void }> {
  const listener = b.device.cm.listen(PORT);
  const pdB = b.device.allocPd();
  const cqB = b.device.createCq(16);
  const target = pdB.regMr(WRITE_BYTES, { access: Access.LocalWrite | Access.RemoteWrite });
  const accepting = listener
    .next()
    .then(({ value }) => value.accept({ qp: pdB.createQp({ sendCq: cqB, recvCq: cqB }) }));
  const pd = a.device.allocPd();
  const cq = a.device.createCq(16);
  const source = pd.regMr(WRITE_BYTES, { access: Access.LocalWrite });
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  await a.device.cm.connect({ address: IpAddress.parse('fd99::2'), port: PORT, qp, retryCount: 2 });
  await accepting;
  expect(qp.state).toBe(QpState.Rts);
  const write = (wrId: number): void =>
    qp.postSend({
      wrId,
      opcode: WrOpcode.RdmaWrite,
      sges: [{ mr: source, offset: 0, length: WRITE_BYTES }],
      remoteAddr: target.iova,
      rkey: target.rkey,
    });
  return { cq, write };
}

const WRITE_BYTES = 1 << 20;
const PORT = 7174;
const AF_INET6 = 10;
const SOCK_DGRAM = 2;
const SOL_UDP = 17;
const UDP_NO_CHECK6_TX = 101;
const SIOCETHTOOL = 0x89_46;
const ETHTOOL_STSO = 0x1f;
const ETHTOOL_SGRO = 0x2c;
