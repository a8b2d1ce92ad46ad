/**
 * Goal: nobody takes over the address of another, nor ours: no poisoning. Method: hand-made frames from the side of a
 * peer and of an attacker.
 */
import { describe, expect, it } from 'vitest';
import { formatMac, parseMac } from '../../../packets/address.ts';
import { readNeighborAdvertisement } from '../../../packets/icmpv6-nd.ts';
import { advertisementFrame, arpReplyFrame, solicitationFrame } from '../../../src/device/host/neighbour-frames.ts';
import {
  converse,
  EVIL_MAC,
  give,
  ip,
  known,
  OUR_MAC,
  ours,
  PEER,
  PEER_MAC,
  PEER6,
  SECOND,
  take,
  theirs,
  US,
  US6,
} from './neighbour-support.ts';

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
