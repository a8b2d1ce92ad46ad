/**
 * Goal: a TAP is a link whatever is done to its interface. Method: two TAPs on a bridge, in a namespace of their own,
 * where the test is root: it makes, deletes, takes down and fills interfaces as a user may.
 */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import { openDevice } from '../../../src/index.ts';
import { LINK_KINDS, openLink } from '../../../src/node/links/index.ts';
import type { TapLink } from '../../../src/node/links/tap.ts';
import { addQuietNetns, ip, type Netns } from '../../../tools/netns.ts';
import { batchOf, frame } from '../../sim/support.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { type LinkPair, linkCompliance } from './compliance.ts';
import { startElsewhere, turn, until, V4, Watcher, writeBothWays } from './netns-link.ts';

/** A namespace with nothing but a bridge in it, that says nothing by itself. */
class Host {
  readonly name = `rocev2-${randomBytes(4).toString('hex')}`;

  constructor() {
    addQuietNetns(this.name);
    this.ip(
      'link',
      'add',
      'br0',
      'up',
      'type',
      'bridge',
      'stp_state',
      '0',
      'forward_delay',
      '0',
      'mcast_snooping',
      '0',
    );
  }

  ip(...words: readonly string[]): string {
    return ip('-n', this.name, ...words);
  }

  plugIn(device: string): void {
    this.ip('link', 'set', device, 'master', 'br0');
  }

  has(device: string): boolean {
    return this.ip('-br', 'link', 'show').includes(`${device} `);
  }

  /** Opens here, and starts when a sink is given. */
  open(spec: string, sink?: Watcher): Promise<TapLink> {
    return within(this.#netns, async () => {
      const link = openLink(spec) as TapLink;
      if (sink !== undefined) await link.start(sink);
      return link;
    });
  }

  in<T>(action: () => Promise<T>): Promise<T> {
    return within(this.#netns, action);
  }

  /** A plain process of the host. */
  get prefix(): readonly string[] {
    return ['ip', 'netns', 'exec', this.name];
  }

  remove(): void {
    ip('netns', 'del', this.name);
  }

  get #netns(): Netns {
    return { name: this.name } as Netns;
  }
}

async function withHost(test: (host: Host) => Promise<void>): Promise<void> {
  const host = new Host();
  try {
    await test(host);
  } finally {
    host.remove();
  }
}

/** Starts `spec`, runs `test`, closes. */
function withTap(spec: string, test: (link: TapLink, sink: Watcher, host: Host) => Promise<void>): () => Promise<void> {
  return () =>
    withHost(async (host) => {
      const sink = new Watcher();
      const link = await host.open(spec, sink);
      try {
        await test(link, sink, host);
      } finally {
        await link.close();
      }
    });
}

function bridgedPair(mtu: number): () => Promise<LinkPair> {
  return async () => {
    const host = new Host();
    const a = await host.open(`tap:tap-a,mtu=${mtu}`);
    const b = await host.open(`tap:tap-b,mtu=${mtu}`);
    return {
      a,
      b,
      start: (_link, start) => host.in(start),
      ready: async () => {
        for (const device of ['tap-a', 'tap-b']) host.plugIn(device);
        await turn();
      },
      pump: turn,
      dispose: () => Promise.resolve(host.remove()),
    };
  };
}

describeWith('netns', 'TAP', () => {
  const options = { lossless: false, window: 64, unavailable: () => openLink('tap:lo') } as const;
  linkCompliance('a TAP on a bridge', bridgedPair(1500), options);
  linkCompliance('a TAP with jumbo frames', bridgedPair(4200), options);

  it(
    'makes an interface of its MTU that is up, and that is gone when the link closes',
    withTap('tap:tap7,mtu=4200', async (link, _sink, host) => {
      expect(host.ip('-br', 'link', 'show', 'tap7')).toMatch(/ (?:UP|UNKNOWN) .*<.*\bUP\b.*>/);
      expect(host.ip('link', 'show', 'tap7')).toContain('mtu 4200');
      await link.close();
      expect(host.has('tap7')).toBe(false);
    }),
  );

  it('leaves an interface that was there as it was, and takes its MTU', () =>
    withHost(async (host) => {
      host.ip('tuntap', 'add', 'tap0', 'mode', 'tap');
      host.ip('link', 'set', 'tap0', 'mtu', '3000');
      const link = await host.open('tap:tap0', new Watcher());
      expect(link.mtu).toBe(3000);
      expect(host.ip('link', 'show', 'tap0')).toMatch(/mtu 3000 .*state DOWN/);
      await link.close();
      expect(host.has('tap0')).toBe(true);
    }));

  it(
    'leaves an interface behind that is to persist',
    withTap('tap:tap0,persist', async (link, _sink, host) => {
      await link.close();
      expect(host.has('tap0')).toBe(true);
    }),
  );

  it(
    'loses frames while the interface is down, counts them, and works when it is up again',
    withTap('tap:tap0', async (link, sink, host) => {
      const other = new Watcher();
      const peer = await host.open('tap:tap1', other);
      for (const device of ['tap0', 'tap1']) host.plugIn(device);
      host.ip('link', 'set', 'tap0', 'down');
      expect(link.send(batchOf(frame(1, 2, 1), frame(1, 2, 2)), 0)).toBe(2);
      expect(link.counters).toMatchObject({ sent: 0, unplugged: 2 });
      host.ip('link', 'set', 'tap0', 'up');
      await until(() => {
        link.send(batchOf(frame(1, 2, 3)), 0);
        return other.tags.includes(3);
      });
      expect(sink.closedCalls).toBe(0);
      await peer.close();
    }),
  );

  it(
    'ends once, with a reason, when the interface is deleted',
    withTap('tap:tap0', async (link, sink, host) => {
      host.ip('link', 'del', 'tap0');
      expect(link.send(batchOf(frame(1, 2, 1)), 0)).toBe(1);
      expect(link.counters.unplugged).toBe(1);
      await until(() => sink.closedCalls > 0);
      expect(sink.error).toMatchObject({
        code: 'ERR_ROCE_CLOSED',
        message: 'tap:tap0: the interface is gone (EBADFD)',
      });
      expect(link.send(batchOf(frame(1, 2, 1)), 0)).toBe(1);
      await link.close();
      for (let i = 0; i < 5; i++) await turn();
      expect(sink.closedCalls).toBe(1);
    }),
  );

  it(
    'drops frames over the MTU, in both directions, and counts them; a VLAN tag does not count',
    withTap('tap:tap0,mtu=1000', async (link, sink, host) => {
      const other = new Watcher();
      const peer = await host.open('tap:tap1,mtu=2000', other);
      for (const device of ['tap0', 'tap1']) host.plugIn(device);
      host.ip('link', 'set', 'tap0', 'mtu', '2000');
      const tagged = frame(1, 2, 2, 1018);
      tagged.set([0x81, 0x00, 0, 0, 0, 0], 12);
      expect(link.send(batchOf(frame(1, 2, 1, 1015), tagged, frame(1, 2, 3, 1014)), 0)).toBe(3);
      expect(link.counters).toMatchObject({ oversize: 1, sent: 2, sendErrors: 0 });
      await until(() => other.tags.includes(3));
      peer.send(batchOf(frame(2, 1, 4, 1015), frame(2, 1, 5, 1014)), 0);
      await until(() => sink.tags.includes(5));
      expect(sink.tags).not.toContain(4);
      expect(link.counters.oversize).toBe(2);
      // Too short for an Ethernet header: the kernel says no.
      expect(link.send(batchOf(new Uint8Array(10)), 0)).toBe(1);
      expect(link.counters.sendErrors).toBe(1);
      await peer.close();
    }),
  );

  it('says what is wrong with the interface', () =>
    withHost(async (host) => {
      const fault = async (spec: string): Promise<unknown> => host.open(spec, new Watcher()).catch((error) => error);
      expect(await fault('tap:br0')).toMatchObject({
        code: 'ERR_ROCE_LINK_UNAVAILABLE',
        message: 'tap:br0: br0 is there, and is no TAP interface: invalid argument (EINVAL)',
      });
      const first = await host.open('tap:tap0', new Watcher());
      expect(await fault('tap:tap0')).toMatchObject({
        code: 'ERR_ROCE_LINK_UNAVAILABLE',
        message: 'tap:tap0: attaching to the interface: another process uses it (EBUSY)',
      });
      await first.close();
      expect(await fault('tap:a-name-that-is-too-long')).toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    }));

  it('names the privilege it lacks', () =>
    withHost(async (host) => {
      const unprivileged = ['setpriv', '--bounding-set', '-net_admin', '--inh-caps', '-net_admin'];
      expect(startElsewhere('tap:tap0', { prefix: [...host.prefix, ...unprivileged] })).toBe(
        'ERR_ROCE_LINK_UNAVAILABLE tap:tap0: making the interface: it needs the privilege CAP_NET_ADMIN (EPERM)',
      );
      expect(startElsewhere('tap:tap0', { prefix: host.prefix })).toBe('started');
    }));

  it(
    'is started once, and not after it has closed',
    withTap('tap:tap0', async (link, sink, host) => {
      await expect(link.start(sink)).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
      const closed = await host.open('tap:tap1');
      await closed.close();
      await expect(closed.start(new Watcher())).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
      const early = await host.open('tap:tap1');
      const starting = early.start(new Watcher());
      await early.close();
      await expect(starting).rejects.toBeInstanceOf(RoceError);
      expect(host.has('tap1')).toBe(false);
    }),
  );

  it('carries a connection and WRITEs between two devices', () =>
    withHost(async (host) => {
      const open = (name: string, address: string) =>
        host.in(() => openDevice({ link: `tap:${name},mtu=4200`, addresses: [`${address}/24`] }));
      const a = await open('tap-a', V4[0]);
      const b = await open('tap-b', V4[1]);
      for (const device of ['tap-a', 'tap-b']) host.plugIn(device);
      await writeBothWays({ a, b }, V4[1]);
      host.ip('link', 'del', 'tap-a');
      expect(await a.closed).toMatchObject({ code: 'ERR_ROCE_CLOSED' });
      await Promise.all([a.close(), b.close()]);
    }));

  it('says what this machine lacks for it', async () => {
    const kind = LINK_KINDS.find(({ name }) => name === 'tap');
    expect(await kind?.requirements()).toEqual([
      { what: 'Linux', met: true, remedy: expect.any(String) },
      { what: 'the package koffi', met: true, remedy: '' },
      { what: '/dev/net/tun', met: true, remedy: '' },
      { what: 'the privilege CAP_NET_ADMIN', met: true, remedy: '' },
    ]);
  });
});
