/**
 * Where Wireshark is wrong or blind, and where we are, by version: the table with which `roce verify` compares
 * differences.
 *
 * Owns the rows. What was measured was measured with 4.0.17. The dissector's source was read of 3.4.5 and of a later
 * version of unknown number, which knows FLUSH, ATOMIC WRITE and the FETH; that a row holds from 3.4.5 to 4.0.16 is
 * assumed. A row without `below` holds until a tshark is met that says otherwise, and then the report calls it no
 * longer needed.
 */

import {
  BTH_BYTES,
  BTH_MASKED_BYTE,
  type FieldValue,
  FrameStatus,
  Op,
  OpFlag,
  opcodeInfo,
  SERVICE_MASK,
  Service,
} from 'rocev2/packets';
import { GSI_QPN, MAD_BYTES, ManagementClass } from 'rocev2/packets/management';
import { colonHex } from './compare.ts';
import { Absent, type ExpectedValue, type FramePair, type KnownDifference, Present, Whatever } from './expectation.ts';
import { READ_ON } from './read-on.ts';
import { valuesOf } from './tshark-frames.ts';
import { TUNNEL_UNREAD } from './tunnel-unread.ts';

/** Acknowledges and atomics; a READ request is shown with whatever follows it. */
const HEADERS_ONLY = OpFlag.Ack | OpFlag.AtomicAck | OpFlag.Atomic;

/** Hop-by-hop options, routing, fragment, destination options. */
const IPV6_EXTENSIONS: readonly string[] = ['0', '43', '44', '60'];

const MEASURED = 'measured with 4.0.17';
const SINCE = { from: '3.4.5' };

/** Every field behind the BTH. */
const BEHIND_BTH: readonly string[] = [
  ...['infiniband.rdeth.*', 'infiniband.deth.*', 'infiniband.reth.*', 'infiniband.aeth.*', 'infiniband.atomiceth.*'],
  ...['infiniband.atomicacketh.*', 'infiniband.immdt', 'infiniband.ieth', 'infiniband.feth.*'],
];

/** What tshark shows whole, as bytes, because it does not know the opcode or what follows it. */
const UNREAD: readonly (readonly [string, (opcode: number) => boolean, string])[] = [
  ['flush', (opcode) => opcode === Op.Flush, 'FETH, RETH and ICRC'],
  ['atomic-write', (opcode) => opcode === Op.AtomicWrite, 'RETH, payload and ICRC'],
  ['cnp', (opcode) => opcode === Op.Cnp, '16 reserved bytes and the ICRC'],
  [
    'xrc',
    (opcode) => opcodeInfo(opcode).service === Service.Xrc,
    'the XRCETH of a request, what the RC packet has, and the ICRC',
  ],
];

const UNREAD_ROWS: readonly KnownDifference[] = UNREAD.flatMap(([id, isMeant, truth]) => {
  const common = {
    blind: 'tshark' as const,
    versions: SINCE,
    when: ({ ours }: FramePair) => ours.frame.bthOffset >= 0 && isMeant(ours.frame.opcode),
    truth,
    source: `ref:analyzer#3; ${MEASURED}`,
  };
  return [
    {
      ...common,
      id: `${id}-unread`,
      fields: [...BEHIND_BTH, 'infiniband.invariant.crc'],
      says: () => Absent,
      tshark: 'reads nothing behind the BTH',
    },
    {
      ...common,
      id: `${id}-as-bytes`,
      fields: ['infiniband.vendor'],
      says: behindBth,
      tshark: 'shows what is behind the BTH, ICRC included, as unknown or vendor specific',
    },
  ];
});

const PATH_ROWS: readonly KnownDifference[] = ['prim', 'alt'].map((which) => ({
  id: `cm-req-${which}-flow-label`,
  blind: 'tshark',
  versions: SINCE,
  fields: ['flowlabel', 'reserved0', 'pktrate'].map((name) => `infiniband.cm.req.${which}_${name}`),
  when: ({ ours }) => ours.fields['infiniband.cm.req.localqpn'] !== undefined,
  says: (pair, field) => misreadPath(pair, field, which),
  tshark: 'takes flow label, reserved bits and packet rate out of the first three bytes, as if the first were missing',
  truth: 'a label of 20 bits, 6 reserved bits and a rate of 6: packets/cm/path.ts',
  source: `rdma:ibta_vol1_c12.h for the offsets; ${MEASURED} on captures of rdma_rxe`,
}));

/** All rows. The first that fits a difference explains it. */
export const EXPECTATIONS: readonly KnownDifference[] = [
  TUNNEL_UNREAD,
  ...PATH_ROWS,
  {
    id: 'cm-req-gid-form',
    blind: 'tshark',
    versions: SINCE,
    fields: ['local', 'remote'].flatMap((end) => [
      `infiniband.cm.req.prim_${end}gid`,
      `infiniband.cm.req.prim_${end}gid_ipv4`,
    ]),
    when: ({ ours: { fields } }) => fields['infiniband.cm.req.localqpn'] !== undefined,
    says: gidForm,
    tshark:
      'shows the GIDs of the primary path as IPv4 addresses, their last 4 bytes, when IPv4 carries the REQ, and as IPv6 otherwise',
    truth: 'a GID is an IPv4 address when it is a mapped one (::ffff:a.b.c.d)',
    source: MEASURED,
  },
  {
    id: 'cm-req-sap',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.cm.req.alt_reserved1', 'infiniband.cm.req.alt_reserved2'],
    when: ({ ours: { fields } }) => fields['roce.cm.req.sapsupported'] === 1,
    says: () => 0x04,
    tshark: 'shows the bit for an alternate path by service id as reserved',
    truth: 'bit 2 of the last byte of the alternate path: roce.cm.req.sapsupported',
    source: `rdma:ibta_vol1_c12.h; ${MEASURED}`,
  },
  {
    id: 'reserved-bytes',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.reserved'],
    when: ({ ours, theirs }) =>
      theirs['infiniband.reserved'] !== undefined && reservedBytes(ours.fields, ours.frame).length > 0,
    says: ({ ours }) => reservedBytes(ours.fields, ours.frame),
    tshark: 'shows the byte of FECN and BECN, and the vendor id of REQ and REP, as reserved',
    truth:
      'bit 7 of BTH byte 4 is FECN, bit 6 BECN; vendor id as in packets/cm; other reserved bits that are set are listed as roce.*.reserved*',
    source: `ref:wire#4, rdma:ibta_vol1_c12.h; ${MEASURED}`,
  },
  ...UNREAD_ROWS,
  {
    id: 'rd-offsets',
    blind: 'tshark',
    versions: SINCE,
    fields: [
      ...[...BEHIND_BTH, 'infiniband.reserved', 'infiniband.invariant.crc', 'infiniband.vendor', 'data.len'],
      ...[
        'infiniband.mad*',
        'infiniband.cm*',
        'infiniband.smp*',
        'infiniband.rmpp*',
        'infiniband.sa.*',
        '_ws.malformed',
      ],
    ],
    when: ({ ours: { frame } }) => frame.bthOffset >= 0 && (frame.opcode & SERVICE_MASK) === Service.Rd,
    says: readLate,
    tshark:
      'reads the headers of reliable datagrams at wrong places: of requests 8 bytes late, of responses as if there were no RDETH',
    truth: 'the RDETH is behind the BTH, then the DETH of a request',
    source: `ref:wire#5; ${MEASURED}`,
  },
  {
    id: 'payload-with-pad',
    blind: 'tshark',
    versions: SINCE,
    fields: ['data.len'],
    when: ({ ours: { status, frame } }) => status === FrameStatus.Ok && frame.padCount > 0,
    says: ({ ours: { frame } }) => frame.payloadLength + frame.padCount,
    tshark: 'hands on the pad with the payload',
    truth: 'the last bytes before the ICRC, as many as the pad count says, are no data',
    source: `ref:wire#4; ${MEASURED}`,
  },
  {
    id: 'payload-of-header-opcode',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.invariant.crc'],
    when: ({ ours: { status, frame } }) =>
      status === FrameStatus.Ok &&
      opcodeInfo(frame.opcode).service === Service.Rc &&
      (frame.flags & HEADERS_ONLY) !== 0 &&
      frame.icrcOffset > frame.payloadOffset,
    says: () => Absent,
    tshark: 'shows no ICRC when bytes follow the headers of an opcode that has no payload',
    truth: 'the last four bytes of what the UDP length covers',
    source: MEASURED,
  },
  {
    id: 'opcode-unknown',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.invariant.crc', 'infiniband.vendor'],
    when: ({ ours: { status } }) => status === FrameStatus.UnknownOpcode,
    says: (pair, field) => (field === 'infiniband.vendor' ? behindBth(pair) : Absent),
    tshark: 'shows what is behind the BTH of an opcode that is unknown as vendor specific',
    truth: 'the ICRC is there all the same',
    source: MEASURED,
  },
  {
    id: 'cm-reserved-bits',
    blind: 'us',
    versions: { from: '0' },
    fields: ['reserved', 'req.prim_reserved0', 'req.prim_reserved1', 'req.prim_reserved2', 'req.alt_reserved0']
      .concat(['req.alt_reserved1', 'req.ip_cm.reserved', 'rep.reserved', 'rej.reserved0', 'rej.reserved1'])
      .map((name) => (name === 'reserved' ? 'infiniband.reserved' : `infiniband.cm.${name}`)),
    when: isCmWithReserved,
    says: () => Present,
    tshark: 'shows reserved bits of a message of connection management that are set',
    truth: 'they mean nothing: a receiver ignores them, and we do not print them',
    source: 'packets/cm',
  },
  {
    id: 'mad-other-class',
    blind: 'us',
    versions: { from: '0' },
    fields: ['infiniband.*', '_ws.malformed'],
    when: ({ ours: { fields } }) => (fields['infiniband.mad.mgmtclass'] ?? ManagementClass.Cm) !== ManagementClass.Cm,
    says: () => Present,
    tshark: 'reads the attributes of subnet management, administration, performance and other classes',
    truth: 'RoCEv2 has connection management only: of other classes we list the common header',
    source: 'packets/mad.ts',
  },
  {
    id: 'mad-class-unread',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.invariant.crc'],
    when: ({ ours: { fields } }) => (fields['infiniband.mad.mgmtclass'] ?? ManagementClass.Cm) !== ManagementClass.Cm,
    says: () => Absent,
    sometimes: true,
    tshark: 'shows no ICRC behind a MAD of a class that it does not read',
    truth: 'the last four bytes of what the UDP length covers',
    source: MEASURED,
  },
  {
    id: 'mad-of-any-service',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.mad*', 'infiniband.cm*', 'infiniband.smp*', 'infiniband.rmpp*', 'infiniband.sa.*'].concat([
      'infiniband.reserved',
      'infiniband.invariant.crc',
      'data.len',
      '_ws.malformed',
    ]),
    when: ({ ours: { frame } }) =>
      frame.bthOffset >= 0 && frame.destQpn <= GSI_QPN && (frame.opcode & SERVICE_MASK) !== Service.Ud,
    says: () => Whatever,
    sometimes: true,
    tshark: 'reads whatever goes to queue pair 0 or 1 as a MAD, of whatever service',
    truth: 'a MAD is an unreliable datagram',
    source: `ref:wire#10; ${MEASURED}`,
  },
  {
    id: 'mad-short',
    blind: 'us',
    versions: { from: '0' },
    fields: ['infiniband.cm*', 'infiniband.reserved'],
    when: ({ ours: { fields, frame } }) =>
      fields['infiniband.mad.attributeid'] !== undefined && frame.payloadLength < MAD_BYTES,
    says: () => Present,
    tshark: 'reads a message of connection management in less than 256 bytes, or in pad',
    truth: 'a MAD has 256 bytes: of a shorter one we list the common header',
    source: 'packets/mad.ts',
  },
  {
    id: 'mad-from-gsi',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.mad*', 'infiniband.cm*', 'infiniband.reserved', 'infiniband.smp*'],
    when: ({ ours: { frame, fields } }) =>
      frame.destQpn !== GSI_QPN && Number(fields['infiniband.deth.srcqp'] ?? 2) <= GSI_QPN,
    says: () => Present,
    tshark: 'reads a datagram that comes from queue pair 0 or 1 as a MAD, wherever it goes',
    truth: 'a MAD is what goes to queue pair 1',
    source: `ref:wire#10; ${MEASURED}`,
  },
  {
    id: 'vlan-9100',
    blind: 'us',
    versions: { from: '0' },
    fields: ['vlan.*', 'arp.*', 'ip.*', 'ipv6.*', 'udp.*', 'tcp.*', 'icmp*', 'infiniband*'],
    when: ({ theirs }) => valuesOf(theirs, 'eth.type')[0] === '0x9100',
    says: () => Present,
    tshark: 'reads on behind the tag of old double tagging',
    truth: 'a tag is 0x8100 or 0x88a8; no host of RoCEv2 takes this',
    source: 'packets/frame.ts',
  },
  {
    id: 'capture-cut-headers',
    blind: 'us',
    versions: { from: '0' },
    fields: ['eth.*', 'vlan.*', 'arp.*', 'ip.*', 'ipv6.*', 'udp.*', 'tcp.*', 'icmp*', 'infiniband*'],
    when: ({ ours }) => ours.cut,
    says: () => Present,
    tshark: 'shows the fields that the capture kept of a packet',
    truth: 'we list nothing behind the headers of a packet that is not there as a whole',
    source: 'tools/verify/our-frame.ts',
  },
  {
    id: 'capture-cut-stop',
    blind: 'tshark',
    versions: SINCE,
    fields: ['infiniband.*'],
    when: ({ ours }) => ours.cut,
    says: () => Absent,
    sometimes: true,
    tshark: 'shows no BTH when the capture cut the packet inside the headers that its opcode has',
    truth: 'the BTH is there',
    source: MEASURED,
  },
  {
    id: 'ipv6-extension-headers',
    blind: 'us',
    versions: { from: '0' },
    fields: ['icmpv6.*', 'udp.*', 'tcp.*', 'infiniband*'],
    when: ({ theirs }) => IPV6_EXTENSIONS.includes(valuesOf(theirs, 'ipv6.nxt')[0] ?? ''),
    says: () => Present,
    tshark: 'reads on behind extension headers of IPv6, which listener discovery has',
    truth: 'RoCEv2 packets have none (the ICRC is not defined over them)',
    source: 'packets/frame.ts',
  },
  {
    id: 'ipv6-extension-stop',
    blind: 'tshark',
    versions: SINCE,
    fields: ['icmpv6.*'],
    when: ({ theirs }) => IPV6_EXTENSIONS.includes(valuesOf(theirs, 'ipv6.nxt')[0] ?? ''),
    says: () => Absent,
    sometimes: true,
    tshark: 'stops at options of IPv6 that are damaged',
    truth: 'the length of the header says where the next one is',
    source: MEASURED,
  },
  ...READ_ON,
];

function behindBth({ ours: { frame } }: FramePair): string {
  return colonHex(frame.bytes.subarray(frame.bthOffset + BTH_BYTES, frame.icrcOffset + 4));
}

function misreadPath({ ours }: FramePair, field: string, which: string): number {
  const label = Number(ours.fields[`infiniband.cm.req.${which}_flowlabel`]);
  if (field.endsWith('flowlabel')) return label >>> 8;
  return field.endsWith('pktrate') ? (label >>> 12) & 0x3f : label >>> 18;
}

type Fields = FramePair['ours']['fields'];

function gidForm({ ours: { fields, frame } }: FramePair, field: string): ExpectedValue {
  if (fields[field] !== undefined) return field.endsWith('_ipv4') === (frame.ipVersion === 4) ? Whatever : Absent;
  const mapped = fields[`${field}_ipv4`];
  if (mapped !== undefined) return `::ffff:${mapped}`;
  // The last 4 of 16 bytes; the GIDs of a REQ are at 84 and 100 of the MAD.
  const at = frame.payloadOffset + (field.includes('local') ? 80 : 96) + 12;
  return Array.from(frame.bytes.subarray(at, at + 4)).join('.');
}

/** In the order of the packet, without what is zero, as tshark writes bytes. */
function reservedBytes(fields: Fields, { view, bthOffset }: FramePair['ours']['frame']): string[] {
  if (bthOffset < 0) return [];
  const vendor = Number(fields['roce.cm.rep.vendorid'] ?? 0);
  return [
    bytesText(view.getUint8(bthOffset + BTH_MASKED_BYTE), 1),
    // Of reliable datagrams tshark reads other bytes as DETH: `rd-offsets`.
    bytesText(fields['infiniband.rdeth.eecnxt'] === undefined ? fields['roce.deth.reserved8'] : 0, 1),
    bytesText(fields['roce.mad.reserved16'], 2),
    bytesText(fields['roce.cm.req.vendorid'], 4),
    ...[vendor >>> 16, (vendor >>> 8) & 0xff, vendor & 0xff].map((byte) => bytesText(byte, 1)),
  ].filter((text) => text !== '');
}

/**
 * Bits of a message itself, which we do not list: those of the headers before it, and of the MAD's (two bytes), are as
 * we have them.
 */
function isCmWithReserved({ ours: { fields, frame }, theirs }: FramePair): boolean {
  if (fields['infiniband.mad.attributeid'] === undefined) return false;
  const known = reservedBytes(fields, frame);
  const set = valuesOf(theirs, 'infiniband.reserved').filter((value) => !/^[0:]*$/.test(value));
  // The byte before the vendor id of a REQ is one of those bits.
  const isKnown = (value: string) =>
    known.some((ours) => ours === value || (ours.length === 11 && value.slice(2) === ours.slice(2)));
  return set.filter(isKnown).length >= known.length && set.every((value) => isKnown(value) || value.length !== 5);
}

function bytesText(value: FieldValue | undefined, bytes: number): string {
  if (value === undefined || value === 0) return '';
  const digits = value.toString(16).padStart(2 * bytes, '0');
  return digits.replaceAll(/..(?!$)/g, '$&:');
}

function readLate({ ours: { frame }, theirs }: FramePair, field: string): ExpectedValue {
  const isShown = field === 'infiniband.rdeth.eecnxt' && theirs[field] !== undefined;
  return isShown ? frame.view.getUint32(frame.bthOffset + BTH_BYTES + 8) & 0xff_ff_ff : Whatever;
}
