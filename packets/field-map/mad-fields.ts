/**
 * Management datagrams as fields: the common header, the messages of connection management, and the header of RDMA CM.
 *
 * Owns where each field is, once more beside the codecs of `cm/`, as a list of widths that leaves no bit out, and what
 * it means. Never reads a packet. Names are tshark's where it has the field. Offsets: the headers of `cm/*.ts`,
 * rdma:ibta_vol1_c12.h.
 */

import { type CmKind, cmRejReasonName } from '../cm/index.ts';
import { CmAprStatus } from '../cm/lap.ts';
import { cmSidrStatusName } from '../cm/sidr.ts';
import type { BitsValue, Shape } from './bits.ts';

/** One field: width in bits, name, how to show it, meaning. */
export type FieldRow = readonly [
  bits: number,
  name: string,
  shape: Shape,
  meaning?: string | ((value: BitsValue) => string),
];

/** Source of all rows of this file. */
export const MAD_RULE = 'ref:wire#10, rdma:ibta_vol1_c12.h';

/** The common header, 24 bytes. */
export const MAD_HEADER: readonly FieldRow[] = [
  [8, 'infiniband.mad.baseversion', 'hex', 'Version of management datagrams: 1.'],
  [
    8,
    'infiniband.mad.mgmtclass',
    'hex',
    (value) => (value === 7 ? 'Connection management.' : 'Another class than connection management.'),
  ],
  [8, 'infiniband.mad.classversion', 'hex', '2 for connection management.'],
  [8, 'infiniband.mad.method', 'hex', '3, Send, in connection management; the top bit marks a response.'],
  [16, 'infiniband.mad.status', 'hex', '0, unless a response reports an error.'],
  [16, 'infiniband.mad.classspecific', 'hex', 'Not used by connection management.'],
  [64, 'infiniband.mad.transactionid', 'hex', 'A reply has that of the message it answers.'],
  [16, 'infiniband.mad.attributeid', 'hex', 'Which message follows.'],
  [16, 'roce.mad.reserved', 'hex'],
  [32, 'infiniband.mad.attributemodifier', 'hex', 'Not used by connection management.'],
];

/** The 36 bytes of RDMA CM at the beginning of private data. */
export const IP_CM_HEADER: readonly FieldRow[] = [
  [4, 'infiniband.cm.req.ip_cm.majv', 'decimal', 'Major version: 0.'],
  [4, 'infiniband.cm.req.ip_cm.minv', 'decimal', 'Minor version.'],
  [4, 'infiniband.cm.req.ip_cm.ipv', 'decimal', 'Version of the addresses, 4 or 6.'],
  [4, 'roce.cm.req.ip_cm.reserved', 'hex'],
  [16, 'infiniband.cm.req.ip_cm.sport', 'decimal', "The asker's port."],
  [128, 'infiniband.cm.req.ip_cm.sip', 'bytes', "The asker's address; IPv4 in the last four bytes."],
  [128, 'infiniband.cm.req.ip_cm.dip', 'bytes', 'The address asked; IPv4 in the last four bytes.'],
];

function commIds(name: string): readonly FieldRow[] {
  return [
    [32, `${name}.localcommid`, 'hex', "The sender's name for the connection."],
    [32, `${name}.remotecommid`, 'hex', "The receiver's name for it."],
  ];
}

function privateData(name: string, bytes: number): FieldRow {
  return [8 * bytes, `${name}.private`, 'bytes', 'What the application adds.'];
}

const SERVICE_ID = 'Whom the request is for; RDMA CM puts port space and port here.';

/** One path of a REQ, 44 bytes. */
function path(prefix: string): readonly FieldRow[] {
  const name = `infiniband.cm.req.${prefix}`;
  return [
    [16, `${name}_locallid`, 'hex', '0xffff on RoCEv2.'],
    [16, `${name}_remotelid`, 'hex', '0xffff on RoCEv2.'],
    [128, `${name}_localgid`, 'ipv6', "The sender's address; IPv4 stands behind ::ffff:."],
    [128, `${name}_remotegid`, 'ipv6', "The receiver's address."],
    [20, `${name}_flowlabel`, 'hex', 'Flow label to use.'],
    [6, 'roce.cm.req.reserved', 'hex'],
    [6, `${name}_pktrate`, 'decimal', "Code of the rate; 0 for the port's own."],
    [8, `${name}_tclass`, 'hex', 'Traffic class to use: DSCP and ECN.'],
    [8, `${name}_hoplim`, 'decimal', 'Hop limit to use.'],
    [4, `${name}_sl`, 'decimal', 'Service level.'],
    [1, `${name}_sublocal`, 'flag', 'No router on the way; 0 on RoCEv2.'],
    [3, 'roce.cm.req.reserved', 'hex'],
    [5, `${name}_localacktout`, 'decimal', ackTimeout],
    // The last three bits: reserved in the primary path, of the alternate one the first says whether suggested paths
    // are understood.
    [3, `roce.cm.req.${prefix}_spare`, 'hex'],
  ];
}

/** The messages behind the common header, 232 bytes each. */
export const CM_MESSAGES: Readonly<Record<CmKind, readonly FieldRow[]>> = {
  REQ: [
    [32, 'infiniband.cm.req', 'hex', "The sender's name for the connection."],
    [8, 'roce.cm.req.reserved', 'hex'],
    [24, 'roce.cm.req.vendorid', 'hex', 'Vendor, where options of one are used.'],
    [64, 'infiniband.cm.req.serviceid', 'hex', SERVICE_ID],
    [64, 'infiniband.cm.req.localcaguid', 'hex', "The sender's adapter."],
    [32, 'roce.cm.req.reserved', 'hex'],
    [32, 'infiniband.cm.req.localqkey', 'hex', 'Not used by connected services.'],
    [24, 'infiniband.cm.req.localqpn', 'hex', "The sender's queue pair: where answers and data are to go."],
    [8, 'infiniband.cm.req.responderres', 'decimal', 'READs and atomics that the sender answers at a time.'],
    [24, 'infiniband.cm.req.localeecn', 'hex', '0, but for reliable datagrams.'],
    [8, 'infiniband.cm.req.initdepth', 'decimal', 'READs and atomics that the sender means to have outstanding.'],
    [24, 'infiniband.cm.req.remoteeecn', 'hex', '0, but for reliable datagrams.'],
    [5, 'infiniband.cm.req.remoteresptout', 'decimal', waitOf('The sender waits for a REP')],
    [
      2,
      'infiniband.cm.req.transpsvctype',
      'decimal',
      (value) => `${['RC', 'UC', 'RD', 'the extended type says which'][Number(value)]}.`,
    ],
    [1, 'infiniband.cm.req.e2eflowctrl', 'flag', 'The sender puts credits into its ACKs.'],
    [24, 'infiniband.cm.req.startpsn', 'decimal', 'PSN with which the receiver of this message begins to send.'],
    [5, 'infiniband.cm.req.localresptout', 'decimal', waitOf('The receiver should wait for answers')],
    [3, 'infiniband.cm.req.retrcount', 'decimal', 'Retries when the peer does not answer.'],
    [16, 'infiniband.cm.req.pkey', 'hex', 'Partition of the connection.'],
    [4, 'infiniband.cm.req.pathmtu', 'decimal', (value) => `Path MTU ${2 ** (Number(value) + 7)} bytes.`],
    [1, 'infiniband.cm.req.rdcexists', 'flag', 'A reliable datagram channel is there already.'],
    [3, 'infiniband.cm.req.rnrretrcount', 'decimal', 'Retries when the sender of this is not ready; 7: infinite.'],
    [4, 'infiniband.cm.req.maxcmretr', 'decimal', 'How often the sender repeats this message.'],
    [1, 'infiniband.cm.req.srq', 'flag', 'A shared receive queue: no credits are given.'],
    [3, 'infiniband.cm.req.extendedtransport', 'decimal', '1 for XRC, with service type 3.'],
    ...path('prim'),
    ...path('alt'),
    privateData('infiniband.cm.req', 92),
  ],
  MRA: [
    ...commIds('roce.cm.mra'),
    [2, 'roce.cm.mra.messagemraed', 'decimal', messageRef],
    [6, 'roce.cm.mra.reserved', 'hex'],
    [5, 'roce.cm.mra.servicetimeout', 'decimal', waitOf('The answer takes')],
    [3, 'roce.cm.mra.reserved', 'hex'],
    privateData('roce.cm.mra', 222),
  ],
  REJ: [
    ...commIds('infiniband.cm.rej'),
    [2, 'infiniband.cm.rej.msgrej', 'decimal', messageRef],
    [6, 'roce.cm.rej.reserved', 'hex'],
    [7, 'infiniband.cm.rej.rejinfolen', 'decimal', 'Bytes of additional information; may claim more than there are.'],
    [1, 'roce.cm.rej.reserved', 'hex'],
    [16, 'infiniband.cm.rej.reason', 'decimal', (value) => `${cmRejReasonName(Number(value))}.`],
    [8 * 72, 'infiniband.cm.rej.ari', 'bytes', 'More about the reason.'],
    privateData('infiniband.cm.rej', 148),
  ],
  REP: [
    [32, 'infiniband.cm.rep', 'hex', "The sender's name for the connection."],
    [32, 'infiniband.cm.rep.remotecommid', 'hex', "The receiver's name for it, that of the REQ."],
    [32, 'infiniband.cm.rep.localqkey', 'hex', 'Not used by connected services.'],
    [24, 'infiniband.cm.rep.localqpn', 'hex', "The sender's queue pair."],
    [8, 'roce.cm.rep.vendorid_high', 'hex', 'Vendor, upper byte.'],
    [24, 'infiniband.cm.rep.localeecn', 'hex', 'An XRC target has its queue pair here.'],
    [8, 'roce.cm.rep.vendorid_middle', 'hex', 'Vendor, middle byte.'],
    [24, 'infiniband.cm.rep.startpsn', 'decimal', 'PSN with which the receiver of this message begins to send.'],
    [8, 'roce.cm.rep.vendorid_low', 'hex', 'Vendor, lower byte.'],
    [8, 'infiniband.cm.rep.respres', 'decimal', 'READs and atomics that the sender answers at a time.'],
    [8, 'infiniband.cm.rep.initdepth', 'decimal', 'READs and atomics that the sender may have outstanding.'],
    [5, 'infiniband.cm.rep.tgtackdelay', 'decimal', waitOf('An ACK takes at most')],
    [
      2,
      'infiniband.cm.rep.failoveracc',
      'decimal',
      (value) =>
        `${['The alternate path is accepted', 'It is not supported', 'It is rejected', 'Reserved'][Number(value)]}.`,
    ],
    [1, 'infiniband.cm.rep.e2eflowctrl', 'flag', 'The sender puts credits into its ACKs.'],
    [3, 'infiniband.cm.rep.rnrretrcount', 'decimal', 'Retries when the sender of this is not ready; 7: infinite.'],
    [1, 'infiniband.cm.rep.srq', 'flag', 'A shared receive queue: no credits are given.'],
    [4, 'roce.cm.rep.reserved', 'hex'],
    [64, 'infiniband.cm.rep.localcaguid', 'hex', "The sender's adapter."],
    privateData('infiniband.cm.rep', 196),
  ],
  RTU: [...commIds('infiniband.cm.rtu'), privateData('infiniband.cm.rtu', 224)],
  DREQ: [
    ...commIds('infiniband.cm.dreq'),
    [24, 'infiniband.cm.req.remoteqpneecn', 'hex', "The receiver's queue pair."],
    [8, 'roce.cm.dreq.reserved', 'hex'],
    privateData('infiniband.cm.dreq', 220),
  ],
  DREP: [...commIds('infiniband.cm.drsp'), privateData('infiniband.cm.drsp', 224)],
  SIDR_REQ: [
    [32, 'roce.cm.sidr_req.requestid', 'hex', 'The answer has it too.'],
    [16, 'roce.cm.sidr_req.partitionkey', 'hex', 'Partition of the datagrams.'],
    [16, 'roce.cm.sidr_req.reserved', 'hex'],
    [64, 'roce.cm.sidr_req.serviceid', 'hex', SERVICE_ID],
    privateData('roce.cm.sidr_req', 216),
  ],
  SIDR_REP: [
    [32, 'roce.cm.sidr_rep.requestid', 'hex', 'That of the question.'],
    [8, 'roce.cm.sidr_rep.status', 'decimal', (value) => `${cmSidrStatusName(Number(value))}.`],
    [8, 'roce.cm.sidr_rep.infolength', 'decimal', 'Bytes of additional information.'],
    [16, 'roce.cm.sidr_rep.vendorid_high', 'hex', 'Vendor, upper bytes.'],
    [24, 'roce.cm.sidr_rep.qpn', 'hex', 'Queue pair of the service.'],
    [8, 'roce.cm.sidr_rep.vendorid_low', 'hex', 'Vendor, lower byte.'],
    [64, 'roce.cm.sidr_rep.serviceid', 'hex', SERVICE_ID],
    [32, 'roce.cm.sidr_rep.qkey', 'hex', 'Q_Key of the service.'],
    [8 * 72, 'roce.cm.sidr_rep.info', 'bytes', 'Additional information.'],
    privateData('roce.cm.sidr_rep', 136),
  ],
  LAP: [
    ...commIds('roce.cm.lap'),
    [32, 'roce.cm.lap.reserved', 'hex'],
    [24, 'roce.cm.lap.remoteqpn', 'hex', "The receiver's queue pair."],
    [5, 'roce.cm.lap.remotecmresponsetimeout', 'decimal', waitOf('The sender waits for an APR')],
    [3, 'roce.cm.lap.reserved', 'hex'],
    [32, 'roce.cm.lap.reserved', 'hex'],
    [16, 'roce.cm.lap.locallid', 'hex', '0xffff on RoCEv2.'],
    [16, 'roce.cm.lap.remotelid', 'hex', '0xffff on RoCEv2.'],
    [128, 'roce.cm.lap.localgid', 'ipv6', "The sender's address on the path to load."],
    [128, 'roce.cm.lap.remotegid', 'ipv6', "The receiver's address on it."],
    [20, 'roce.cm.lap.flowlabel', 'hex', 'Flow label to use.'],
    [4, 'roce.cm.lap.reserved', 'hex'],
    [8, 'roce.cm.lap.trafficclass', 'hex', 'Traffic class to use.'],
    [8, 'roce.cm.lap.hoplimit', 'decimal', 'Hop limit to use.'],
    [2, 'roce.cm.lap.reserved', 'hex'],
    [6, 'roce.cm.lap.packetrate', 'decimal', "Code of the rate; 0 for the port's own."],
    [4, 'roce.cm.lap.servicelevel', 'decimal', 'Service level.'],
    [1, 'roce.cm.lap.subnetlocal', 'flag', 'No router on the way.'],
    [3, 'roce.cm.lap.reserved', 'hex'],
    [5, 'roce.cm.lap.localacktimeout', 'decimal', ackTimeout],
    [3, 'roce.cm.lap.reserved', 'hex'],
    privateData('roce.cm.lap', 168),
  ],
  APR: [
    ...commIds('roce.cm.apr'),
    [8, 'roce.cm.apr.infolength', 'decimal', 'Bytes of additional information.'],
    [
      8,
      'roce.cm.apr.status',
      'decimal',
      (value) => `${Object.entries(CmAprStatus).find(([, known]) => known === value)?.[0] ?? 'Unknown'}.`,
    ],
    [16, 'roce.cm.apr.reserved', 'hex'],
    [8 * 72, 'roce.cm.apr.info', 'bytes', 'Additional information.'],
    privateData('roce.cm.apr', 148),
  ],
};

function ackTimeout(value: BitsValue): string {
  return `ACK timeout of the connection: 4.096 us * 2^${value}, ${timeOf(Number(value))}.`;
}

function waitOf(what: string): (value: BitsValue) => string {
  return (value) => `${what} 4.096 us * 2^${value}, ${timeOf(Number(value))}.`;
}

function timeOf(exponent: number): string {
  const microseconds = 4.096 * 2 ** exponent;
  if (microseconds < 1e3) return `${microseconds.toPrecision(4)} us`;
  return microseconds < 1e6 ? `${(microseconds / 1e3).toPrecision(4)} ms` : `${(microseconds / 1e6).toPrecision(4)} s`;
}

function messageRef(value: BitsValue): string {
  return `${['The REQ', 'The REP', 'Another message or none', 'Reserved'][Number(value)]}.`;
}
