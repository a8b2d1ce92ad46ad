/** What stands below a BTH: VLAN tags, trailers, odd values in IP headers, other link types, tunnels. */
import { Op } from 'rocev2/packets';
import { type Packet, pattern } from 'rocev2/packets/kit';
import { LinkType } from 'rocev2/pcap';
import { type CorpusCapture, frame, route, type Vector, vectorFile } from '../capture.ts';
import { ethernet, hex, ipv4, ipv6, join, number, udp, vxlan } from '../wrap.ts';

/** Files of all of them. */
export function layerCaptures(): readonly CorpusCapture[] {
  return [vlans(), ip(), tunnels(4), tunnels(6), unreadable(), ...linkTypes()];
}

const WRITE: Packet = {
  ...{ opcode: Op.WriteOnly, psn: 77, ackReq: true, payload: pattern(17) },
  reth: { va: 0x2000n, rkey: 0x3333_4444, length: 17 },
};
const OVER = { 4: frame(WRITE, route(4)), 6: frame(WRITE, route(6)) };
const IP = { 4: OVER[4].subarray(14), 6: OVER[6].subarray(14) };
const TYPE = { 4: 0x08_00, 6: 0x86_dd };

/** Tags by EtherType and TCI in front of an IP packet. */
function tagged(version: 4 | 6, ...tags: readonly (readonly [number, number])[]): Uint8Array {
  const types = [...tags.slice(1).map(([type]) => type), TYPE[version]];
  const body = tags.flatMap(([, tci], i) => [number(tci, 2), number(types[i] ?? 0, 2)]);
  return ethernet(tags[0]?.[0] ?? TYPE[version], ...body, IP[version]);
}

function vlans(): CorpusCapture {
  const vectors = ([4, 6] as const).flatMap((v): Vector[] => [
    { about: `IPv${v}, no tag`, bytes: OVER[v] },
    { about: `IPv${v}, VLAN 100, priority 3`, bytes: tagged(v, [0x81_00, 0x60_64]) },
    { about: `IPv${v}, priority tag: VLAN 0, priority 5`, bytes: tagged(v, [0x81_00, 0xa0_00]) },
    { about: `IPv${v}, VLAN 4094, drop eligible`, bytes: tagged(v, [0x81_00, 0x1f_fe]) },
    { about: `IPv${v}, QinQ: service VLAN 200, VLAN 100`, bytes: tagged(v, [0x88_a8, 200], [0x81_00, 100]) },
    { about: `IPv${v}, two tags of EtherType 0x8100`, bytes: tagged(v, [0x81_00, 200], [0x81_00, 100]) },
    { about: `IPv${v}, three tags`, bytes: tagged(v, [0x88_a8, 1], [0x81_00, 2], [0x81_00, 3]) },
    { about: `IPv${v}, a tag of the older EtherType 0x9100`, bytes: tagged(v, [0x91_00, 200], [0x81_00, 100]) },
  ]);
  return vectorFile(
    'layers/vlan.pcapng',
    'VLAN tags in front of the same packet; the ICRC does not cover them.',
    vectors,
  );
}

function ip(): CorpusCapture {
  const odd = (about: string, packet: Partial<Packet>, version: 4 | 6 = 4, ipId = 1): Vector => {
    return { about, bytes: frame({ ...WRITE, ...packet }, route(version), ipId) };
  };
  const ack = frame({ opcode: Op.Acknowledge, psn: 1, syndrome: 0x1f, msn: 1 }, route(4));
  const vectors: readonly Vector[] = [
    odd('IPv4 identification 0', {}, 4, 0),
    odd('IPv4 identification 0xffff', {}, 4, 0xff_ff),
    odd('IPv4 without DF', { edit: ({ view, ip: at }) => void view.setUint16(at + 6, 0) }),
    odd('IPv4, DSCP 26, ECT(0), TTL 1', { trafficClass: 0x6a, hopLimit: 1 }),
    odd('IPv4, CE', { trafficClass: 0x03 }),
    odd('IPv6, traffic class 0xff, hop limit 255', { trafficClass: 0xff, hopLimit: 255 }, 6),
    { about: 'IPv6 with a flow label', bytes: frame(WRITE, route(6, { flowLabel: 0xf_ed_cb })) },
    odd('UDP source port 0', { sourcePort: 0 }),
    odd('UDP source port 65535', { sourcePort: 0xff_ff }),
    { about: 'ACK of 62 bytes, no trailer', bytes: ack },
    { about: 'a trailer of 4 bytes behind the ICRC, as an FCS is', bytes: join(ack, hex('deadbeef')) },
    { about: 'a trailer of 30 bytes', bytes: join(OVER[4], new Uint8Array(30)) },
    { about: 'IPv6 with a trailer', bytes: join(OVER[6], new Uint8Array(5)) },
  ];
  return vectorFile(
    'layers/ip.pcapng',
    'Odd but allowed values in IP and UDP headers, and bytes behind the packet.',
    vectors,
  );
}

function tunnels(v: 4 | 6): CorpusCapture {
  const over4 = (protocol: number, ...body: readonly Uint8Array[]): Uint8Array =>
    ethernet(TYPE[4], ipv4(protocol, join(...body)));
  const over6 = (protocol: number, ...body: readonly Uint8Array[]): Uint8Array =>
    ethernet(TYPE[6], ipv6(protocol, join(...body)));
  const type = number(TYPE[v], 2);
  const f = OVER[v];
  const inner = IP[v];
  const gre = (header: string, ...body: readonly Uint8Array[]): Uint8Array => over4(47, hex(header), ...body);
  const next = v === 4 ? '01' : '02';
  const vectors: readonly Vector[] = [
    { about: 'VXLAN', bytes: vxlan(42, f) },
    { about: 'VXLAN over IPv6', bytes: over6(17, udp(4789, hex('08000000 ffffff00'), f)) },
    { about: 'VXLAN-GPE with an IP packet', bytes: over4(17, udp(4790, hex(`0c0000${next} 00000700`), inner)) },
    { about: 'Geneve', bytes: over4(17, udp(6081, hex('00006558 00000900'), f)) },
    { about: 'Geneve with options', bytes: over4(17, udp(6081, hex('02006558 00000900 0102800100000000'), f)) },
    { about: 'Geneve with an IP packet', bytes: over4(17, udp(6081, hex('0000'), type, hex('00000900'), inner)) },
    { about: 'GRE', bytes: gre('0000', type, inner) },
    {
      about: 'GRE with checksum, key, sequence number',
      bytes: gre('b000', type, hex('00000000 00000005 00000001'), inner),
    },
    { about: 'GRE with an Ethernet frame', bytes: gre('00006558', f) },
    { about: 'NVGRE', bytes: gre('20006558 00002a01', f) },
    { about: 'ERSPAN I', bytes: gre('000088be', f) },
    { about: 'ERSPAN II', bytes: gre('100088be 00000001 1001184d 00000000', f) },
    { about: 'ERSPAN III', bytes: gre('100022eb 00000001 2001004d 00000000 0000 0000', f) },
    { about: 'IP in IPv4', bytes: over4(v === 4 ? 4 : 41, inner) },
    { about: 'IP in IPv6', bytes: over6(v === 4 ? 4 : 41, inner) },
    { about: 'MPLS, two labels', bytes: ethernet(0x88_47, hex('0001103f 0001213f'), inner) },
    {
      about: 'PPPoE',
      bytes: ethernet(0x88_64, hex('11000003'), number(2 + inner.length, 2), hex(v === 4 ? '0021' : '0057'), inner),
    },
    { about: 'VXLAN in VXLAN', bytes: vxlan(1, vxlan(2, f)) },
    { about: 'VXLAN around a tagged frame', bytes: vxlan(3, tagged(v, [0x81_00, 0x60_64])) },
  ];
  const about = `A WRITE over IPv${v} within tunnels; the ICRC is that of the inner packet alone.`;
  return vectorFile(`layers/tunnels-ipv${v}.pcapng`, about, vectors);
}

function unreadable(): CorpusCapture {
  const sealed = hex('00000001 00000001 0123456789abcdef0123456789abcdef');
  const vectors: readonly Vector[] = [
    { about: 'MACsec', bytes: ethernet(0x88_e5, hex('2c00 00000001 0123456789abcdef')) },
    { about: 'ESP over IPv4', bytes: ethernet(TYPE[4], ipv4(50, sealed)) },
    { about: 'ESP over IPv6', bytes: ethernet(TYPE[6], ipv6(50, sealed)) },
  ];
  return vectorFile(
    'layers/unreadable.pcapng',
    'Encrypted packets: whether they carry RoCEv2 cannot be told.',
    vectors,
  );
}

function linkTypes(): CorpusCapture[] {
  const file = (name: string, linkType: number, header: (v: 4 | 6) => string): CorpusCapture => {
    const vectors = ([4, 6] as const).map((v) => ({ about: `IPv${v}`, bytes: join(hex(header(v)), IP[v]) }));
    return vectorFile(
      `layers/link-${name}.pcapng`,
      `A packet of each IP version behind link type ${linkType}.`,
      vectors,
      linkType,
    );
  };
  const protocol = (v: 4 | 6): string => (v === 4 ? '0800' : '86dd');
  return [
    file('raw', LinkType.Raw, () => ''),
    file('linux-cooked', LinkType.LinuxCooked, (v) => `0000 0001 0006 0200000000010000 ${protocol(v)}`),
    file('linux-cooked-2', LinkType.LinuxCooked2, (v) => `${protocol(v)} 0000 00000002 0001 00 06 0200000000010000`),
    file('null', LinkType.Null, (v) => (v === 4 ? '02000000' : '1e000000')),
  ];
}
