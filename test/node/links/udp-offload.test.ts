/**
 * Goal: the link that lets the kernel cut and join datagrams is a link, loses none of what it joins, carries ECN, hears
 * senders without checksum, and does without segmentation where the system refuses it. Method: links to themselves, a
 * pretended sendmmsg, namespaces.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { LINK_KINDS } from '../../../src/node/links/index.ts';
import { EAGAIN, EINTR, EINVAL, EIO, EMSGSIZE } from '../../../src/node/links/libc.ts';
import { sendMessages, UdpOffloadLink } from '../../../src/node/links/udp-offload.ts';
import { MAX_MESSAGES } from '../../../src/node/links/udp-receive-messages.ts';
import { SendMessages } from '../../../src/node/links/udp-send-messages.ts';
import { makeNetnsPair } from '../../../tools/netns.ts';
import { Collector } from '../../sim/support.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { mergeOnArrival, peerThatDies, suiteInNamespaces, withoutChecksum } from './udp-namespaces.ts';
import { appendPacket, parse, refusals, selfLink, snmp6, traffic, until } from './udp-support.ts';

describeWith('koffi', 'udp-offload on this machine', () => {
  refusals('udp-offload', (options) => new UdpOffloadLink(options));
  traffic('udp-offload', (options) => new UdpOffloadLink(options));

  it('udp-offload says what it needs, and has it here', async () => {
    const kind = LINK_KINDS.find(({ name }) => name === 'udp-offload');
    const requirements = (await kind?.requirements()) ?? [];
    expect(requirements.map(({ what }) => what)).toEqual(['Linux', 'the package koffi', 'an IPv6 address']);
    expect(requirements.every(({ met }) => met)).toBe(true);
  });

  it('the traffic class arrives as it was sent, ECN included, also in the middle of a run', async () => {
    const { link, sink } = await selfLink((options) => new UdpOffloadLink(options), { mtu: 1500 });
    const writer = new FrameWriter(16, 2000);
    const classes = [0, 0, 2, 2, 2, 0x6b, 0xff, 0, 1, 1];
    for (const [psn, trafficClass] of classes.entries()) appendPacket(writer, { psn, trafficClass, length: 1000 });
    expect(link.send(writer, 0)).toBe(classes.length);
    await until(() => sink.frames.length === classes.length);
    expect(sink.frames.map(parse)).toMatchObject(
      classes.map((trafficClass, psn) => ({ icrc: true, psn, trafficClass })),
    );
    await link.close();
  });

  it('runs arrive as one batch with the frames that were sent', async () => {
    const { link, sink } = await selfLink((options) => new UdpOffloadLink(options), { mtu: 4200 });
    const writer = new FrameWriter(64, 4222);
    while (!writer.full) appendPacket(writer, { psn: writer.count, length: writer.count === 0 ? 4176 : 4160 });
    expect(link.send(writer, 0)).toBe(64);
    await until(() => sink.frames.length === 64);
    expect(sink.frames.map((bytes) => parse(bytes).psn)).toEqual(Array.from({ length: 64 }, (_, psn) => psn));
    expect(sink.batches.length).toBeLessThan(16);
    expect((link as UdpOffloadLink).segmentation).toBe(true);
    await link.close();
  });
});

describe('what the kernel may answer to sendmmsg', () => {
  /** Ten frames: a run of four, one alone, a run of five. */
  const setUp = (): { outgoing: SendMessages; writer: FrameWriter; counters: typeof COUNTERS } => {
    const rules = { local: IpAddress.parse('::1'), port: 4791, scopeId: 0, mtu: 1500 };
    const outgoing = new SendMessages(rules, () => 0x1_00_00);
    const writer = new FrameWriter(16, 2000);
    for (let psn = 0; psn < 10; psn++) appendPacket(writer, { psn, length: psn < 4 ? 500 : psn === 4 ? 600 : 604 });
    outgoing.fill(writer, 0);
    return { outgoing, writer, counters: { ...COUNTERS } };
  };
  const COUNTERS = { sent: 0, received: 0, oversize: 0, unsendable: 0, refused: 0 };

  /** Answers in turn: a number of messages, or an error as a negative number. */
  const kernel = (...answers: number[]): { sendmmsg: () => number; errno: () => number; left: () => number } => {
    let answer = 0;
    return {
      sendmmsg: () => {
        answer = answers.shift() ?? 0;
        return Math.max(answer, -1);
      },
      errno: () => -answer,
      left: () => answers.length,
    };
  };

  it('all of it, or a part and then the rest, also when interrupted', () => {
    for (const answers of [[3], [1, 2], [1, -EINTR, 1, 1]]) {
      const { outgoing, counters } = setUp();
      expect([...outgoing.ends.subarray(0, outgoing.count)]).toEqual([4, 5, 10]);
      const libc = kernel(...answers);
      expect(sendMessages(libc, 0, outgoing, 0, counters)).toBe(10);
      expect([counters.sent, outgoing.waits, libc.left()]).toEqual([10, false, 0]);
    }
  });

  it('no room: what has not gone waits', () => {
    const { outgoing, counters } = setUp();
    expect(sendMessages(kernel(1, -EAGAIN), 0, outgoing, 0, counters)).toBe(4);
    expect([counters.sent, outgoing.waits]).toEqual([4, true]);
  });

  it('not this one: it is lost, the others are not', () => {
    const { outgoing, counters } = setUp();
    expect(sendMessages(kernel(1, -EMSGSIZE, 1), 0, outgoing, 0, counters)).toBe(10);
    expect([counters.sent, counters.refused, outgoing.segmentation]).toEqual([9, 1, true]);
  });

  it.each([EIO, EINVAL])('no runs (error %i): they go one by one from then on', (errno) => {
    const { outgoing, writer, counters } = setUp();
    expect(sendMessages(kernel(-errno), 0, outgoing, 0, counters)).toBe(0);
    expect([counters.sent, counters.refused, outgoing.segmentation]).toEqual([0, 0, false]);
    outgoing.fill(writer, 0);
    expect(outgoing.count).toBe(10);
    expect(sendMessages(kernel(6, -EINVAL, 3), 0, outgoing, 0, counters)).toBe(10);
    expect([counters.sent, counters.refused]).toEqual([9, 1]);
  });
});

describeWith('netns', 'udp-offload in namespaces', () => {
  suiteInNamespaces('udp-offload', (options) => new UdpOffloadLink(options));
  suiteInNamespaces('udp-offload', (options) => new UdpOffloadLink(options), 1500);
  peerThatDies('udp-offload');

  it('tells the packets of each traffic class apart when the kernel merges what arrives', async () => {
    const pair = makeNetnsPair();
    const sink = new Collector();
    try {
      await mergeOnArrival(pair);
      const receiver = await within(pair.b, async () => new UdpOffloadLink({ address: 'fd99::2' }));
      const sender = await within(pair.a, async () => new UdpOffloadLink({ address: 'fd99::1' }));
      await within(pair.b, () => receiver.start(sink));
      await within(pair.a, () => sender.start(new Collector()));
      const classes = [0, 106, 106, 106, 106, 107, 107, 107, 106, 106, 106, 192, 0, 0, 0, 0];
      const expected = Array.from({ length: 64 }, (_, psn) => [psn, classes[psn % classes.length]]);
      const writer = new FrameWriter(64, 1500);
      for (const [psn = 0, trafficClass = 0] of expected)
        appendPacket(writer, { source: 'fd99::1', destination: 'fd99::2', psn, length: 1000, trafficClass });
      for (let round = 1; round <= 50; round++) {
        expect(sender.send(writer, 0)).toBe(64);
        await until(() => sink.frames.length === 64 * round);
      }
      const seen = sink.frames.map(parse).map(({ psn, trafficClass }) => [psn, trafficClass]);
      expect(seen).toEqual(Array.from({ length: 50 }, () => expected).flat());
      // More packets with one call than it takes messages: some were merged.
      expect(Math.max(...sink.batches.map((batch) => batch.length))).toBeGreaterThan(MAX_MESSAGES);
      await Promise.all([sender.close(), receiver.close()]);
    } finally {
      pair.remove();
    }
  });

  it('hears a datagram whose UDP checksum is 0, as those of rdma_rxe', async () => {
    await withoutChecksum(
      (options) => new UdpOffloadLink(options),
      async ({ sink, sendUnchecked }) => {
        sendUnchecked(7);
        await until(() => sink.frames.length > 0);
        expect(sink.frames.map((bytes) => bytes[48])).toEqual([7]);
        expect(snmp6('Udp6InCsumErrors')).toBe(0);
      },
    );
  });
});
