/**
 * Goal: RoCEv2 behind IPv4 options or IPv6 extension headers is told, never taken for damage or for nothing; what only
 * looks like it is not. Method: packets by hand, alone and in a conversation; every length of a capture.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../../packets/address.ts';
import { Op } from '../../../../packets/opcode.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { make } from '../../../packets/made-frames.ts';
import { fromHex, toHex } from '../../../packets/support.ts';
import { ethernet, ipv4, ipv6, TUNNEL_WRAPPINGS, udp } from '../../tunnels/wrappings.ts';
import { captured } from '../tracker/observed-world.ts';
import { Script } from '../tracker/script.ts';

const IPV4 = new Script().fromA(Op.SendOnly, 0);
const IPV6 = make(
  Op.SendOnly,
  () => {},
  { source: IpAddress.parse('fe80::2'), destination: IpAddress.parse('fe80::1') },
  64,
);
/** UDP and what is behind it. */
const UDP4 = toHex(IPV4.subarray(34));
const UDP6 = toHex(IPV6.subarray(54));

const ROUTING = '0400 00000000';
const PADN = '0104 00000000';
const LONG_HEADERS: readonly (readonly [string, Uint8Array, string])[] = [
  ['a router alert', ethernet('0800', ipv4(17, UDP4, 4)), '4 bytes of IPv4 options'],
  ['forty bytes of options', ethernet('0800', ipv4(17, UDP4, 40)), '40 bytes of IPv4 options'],
  ['options behind a VLAN tag', ethernet('8100', `0005 0800 ${ipv4(17, UDP4, 8)}`), '8 bytes of IPv4 options'],
  ['options behind two tags', ethernet('88a8', `0005 8100 0006 0800 ${ipv4(17, UDP4, 8)}`), '8 bytes of IPv4 options'],
  ['hop-by-hop options', ethernet('86dd', ipv6(0, `1100 ${PADN} ${UDP6}`)), '8 bytes of IPv6 extension headers'],
  ['a routing header', ethernet('86dd', ipv6(43, `1100 ${ROUTING} ${UDP6}`)), '8 bytes of IPv6 extension headers'],
  ['a longer routing header', ethernet('86dd', ipv6(43, `1102 ${ROUTING} ${'00'.repeat(16)} ${UDP6}`)), '24 bytes of'],
  ['destination options', ethernet('86dd', ipv6(60, `1100 ${PADN} ${UDP6}`)), '8 bytes of IPv6 extension headers'],
  ['three of them', ethernet('86dd', ipv6(0, `2b00 ${PADN} 3c00 ${ROUTING} 1100 ${PADN} ${UDP6}`)), '24 bytes of IPv6'],
  ['a fragment that is whole', ethernet('86dd', ipv6(44, `1100 0000 00000001 ${UDP6}`)), '8 bytes of IPv6'],
  [
    'a first fragment behind options',
    ethernet('86dd', ipv6(0, `2c00 ${PADN} 1100 0001 00000001 ${UDP6}`)),
    '16 bytes of',
  ],
];

function analyze(frames: readonly Uint8Array[]) {
  const analyzer = new Analyzer();
  frames.forEach((frame, i) => void analyzer.packet(captured(i + 1, 1000 * i, frame)));
  return analyzer.finish();
}

const IDS = ['rule/long-headers'];

describe('RoCEv2 behind a longer IP header', () => {
  it.each(LONG_HEADERS)('is told: %s', (_name, frame, what) => {
    for (const bytes of [frame, TUNNEL_WRAPPINGS[0]?.wrap(frame) ?? frame]) {
      const { findings, capture } = analyze([bytes]);
      expect(findings.map(({ id, frames }) => [id, frames])).toEqual([['rule/long-headers', [1]]]);
      expect(findings[0]?.text).toContain(`it has ${what}`);
      expect([capture.badIcrc, capture.goodIcrc]).toEqual([0, 0]);
    }
  });

  it('is the only alarm of a conversation in which one end sends so, and of one in which both do', () => {
    const longer = (frame: Uint8Array) => ethernet('0800', ipv4(17, toHex(frame.subarray(34)), 4));
    const script = new Script();
    for (let psn = 0; psn < 50; psn++) {
      script.see(longer(script.fromA(Op.SendOnly, psn))).ack(psn, { msn: psn + 1 });
    }
    const alarms = (frames: readonly Uint8Array[]) =>
      analyze(frames)
        .findings.filter(({ severity }) => severity !== 'note')
        .map(({ id }) => id);
    const frames = script.packets.map(({ bytes }) => bytes);
    expect(alarms(frames)).toEqual(IDS);
    expect(alarms(frames.map((frame, i) => (i % 2 === 0 ? frame : longer(frame))))).toEqual(IDS);
  });

  it('is not seen in what is something else', () => {
    const others = [
      IPV4,
      IPV6,
      ethernet('0800', ipv4(17, udp(4790, '00'.repeat(40)), 4)),
      ethernet('0800', ipv4(2, UDP4, 4)),
      ethernet('0800', ipv4(17, udp(4789, `08000000 00002a00 ${toHex(IPV4)}`), 4)),
      ethernet('86dd', ipv6(0, `3a00 0502 0000 0100 ${UDP6}`)),
      ethernet('86dd', ipv6(60, `0600 ${PADN} ${UDP6}`)),
      ethernet('86dd', ipv6(60, `1100 ${PADN} ${udp(4790, '00'.repeat(40))}`)),
      ethernet('86dd', ipv6(44, `1100 0008 00000001 ${UDP6}`)),
      ethernet('86dd', ipv6(50, `1100 ${PADN} ${UDP6}`)),
      ethernet('0806', ipv4(17, UDP4, 4)),
    ];
    for (const frame of others) expect(analyze([frame]).findings.filter(({ id }) => IDS.includes(id))).toEqual([]);
    const later = fromHex(toHex(ethernet('0800', ipv4(17, UDP4, 4))));
    later.set([0x00, 0x08], 20);
    expect(analyze([later]).findings).toEqual([]);
  });

  it('is never looked for outside of a packet, wherever it ends', () => {
    for (const [, frame] of LONG_HEADERS) {
      for (let length = 0; length < frame.length; length++) {
        const ids = analyze([frame.slice(0, length)]).findings.map(({ id }) => id);
        expect(ids.filter((id) => !IDS.includes(id))).toEqual([]);
      }
    }
  });
});
