/**
 * Goal: where the package koffi is not, udp6 and raw-socket are the links that they are with it, but for the traffic
 * class, and say so. Method: the compliance suite, and what else depends on the difference, with a C library that
 * cannot be loaded.
 */
import { expect, it, vi } from 'vitest';
import { LINK_KINDS } from '../../../src/node/links/index.ts';
import { Udp6Link } from '../../../src/node/links/udp6.ts';

import { describeWith } from '../../support/need.ts';
import { linkCompliance } from './compliance.ts';
import { netnsPair, startLink, until, V6, withNetns } from './netns-link.ts';
import { anyIpv6Arrivals, only, packet, SPEC } from './raw-socket-support.ts';
import { selfLink, traffic } from './udp-support.ts';

vi.mock('../../../src/node/links/libc.ts', async (original) => ({
  ...(await original<object>()),
  mayLoadLibc: () => false,
  loadLibc: () => Promise.reject(new Error('there is no koffi')),
}));

traffic('udp6', (options) => new Udp6Link(options));

it('udp6 says that it neither sets nor sees the traffic class, and what to install', async () => {
  const { link } = await selfLink((options) => new Udp6Link(options));
  expect(link.ecn).toEqual({ set: [], read: [], reason: expect.stringContaining('npm install koffi') });
  expect(LINK_KINDS.find(({ name }) => name === 'udp6')?.ecn).toEqual(link.ecn);
  await link.close();
});

describeWith(['netns', 'raw-socket'], 'links over raw sockets without koffi', () => {
  linkCompliance(
    'a raw-socket link on IPv6 without koffi',
    netnsPair(SPEC, V6, () => Promise.resolve()),
    {
      lossless: false,
      window: 128,
    },
  );

  anyIpv6Arrivals();

  it('say that they see the traffic class on IPv4 only, and what to install', () =>
    withNetns(async (netns) => {
      const { link } = await startLink(netns.a, SPEC);
      const ecn = { set: [4, 6], read: [4], reason: expect.stringContaining('npm install koffi') };
      expect([link.ecn, LINK_KINDS.find(({ name }) => name === 'raw-socket')?.ecn]).toEqual([ecn, ecn]);
      await link.close();
    }));

  it('rebuild an IPv6 header but for what no ICRC covers', () =>
    withNetns(async (netns) => {
      const a = await startLink(netns.a, SPEC);
      const b = await startLink(netns.b, SPEC);
      const sent = packet(...V6);
      a.link.send(sent, 0);
      await until(() => b.sink.batches.length === 1);
      const expected = sent.bytes.slice(0, sent.lengths[0]);
      expected.set([0x60, 0, 0, 0], 0);
      expected[7] = 64;
      expect(only(b.sink)).toEqual(expected);
      await Promise.all([a.link.close(), b.link.close()]);
    }));
});
