/**
 * Goal: the link through node:dgram is a link, says what is wrong when it cannot be one, and is deaf exactly where its
 * header says. Method: links to themselves on ::1, without privileges; the compliance suite and a peer that dies in
 * namespaces.
 */
import { expect, it } from 'vitest';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import type { Link } from '../../../src/ground/link.ts';
import { LINK_KINDS, UdpOffloadLink } from '../../../src/node/links/index.ts';
import { Udp6Link } from '../../../src/node/links/udp6.ts';
import { makeNetnsPair } from '../../../tools/netns.ts';
import { Collector } from '../../sim/support.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { receiveOnOneProcessor } from './netns-link.ts';
import { peerThatDies, suiteInNamespaces, withoutChecksum } from './udp-namespaces.ts';
import { appendPacket, parse, refusals, selfLink, snmp6, traffic, turn, until } from './udp-support.ts';

refusals('udp6', (options) => new Udp6Link(options));
traffic('udp6', (options) => new Udp6Link(options));

it('udp6 needs nothing but an IPv6 address', async () => {
  const kind = LINK_KINDS.find(({ name }) => name === 'udp6');
  expect(await kind?.requirements()).toMatchObject([{ what: 'an IPv6 address', met: true }]);
});

it('udp6 takes all frames of an endless sender, in order, whatever the kernel has room for', async () => {
  const { link, sink } = await selfLink((options) => new Udp6Link(options), { mtu: 1500 });
  const writer = new FrameWriter(64, 2000);
  let psn = 0;
  let newest = -1;
  for (let batch = 0; batch < 200; batch++) {
    writer.reset();
    while (!writer.full) appendPacket(writer, { psn: psn++, length: 1400 });
    for (let from = 0; from < writer.count; ) {
      const calls = sink.writableCalls;
      from += link.send(writer, from);
      if (from < writer.count) await until(() => sink.writableCalls > calls);
    }
    if (batch % 10 === 0) await turn();
  }
  await link.close();
  for (const bytes of sink.frames) {
    const number = new DataView(bytes.buffer).getUint32(48 + 8) & 0xff_ff_ff;
    expect(number).toBeGreaterThan(newest);
    newest = number;
  }
  expect(link.counters.sent).toBe(psn);
  expect(newest).toBeGreaterThan(0);
});

describeWith('netns', 'udp6 in namespaces', () => {
  suiteInNamespaces('udp6', (options) => new Udp6Link(options));
  peerThatDies('udp6');

  /**
   * Sends a mixture by udp6 from the first of two hosts to a link of the second that can tell the traffic class;
   * returns the sender's side.
   */
  const sendMixture = async (batches: number, rate?: string): Promise<Collector> => {
    const pair = makeNetnsPair();
    try {
      if (rate !== undefined) {
        pair.a.exec('tc', ...`qdisc replace dev ${pair.a.device} root tbf rate ${rate} burst 10k limit 4m`.split(' '));
        receiveOnOneProcessor(pair.b);
      }
      const [from, to] = [new Collector(), new Collector()];
      const link = await within(pair.a, async () => started(new Udp6Link({ address: 'fd99::1' }), from));
      const witness = await within(pair.b, async () => started(new UdpOffloadLink({ address: 'fd99::2' }), to));
      expect(link.ecn).toMatchObject({ set: [6], read: [] });
      const sent = await sendBatches(link, from, batches, () => until(() => to.frames.length > 0));
      await until(() => to.frames.length === sent);
      expect(to.frames.map(parse).map(({ psn, trafficClass }) => [psn, trafficClass])).toEqual(
        Array.from({ length: sent }, (_, psn) => [psn, classOf(psn)]),
      );
      await Promise.all([link.close(), witness.close()]);
      return from;
    } finally {
      pair.remove();
    }
  };

  it('leaves every packet the traffic class that it was written with', async () => {
    await sendMixture(16);
  });

  it('and also those that had to wait for room in the kernel, with packets of other classes behind', async () => {
    // A slow queue keeps packets charged to the socket that sent them, so that there is no room for more.
    const { writableCalls } = await sendMixture(3, '2mbit');
    expect(writableCalls).toBeGreaterThan(0);
  });

  it('does not hear a datagram whose UDP checksum is 0, as those of rdma_rxe; the kernel counts it', async () => {
    await withoutChecksum(
      (options) => new Udp6Link(options),
      async ({ sink, sendUnchecked, sendChecked }) => {
        const before = snmp6('Udp6InCsumErrors');
        sendUnchecked(7);
        sendChecked(8);
        await until(() => sink.frames.length > 0);
        expect(sink.frames.map((bytes) => bytes[48])).toEqual([8]);
        expect(snmp6('Udp6InCsumErrors') - before).toBe(1);
      },
    );
  });
});

/** Some alone and some in a row: of no class, ECN-capable, marked, and notifications. */
function classOf(psn: number): number {
  return MIXTURE[psn % MIXTURE.length] ?? 0;
}

async function started<L extends Link>(link: L, sink: Collector): Promise<L> {
  await link.start(sink);
  return link;
}

/** Sends a packet until it arrives, which shows that there is a way, and then as many as a witness has room for. */
async function sendBatches(
  link: Link,
  sink: Collector,
  batches: number,
  arrival: () => Promise<void>,
): Promise<number> {
  const writer = new FrameWriter(64, 2000);
  let psn = 0;
  const fill = (count: number): void => {
    writer.reset();
    for (let i = 0; i < count; i++, psn++)
      appendPacket(writer, {
        source: 'fd99::1',
        destination: 'fd99::2',
        psn,
        length: 1400,
        trafficClass: classOf(psn),
      });
  };
  fill(1);
  link.send(writer, 0);
  await arrival();
  for (let batch = 0; batch < batches; batch++) {
    fill(64);
    for (let from = 0; from < writer.count; ) {
      const calls = sink.writableCalls;
      from += link.send(writer, from);
      if (from < writer.count) await until(() => sink.writableCalls > calls);
    }
    await turn();
  }
  return psn;
}

const MIXTURE: readonly number[] = [0, 106, 106, 106, 107, 192, 0, 0, 107, 107, 106, 192, 192];
