/**
 * Conversations as text: one line for each, and all that is known of one in two columns, one for each end.
 *
 * Owns the layout; rows in which both ends have nothing to say are left out.
 */
import {
  type ConversationReport,
  conversationFigures,
  conversationNetworks,
  type EndReport,
  goodputBps,
  type RequesterReport,
} from 'rocev2/pcap';
import { type Align, formatTable, grouped } from '../table.ts';
import { bytesText, durationText, latencyText, qpText, REPORT_WIDTH, rateText, tallyText, wrap } from './words.ts';

/** A table with a line for each conversation. */
export function overviewLines(conversations: readonly ConversationReport[]): string[] {
  const rows = conversations.map((conversation) => {
    const { id, service, ends } = conversation;
    const figures = conversationFigures(conversation);
    const networks = conversationNetworks(conversation);
    return [
      `${id}`,
      service,
      ends.map(({ address, qpn }) => `${address} ${qpn < 0 ? '?' : `0x${qpn.toString(16)}`}`).join(' - ') +
        (networks === '' ? '' : `, ${networks}`),
      grouped(figures.packets),
      rateText(figures.goodputBps),
      grouped(figures.retransmitted),
      grouped(figures.lost),
      grouped(figures.naks + figures.rnrNaks),
      grouped(figures.timeouts),
    ];
  });
  const table = formatTable(HEADINGS, rows, ALIGNS);
  if (table.every((line) => line.length <= REPORT_WIDTH)) return table;
  // Long addresses have a line of their own, below the figures.
  const figures = (cells: readonly string[]): string[] => cells.filter((_, column) => column !== ENDS_COLUMN);
  const [heading = '', ...lines] = formatTable(
    figures(HEADINGS),
    rows.map(figures),
    ALIGNS.filter((_, column) => column !== ENDS_COLUMN),
  );
  return [heading, ...lines.flatMap((line, at) => [line, `        ${rows[at]?.[ENDS_COLUMN] ?? ''}`])];
}

/** Everything about one conversation. `interfaces`: their names, by index. */
export function conversationLines(conversation: ConversationReport, interfaces: readonly string[]): string[] {
  const { id, service, ends, firstFrame, lastFrame, startNs, endNs, interfaceIndex, sameAs, previousLife } =
    conversation;
  const where = interfaces.length > 1 ? `, interface ${interfaces[interfaceIndex] || interfaceIndex}` : '';
  const twin = sameAs === 0 ? '' : `, the same as conversation ${sameAs} at another interface`;
  const life = previousLife === 0 ? '' : `, the next life of the queue pairs of conversation ${previousLife}`;
  const [left, right] = ends;
  const rows = ROWS.map(([name, show]) => [
    name,
    show(left, right, conversation),
    show(right, left, conversation),
  ]).filter((row) => {
    return row.slice(1).some((cell) => !EMPTY.has(cell ?? ''));
  });
  const timed = rows.some(([name]) => name?.endsWith('*') === true);
  return [
    ...wrap(
      `frames ${firstFrame} to ${lastFrame}, ${durationText(startNs)} to ${durationText(endNs)}${where}${twin}${life}`,
      `conversation ${id}, ${service}: `,
    ),
    ...wrap(learntText(conversation), '  '),
    ...formatTable(['', ...ends.map(({ address }) => address)], rows, ['left', 'left', 'left']),
    ...(timed ? ['  * median / 99 of 100 / longest'] : []),
  ];
}

function learntText({ learnt, cm, ends }: ConversationReport): string {
  if (cm === undefined) return learnt === 'cm' ? 'known from connection management' : 'known from its traffic';
  const seen = [
    ['REQ', cm.reqFrame],
    ['REP', cm.repFrame],
    ['RTU', cm.rtuFrame],
    ['DREQ', cm.dreqFrame],
  ] as const;
  const frames = seen.filter(([, frame]) => frame > 0).map(([name, frame]) => `${name} ${frame}`);
  const timeout = durationText(ACK_TIMEOUT_UNIT_NS * 2 ** cm.ackTimeoutExponent);
  return (
    `known from connection management (frames ${frames.join(', ')}): path MTU ${cm.pathMtu}, ACK timeout ${timeout}, ` +
    `retry count ${cm.retryCount}, RNR retry count ${cm.activeRnrRetryCount} of ${ends[cm.activeEnd].address} and ${cm.rnrRetryCount} of the other end, ${cm.responderResources} READs answered and ${cm.initiatorDepth} requested at a time`
  );
}

type Show = (end: EndReport, other: EndReport, conversation: ConversationReport) => string;

const requester =
  (show: (report: RequesterReport) => string | number): Show =>
  (end) => {
    const value = show(end.requester);
    return typeof value === 'number' ? grouped(value) : value;
  };

/** A name, and what it is of one end; the other end is there for what is counted at its partner. */
const ROWS: readonly (readonly [name: string, show: Show])[] = [
  ['queue pair', ({ qpn }) => qpText(qpn)],
  ['MAC address', ({ mac }) => mac],
  ['virtual network', ({ network }) => network],
  ['VLAN', ({ vlan, vlanPriority }) => (vlan < 0 ? '' : `${vlan}, priority ${vlanPriority}`)],
  ['P_Key', ({ pkeys }) => pkeysText(pkeys)],
  ['MigReq', ({ migReq, migReqFrame }) => (migReqFrame === 0 ? '' : `${migReq} since frame ${migReqFrame}`)],
  ['source ports', ({ sourcePorts }) => sourcePorts.join(' ')],
  ['sent', ({ packets, bytes }) => `${grouped(packets)} packets, ${bytesText(bytes)}`],
  ['path MTU in use', ({ pathMtu }) => (pathMtu === 0 ? '-' : grouped(pathMtu))],
  ['messages', requester(({ messages }) => tallyText(messages))],
  [
    'goodput',
    ({ requester: { goodputBytes } }, _, conversation) =>
      goodputBytes === 0 ? '' : `${bytesText(goodputBytes)}, ${rateText(goodputBps(conversation, goodputBytes))}`,
  ],
  ['requests sent', requester(({ packets }) => packets)],
  ['  sent again', requester(({ retransmittedPackets }) => retransmittedPackets)],
  ['  lost', requester(({ lostPackets }) => lostPackets)],
  ['  overtaken', requester(({ reorderedPackets }) => reorderedPackets)],
  ['  lost or overtaken', requester(({ undecidedPackets }) => undecidedPackets)],
  ['  not in the capture', requester(({ unseenPackets }) => unseenPackets)],
  ['responses received', requester(({ responses }) => responses.packets)],
  ['  sent again', requester(({ responses }) => responses.retransmittedPackets)],
  ['  lost', requester(({ responses }) => responses.lostPackets)],
  ['  overtaken', requester(({ responses }) => responses.reorderedPackets)],
  ['  not in the capture', requester(({ responses }) => responses.unseenPackets)],
  ['copies of frames', requester(({ copies }) => copies)],
  ['ICRC wrong', ({ badIcrc }) => grouped(badIcrc)],
  ['ACKs received', requester(({ acks }) => acks)],
  ['ACKs of nothing new', requester(({ ghostAcks }) => ghostAcks)],
  ['NAKs received', requester(({ naks }) => tallyText(naks))],
  ['RNR NAKs received', requester(({ rnrNaks }) => rnrNaks)],
  ['implied NAKs', requester(({ impliedNaks }) => impliedNaks)],
  ['timeouts', requester(({ timeouts }) => timeouts)],
  ['never answered from PSN', requester(({ unansweredPsn }) => (unansweredPsn < 0 ? '' : String(unansweredPsn)))],
  ['most READs outstanding', requester(({ mostOutstandingReads }) => mostOutstandingReads)],
  ['most packets outstanding', requester(({ mostUnackedPackets }) => mostUnackedPackets)],
  ['ACK latency *', requester(({ ackLatency }) => latencyText(ackLatency))],
  ['READ latency *', requester(({ readLatency }) => latencyText(readLatency))],
  ['NAK after the gap *', requester(({ nakGeneration }) => latencyText(nakGeneration))],
  ['reaction to a NAK *', requester(({ nakReaction }) => latencyText(nakReaction))],
  ['ECN of what it sent', ({ congestion }) => ecnText(congestion)],
  ['DSCP of what it sent', ({ congestion }) => dscpText(congestion)],
  ['CNPs sent', ({ congestion }) => cnpText(congestion)],
];

/** Empty where there is only the default partition. */
function pkeysText(pkeys: readonly number[]): string {
  return pkeys.every((pkey) => pkey === DEFAULT_PKEY)
    ? ''
    : pkeys.map((pkey) => `0x${pkey.toString(16).padStart(4, '0')}`).join(' ');
}

function ecnText({ notEct, ect0, ect1, ce }: EndReport['congestion']): string {
  // Without any sign of ECN the row is empty.
  return ect0 + ect1 + ce === 0 ? '' : tallyText({ 'not ECT': notEct, 'ECT(0)': ect0, 'ECT(1)': ect1, CE: ce });
}

function dscpText({ dscp }: EndReport['congestion']): string {
  const values = Object.keys(dscp);
  return values.length === 1 && values[0] === '0' ? '' : values.join(' ');
}

function cnpText({ cnpsSent, cnpDscp, cnpPacingNs, cnpIntervalNs }: EndReport['congestion']): string {
  if (cnpsSent === 0) return '';
  const pacing = cnpPacingNs < 0 ? '' : `, one each ${durationText(cnpPacingNs)}`;
  const apart =
    cnpIntervalNs.count === 0 || cnpPacingNs >= 0 ? '' : `, ${durationText(cnpIntervalNs.minNs)} or more apart`;
  return `${grouped(cnpsSent)}${pacing}${apart}, DSCP ${Object.keys(cnpDscp).join(' ')}`;
}

const HEADINGS = ['id', 'svc', 'ends', 'packets', 'goodput', 'resent', 'lost', 'NAKs', 'timeouts'];
const ALIGNS: readonly Align[] = HEADINGS.map((name) => (name === 'svc' || name === 'ends' ? 'left' : 'right'));
const ENDS_COLUMN = 2;
const EMPTY: ReadonlySet<string> = new Set(['', '0', '-', '?']);
const ACK_TIMEOUT_UNIT_NS = 4096;

const DEFAULT_PKEY = 0xff_ff;
