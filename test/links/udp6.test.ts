/**
 * Goal: the link through node:dgram is a link, says what is wrong when it cannot be one, and is deaf exactly where its header says.
 * Method: links to themselves on ::1, without privileges; the compliance suite and a peer that dies in namespaces.
 */
import { expect, it } from 'vitest';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { LINK_KINDS } from '../../src/links/index.ts';
import { Udp6Link } from '../../src/links/udp6.ts';
import { describeWithNetns } from '../support/netns.ts';
import { peerThatDies, suiteInNamespaces, withoutChecksum } from './udp-namespaces.ts';
import { appendPacket, refusals, selfLink, snmp6, traffic, turn, until } from './udp-support.ts';

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

describeWithNetns('udp6 in namespaces', () => {
  suiteInNamespaces('udp6', (options) => new Udp6Link(options));
  peerThatDies('udp6');

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
