/** Every tunnel that is read, as bytes around an Ethernet frame, written by hand from the layouts of its RFC. */
import { ipv4HeaderChecksum } from '../../../packets/checksum.ts';
import { Tunnel } from '../../../pcap/tunnels/index.ts';
import { fromHex, toHex } from '../../packets/support.ts';

/** An Ethernet frame of what `hex` says, of this EtherType. */
export const ethernet = (type: string, hex: string): Uint8Array => fromHex(`525400000001 525400000002 ${type} ${hex}`);

const word = (value: number, bytes: number): string => value.toString(16).padStart(2 * bytes, '0');
const bytesOf = (hex: string): number => fromHex(hex).length;

/** An IPv4 header in front of `hex`, with so many bytes of options. */
export function ipv4(protocol: number, hex: string, options = 0): string {
  const header = fromHex(
    `4${(5 + options / 4).toString(16)}00 ${word(20 + options + bytesOf(hex), 2)} 0001 0000 40 ${word(protocol, 1)} 0000 c0a80001 c0a80002 ${'01'.repeat(options)}`,
  );
  const view = new DataView(header.buffer, header.byteOffset);
  if (options === 0) view.setUint16(10, ipv4HeaderChecksum(view, 0));
  return toHex(header) + toHex(fromHex(hex));
}

/** An IPv6 header in front of `hex`. */
export const ipv6 = (protocol: number, hex: string): string =>
  `60000000 ${word(bytesOf(hex), 2)} ${word(protocol, 1)} 40 ${'fd000000000000000000000000000001'} ${'fd000000000000000000000000000002'} ${hex}`;

/** A UDP header without checksum. */
export const udp = (port: number, hex: string): string =>
  `c000 ${word(port, 2)} ${word(8 + bytesOf(hex), 2)} 0000 ${hex}`;

const isIpv4 = (frame: Uint8Array): boolean => frame[12] === 0x08;
const ipOf = (frame: Uint8Array): string => toHex(frame.subarray(14));
const typeOf = (frame: Uint8Array): string => (isIpv4(frame) ? '0800' : '86dd');
const overIpv4 = (protocol: number, hex: string): Uint8Array => ethernet('0800', ipv4(protocol, hex));
const overUdp = (port: number, hex: string): Uint8Array => overIpv4(17, udp(port, hex));

/** A tunnel, its id, and how it wraps an Ethernet frame into an Ethernet frame; `only`: the IP version it is for. */
export interface Wrapping {
  readonly name: string;
  readonly tunnel: Tunnel;
  readonly id: number;
  readonly wrap: (frame: Uint8Array) => Uint8Array;
  /** tshark 4.0 does not read it so. */
  readonly strange?: string;
}

const NVGRE_KEY = 0x00_00_2a_01;

export const TUNNEL_WRAPPINGS: readonly Wrapping[] = [
  { name: 'VXLAN', tunnel: Tunnel.Vxlan, id: 42, wrap: (f) => overUdp(4789, `08000000 00002a00 ${toHex(f)}`) },
  {
    ...{ name: 'VXLAN over IPv6', tunnel: Tunnel.Vxlan, id: 0xff_ff_ff },
    wrap: (f) => ethernet('86dd', ipv6(17, udp(4789, `08000000 ffffff00 ${toHex(f)}`))),
  },
  {
    ...{ name: 'VXLAN on the old port of Linux', tunnel: Tunnel.Vxlan, id: 1, strange: 'the port is not assigned' },
    wrap: (f) => overUdp(8472, `08000000 00000100 ${toHex(f)}`),
  },
  {
    ...{ name: 'VXLAN-GPE, Ethernet', tunnel: Tunnel.VxlanGpe, id: 7 },
    wrap: (f) => overUdp(4790, `0c000003 00000700 ${toHex(f)}`),
  },
  {
    ...{ name: 'VXLAN-GPE, IP', tunnel: Tunnel.VxlanGpe, id: 7 },
    wrap: (f) => overUdp(4790, `0c00000${isIpv4(f) ? 1 : 2} 00000700 ${ipOf(f)}`),
  },
  {
    ...{ name: 'Geneve', tunnel: Tunnel.Geneve, id: 9 },
    wrap: (f) => overUdp(6081, `00006558 00000900 ${toHex(f)}`),
  },
  {
    ...{ name: 'Geneve with options, over IPv6', tunnel: Tunnel.Geneve, id: 9 },
    wrap: (f) => ethernet('86dd', ipv6(17, udp(6081, `02006558 00000900 0102800100000000 ${toHex(f)}`))),
  },
  {
    ...{ name: 'Geneve, IP', tunnel: Tunnel.Geneve, id: 9 },
    wrap: (f) => overUdp(6081, `0000${typeOf(f)} 00000900 ${ipOf(f)}`),
  },
  { name: 'GRE', tunnel: Tunnel.Gre, id: -1, wrap: (f) => overIpv4(47, `0000${typeOf(f)} ${ipOf(f)}`) },
  {
    ...{ name: 'GRE with checksum, key and sequence number', tunnel: Tunnel.Gre, id: 5 },
    wrap: (f) => overIpv4(47, `b000${typeOf(f)} 00000000 00000005 00000001 ${ipOf(f)}`),
  },
  { name: 'GRE-TAP', tunnel: Tunnel.Gre, id: -1, wrap: (f) => overIpv4(47, `00006558 ${toHex(f)}`) },
  {
    ...{ name: 'NVGRE', tunnel: Tunnel.Gre, id: NVGRE_KEY },
    wrap: (f) => overIpv4(47, `20006558 00002a01 ${toHex(f)}`),
  },
  {
    name: 'GRE over IPv6',
    tunnel: Tunnel.Gre,
    id: -1,
    wrap: (f) => ethernet('86dd', ipv6(47, `00006558 ${toHex(f)}`)),
  },
  { name: 'ERSPAN I', tunnel: Tunnel.ErspanI, id: -1, wrap: (f) => overIpv4(47, `000088be ${toHex(f)}`) },
  {
    ...{ name: 'ERSPAN II', tunnel: Tunnel.ErspanII, id: 77 },
    wrap: (f) => overIpv4(47, `100088be 00000001 1001184d 00000000 ${toHex(f)}`),
  },
  {
    ...{ name: 'ERSPAN III', tunnel: Tunnel.ErspanIII, id: 77 },
    wrap: (f) => overIpv4(47, `100022eb 00000001 2001004d 00000000 0000 0000 ${toHex(f)}`),
  },
  {
    ...{ name: 'ERSPAN III with its sub-header', tunnel: Tunnel.ErspanIII, id: 77 },
    wrap: (f) => overIpv4(47, `100022eb 00000001 2001004d 00000000 0000 0001 1234567800000000 ${toHex(f)}`),
  },
  { name: 'IP in IPv4', tunnel: Tunnel.IpInIp, id: -1, wrap: (f) => overIpv4(isIpv4(f) ? 4 : 41, ipOf(f)) },
  {
    ...{ name: 'IP in IPv6', tunnel: Tunnel.IpInIp, id: -1 },
    wrap: (f) => ethernet('86dd', ipv6(isIpv4(f) ? 4 : 41, ipOf(f))),
  },
  {
    ...{ name: 'IP in IPv6 behind destination options', tunnel: Tunnel.IpInIp, id: -1 },
    wrap: (f) => ethernet('86dd', ipv6(60, `${isIpv4(f) ? '04' : '29'}00 010400000000 ${ipOf(f)}`)),
  },
  { name: 'MPLS', tunnel: Tunnel.Mpls, id: 17, wrap: (f) => ethernet('8847', `0001113f ${ipOf(f)}`) },
  {
    ...{ name: 'MPLS, two labels', tunnel: Tunnel.Mpls, id: 18 },
    wrap: (f) => ethernet('8847', `0001103f 0001213f ${ipOf(f)}`),
  },
  {
    ...{ name: 'MPLS, Ethernet behind a control word', tunnel: Tunnel.Mpls, id: 18, strange: 'tshark has to be told' },
    wrap: (f) => ethernet('8847', `0001213f 00000000 ${toHex(f)}`),
  },
  {
    ...{ name: 'MPLS in GRE', tunnel: Tunnel.Mpls, id: 17 },
    wrap: (f) => overIpv4(47, `00008847 0001113f ${ipOf(f)}`),
  },
  { name: 'MPLS in UDP', tunnel: Tunnel.Mpls, id: 17, wrap: (f) => overUdp(6635, `0001113f ${ipOf(f)}`) },
  {
    ...{ name: 'PPPoE', tunnel: Tunnel.Pppoe, id: 3 },
    wrap: (f) =>
      ethernet('8864', `1100 0003 ${word(2 + bytesOf(ipOf(f)), 2)} ${isIpv4(f) ? '0021' : '0057'} ${ipOf(f)}`),
  },
  {
    ...{ name: 'three VLAN tags', tunnel: Tunnel.Vlans, id: 3 },
    wrap: (f) => ethernet('88a8', `0001 8100 0002 8100 0003 ${typeOf(f)} ${ipOf(f)}`),
  },
  {
    ...{ name: 'VLAN tags of the older EtherType', tunnel: Tunnel.Vlans, id: 3 },
    wrap: (f) => ethernet('9100', `0001 8100 0003 ${typeOf(f)} ${ipOf(f)}`),
  },
];
