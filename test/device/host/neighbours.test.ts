/**
 * Goal: addresses are found and ours are answered for, and nothing else is: no poisoning, no reply that nobody asked
 * for. Method: two instances back to back, hand-made frames from the peer's side, arbitrary bytes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress, IpPrefix, parseMac } from '../../../packets/address.ts';
import { ArpOperation, readArp, writeArp } from '../../../packets/arp.ts';
import { RoceError } from '../../../packets/errors.ts';
import { ETHERTYPE_ARP, writeEthernet } from '../../../packets/ethernet.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { readIcmpEcho, readIcmpv6Echo, writeIcmpEcho, writeIcmpv6Echo } from '../../../packets/icmp.ts';
import { readNeighborAdvertisement, writeNeighborSolicitation } from '../../../packets/icmpv6-nd.ts';
import {
  advertisementFrame,
  arpReplyFrame,
  echoReplyFrame,
  type FrameEndpoint,
  solicitationFrame,
} from '../../../src/device/host/neighbour-frames.ts';
import { Neighbours, type NeighboursOptions } from '../../../src/device/host/neighbours.ts';

const ip = (text: string): IpAddress => IpAddress.parse(text);
const OUR_MAC = parseMac('02:00:00:00:00:01');
const PEER_MAC = parseMac('02:00:00:00:00:02');
const EVIL_MAC = parseMac('02:66:66:66:66:66');
const PEER: FrameEndpoint = { mac: PEER_MAC, address: ip('10.0.0.2') };
const PEER6: FrameEndpoint = { mac: PEER_MAC, address: ip('fe80::2') };
const US: FrameEndpoint = { mac: OUR_MAC, address: ip('10.0.0.1') };
const US6: FrameEndpoint = { mac: OUR_MAC, address: ip('fe80::1') };
const SECOND = 1e9;

function ours(options: Partial<NeighboursOptions> = {}): Neighbours {
  const addresses = ['10.0.0.1/24', 'fe80::1/64', '2001:db8::1/64'].map((text) => IpPrefix.parse(text));
  return new Neighbours({ mac: OUR_MAC, addresses, ...options });
}

function theirs(): Neighbours {
  return new Neighbours({ mac: PEER_MAC, addresses: [IpPrefix.parse('10.0.0.2/24'), IpPrefix.parse('fe80::2/64')] });
}

function give(neighbours: Neighbours, bytes: Uint8Array, now = 0): void {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
  neighbours.handleFrame(now, frame, status);
}

function take(neighbours: Neighbours, now = 0): Uint8Array[] {
  const writer = new FrameWriter(64, 2048);
  neighbours.poll(now, writer);
  return Array.from({ length: writer.count }, (_, i) => {
    const start = writer.starts[i] ?? 0;
    return writer.bytes.slice(start, start + (writer.lengths[i] ?? 0));
  });
}

/** Carries frames to and fro until both are silent. */
function converse(a: Neighbours, b: Neighbours): void {
  for (let round = 0; round < 10; round++) {
    for (const bytes of take(a)) give(b, bytes);
    for (const bytes of take(b)) give(a, bytes);
  }
}

/** Whole answers, for comparison; they hold an IpAddress and a MAC in text. */
function results(neighbours: Neighbours): string[] {
  const found: string[] = [];
  for (let next = neighbours.pollResolved(); next !== undefined; next = neighbours.pollResolved()) {
    found.push(`${next.address} ${next.mac === undefined ? 'unreachable' : formatMac(next.mac)}`);
  }
  return found;
}

function known(neighbours: Neighbours, text: string): string | undefined {
  const mac = neighbours.lookup(ip(text));
  return mac === undefined ? undefined : formatMac(mac);
}

const replaced = (bytes: Uint8Array, at: number, value: number): Uint8Array => {
  const copy = bytes.slice();
  copy[at] = value;
  return copy;
};

describe('resolving', () => {
  it.each(['10.0.0.2', 'fe80::2'])('finds %s, both ends learn, and only one question is asked', (text) => {
    const [a, b] = [ours(), theirs()];
    expect(known(a, text)).toBeUndefined();
    a.resolve(0, ip(text));
    a.resolve(0, ip(text));
    converse(a, b);
    expect(results(a)).toEqual([`${text} ${formatMac(PEER_MAC)}`]);
    expect(known(a, text)).toBe(formatMac(PEER_MAC));
    expect(known(b, text === 'fe80::2' ? 'fe80::1' : '10.0.0.1')).toBe(formatMac(OUR_MAC));
    expect([a.counters.questions, b.counters.questions, a.nextDeadline()]).toEqual([1, 0, Infinity]);
  });

  it('asks three times, a second apart, and then gives up', () => {
    const a = ours();
    a.resolve(5, ip('10.0.0.9'));
    const asked: number[] = [];
    let now = 5;
    for (let guard = 0; guard < 10 && now < Infinity; guard++) {
      asked.push(...take(a, now).map(() => now));
      expect(results(a)).toEqual([]);
      now = a.nextDeadline();
      if (asked.length === 3) break;
      a.handleTimeouts(now);
    }
    expect(asked).toEqual([5, 5 + SECOND, 5 + 2 * SECOND]);
    a.handleTimeouts(now - 1);
    expect(results(a)).toEqual([]);
    a.handleTimeouts(now);
    expect(results(a)).toEqual(['10.0.0.9 unreachable']);
    expect([a.nextDeadline(), take(a, now).length]).toEqual([Infinity, 0]);
    a.resolve(now, ip('10.0.0.9'));
    expect(take(a, now).length).toBe(1);
  });

  it('asks as the protocols want it: by broadcast, and by the solicited-node group', () => {
    const a = ours();
    a.resolve(0, ip('10.0.0.2'));
    a.resolve(0, ip('2001:db8::aa:bbcc'));
    const [arp, solicitation] = take(a);
    if (arp === undefined || solicitation === undefined) throw new Error('two questions');
    expect(formatMac(arp)).toBe('ff:ff:ff:ff:ff:ff');
    expect(arp.length).toBe(60);
    const message = readArp(new DataView(arp.buffer), 14, arp.length);
    expect(message).toMatchObject({ operation: ArpOperation.Request, senderMac: OUR_MAC });
    expect(`${message?.senderIp} ${message?.targetIp}`).toBe('10.0.0.1 10.0.0.2');
    expect(formatMac(solicitation)).toBe('33:33:ff:aa:bb:cc');
    expect(IpAddress.read(new DataView(solicitation.buffer), 14 + 8, 6).toString()).toBe('2001:db8::1');
    expect(IpAddress.read(new DataView(solicitation.buffer), 14 + 24, 6).toString()).toBe('ff02::1:ffaa:bbcc');
  });

  it('goes through the gateway of the right version for what is not on the link', () => {
    const a = ours({ gateway: [ip('10.0.0.2'), ip('fe80::2')] });
    for (const text of ['192.168.7.7', '192.168.7.8', '2600::1']) a.resolve(0, ip(text));
    converse(a, theirs());
    const mac = formatMac(PEER_MAC);
    expect(results(a).sort()).toEqual([`192.168.7.7 ${mac}`, `192.168.7.8 ${mac}`, `2600::1 ${mac}`]);
    expect(known(a, '192.168.99.99')).toBe(mac);
    expect(a.counters.questions).toBe(2);
  });

  it('says at once that no way leads off the link without a gateway, and refuses a gateway that is off the link', () => {
    const a = ours();
    for (const text of ['192.168.7.7', '0.0.0.0', '::', '2600::1']) a.resolve(0, ip(text));
    expect(results(a)).toEqual(['192.168.7.7', '0.0.0.0', '::', '2600::1'].map((text) => `${text} unreachable`));
    expect(take(a)).toEqual([]);
    expect(() => ours({ gateway: ip('192.168.7.1') })).toThrow(RoceError);
  });

  it('needs no question for groups, broadcast and itself', () => {
    const a = ours();
    expect(known(a, '239.129.2.3')).toBe('01:00:5e:01:02:03');
    expect(known(a, 'ff0e::1:2')).toBe('33:33:00:01:00:02');
    expect(known(a, '255.255.255.255')).toBe('ff:ff:ff:ff:ff:ff');
    expect(known(a, '10.0.0.1')).toBe(formatMac(OUR_MAC));
    a.resolve(0, ip('239.129.2.3'));
    expect(results(a)).toEqual(['239.129.2.3 01:00:5e:01:02:03']);
  });

  it('asks anew after forget', () => {
    const [a, b] = [ours(), theirs()];
    a.resolve(0, ip('10.0.0.2'));
    converse(a, b);
    a.forget(ip('10.0.0.2'));
    expect(known(a, '10.0.0.2')).toBeUndefined();
    a.resolve(0, ip('10.0.0.2'));
    expect(take(a).length).toBe(1);
  });

  it('keeps its table bounded: forgets the oldest, never a question under way', () => {
    const a = ours({ strangers: { maxNeighbours: 4 } });
    for (let host = 2; host < 10; host++)
      give(a, solicitationFrame({ mac: PEER_MAC, address: ip(`10.0.0.${host}`) }, US.address));
    expect([2, 3, 4, 5, 6, 7, 8, 9].filter((host) => known(a, `10.0.0.${host}`) !== undefined)).toEqual([6, 7, 8, 9]);
    for (let host = 20; host < 26; host++) a.resolve(0, ip(`10.0.0.${host}`));
    expect(results(a)).toEqual(['10.0.0.24 unreachable', '10.0.0.25 unreachable']);
    give(a, solicitationFrame(PEER, US.address));
    expect(known(a, '10.0.0.2')).toBeUndefined();
  });
});

describe('poisoning', () => {
  it.each(['10.0.0.255', '255.255.255.255', '224.0.0.1', '127.0.0.1', '0.1.2.3', 'ff02::1', '::1'])(
    'neither answers nor learns %s, which is no host',
    (text) => {
      const a = ours();
      const address = ip(text);
      give(a, solicitationFrame({ mac: EVIL_MAC, address }, (address.version === 4 ? US : US6).address));
      expect([take(a).length, a.counters.learnt]).toEqual([0, 0]);
      give(a, solicitationFrame(PEER, US.address));
      expect(take(a).length).toBe(1);
    },
  );

  it('learns nothing from a reply that nobody asked for', () => {
    const a = ours();
    give(a, arpReplyFrame({ mac: EVIL_MAC, address: PEER.address }, US));
    give(a, advertisementFrame({ mac: EVIL_MAC, address: PEER6.address }, US6));
    give(
      a,
      arpReplyFrame(
        { mac: EVIL_MAC, address: PEER.address },
        { mac: parseMac('ff:ff:ff:ff:ff:ff'), address: PEER.address },
      ),
    );
    expect([known(a, '10.0.0.2'), known(a, 'fe80::2'), take(a).length]).toEqual([undefined, undefined, 0]);
  });

  it('learns nothing from questions to others, nor from a network that is not ours', () => {
    const a = ours();
    give(a, solicitationFrame(PEER, ip('10.0.0.77')));
    give(a, solicitationFrame({ mac: PEER_MAC, address: ip('172.16.0.1') }, US.address));
    expect([known(a, '10.0.0.2'), take(a).length]).toEqual([undefined, 1]);
    expect(a.counters.learnt).toBe(0);
  });

  it.each([
    ['an ARP announcement', PEER, solicitationFrame({ mac: EVIL_MAC, address: PEER.address }, PEER.address)],
    ['an unsolicited ARP reply', PEER, arpReplyFrame({ mac: EVIL_MAC, address: PEER.address }, US)],
    ['a request to us', PEER, solicitationFrame({ mac: EVIL_MAC, address: PEER.address }, US.address)],
    ['an unsolicited advertisement', PEER6, advertisementFrame({ mac: EVIL_MAC, address: PEER6.address }, US6)],
    ['a solicitation of ours', PEER6, solicitationFrame({ mac: EVIL_MAC, address: PEER6.address }, US6.address)],
  ])('does not follow %s of somebody who still answers, and asks at most once a second', (_, peer, claim) => {
    const [a, b] = [ours(), theirs()];
    a.resolve(0, peer.address);
    converse(a, b);
    const asked = a.counters.questions;
    for (let now = 0; now < 3 * SECOND; now += SECOND / 100) {
      if (a.nextDeadline() <= now) a.handleTimeouts(now);
      give(a, claim, now);
      for (const bytes of take(a, now)) if (formatMac(bytes) === formatMac(PEER_MAC)) give(b, bytes, now);
      for (const bytes of take(b, now)) give(a, bytes, now);
    }
    expect(known(a, `${peer.address}`)).toBe(formatMac(PEER_MAC));
    expect(a.counters).toMatchObject({ moved: 0, claims: 300, claimsRefuted: 3 });
    expect(a.counters.questions - asked).toBe(3);
  });

  it('follows at once where moves are not to be confirmed', () => {
    const [a, b] = [ours({ strangers: { confirmMoves: false } }), theirs()];
    a.resolve(0, ip('10.0.0.2'));
    a.resolve(0, ip('fe80::2'));
    converse(a, b);
    give(a, solicitationFrame({ mac: EVIL_MAC, address: PEER.address }, PEER.address));
    give(a, advertisementFrame({ mac: EVIL_MAC, address: PEER6.address }, US6));
    expect([known(a, '10.0.0.2'), known(a, 'fe80::2')]).toEqual([formatMac(EVIL_MAC), formatMac(EVIL_MAC)]);
  });

  it('does not let an advertisement without the override flag replace what is known', () => {
    const [a, b] = [ours(), theirs()];
    a.resolve(0, ip('fe80::2'));
    converse(a, b);
    const bytes = advertisementFrame({ mac: EVIL_MAC, address: PEER6.address }, US6);
    // Clears the flag and repairs the checksum, which grows by what the flags lost.
    const view = new DataView(bytes.buffer);
    view.setUint8(58, view.getUint8(58) & ~0x20);
    view.setUint16(56, ((view.getUint16(56) + 0x2000) % 0x1_00_00) + (view.getUint16(56) + 0x2000 > 0xff_ff ? 1 : 0));
    expect(readNeighborAdvertisement(view, 14, 54, bytes.length)?.override).toBe(false);
    give(a, bytes);
    expect(known(a, 'fe80::2')).toBe(formatMac(PEER_MAC));
  });

  it('stays silent and counts when somebody claims our address', () => {
    const a = ours();
    give(a, solicitationFrame({ mac: EVIL_MAC, address: US.address }, US.address));
    give(a, advertisementFrame({ mac: EVIL_MAC, address: US6.address }, PEER6));
    give(a, advertisementFrame({ mac: EVIL_MAC, address: US6.address }, US6));
    expect([take(a).length, a.counters.conflicts]).toEqual([0, 2]);
    expect(known(a, '10.0.0.1')).toBe(formatMac(OUR_MAC));
  });

  it('believes no sender whose MAC address is a group, nothing or ours', () => {
    const a = ours();
    for (const mac of ['ff:ff:ff:ff:ff:ff', '01:00:5e:00:00:01', '00:00:00:00:00:00', '02:00:00:00:00:01']) {
      give(a, solicitationFrame({ mac: parseMac(mac), address: PEER.address }, US.address));
    }
    expect([take(a).length, known(a, '10.0.0.2')]).toEqual([0, undefined]);
  });
});

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

describe('neighbour frames', () => {
  it('write ARP as the codec does and pad to 60 bytes', () => {
    const expected = new Uint8Array(60);
    const view = new DataView(expected.buffer);
    writeEthernet(view, 0, PEER_MAC, OUR_MAC, ETHERTYPE_ARP);
    writeArp(view, 14, {
      operation: ArpOperation.Reply,
      senderMac: OUR_MAC,
      senderIp: US.address,
      targetMac: PEER_MAC,
      targetIp: PEER.address,
    });
    expect(arpReplyFrame(US, PEER)).toEqual(expected);
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
