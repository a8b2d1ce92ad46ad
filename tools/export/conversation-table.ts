/**
 * The table of conversations: a row for each of their two ends, since what fleets ask is about a host: who retransmits,
 * who sends CNPs, who lets others wait.
 */
import { type CaptureTime, type ConversationReport, type EndReport, goodputBps, type LatencyReport } from 'rocev2/pcap';
import { type Column, Columns, epochNs, known, nonZero, type Table } from './schema.ts';

/** One end of a conversation. */
export interface EndRow {
  readonly conversation: ConversationReport;
  readonly side: 0 | 1;
  /** Time of the first packet of the capture. */
  readonly start: CaptureTime;
}

const c = new Columns<EndRow>();
const endOf = ({ conversation, side }: EndRow): EndReport => conversation.ends[side];
const peerOf = ({ conversation, side }: EndRow): EndReport => conversation.ends[side === 0 ? 1 : 0];

/** A number of the end. */
function count(name: string, about: string, of: (end: EndReport) => number): Column<EndRow> {
  return c.int64(name, about, (row) => of(endOf(row)));
}

/** A number of connection management. */
function agreed(
  name: string,
  about: string,
  of: (cm: NonNullable<ConversationReport['cm']>) => number,
): Column<EndRow> {
  return c.int32(name, about, ({ conversation: { cm } }) => (cm === undefined ? undefined : of(cm)));
}

/** How long something took: how often, and percentiles. */
function latency(name: string, about: string, of: (end: EndReport) => LatencyReport): Column<EndRow>[] {
  const ns = (part: string, partOf: (report: LatencyReport) => number): Column<EndRow> =>
    c.int64(`${name}_${part}_ns`, `${PARTS[part]}, ns; NULL without any`, (row) => {
      const report = of(endOf(row));
      return report.count === 0 ? undefined : partOf(report);
    });
  return [
    count(`${name}_count`, `${about}: how many were measured`, (end) => of(end).count),
    ns('min', ({ minNs }) => minNs),
    ns('p50', ({ p50Ns }) => p50Ns),
    ns('p99', ({ p99Ns }) => p99Ns),
    ns('max', ({ maxNs }) => maxNs),
    ns('mean', ({ meanNs }) => meanNs),
  ];
}

const PARTS: Readonly<Record<string, string>> = {
  min: 'the shortest',
  p50: 'half took no longer',
  p99: '99 of 100 took no longer (within 3 %)',
  max: 'the longest',
  mean: 'the mean',
};
const OPERATIONS = ['SEND', 'WRITE', 'READ', 'FETCH_ADD', 'CMP_SWAP', 'FLUSH', 'ATOMIC_WRITE'];

const CONVERSATION: readonly Column<EndRow>[] = [
  c.int32('conversation', 'number of the conversation in its capture, from 1', ({ conversation }) => conversation.id),
  c.int32(
    'side',
    'which end this row is about, 0 or 1; 0 is the active one, or the first sender seen',
    ({ side }) => side,
  ),
  c.text(
    'pair',
    'both ends, `ADDRESS/QPN ADDRESS/QPN` in alphabetical order: the same in every capture; NULL while a QPN is unknown',
    pairText,
  ),
  c.text('service', '`RC`, `UC`, `RD`, `UD`, `XRC`', ({ conversation }) => conversation.service),
  c.text(
    'learnt',
    'from connection management, `cm`, or from the `traffic`',
    ({ conversation }) => conversation.learnt,
  ),
  c.int32(
    'interface_index',
    'the interface that saw it: key into `interfaces`',
    ({ conversation }) => conversation.interfaceIndex,
  ),
  c.int32(
    'same_as',
    'number of the same conversation as another interface saw it first; NULL: this is the first. Count only these',
    ({ conversation }) => nonZero(conversation.sameAs),
  ),
  c.int64('first_frame', 'its first packet', ({ conversation }) => conversation.firstFrame),
  c.int64('last_frame', 'its last packet', ({ conversation }) => conversation.lastFrame),
  c.int64('start_ns', 'time of its first packet, ns since 1970', ({ conversation, start }) =>
    epochNs(start, conversation.startNs),
  ),
  c.int64('end_ns', 'time of its last packet', ({ conversation, start }) => epochNs(start, conversation.endNs)),
];

const END: readonly Column<EndRow>[] = [
  c.text('address', 'IP address of this end', (row) => endOf(row).address),
  c.int32('qpn', 'its QPN; NULL: never shown', (row) => known(endOf(row).qpn)),
  c.text('mac', 'its MAC address; NULL without an Ethernet header', (row) => endOf(row).mac || undefined),
  c.text(
    'network',
    'virtual network of the first packet that it sent, by VNI or GRE key: `VXLAN 42`; NULL without one',
    (row) => endOf(row).network || undefined,
  ),
  c.text('peer_address', 'IP address of the other end', (row) => peerOf(row).address),
  c.int32('peer_qpn', 'its QPN', (row) => known(peerOf(row).qpn)),
  c.int32('source_port', 'first UDP source port of what it sent', (row) => endOf(row).sourcePorts[0]),
  c.int32('source_ports', 'how many source ports it used, 16 at most', (row) => endOf(row).sourcePorts.length),
  c.int32('vlan', 'VLAN id; NULL without one', (row) => known(endOf(row).vlan)),
  c.int32('vlan_priority', 'priority of the VLAN tag', (row) => known(endOf(row).vlanPriority)),
  c.int32('pkey', 'first P_Key of what it sent', (row) => endOf(row).pkeys[0]),
  c.int32('mig_req', 'MigReq bit of the last packet that it sent', (row) => known(endOf(row).migReq)),
  count('packets', 'packets that it sent, without those of connection management', ({ packets }) => packets),
  count('wire_bytes', 'their bytes on the wire', ({ bytes }) => bytes),
  count('bad_icrc', 'of these, with a wrong ICRC', ({ badIcrc }) => badIcrc),
  c.int32(
    'path_mtu',
    'largest payload of FIRST and MIDDLE packets, which is the path MTU in use; NULL: none seen',
    (row) => nonZero(endOf(row).pathMtu),
  ),
];

const REQUESTS: readonly Column<EndRow>[] = [
  c.int32('first_psn', 'PSN of its first request seen or announced; NULL: none', (row) =>
    known(endOf(row).requester.firstPsn),
  ),
  c.flag(
    'from_start',
    '`first_psn` is that of the connection, not one in the middle',
    (row) => endOf(row).requester.fromStart,
  ),
  ...OPERATIONS.map((operation) =>
    count(
      `${operation.toLowerCase()}_messages`,
      `${operation} messages begun`,
      ({ requester }) => requester.messages[operation] ?? 0,
    ),
  ),
  count('request_packets', 'packets of requests', ({ requester }) => requester.packets),
  count('retransmitted_packets', 'of these, sent before', ({ requester }) => requester.retransmittedPackets),
  count(
    'lost_packets',
    'requests sent and never arrived, as far as the capture can tell',
    ({ requester }) => requester.lostPackets,
  ),
  count(
    'unseen_packets',
    'acknowledged though never seen: losses of the capture',
    ({ requester }) => requester.unseenPackets,
  ),
  count('reordered_packets', 'came after packets sent later', ({ requester }) => requester.reorderedPackets),
  count('undecided_packets', 'not received in order, lost or overtaken', ({ requester }) => requester.undecidedPackets),
  count(
    'response_packets',
    'READ responses and atomic answers to this end',
    ({ requester }) => requester.responses.packets,
  ),
  count(
    'response_retransmitted_packets',
    'of these, sent before',
    ({ requester }) => requester.responses.retransmittedPackets,
  ),
  count('response_lost_packets', 'responses lost', ({ requester }) => requester.responses.lostPackets),
  count('copies', 'frames captured twice unchanged', ({ requester }) => requester.copies),
  count('acks', 'ACKs received', ({ requester }) => requester.acks),
  count('naks', 'NAKs received, without RNR; kinds are in `events`', ({ requester }) =>
    Object.values(requester.naks).reduce((a, b) => a + b, 0),
  ),
  count('rnr_naks', 'RNR NAKs received: the other end had no receive posted', ({ requester }) => requester.rnrNaks),
  count(
    'implied_naks',
    'READs and atomics requested again because of a gap in their responses',
    ({ requester }) => requester.impliedNaks,
  ),
  count('timeouts', 'retransmissions after a timeout', ({ requester }) => requester.timeouts),
  count('ghost_acks', 'ACKs of what was acknowledged before', ({ requester }) => requester.ghostAcks),
  count(
    'most_outstanding_reads',
    'largest number of READs and atomics under way',
    ({ requester }) => requester.mostOutstandingReads,
  ),
  count(
    'most_unacked_packets',
    'largest number of packets sent and not acknowledged',
    ({ requester }) => requester.mostUnackedPackets,
  ),
  count(
    'goodput_bytes',
    'payload that arrived for the first time: its SENDs and WRITEs, and READ responses to it',
    ({ requester }) => requester.goodputBytes,
  ),
  c.int64('goodput_bps', 'the same as bits per second, from the first packet of the conversation to its last', (row) =>
    goodputBps(row.conversation, endOf(row).requester.goodputBytes),
  ),
  ...latency(
    'ack_latency',
    'from the last packet that an ACK acknowledges to the ACK',
    ({ requester }) => requester.ackLatency,
  ),
  ...latency('read_latency', 'from a READ to its first response', ({ requester }) => requester.readLatency),
  ...latency(
    'nak_generation',
    'from the first packet behind a gap to the NAK',
    ({ requester }) => requester.nakGeneration,
  ),
  ...latency('nak_reaction', 'from a NAK to the packet that it asks for', ({ requester }) => requester.nakReaction),
  c.int32('unanswered_psn', 'PSN of the oldest request without an answer at the end; NULL: all were answered', (row) =>
    known(endOf(row).requester.unansweredPsn),
  ),
];

const CONGESTION: readonly Column<EndRow>[] = [
  count('not_ect', 'packets it sent, as captured: without ECT', ({ congestion }) => congestion.notEct),
  count('ect0', 'with ECT(0)', ({ congestion }) => congestion.ect0),
  count('ect1', 'with ECT(1)', ({ congestion }) => congestion.ect1),
  count('ce', 'marked CE', ({ congestion }) => congestion.ce),
  count('cnps_sent', 'CNPs that it sent', ({ congestion }) => congestion.cnpsSent),
  c.int64('cnp_pacing_ns', 'pacing interval of its CNPs; NULL: not steady, or too few', (row) =>
    known(endOf(row).congestion.cnpPacingNs),
  ),
];

const AGREEMENT: readonly Column<EndRow>[] = [
  agreed(
    'cm_path_mtu',
    'path MTU of the REQ, bytes; this and the next: NULL without connection management',
    ({ pathMtu }) => pathMtu,
  ),
  agreed(
    'cm_ack_timeout_exponent',
    'n of the local ACK timeout, 4.096 us * 2^n',
    ({ ackTimeoutExponent }) => ackTimeoutExponent,
  ),
  agreed('cm_retry_count', 'retries after timeouts and sequence NAKs', ({ retryCount }) => retryCount),
  agreed(
    'cm_rnr_retry_count',
    'retries of the passive end after RNR NAKs, 7: infinitely many',
    ({ rnrRetryCount }) => rnrRetryCount,
  ),
  agreed('cm_active_rnr_retry_count', 'the same of the active end', ({ activeRnrRetryCount }) => activeRnrRetryCount),
];

/** The table. */
export const CONVERSATION_ENDS: Table<EndRow> = {
  name: 'conversation_ends',
  about:
    'Two rows for each conversation, one for each end: what it sent, what became of its requests, what it received as answers. `count(*)` is twice the number of conversations.',
  key: ['capture', 'conversation', 'side'],
  columns: [...c.origin(), ...CONVERSATION, ...END, ...REQUESTS, ...CONGESTION, ...AGREEMENT],
};

function pairText({ conversation: { ends } }: EndRow): string | undefined {
  if (ends.some(({ qpn }) => qpn < 0)) return undefined;
  return ends
    .map(({ address, qpn }) => `${address}/${qpn}`)
    .sort()
    .join(' ');
}
