/**
 * Goal: frames pass any Ethernet interface unchanged and in order, through memory that is shared with the kernel, and
 * nothing that happens to the interface takes the process along. Method: the compliance suite and whole devices over a
 * veth pair between two namespaces, in both layouts of the ring; overflow, full queues and what the kernel itself
 * sends, brought about one by one.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { openDevice } from '../../../src/index.ts';
import { LINK_KINDS, openLink, type PacketRingLink } from '../../../src/node/links/index.ts';
import { loadLibc } from '../../../src/node/links/libc.ts';
import type { Netns, NetnsPair } from '../../../tools/netns.ts';
import { batchOf, frame, tagOf } from '../../sim/support.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { type LinkPair, linkCompliance } from './compliance.ts';
import {
  receiveOnOneProcessor,
  settledPair,
  startElsewhere,
  turn,
  UNPRIVILEGED,
  until,
  V4,
  V6,
  Watcher,
  withNetns,
  writeBothWays,
} from './netns-link.ts';

const OURS = ['10.99.0.11/24', '10.99.0.12/24'] as const;
/** Frames of 1,000 bytes, more than any queue here has room for. */
const FLOOD = 12_000;

function pairOf(spec: string, mtu: number, addresses: readonly [string, string]): () => Promise<LinkPair> {
  return async () => {
    const netns = await settledPair({ mtu });
    const [a, b] = [await open(netns.a, spec), await open(netns.b, spec)];
    return {
      a,
      b,
      addresses,
      start: (link, start) => within(link === a ? netns.a : netns.b, start),
      ready: () => Promise.resolve(),
      pump: turn,
      dispose: () => Promise.resolve(netns.remove()),
    };
  };
}

/** Opens a link in a namespace, and starts it when a sink is given. */
function open(where: Netns, spec: string, sink?: Watcher): Promise<PacketRingLink> {
  return within(where, async () => {
    const link = openLink(spec) as PacketRingLink;
    if (sink !== undefined) await link.start(sink);
    return link;
  });
}

interface Ends {
  readonly a: PacketRingLink;
  readonly b: PacketRingLink;
  readonly sinkA: Watcher;
  readonly sinkB: Watcher;
  readonly netns: NetnsPair;
}

function withPair(test: (ends: Ends) => Promise<void>, spec = 'packet-ring:veth0', specB = spec): () => Promise<void> {
  return () =>
    withNetns(async (netns) => {
      const [sinkA, sinkB] = [new Watcher(), new Watcher()];
      const a = await open(netns.a, spec, sinkA);
      const b = await open(netns.b, specB, sinkB);
      try {
        await test({ a, b, sinkA, sinkB, netns });
      } finally {
        await Promise.all([a.close(), b.close()]);
      }
    });
}

/** Ours among what else is on the wire: the kernel's addresses are 02:99. */
function arrived(sink: Watcher): Uint8Array[] {
  return sink.frames.filter((bytes) => bytes[6] === 2 && bytes[7] === 0);
}

function tagged(number: number, tags: readonly (readonly [etherType: number, tci: number])[]): Uint8Array {
  const bytes = frame(1, 2, number);
  const view = new DataView(bytes.buffer);
  for (const [index, [etherType, tci]] of tags.entries()) {
    view.setUint16(12 + 4 * index, etherType);
    view.setUint16(14 + 4 * index, tci);
  }
  view.setUint16(12 + 4 * tags.length, 0x88_b5);
  return bytes;
}

function isMapped(address: number): boolean {
  return readFileSync('/proc/self/maps', 'latin1')
    .split('\n')
    .map((line) => line.split(/[- ]/).map((word) => Number.parseInt(word, 16)))
    .some(([from = 0, to = 0]) => from <= address && address < to);
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

describeWith('netns', 'packet ring', () => {
  for (const [what, spec] of [
    ['slots', 'packet-ring:veth0'],
    ['blocks', 'packet-ring:veth0,v3'],
  ] as const) {
    const options = { lossless: false, window: 256, unavailable: () => openLink('packet-ring:none0') } as const;
    linkCompliance(`a packet ring of ${what}`, pairOf(spec, 1500, V4), options);
    linkCompliance(`a packet ring of ${what} with jumbo frames`, pairOf(spec, 4200, V6), options);

    describe(`a packet ring of ${what}`, () => {
      it(
        'delivers VLAN tags as they were on the wire, and nothing that it has sent itself',
        withPair(async ({ a, b, sinkA, sinkB }) => {
          const frames = [
            frame(1, 2, 1),
            tagged(2, [[0x81_00, 5]]),
            tagged(3, [[0x81_00, 0xe0_07]]),
            tagged(4, [
              [0x88_a8, 100],
              [0x81_00, 200],
            ]),
          ];
          expect(a.send(batchOf(...frames), 0)).toBe(4);
          await until(() => arrived(sinkB).length === 4);
          expect(arrived(sinkB)).toEqual(frames);
          b.send(batchOf(frame(1, 2, 5)), 0);
          await until(() => arrived(sinkA).length > 0);
          expect(arrived(sinkA)).toEqual([frame(1, 2, 5)]);
          expect([a.counters.sent, b.counters.sent, arrived(sinkB).length]).toEqual([4, 1, 4]);
        }, spec),
      );

      it(
        'counts what it had no room for, and goes on',
        withPair(async ({ a, b, sinkB }) => {
          // In one go, so that the receiver in this thread has no turn: 20,000 slots or 16 MiB of blocks are not there.
          const batch = batchOf(...Array.from({ length: 64 }, (_, i) => frame(1, 2, i, 1514)));
          let sent = 0;
          while (sent < 20_000) sent += a.send(batch, 0);
          await until(() => b.counters.received + b.counters.dropped >= sent);
          expect(b.counters.dropped).toBeGreaterThan(0);
          expect(b.counters.received).toBeGreaterThan(1000);
          a.send(batchOf(frame(1, 2, 77_777)), 0);
          await until(() => sinkB.tags.includes(77_777));
        }, spec),
      );

      it(
        'drops frames over the MTU, in both directions, and counts them',
        withPair(
          async ({ a, b, sinkB }) => {
            const fits = tagged(1, [[0x81_00, 5]]);
            const full = new Uint8Array(1518);
            full.set(fits);
            expect(a.send(batchOf(full, frame(1, 2, 2, 1515), frame(1, 2, 3, 1014)), 0)).toBe(3);
            await until(() => arrived(sinkB).length > 0);
            expect(arrived(sinkB)).toEqual([frame(1, 2, 3, 1014)]);
            expect(a.counters).toMatchObject({ sent: 2, oversize: 1, sendErrors: 0 });
            expect(b.counters.oversize).toBe(1);
          },
          spec,
          `${spec},mtu=1000`,
        ),
      );

      it('carries a connection and WRITEs of path MTU 4096 between two devices with addresses of their own', async () => {
        const netns = await settledPair({ mtu: 4200 });
        try {
          const start = (where: Netns, address: string) =>
            within(where, () => openDevice({ link: spec, addresses: [address] }));
          const a = await start(netns.a, OURS[0]);
          const b = await start(netns.b, OURS[1]);
          await writeBothWays({ a, b }, '10.99.0.12');
          await Promise.all([a.close(), b.close()]);
        } finally {
          netns.remove();
        }
      });
    });
  }

  it(
    'is promiscuous while it is open',
    withPair(async ({ a, netns }) => {
      const promiscuity = (): string | undefined =>
        /promiscuity (\d+)/.exec(netns.a.exec('ip', '-d', 'link', 'show', 'veth0'))?.[1];
      expect(promiscuity()).toBe('1');
      await a.close();
      expect(promiscuity()).toBe('0');
    }),
  );

  it(
    'drops what the kernel has merged into frames beyond the MTU',
    withPair(async ({ b, sinkB, netns }) => {
      const server = `require('node:net').createServer((s) => s.resume().on('close', () => process.exit())).listen(5000, () => console.log('up'))`;
      const client = `require('node:net').connect(5000, '10.99.0.2').end(Buffer.alloc(500_000)).resume()`;
      const run = ({ prefix }: Netns, program: string) => {
        const [command = '', ...rest] = [...prefix, process.execPath, '-e', program];
        return spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
      };
      const listening = run(netns.b, server);
      await new Promise((resolve) => listening.stdout?.once('data', resolve));
      run(netns.a, client);
      await new Promise((resolve) => listening.once('exit', resolve));
      await until(() => b.counters.oversize > 0);
      expect(Math.max(...sinkB.frames.map(({ length }) => length))).toBeLessThanOrEqual(1514);
    }),
  );

  // A wire of 100 Mbit/s: what it cannot take at once waits in its queue, at the cost of the socket's buffer, or does
  // not fit.
  for (const [what, limit] of [
    ['send buffer', '100mb'],
    ['queue of the interface', '200kb'],
  ] as const)
    it(
      `takes no more frames than the ${what} has room for, and loses none`,
      withPair(async ({ a, b, sinkA, sinkB, netns }) => {
        const shaper = ['tbf', 'rate', '100mbit', 'burst', '20kb', 'limit', limit];
        netns.a.exec('tc', 'qdisc', 'replace', 'dev', 'veth0', 'root', ...shaper);
        receiveOnOneProcessor(netns.b);
        const batch = batchOf(...Array.from({ length: 50 }, () => frame(1, 2, 0, 1000)));
        let next = 0;
        const offer = (): void => {
          while (next < FLOOD) {
            batch.count = Math.min(50, FLOOD - next);
            for (let i = 0; i < batch.count; i++) batch.view.setUint32((batch.starts[i] ?? 0) + 14, next + i);
            const taken = a.send(batch, 0);
            next += taken;
            if (taken < batch.count) return;
          }
        };
        sinkA.writable = () => {
          Watcher.prototype.writable.call(sinkA);
          offer();
        };
        offer();
        expect(next).toBeGreaterThan(0);
        expect(next).toBeLessThan(FLOOD);
        // A receiver that a busy machine keeps waiting drops what its own ring has no room for, and counts it.
        await until(() => arrived(sinkB).length + b.counters.dropped >= FLOOD);
        const tags = arrived(sinkB).map(tagOf);
        expect(tags.filter((tag, i) => i > 0 && tag <= (tags[i - 1] ?? 0))).toEqual([]);
        if (b.counters.dropped === 0) expect(tags).toHaveLength(FLOOD);
        expect(sinkA.writableCalls).toBeGreaterThan(0);
        expect(a.counters).toMatchObject({ sent: FLOOD, sendErrors: 0 });
      }),
    );

  for (const [what, command] of [
    ['goes down', ['ip', 'link', 'set', 'veth0', 'down']],
    ['is removed', ['ip', 'link', 'del', 'veth0']],
  ] as const)
    it(
      `ends once, with a reason, when the interface ${what}`,
      withPair(async ({ a, sinkA, netns }) => {
        netns.a.exec(...command);
        expect(a.send(batchOf(frame(1, 2, 1), frame(1, 2, 2)), 0)).toBe(2);
        expect(a.counters).toMatchObject({ sent: 0, sendErrors: 2 });
        await until(() => sinkA.closedCalls > 0);
        expect(sinkA.error).toMatchObject({
          code: 'ERR_ROCE_CLOSED',
          message: 'packet-ring:veth0: the interface is down (ENETDOWN)',
        });
        expect(a.send(batchOf(frame(1, 2, 1)), 0)).toBe(1);
        await a.close();
        for (let i = 0; i < 5; i++) await turn();
        expect(sinkA.closedCalls).toBe(1);
      }),
    );

  it('can be opened again on an interface that is up again', () =>
    withNetns(async ({ a: host }) => {
      const sink = new Watcher();
      await open(host, 'packet-ring:veth0', sink);
      host.exec('ip', 'link', 'set', 'veth0', 'down');
      await until(() => sink.closedCalls > 0);
      await expect(open(host, 'packet-ring:veth0', new Watcher())).rejects.toMatchObject({
        code: 'ERR_ROCE_LINK_UNAVAILABLE',
        message: 'packet-ring:veth0: looking for the interface: the interface is down (ENETDOWN)',
      });
      host.exec('ip', 'link', 'set', 'veth0', 'up');
      const again = await open(host, 'packet-ring:veth0', new Watcher());
      await again.close();
    }));

  it('does not start where it cannot, and says why', () =>
    withNetns(async ({ a: host }) => {
      host.exec('ip', 'tuntap', 'add', 'tun0', 'mode', 'tun');
      for (const [name, message] of [
        ['none0', 'looking for the interface: there is no such interface (ENODEV)'],
        ['tun0', 'the interface is not Ethernet (hardware type 65534)'],
      ])
        await expect(open(host, `packet-ring:${name}`, new Watcher())).rejects.toMatchObject({
          code: 'ERR_ROCE_LINK_UNAVAILABLE',
          message: `packet-ring:${name}: ${message}`,
        });
      expect(startElsewhere('packet-ring:veth0', { prefix: [...host.prefix, ...UNPRIVILEGED] })).toBe(
        'ERR_ROCE_LINK_UNAVAILABLE packet-ring:veth0: opening a packet socket: it needs the privilege CAP_NET_RAW (EPERM)',
      );
    }));

  it('works in a worker thread, and with the package hidden names what to install', () =>
    withNetns(async ({ a: host }) => {
      expect(startElsewhere('packet-ring:veth0', { prefix: host.prefix, inWorker: true })).toBe('started');
      expect(startElsewhere('packet-ring:veth0', { prefix: host.prefix, without: 'koffi' })).toMatch(
        /^ERR_ROCE_LINK_UNAVAILABLE .*npm install koffi/,
      );
    }));

  it('leaves zeros in a batch that somebody kept, and gives the memory up when nobody does', () =>
    withNetns(async (netns) => {
      const libc = await loadLibc();
      const keepOne = async (): Promise<FrameBatch> => {
        const sink = new Watcher();
        const kept: FrameBatch[] = [];
        sink.receive = (batch) => void kept.push(batch);
        const link = await open(netns.b, 'packet-ring:veth0', sink);
        const other = await open(netns.a, 'packet-ring:veth0', new Watcher());
        other.send(batchOf(frame(1, 2, 1)), 0);
        await until(() => kept.length > 0);
        await Promise.all([link.close(), other.close()]);
        const [batch] = kept;
        if (batch === undefined) throw new Error('a batch was kept');
        return batch;
      };
      let batch: FrameBatch | undefined = await keepOne();
      const address = libc.address(batch.bytes);
      expect(batch.bytes.every((byte) => byte === 0)).toBe(true);
      expect(isMapped(address)).toBe(true);
      batch = undefined;
      const collectGarbage = collector();
      await until(() => {
        collectGarbage();
        return !isMapped(address);
      });
    }));

  it('carries the longest packet there is, over loopback', () =>
    withNetns(async ({ a: host }) => {
      const sink = new Watcher();
      const link = await open(host, 'packet-ring:lo', sink);
      expect(link.mtu).toBe(65_535);
      const longest = frame(1, 2, 1, 65_549);
      link.send(batchOf(longest, frame(1, 2, 2)), 0);
      await until(() => arrived(sink).length === 2);
      expect(arrived(sink)).toEqual([longest, frame(1, 2, 2)]);
      await link.close();
    }));

  it('asks for a longer window where acknowledges come late', () => {
    expect(openLink('packet-ring:lo,v3').maxUnacked).toBe(1024);
    expect(openLink('packet-ring:lo').maxUnacked).toBeUndefined();
  });

  it('says what it needs, all of which is there', async () => {
    const needs = (await LINK_KINDS.find(({ name }) => name === 'packet-ring')?.requirements()) ?? [];
    expect(needs.map(({ what, met }) => [what, met])).toEqual([
      ['Linux', true],
      ['the package koffi', true],
      ['the privilege CAP_NET_RAW', true],
    ]);
  });
});
