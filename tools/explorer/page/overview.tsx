/**
 * The overview: the verdict and what the capture cannot know, the findings, then the conversations, then the counts of
 * the capture.
 *
 * Owns how the analysis is laid out.
 */
import { type ConversationReport, conversationFigures } from 'rocev2/pcap';
import type { News } from '../engine/protocol.ts';
import { FindingBox } from './finding-box.tsx';
import { WHOLE } from './time-range.tsx';
import type { ViewProps } from './view.ts';
import { bytes, count, plural, qpn, rate, span } from './words.ts';

/** The view. */
export function Overview({ client, news, go }: ViewProps) {
  const { analysis } = news;
  if (analysis === null) {
    const words = news.done ? 'There is no analysis of this file.' : 'The analysis follows when all packets are read.';
    return (
      <div class="prose">
        <h2>{news.name}</h2>
        <p>{plural(news.packets, 'packet')}.</p>
        <p class="quiet">{words}</p>
      </div>
    );
  }
  return (
    <div class="prose" data-testid="overview">
      <h2>Diagnosis</h2>
      <p data-testid="verdict">{verdictOf(news)}</p>
      <Limits news={news} />
      {analysis.findings.map((finding, at) => (
        <FindingBox
          key={`${finding.id} ${finding.text}`}
          client={client}
          finding={finding}
          symptom={news.summary?.symptoms.find(({ id }) => id === finding.id)}
          open={at < OPEN_EXCERPTS}
          go={go}
        />
      ))}
      <h2>Conversations</h2>
      <Conversations conversations={analysis.conversations} go={go} />
      {analysis.conversationsOmitted > 0 ? (
        <p class="quiet">{plural(analysis.conversationsOmitted, 'conversation')} more are not listed.</p>
      ) : null}
      {analysis.paths.length === 0 ? null : <Paths news={news} go={go} />}
      <h2>Capture</h2>
      <CaptureTable news={news} />
    </div>
  );
}

/** As `roce analyze` begins: it claims no more than the capture can show. */
function verdictOf({ summary, packets, problem }: News): string {
  if (summary === null || packets === 0) return 'No packets, hence no diagnosis.';
  const text = summary.verdict;
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${problem === '' ? '' : ', in the packets that could be read'}.`;
}

/** Where the capture was taken, and what it cannot know. */
function Limits({ news: { summary } }: Pick<ViewProps, 'news'>) {
  const lines = [
    ...(summary?.places ?? []).map((text) => ['Captured', text] as const),
    ...(summary?.limits ?? []).map((text) => ['Limit', text] as const),
  ];
  if (lines.length === 0) return null;
  const rest = lines.length - MOST_LIMITS;
  return (
    <dl class="limits" data-testid="limits">
      {lines.slice(0, MOST_LIMITS).map(([label, text]) => (
        <div key={`${label} ${text}`}>
          <dt>{label}</dt>
          <dd>{text}</dd>
        </div>
      ))}
      {rest > 0 ? (
        <div>
          <dt>And</dt>
          <dd>{count(rest)} more</dd>
        </div>
      ) : null}
    </dl>
  );
}

function Conversations({
  conversations,
  go,
}: {
  readonly conversations: readonly ConversationReport[];
  readonly go: ViewProps['go'];
}) {
  if (conversations.length === 0) return <p class="quiet">No RoCEv2 conversation.</p>;
  return (
    <div class="scroll">
      <table data-testid="conversations">
        <thead>
          <tr>
            <th>Id</th>
            <th>Service</th>
            <th>Ends</th>
            <th class="n">Packets</th>
            <th class="n">Bytes</th>
            <th class="n">Goodput</th>
            <th class="n">Lost</th>
            <th class="n">Sent again</th>
            <th class="n">NAK, RNR</th>
            <th class="n">Timeouts</th>
            <th class="n">ACK p50</th>
          </tr>
        </thead>
        <tbody>
          {conversations.map((conversation) => (
            <ConversationRow key={conversation.id} conversation={conversation} go={go} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ConversationRow({
  conversation,
  go,
}: {
  readonly conversation: ConversationReport;
  readonly go: ViewProps['go'];
}) {
  const { id, service, ends } = conversation;
  const figures = conversationFigures(conversation);
  const busier = ends[0].requester.goodputBytes >= ends[1].requester.goodputBytes ? ends[0] : ends[1];
  const latency = busier.requester.ackLatency;
  return (
    <tr>
      <td>
        <button type="button" class="link" onClick={() => go({ tab: 'ladder', conversation: id, packet: 0 })}>
          {id}
        </button>
      </td>
      <td>{service}</td>
      <td>
        {ends[0].address} {qpn(ends[0].qpn)}
        <br />
        {ends[1].address} {qpn(ends[1].qpn)}
      </td>
      <td class="n">
        <button type="button" class="link" onClick={() => go({ tab: 'packets', filter: `stream ${id}`, packet: 0 })}>
          {count(figures.packets)}
        </button>
      </td>
      <td class="n">{bytes(figures.bytes)}</td>
      <td class="n">{rate(figures.goodputBps)}</td>
      <td class="n">{count(figures.lost)}</td>
      <td class="n">{count(figures.retransmitted)}</td>
      <td class="n">
        {figures.naks}, {figures.rnrNaks}
      </td>
      <td class="n">{count(figures.timeouts)}</td>
      <td class="n">{latency.count > 0 ? span(latency.p50Ns) : ''}</td>
    </tr>
  );
}

/** What happened to frames between two interfaces of the capture. */
function Paths({ news, go }: Pick<ViewProps, 'news' | 'go'>) {
  const nameOf = (index: number): string => news.interfaces[index]?.name || `interface ${index}`;
  return (
    <>
      <h2>Between interfaces</h2>
      <div class="scroll">
        <table data-testid="paths">
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th class="n">Frames</th>
              <th>What became of them</th>
              <th>First frames</th>
            </tr>
          </thead>
          <tbody>
            {news.analysis?.paths.map(({ from, to, frames, effects, events }) => (
              <tr key={`${from} ${to}`}>
                <td>{nameOf(from)}</td>
                <td>{nameOf(to)}</td>
                <td class="n">{count(frames)}</td>
                <td>{listOf(effects, 1) || 'all passed as they came'}</td>
                <td class="frames">
                  {events.slice(0, MOST_LINKS).map((event) => {
                    const frame = event.in > 0 ? event.in : (event.out[0] ?? 0);
                    return (
                      <button
                        type="button"
                        class="link"
                        key={frame}
                        title={event.effects.join(', ')}
                        onClick={() => go({ tab: 'packets', packet: frame, filter: '', ...WHOLE })}
                      >
                        {frame}
                      </button>
                    );
                  })}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function CaptureTable({ news }: { readonly news: ViewProps['news'] }) {
  const { analysis } = news;
  if (analysis === null) return null;
  const { capture } = analysis;
  const rows: readonly (readonly [string, string])[] = [
    ['Packets', `${count(capture.packets)}, ${bytes(capture.bytes)} on the wire`],
    ['Duration', span(capture.durationNs)],
    [
      'RoCEv2',
      `${count(capture.rocePackets)}; ICRC right in ${count(capture.goodIcrc)}, wrong in ${count(capture.badIcrc)}`,
    ],
    ['Cut short', count(capture.cutPackets)],
    ['Dropped by the capture', count(capture.captureDrops)],
    ['Other packets', listOf(capture.others)],
    ['Operations', listOf(capture.opcodes)],
    ['Interfaces', news.interfaces.map(({ name }, index) => (name === '' ? `${index}` : name)).join(', ')],
  ];
  return (
    <table>
      <tbody>
        {rows
          .filter(([, value]) => value !== '' && value !== '0')
          .map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

/** "SEND 3, WRITE 2", the most frequent first; without what occurs less than `least` times. */
function listOf(counts: Readonly<Record<string, number>>, least = 0): string {
  return Object.entries(counts)
    .filter(([, value]) => value >= least)
    .sort(([, a], [, b]) => b - a)
    .map(([name, value]) => `${name} ${count(value)}`)
    .join(', ');
}

const MOST_LINKS = 12;
const MOST_LIMITS = 12;
/** Findings whose ladder is open at first. */
const OPEN_EXCERPTS = 3;
