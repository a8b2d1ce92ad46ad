/** What the tests of raw sockets share, whoever receives IPv6: packets, and arrivals that no address may confuse. */
import { expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { Medium } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../../packets/header-template.ts';
import { startLink, until, V6, type Watcher, withNetns } from './netns-link.ts';

export const SPEC = 'raw-socket:veth0';

/** A RoCE packet of the IP medium: headers, a made-up BTH and `payload` bytes. */
export function packet(source: string, destination: string, payload = 64): FrameWriter {
  const template = new HeaderTemplate({
    medium: Medium.Ip,
    sourceMac: new Uint8Array(6),
    destMac: new Uint8Array(6),
    source: IpAddress.parse(source),
    destination: IpAddress.parse(destination),
    trafficClass: 3,
    hopLimit: 17,
    flowLabel: 0x1_23_45,
    sourcePort: 50_000,
  });
  const writer = new FrameWriter(1, payload + 200);
  const bth = writer.begin(template);
  writer.end(template, bth + 12 + payload);
  return writer;
}

export function only(sink: Watcher): Uint8Array {
  const [first = new Uint8Array()] = sink.batches.flat();
  return first;
}

/** Over IPv6 the kernel does not hand up the header, and so neither address. */
export function anyIpv6Arrivals(): void {
  it('finds the one of several IPv6 addresses that a packet was for', () =>
    withNetns(async (netns) => {
      for (const host of [0x22, 0x23, 0x24])
        netns.b.exec('ip', 'address', 'add', `fd99::${host.toString(16)}/64`, 'dev', 'veth0', 'nodad');
      const a = await startLink(netns.a, SPEC);
      const b = await startLink(netns.b, SPEC);
      expect(b.link.addresses).toHaveLength(5);
      for (const to of ['fd99::23', 'fd99::2', 'fd99::24', 'fd99::24', 'fd99::22']) {
        b.sink.batches.length = 0;
        a.link.send(packet(V6[0], to), 0);
        await until(() => b.sink.batches.length === 1);
        const bytes = only(b.sink);
        expect(IpAddress.read(new DataView(bytes.buffer), 24, 6).toString()).toBe(to);
      }
      await Promise.all([a.link.close(), b.link.close()]);
    }));

  it('survives a sender whose address the reader of addresses does not take', () =>
    withNetns(async (netns) => {
      const a = await startLink(netns.a, SPEC);
      const b = await startLink(netns.b, SPEC);
      const strange = packet(...V6);
      strange.bytes.set([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], 8);
      a.link.send(strange, 0);
      // Again and again: while the kernel asks who has the address it may drop what waits for that.
      await until(() => {
        a.link.send(packet(...V6), 0);
        return b.sink.batches.flat().some((bytes) => bytes[8] === 0xfd);
      });
      expect(b.sink.closedCalls).toBe(0);
      await Promise.all([a.link.close(), b.link.close()]);
    }));
}
