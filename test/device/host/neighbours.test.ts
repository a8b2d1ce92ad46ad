/**
 * Goal: addresses are found, with as few questions as that takes, and the table of them stays bounded. Method: two
 * instances back to back, time as a number.
 */
import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress } from '../../../packets/address.ts';
import { ArpOperation, readArp, writeArp } from '../../../packets/arp.ts';
import { RoceError } from '../../../packets/errors.ts';
import { ETHERTYPE_ARP, writeEthernet } from '../../../packets/ethernet.ts';
import { arpReplyFrame, solicitationFrame } from '../../../src/device/host/neighbour-frames.ts';
import {
  converse,
  give,
  ip,
  known,
  OUR_MAC,
  ours,
  PEER,
  PEER_MAC,
  results,
  SECOND,
  take,
  theirs,
  US,
} from './neighbour-support.ts';

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
