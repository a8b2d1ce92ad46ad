/**
 * Goal: a link beside the kernel's own stack carries packets unchanged and in order, keeps the kernel quiet, and ends
 * with one error. Method: the compliance suite and whole devices over a veth pair between two namespaces; a kernel's
 * own counters as a witness.
 */
import { createSocket } from 'node:dgram';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { IPV4_ID_AT } from '../../../packets/ipv4.ts';
import { QpState, WcStatus, WrOpcode } from '../../../src/index.ts';
import { LINK_KINDS, openLink, RawSocketLink } from '../../../src/node/links/index.ts';
import type { Netns } from '../../../tools/netns.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { linkCompliance } from './compliance.ts';
import {
  connectDevices,
  netnsPair,
  settledPair,
  startElsewhere,
  startLink,
  turn,
  UNPRIVILEGED,
  until,
  V4,
  V6,
  Watcher,
  withDevices,
  withNetns,
  writeBothWays,
} from './netns-link.ts';
import { anyIpv6Arrivals, only, packet, SPEC } from './raw-socket-support.ts';

const ready = (): Promise<void> => Promise.resolve();

/** What the kernel of a namespace has said of unreachable ports, over IPv4. */
function portUnreachables({ exec }: Netns): number {
  const [names = '', values = ''] = exec('cat', '/proc/net/snmp')
    .split('\n')
    .filter((line) => line.startsWith('Icmp:'));
  return Number(values.split(' ')[names.split(' ').indexOf('OutDestUnreachs')]);
}

describeWith(['netns', 'raw-socket'], 'links over raw sockets', () => {
  const options = { lossless: false, window: 128, unavailable: () => openLink('raw-socket:none0') } as const;
  linkCompliance('a raw-socket link on IPv4', netnsPair(SPEC, V4, ready), options);
  linkCompliance('a raw-socket link on IPv6', netnsPair(SPEC, V6, ready), options);

  it('takes MTU and addresses from the interface, link-local ones left out', async () => {
    const netns = await settledPair({ mtu: 4200 });
    const link = await within(netns.a, () => Promise.resolve(openLink(SPEC)));
    const addresses = await within(netns.a, () => Promise.resolve(link.addresses));
    netns.remove();
    expect([link.mtu, addresses]).toEqual([4200, ['10.99.0.1/24', 'fd99::1/64']]);
    expect(openLink('raw-socket:none0,mtu=1400').mtu).toBe(1400);
  });

  it('carries the headers of both versions as they were written', () =>
    withNetns(async (netns) => {
      const a = await startLink(netns.a, SPEC);
      const b = await startLink(netns.b, SPEC);
      const v4 = packet(...V4);
      a.link.send(v4, 0);
      await until(() => b.sink.batches.length === 1);
      expect(only(b.sink)).toEqual(v4.bytes.slice(0, v4.lengths[0]));
      b.sink.batches.length = 0;
      const v6 = packet(...V6);
      a.link.send(v6, 0);
      await until(() => b.sink.batches.length === 1);
      expect(only(b.sink)).toEqual(v6.bytes.slice(0, v6.lengths[0]));
      await Promise.all([a.link.close(), b.link.close()]);
    }));

  anyIpv6Arrivals();

  it('keeps the kernel from answering that the port is unreachable', () =>
    withNetns(async (netns) => {
      const a = await startLink(netns.a, SPEC);
      a.link.send(packet(...V4), 0);
      // Without a link at the other end it does: this witness can speak.
      await until(() => portUnreachables(netns.b) === 1);
      const b = await startLink(netns.b, SPEC);
      for (let round = 0; round < 100; round++) a.link.send(packet(...V4), 0);
      await until(() => b.sink.batches.flat().length === 100);
      expect(portUnreachables(netns.b)).toBe(1);
      await Promise.all([a.link.close(), b.link.close()]);
    }));

  it('does not send what it cannot: no IP, a longer packet, IPv4 without an identification', () =>
    withNetns(async (netns) => {
      const { link } = await startLink(netns.a, SPEC);
      if (!(link instanceof RawSocketLink)) throw new Error('a raw-socket link');
      const nameless = packet(...V4);
      nameless.view.setUint16(IPV4_ID_AT, 0);
      const nonsense = packet(...V4);
      nonsense.bytes[0] = 0x75;
      for (const frames of [nameless, nonsense, packet(...V4, 3000), packet(...V6, 3000)])
        expect(link.send(frames, 0)).toBe(1);
      expect(link.counters).toMatchObject({ sent: 0, unsendable: 2, oversize: 2, refused: 0 });
      await link.close();
    }));

  it('says to wait when the kernel has no room, and then that there is', () =>
    withNetns(async (netns) => {
      // A slow queue keeps packets charged to the socket that sent them.
      netns.a.exec(
        'tc',
        'qdisc',
        'replace',
        'dev',
        'veth0',
        'root',
        'tbf',
        'rate',
        '40mbit',
        'burst',
        '10k',
        'limit',
        '4m',
      );
      const a = await startLink(netns.a, SPEC);
      const b = await startLink(netns.b, SPEC);
      let sent = 0;
      for (let tries = 0; tries < 5000 && a.link.send(packet(...V4, 1024), 0) === 1; tries++) sent++;
      expect(sent).toBeGreaterThan(0);
      expect(sent).toBeLessThan(5000);
      await until(() => a.sink.writableCalls === 1 && b.sink.batches.flat().length === sent);
      await Promise.all([a.link.close(), b.link.close()]);
    }));

  it('goes on receiving when nobody holds the link and garbage is collected', () =>
    withNetns(async (netns) => {
      setFlagsFromString('--expose-gc');
      const collect: () => void = runInNewContext('gc');
      const { link } = await startLink(netns.a, SPEC);
      const sink = new Watcher();
      let received = 0;
      sink.receive = (batch) => {
        received += batch.count;
      };
      const forgotten = await within(netns.b, async () => {
        const other = openLink(SPEC);
        await other.start(sink);
        return new WeakRef(other);
      });
      for (let round = 1; round <= 50; round++) {
        collect();
        for (let i = 0; i < 50; i++) link.send(i % 2 === 0 ? packet(...V4) : packet(...V6), 0);
        await until(() => received === 50 * round);
      }
      await Promise.all([link.close(), forgotten.deref()?.close()]);
    }));

  it('sees a cable pulled while the interface is down, and goes on when it is up again', () =>
    withNetns(async (netns) => {
      const a = await startLink(netns.a, SPEC);
      const b = await startLink(netns.b, SPEC);
      netns.a.exec('ip', 'link', 'set', 'veth0', 'down');
      expect(a.link.send(packet(...V4), 0)).toBe(1);
      expect(a.link).toMatchObject({ counters: { sent: 0, refused: 1 } });
      netns.a.exec('ip', 'link', 'set', 'veth0', 'up');
      while (b.sink.batches.length === 0) {
        a.link.send(packet(...V4), 0);
        await turn();
      }
      expect([a.sink.closedCalls, b.sink.closedCalls]).toEqual([0, 0]);
      await Promise.all([a.link.close(), b.link.close()]);
    }));

  it('ends with one error when the interface is removed', () =>
    withNetns(async (netns) => {
      const { link, sink } = await startLink(netns.a, SPEC);
      netns.b.exec('ip', 'link', 'del', 'veth0');
      await until(() => sink.closedCalls > 0);
      expect(sink.error).toMatchObject({ code: 'ERR_ROCE_CLOSED', message: expect.stringContaining('veth0 is gone') });
      expect(link.send(packet(...V4), 0)).toBe(1);
      await link.close();
      expect(sink.closedCalls).toBe(1);
    }));

  it('does not start where it cannot, and says why', () =>
    withNetns(async (netns) => {
      const refusal = async (spec: string): Promise<unknown> =>
        startLink(netns.a, spec).catch((error: unknown) => error);
      const code = 'ERR_ROCE_LINK_UNAVAILABLE';
      expect(await refusal('raw-socket:none0')).toMatchObject({ code, message: /there is no interface none0/ });
      netns.a.exec('ip', 'link', 'add', 'bare0', 'type', 'veth', 'peer', 'name', 'bare1');
      expect(await refusal('raw-socket:bare0')).toMatchObject({ code, message: /bare0 has no IP address/ });
      const other = createSocket('udp4');
      await within(netns.a, () => new Promise<void>((resolve) => other.bind(4791, '10.99.0.1', resolve)));
      const taken = new RegExp(`UDP port 4791 of 10.99.0.1 is taken by process ${process.pid} `);
      expect(await refusal(SPEC)).toMatchObject({ code, message: taken });
      await new Promise<void>((resolve) => other.close(() => resolve()));
      const again = await startLink(netns.a, SPEC);
      await again.link.close();
    }));

  it('does not start without the privilege, or in a worker thread, and says so', () =>
    withNetns((netns) => {
      expect(startElsewhere(SPEC, { prefix: [...netns.a.prefix, ...UNPRIVILEGED] })).toMatch(
        /^ERR_ROCE_LINK_UNAVAILABLE raw-socket:veth0: .*CAP_NET_RAW/,
      );
      expect(startElsewhere(SPEC, { prefix: netns.a.prefix, inWorker: true })).toMatch(
        /^ERR_ROCE_LINK_UNAVAILABLE raw-socket:veth0: .*worker thread/,
      );
      expect(startElsewhere(SPEC, { prefix: netns.a.prefix })).toBe('started');
      return Promise.resolve();
    }));

  it('names what to install when the package is missing', () => {
    expect(startElsewhere('raw-socket:lo', { without: 'raw-socket' })).toMatch(
      /^ERR_ROCE_LINK_UNAVAILABLE raw-socket:lo: .*npm install raw-socket, which needs a C\+\+ compiler/,
    );
  });

  it('refuses what is no name of an interface', () => {
    for (const target of ['../eth0', '.', '..', 'a b', 'sixteen-letters-x'])
      expect(() => openLink(`raw-socket:${target}`)).toThrow(/is not the name of an interface/);
  });

  it('says what it needs, all of which is there', async () => {
    const needs = (await LINK_KINDS.find(({ name }) => name === 'raw-socket')?.requirements()) ?? [];
    expect(needs.map(({ what, met }) => [what, met])).toEqual([
      ['Linux', true],
      ['the package raw-socket', true],
      ['the privilege CAP_NET_RAW', true],
    ]);
  });

  it('is a wire for devices that take the addresses of their interfaces, over IPv4 and IPv6', () =>
    withDevices(SPEC, undefined, async (devices) => {
      await writeBothWays(devices, V4[1]);
      await writeBothWays(devices, V6[1]);
    }));

  it('ends work with an error while the cable is pulled, and takes connections when it is back', () =>
    withDevices(SPEC, undefined, async (devices, netns) => {
      const { left, right } = await connectDevices(devices, V4[1]);
      netns.a.exec('ip', 'link', 'set', 'veth0', 'down');
      const inline = Uint8Array.of(1);
      left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, inline, remoteAddr: right.mr.iova, rkey: right.mr.rkey });
      const { value } = await left.cq.next();
      expect([value.status, left.qp.state]).toEqual([WcStatus.RetryExcErr, QpState.Error]);
      netns.a.exec('ip', 'link', 'set', 'veth0', 'up');
      await writeBothWays(devices, V4[1]);
    }));
});
