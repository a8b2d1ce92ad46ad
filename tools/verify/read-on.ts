/**
 * Rows for packets in which we stop at a fault that a receiver drops the packet for, and Wireshark reads on.
 *
 * Each row holds only where tshark's own fields show the fault too: a parser of ours that stops too early is not
 * excused by it.
 */

import { FrameStatus, opcodeInfo } from 'rocev2/packets';
import { ETHERTYPE_IPV4 } from 'rocev2/packets/network';
import { Absent, type FramePair, type KnownDifference, Present, Whatever } from './expectation.ts';
import { type TsharkFrame, valuesOf } from './tshark-frames.ts';

type Confirm = (theirs: TsharkFrame, ours: FramePair['ours']) => boolean;

const FAULTS: readonly (readonly [FrameStatus, string, Confirm, string])[] = [
  [FrameStatus.Truncated, 'truncated', isShort, 'the frame ends before its IP length says'],
  [
    FrameStatus.BadIpHeader,
    'ip-options',
    isOddIpHeader,
    'an IPv4 header with options, or with a version or length that cannot be',
  ],
  [FrameStatus.BadIpChecksum, 'ip-checksum', isWrongIpChecksum, 'the checksum of the IPv4 header is wrong'],
  [FrameStatus.Fragment, 'fragment', isFragment, 'a fragment: RoCE packets are never fragmented'],
  [FrameStatus.BadUdpLength, 'udp-length', isOddUdpLength, 'the UDP length and that of IP cannot both be'],
  [
    FrameStatus.BadTransportVersion,
    'transport-version',
    (theirs) => number(theirs, 'infiniband.bth.tver') !== 0,
    'a version of the header that is unknown',
  ],
  [FrameStatus.BadPad, 'pad-count', isShortOfHeaders, 'more pad than there are bytes'],
  [FrameStatus.BadHeaderLength, 'header-length', isShortOfHeaders, 'shorter than the headers of its opcode'],
];

/** Rows for what is not whole, or not of RoCEv2, and that tshark makes something of. */
const OTHERS: readonly KnownDifference[] = [
  {
    id: 'ip-length-0',
    blind: 'us',
    versions: { from: '3.4.5' },
    fields: ['ip.len', 'udp.*', 'tcp.*', 'icmp*', 'infiniband*'],
    when: ({ ours }) => ours.fields['ip.len'] === 0,
    says: () => Whatever,
    sometimes: true,
    tshark: 'takes an IPv4 length of 0 for a packet that a network card was to cut up, and reads to its end',
    truth: 'RoCEv2 is never sent so: the ICRC covers the length',
    source: 'measured with 4.0.17',
  },
  {
    id: 'arp-other',
    blind: 'us',
    versions: { from: '0' },
    fields: ['arp.*'],
    when: ({ ours: { fields } }) => fields['arp.opcode'] === undefined,
    says: () => Present,
    tshark: 'reads ARP for other hardware than Ethernet and other protocols than IPv4',
    truth: 'we list what can be a neighbour of a RoCEv2 host',
    source: 'packets/arp.ts',
  },
];

/** A row for each. */
export const READ_ON: readonly KnownDifference[] = OTHERS.concat(
  FAULTS.flatMap(([status, id, confirm, truth]) => {
    const common = {
      versions: { from: '0' },
      when: ({ ours, theirs }: FramePair) => ours.status === status && confirm(theirs, ours),
      sometimes: true,
      truth,
      source: 'packets/frame.ts: a receiver drops it',
    };
    return [
      {
        ...common,
        id: `fault-${id}-read-on`,
        blind: 'us',
        fields: ['infiniband*', 'ip.*', 'ipv6.*', 'udp.*', 'tcp.*', 'icmp*', '_ws.malformed'],
        says: () => Present,
        tshark: 'reads on behind the fault',
      },
      {
        ...common,
        id: `fault-${id}-stop`,
        blind: 'tshark',
        fields: ['ip.*', 'udp.*', 'tcp.*', 'icmp*', 'infiniband.*'],
        says: () => Absent,
        tshark: 'stops at the fault, or at another one, before we do',
      },
    ];
  }),
);

function isShort(theirs: TsharkFrame, { frame }: FramePair['ours']): boolean {
  const available = frame.ipOffset < 0 ? 0 : frame.end - frame.ipOffset;
  const ipv6 = number(theirs, 'ipv6.plen');
  return (number(theirs, 'ip.len') ?? (ipv6 === undefined ? available : ipv6 + IPV6_BYTES)) > available;
}

function isOddIpHeader(theirs: TsharkFrame, { frame }: FramePair['ours']): boolean {
  const ipv6 = number(theirs, 'ipv6.version');
  // tshark goes by the version, whatever the EtherType promised.
  if (ipv6 !== undefined) return ipv6 !== 6 || frame.etherType === ETHERTYPE_IPV4;
  const length = number(theirs, 'ip.len') ?? 0;
  return number(theirs, 'ip.hdr_len') !== 20 || number(theirs, 'ip.version') !== 4 || length < 20;
}

/** 0 is bad, 1 good, 2 not looked at. */
function isWrongIpChecksum(theirs: TsharkFrame): boolean {
  return number(theirs, 'ip.checksum.status') === 0;
}

function isFragment(theirs: TsharkFrame): boolean {
  return number(theirs, 'ip.flags.mf') === 1 || (number(theirs, 'ip.frag_offset') ?? 0) > 0;
}

function isOddUdpLength(theirs: TsharkFrame): boolean {
  const udp = number(theirs, 'udp.length') ?? 0;
  const ip = number(theirs, 'ip.len');
  const room = ip === undefined ? (number(theirs, 'ipv6.plen') ?? 0) : ip - (number(theirs, 'ip.hdr_len') ?? 0);
  return udp !== room || udp < UDP_BTH_AND_ICRC_BYTES;
}

function isShortOfHeaders(theirs: TsharkFrame, { frame }: FramePair['ours']): boolean {
  const behindBth = (number(theirs, 'udp.length') ?? 0) - UDP_BTH_AND_ICRC_BYTES;
  return behindBth < opcodeInfo(frame.opcode).headerBytes + frame.padCount;
}

function number(theirs: TsharkFrame, field: string): number | undefined {
  const [value] = valuesOf(theirs, field);
  return value === undefined ? undefined : Number(value);
}

const IPV6_BYTES = 40;
const UDP_BTH_AND_ICRC_BYTES = 8 + 12 + 4;
