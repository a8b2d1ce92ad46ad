/**
 * Goal: frames of our own pass any Ethernet interface unchanged and in order, and nothing that happens to it takes the
 * process along. Method: the compliance suite and whole devices over a veth pair between two namespaces, and every way
 * to lose the interface.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LINK_KINDS, openLink, PcapLink } from '../../../src/node/links/index.ts';
import { linkHeaderBytes } from '../../../src/node/links/pcap-protocol.ts';
import type { NetnsPair } from '../../../tools/netns.ts';
import { batchOf, frame } from '../../sim/support.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { linkCompliance } from './compliance.ts';
import {
  netnsPair,
  startElsewhere,
  startLink,
  UNPRIVILEGED,
  until,
  V4,
  Watcher,
  withDevices,
  withNetns,
  writeBothWays,
} from './netns-link.ts';

const SPEC = 'pcap:veth0';
const OURS = [
  ['10.99.0.11/24', 'fd99::11/64'],
  ['10.99.0.12/24', 'fd99::12/64'],
] as const;

/** An ARP-sized frame that the filter lets through: gratuitous ARP, its last bytes the tag. */
function arp(tag: number, vlanTags: readonly number[] = [], length = 60): Uint8Array {
  const bytes = frame(1, 2, tag, length);
  const view = new DataView(bytes.buffer);
  for (const [index, vlan] of vlanTags.entries()) {
    view.setUint16(12 + 4 * index, vlanTags.length - index === 1 ? 0x81_00 : 0x88_a8);
    view.setUint16(14 + 4 * index, vlan);
  }
  view.setUint16(12 + 4 * vlanTags.length, 0x08_06);
  return bytes;
}

async function withPair(
  test: (a: PcapLink, b: PcapLink, sinkA: Watcher, sinkB: Watcher, netns: NetnsPair) => Promise<void>,
): Promise<void> {
  await withNetns(async (netns) => {
    const a = await startLink(netns.a, SPEC);
    const b = await startLink(netns.b, SPEC);
    if (!(a.link instanceof PcapLink && b.link instanceof PcapLink)) throw new Error('pcap links');
    await test(a.link, b.link, a.sink, b.sink, netns);
    await Promise.all([a.link.close(), b.link.close()]);
  });
}

/** Those of this process. */
function captureProcesses(): number[] {
  const read = (pid: number, file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && read(pid, 'cmdline').includes('pcap-process'))
    .filter((pid) => read(pid, 'status').includes(`PPid:\t${process.pid}\n`));
}

/** Ours among what else is on the wire. */
function arrived(sink: Watcher): Uint8Array[] {
  return sink.batches.flat().filter((bytes) => bytes[6] === 2 && bytes[11] === 1);
}

describeWith(['netns', 'cap'], 'links over libpcap', () => {
  linkCompliance(
    'a pcap link on IPv4',
    netnsPair(SPEC, V4, () => Promise.resolve()),
    { lossless: false, window: 64, unavailable: () => openLink('pcap:none0') },
  );

  it('carries frames with up to two VLAN tags, and hears nothing of its own', () =>
    withPair(async (a, b, sinkA, sinkB) => {
      const frames = [arp(1), arp(2, [5]), arp(3, [0x60_07]), arp(4, [100, 200])];
      expect(a.send(batchOf(...frames), 0)).toBe(4);
      await until(() => arrived(sinkB).length === 4);
      expect(arrived(sinkB)).toEqual(frames);
      b.send(batchOf(arp(5)), 0);
      await until(() => arrived(sinkA).length === 1);
      expect(arrived(sinkA)).toEqual([arp(5)]);
    }));

  it('leaves out what is none of a device', () =>
    withPair(async (a, _b, _sinkA, sinkB) => {
      a.send(batchOf(frame(1, 2, 1), frame(1, 2, 2), arp(3)), 0);
      await until(() => arrived(sinkB).length > 0);
      expect(arrived(sinkB)).toEqual([arp(3)]);
    }));

  it('drops and counts frames beyond the MTU in both directions, VLAN tags apart', () =>
    withNetns(async (netns) => {
      const a = await startLink(netns.a, SPEC);
      const small = await startLink(netns.b, `${SPEC},mtu=1000`);
      const fits = arp(1, [5], 1518);
      a.link.send(batchOf(fits, arp(2, [], 1515), arp(3, [], 1014)), 0);
      await until(() => arrived(small.sink).length === 1);
      expect(arrived(small.sink)).toEqual([arp(3, [], 1014)]);
      await Promise.all([a.link.close(), small.link.close()]);
      expect(a.link).toMatchObject({ counters: { sent: 3, oversize: 1, refused: 0 } });
      expect(small.link).toMatchObject({ counters: { received: expect.any(Number), receivedOversize: 1 } });
    }));

  for (const [what, command] of [
    ['goes down', ['ip', 'link', 'set', 'veth0', 'down']],
    ['is removed', ['ip', 'link', 'del', 'veth0']],
  ] as const)
    it(`ends with one error, and the process lives, when the interface ${what}`, () =>
      withPair(async (a, _b, sinkA, _sinkB, netns) => {
        netns.a.exec(...command);
        await until(() => sinkA.closedCalls > 0);
        expect(sinkA.error).toMatchObject({
          code: 'ERR_ROCE_CLOSED',
          message: expect.stringContaining('the interface veth0 went down or is gone'),
        });
        expect(a.send(batchOf(arp(1)), 0)).toBe(1);
        await a.close();
        expect(sinkA.closedCalls).toBe(1);
      }));

  it('ends with one error when it sends on an interface that went down, and can be opened again when it is up', () =>
    withPair(async (a, _b, sinkA, _sinkB, netns) => {
      netns.a.exec('ip', 'link', 'set', 'veth0', 'down');
      a.send(batchOf(arp(1)), 0);
      await until(() => sinkA.closedCalls > 0);
      netns.a.exec('ip', 'link', 'set', 'veth0', 'up');
      const again = await startLink(netns.a, SPEC);
      await again.link.close();
      expect([sinkA.closedCalls, again.sink.error]).toEqual([1, undefined]);
    }));

  it('does not start where it cannot, and says why', () =>
    withNetns(async (netns) => {
      const code = 'ERR_ROCE_LINK_UNAVAILABLE';
      await expect(startLink(netns.a, 'pcap:none0')).rejects.toMatchObject({ code, message: /no interface none0/ });
      expect(startElsewhere(SPEC, { prefix: [...netns.a.prefix, ...UNPRIVILEGED] })).toMatch(
        /^ERR_ROCE_LINK_UNAVAILABLE pcap:veth0: .*CAP_NET_RAW/,
      );
    }));

  it('does not start when its process ends at once, and tells nobody else', () =>
    withNetns(async (netns) => {
      const sink = new Watcher();
      const starting = within(netns.a, () => {
        const started = openLink(SPEC).start(sink);
        for (const pid of captureProcesses()) process.kill(pid, 'SIGKILL');
        return started;
      });
      const message = expect.stringContaining('the process that captures has ended at once');
      await expect(starting).rejects.toMatchObject({ code: 'ERR_ROCE_LINK_UNAVAILABLE', message });
      expect(sink.closedCalls).toBe(0);
    }));

  it('works in a worker thread', () =>
    withNetns((netns) => {
      expect(startElsewhere(SPEC, { prefix: netns.a.prefix, inWorker: true })).toBe('started');
      return Promise.resolve();
    }));

  it('names what to install when the package is missing', () => {
    expect(startElsewhere('pcap:lo', { without: 'cap' })).toMatch(
      /^ERR_ROCE_LINK_UNAVAILABLE pcap:lo: .*npm install cap, which needs libpcap \(Debian: libpcap-dev\)/,
    );
  });

  it('refuses what is no name of an interface', () => {
    expect(() => openLink('pcap:a/b')).toThrow(/is not the name of an interface/);
  });

  it('says what it needs, all of which is there', async () => {
    const needs = (await LINK_KINDS.find(({ name }) => name === 'pcap')?.requirements()) ?? [];
    expect(needs.map(({ what, met }) => [what, met])).toEqual([
      ['Linux', true],
      ['the package cap', true],
      ['the privilege CAP_NET_RAW', true],
    ]);
  });

  it('is a wire for devices with addresses of their own, over IPv4 and IPv6', () =>
    withDevices(SPEC, OURS, async (devices) => {
      await writeBothWays(devices, '10.99.0.12');
      await writeBothWays(devices, 'fd99::12');
    }));

  it('finds the IP packet behind the tags', () => {
    expect([arp(1), arp(1, [1]), arp(1, [1, 2])].map((bytes) => linkHeaderBytes(bytes, 0))).toEqual([14, 18, 22]);
    expect(linkHeaderBytes(new Uint8Array(3), 0)).toBe(14);
  });
});
