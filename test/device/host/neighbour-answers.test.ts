/**
 * Goal: questions for our addresses and pings are answered, and nothing else is. Method: hand-made frames from the
 * peer's side, arbitrary bytes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMac, parseMac } from '../../../packets/address.ts';
import { ArpOperation, readArp } from '../../../packets/arp.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { readIcmpEcho, readIcmpv6Echo, writeIcmpEcho, writeIcmpv6Echo } from '../../../packets/icmp.ts';
import { readNeighborAdvertisement, writeNeighborSolicitation } from '../../../packets/icmpv6-nd.ts';
import { echoReplyFrame, type FrameEndpoint, solicitationFrame } from '../../../src/device/host/neighbour-frames.ts';
import { give, ip, OUR_MAC, ours, PEER, PEER_MAC, PEER6, take, US, US6 } from './neighbour-support.ts';

const replaced = (bytes: Uint8Array, at: number, value: number): Uint8Array => {
  const copy = bytes.slice();
  copy[at] = value;
  return copy;
};

describe('answering', () => {
  it('answers a probe for our address without learning the prober', () => {
    const a = ours();
    give(a, solicitationFrame({ mac: PEER_MAC, address: ip('0.0.0.0') }, US.address));
    const [reply] = take(a);
    const arp = reply && readArp(new DataView(reply.buffer), 14, reply.length);
    expect(arp).toMatchObject({ operation: ArpOperation.Reply, senderMac: OUR_MAC, targetMac: PEER_MAC });
    expect(a.counters.learnt).toBe(0);
  });

  it('defends an IPv6 address against duplicate address detection by telling all nodes', () => {
    const a = ours();
    const probe = solicitationFrame({ mac: PEER_MAC, address: PEER6.address }, US6.address);
    const view = new DataView(probe.buffer);
    // As a prober sends it: from ::, without the option that gives the MAC.
    const bytes = probe.slice(0, 78);
    const short = new DataView(bytes.buffer);
    short.setUint16(14 + 4, 24);
    ip('::').write(short, 14 + 8);
    writeNeighborSolicitation(short, 14, 54, { target: US6.address, sourceMac: undefined });
    expect(view.byteLength).toBe(86);
    give(a, bytes);
    const [reply] = take(a);
    if (reply === undefined) throw new Error('an advertisement');
    expect(formatMac(reply)).toBe('33:33:00:00:00:01');
    const advertisement = readNeighborAdvertisement(new DataView(reply.buffer), 14, 54, reply.length);
    expect(advertisement).toMatchObject({ solicited: false, override: true, targetMac: OUR_MAC });
    expect(a.counters.learnt).toBe(0);
  });

  it.each([0, 1, 56, 1472])('returns an IPv4 ping of %i bytes', (size) => {
    const a = ours();
    give(a, ping(PEER, US, size));
    const [reply] = take(a);
    if (reply === undefined) throw new Error('a reply');
    const frame = new Frame();
    expect(parseFrame(reply, new DataView(reply.buffer), 0, reply.length, Medium.Ethernet, frame)).toBe(
      FrameStatus.NotUdp,
    );
    expect(readIcmpEcho(frame.view, frame.l4Offset, frame.ipEnd)).toEqual({
      reply: true,
      identifier: 77,
      sequence: 3,
      data: pattern(size),
    });
    expect([formatMac(reply), frame.hopLimit, frame.trafficClass]).toEqual([formatMac(PEER_MAC), 64, 0x28]);
  });

  it.each([0, 1, 1432])('returns an IPv6 ping of %i bytes', (size) => {
    const a = ours();
    give(a, ping(PEER6, US6, size));
    const [reply] = take(a);
    if (reply === undefined) throw new Error('a reply');
    const frame = new Frame();
    expect(parseFrame(reply, new DataView(reply.buffer), 0, reply.length, Medium.Ethernet, frame)).toBe(
      FrameStatus.NotUdp,
    );
    const echo = readIcmpv6Echo(frame.view, frame.ipOffset, frame.l4Offset, frame.ipEnd);
    expect(echo).toEqual({ reply: true, identifier: 77, sequence: 3, data: pattern(size) });
  });

  it('does not return pings with a wrong checksum, to others, from groups, or replies', () => {
    const a = ours();
    const good = ping(PEER, US, 8);
    give(a, replaced(good, 42, 0x5a));
    give(a, ping(PEER, { mac: OUR_MAC, address: ip('10.0.0.3') }, 8));
    give(a, ping(PEER, { mac: parseMac('ff:ff:ff:ff:ff:ff'), address: US.address }, 8));
    give(a, ping({ mac: PEER_MAC, address: ip('224.0.0.1') }, US, 8));
    give(a, ping({ mac: PEER_MAC, address: ip('255.255.255.255') }, US, 8));
    give(a, ping({ mac: PEER_MAC, address: ip('0.0.0.0') }, US, 8));
    give(a, echoReplyFrame(PEER, US, { reply: false, identifier: 1, sequence: 1, data: new Uint8Array(8) }, 0));
    give(a, ping(PEER6, { mac: OUR_MAC, address: ip('fe80::9') }, 8));
    expect(take(a)).toEqual([]);
  });

  it('ignores what is tagged, for another station, or cut short', () => {
    const a = ours();
    const request = solicitationFrame(PEER, US.address);
    const tagged = new Uint8Array(request.length + 4);
    tagged.set(request.subarray(0, 12));
    tagged.set([0x81, 0, 0, 5], 12);
    tagged.set(request.subarray(12), 16);
    give(a, tagged);
    give(a, replaced(replaced(request, 0, 2), 5, 9));
    for (let length = 0; length < 42; length++) give(a, request.slice(0, length));
    for (const value of [0, 3, 255]) give(a, replaced(request, 21, value));
    expect([take(a), a.counters.learnt]).toEqual([[], 0]);
    give(a, request.slice(0, 42));
    expect(take(a).length).toBe(1);
  });

  it('bounds the replies that wait and drops the rest', () => {
    const a = ours();
    for (let i = 0; i < 1000; i++) give(a, ping(PEER, US, 8));
    expect(take(a).length).toBe(64);
    expect([take(a).length, a.counters.repliesDropped]).toEqual([0, 936]);
  });

  it('continues where a full writer stopped it, and drops a reply that is longer than any frame of the link', () => {
    const a = ours();
    give(a, ping(PEER, US, 8));
    a.resolve(0, ip('10.0.0.8'));
    const writer = new FrameWriter(1, 128);
    expect([a.poll(0, writer), writer.count]).toEqual([true, 1]);
    writer.reset();
    expect([a.poll(0, writer), writer.count]).toEqual([false, 1]);
    give(a, ping(PEER, US, 5000));
    expect([take(a), a.counters.repliesDropped]).toEqual([[], 1]);
  });

  it('survives any bytes and answers at most one frame to each', () => {
    const seeds = [
      solicitationFrame(PEER, US.address),
      solicitationFrame(PEER6, US6.address),
      ping(PEER, US, 20),
      ping(PEER6, US6, 20),
    ];
    const mutated = fc
      .tuple(fc.constantFrom(...seeds), fc.array(fc.tuple(fc.nat(100), fc.nat(255)), { maxLength: 6 }), fc.nat(100))
      .map(([seed, changes, cut]) => {
        const bytes = seed.slice(0, Math.max(0, seed.length - (cut < 50 ? 0 : cut - 50)));
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 120 }), mutated), fc.boolean(), (bytes, asking) => {
        const a = ours();
        if (asking) {
          a.resolve(0, PEER.address);
          take(a);
        }
        give(a, bytes);
        expect(take(a).length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2000 },
    );
  });
});

function pattern(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => i);
}

/** An echo request: the frame of a reply with the type changed and the checksum done again. */
function ping(from: FrameEndpoint, to: FrameEndpoint, size: number): Uint8Array {
  const echo = { reply: false, identifier: 77, sequence: 3, data: pattern(size) };
  const bytes = echoReplyFrame(from, to, echo, 0x28);
  const view = new DataView(bytes.buffer);
  if (from.address.version === 4) writeIcmpEcho(view, 34, echo);
  else writeIcmpv6Echo(view, 14, 54, echo);
  return bytes;
}
