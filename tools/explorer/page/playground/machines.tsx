/**
 * Both state machines of every queue pair: its state, the progress of its requester and responder, and its pending
 * timers.
 */

import { canModify, QP_STATE_NAMES, QpState } from 'rocev2/transport';
import { hostName, microseconds, type QpSnapshot, type Snapshot } from '../../playground/index.ts';

/** One card for each queue pair. */
export function Machines({ snapshot }: { readonly snapshot: Snapshot }) {
  return (
    <div class="machines">
      {snapshot.hosts.flatMap(({ name, address, queuePairs }) =>
        queuePairs.map((qp) => (
          <div class="card" key={qp.qpn} data-testid={`qp-${name}-${qp.connection}`}>
            <h3>
              {name} <span class="quiet">{address}</span>, queue pair {hex(qp.qpn)}{' '}
              <span class="quiet">to {hostName(qp.peerHost)}</span>
            </h3>
            <StateMachine state={qp.state} />
            {qp.cm === undefined ? null : <p data-testid="cm">Connection manager: {qp.cm}</p>}
            <div class="two">
              <Requester qp={qp} />
              <Responder qp={qp} />
            </div>
            <Timers qp={qp} now={snapshot.timeNs} />
            <Rate qp={qp} />
            <Queues qp={qp} />
          </div>
        )),
      )}
    </div>
  );
}

/**
 * The states of ibv_modify_qp(3) and the moves between them; moves to RESET and ERR, which are allowed from everywhere,
 * are left out.
 */
function StateMachine({ state }: { readonly state: QpState }) {
  const moves = PLACES.flatMap((_, from) => PLACES.map((__, to) => [from, to] as const)).filter(
    ([from, to]) =>
      from !== to && to !== QpState.Reset && to !== QpState.Error && canModify(stateOf(from), stateOf(to)),
  );
  return (
    <svg
      class="states"
      viewBox="0 0 340 74"
      role="img"
      aria-label={`State ${QP_STATE_NAMES[state]}`}
      data-state={QP_STATE_NAMES[state]}
    >
      {moves.map(([from, to]) => (
        <Move key={`${from} ${to}`} from={from} to={to} />
      ))}
      {PLACES.map(([x, y], index) => (
        <g
          key={QP_STATE_NAMES[index]}
          class={index === state ? `state here${index >= QpState.Sqe ? ' broken' : ''}` : 'state'}
        >
          <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={4} />
          <text x={x + WIDTH / 2} y={y + 16} text-anchor="middle">
            {QP_STATE_NAMES[index]}
          </text>
        </g>
      ))}
    </svg>
  );
}

function Move({ from, to }: { readonly from: number; readonly to: number }) {
  const [x1, y1] = centreOf(from);
  const [x2, y2] = centreOf(to);
  return <line class="move" x1={x1} y1={y1} x2={x2} y2={y2} />;
}

function Requester({ qp }: { readonly qp: QpSnapshot }) {
  const { requester, nextPsn } = qp;
  if (requester === undefined)
    return (
      <dl>
        <dt>Next PSN</dt>
        <dd data-testid="next-psn">{nextPsn}</dd>
      </dl>
    );
  const { unackedPsn, sentPsn, outstanding, retriesLeft, rnrRetriesLeft } = requester;
  const again = requester.nextPsn !== sentPsn;
  return (
    <dl>
      <dt class="wide">Requester</dt>
      <dt>Next PSN</dt>
      <dd class={again ? 'odd' : ''} data-testid="next-psn">
        {requester.nextPsn}
        {again ? ` (again, up to ${sentPsn})` : ''}
      </dd>
      <dt>Unacknowledged</dt>
      <dd>{unackedPsn === sentPsn ? 'none' : `from ${unackedPsn}`}</dd>
      <dt>READs, atomics</dt>
      <dd>{outstanding}</dd>
      <dt>Retries left</dt>
      <dd data-testid="retries">{retriesLeft}</dd>
      <dt>RNR retries left</dt>
      <dd>{rnrRetriesLeft === 7 ? 'no end' : rnrRetriesLeft}</dd>
    </dl>
  );
}

function Responder({ qp: { responder } }: { readonly qp: QpSnapshot }) {
  if (responder === undefined) return null;
  const { expectedPsn, msn, nakked, replies, replays } = responder;
  return (
    <dl>
      <dt class="wide">Responder</dt>
      <dt>Expected PSN</dt>
      <dd data-testid="expected-psn">{expectedPsn}</dd>
      <dt>MSN</dt>
      <dd>{msn}</dd>
      <dt>Owes</dt>
      <dd>{replies.length === 0 ? 'nothing' : replies.map(({ kind, psn }) => `${kind} ${psn}`).join(', ')}</dd>
      <dt>Remembers</dt>
      <dd>{replays.length === 0 ? 'nothing' : replays.map(({ firstPsn }) => firstPsn).join(', ')}</dd>
      {nakked ? (
        <>
          <dt class="odd">NAK is out</dt>
          <dd class="odd">silent until PSN {expectedPsn}</dd>
        </>
      ) : null}
    </dl>
  );
}

function Timers({ qp: { timers }, now }: { readonly qp: QpSnapshot; readonly now: number }) {
  if (timers.length === 0) return <p class="quiet">No timer runs.</p>;
  return (
    <p data-testid="timers">
      {timers
        .map(({ name, deadlineNs, retriesLeft }) => {
          const left = retriesLeft === undefined ? '' : ` (${retriesLeft} left)`;
          return `${TIMER_NAMES[name]} in ${microseconds(Math.max(0, deadlineNs - now))}${left}`;
        })
        .join('; ')}
    </p>
  );
}

function Rate({ qp: { rate } }: { readonly qp: QpSnapshot }) {
  if (rate === undefined) return null;
  const { rateBps, targetRateBps, alpha } = rate;
  return (
    <div class="rate" data-testid="rate">
      <meter min={0} max={Math.max(rateBps, targetRateBps, 1)} value={rateBps} aria-label="Rate" />
      <span>
        {gigabits(rateBps)} Gb/s, target {gigabits(targetRateBps)}, alpha {alpha.toFixed(3)}
      </span>
    </div>
  );
}

function Queues({ qp: { sends, receives } }: { readonly qp: QpSnapshot }) {
  return (
    <div class="queues">
      <Queue name="Send queue" entries={sends.map((one) => `#${one.wrId}: ${one.length} B${psnsOf(one)}`)} />
      <Queue name="Receive queue" entries={receives.map(({ wrId, length }) => `#${wrId}: room for ${length} B`)} />
    </div>
  );
}

function Queue({ name, entries }: { readonly name: string; readonly entries: readonly string[] }) {
  const more = entries.length - MOST_ENTRIES;
  return (
    <div>
      <span class="quiet">
        {name} ({entries.length})
      </span>
      <ol>
        {entries.slice(0, MOST_ENTRIES).map((entry) => (
          <li key={entry}>{entry}</li>
        ))}
        {more > 0 ? <li class="quiet">and {more} more</li> : null}
      </ol>
    </div>
  );
}

function psnsOf({ firstPsn, lastPsn, answered, expectsResponse }: QpSnapshot['sends'][number]): string {
  if (firstPsn < 0) return ', waits';
  const range = lastPsn < 0 || lastPsn === firstPsn ? `psn ${firstPsn}` : `psn ${firstPsn} to ${lastPsn}`;
  return `, ${range}${expectsResponse ? `, ${answered} answered` : ''}`;
}

function gigabits(bps: number): string {
  return (bps / 1e9).toFixed(2);
}

function hex(qpn: number): string {
  return `0x${qpn.toString(16).padStart(6, '0')}`;
}

function stateOf(index: number): QpState {
  // The places stand in the order of the states' values.
  return index as QpState;
}

function centreOf(index: number): readonly [number, number] {
  const [x, y] = PLACES[index] ?? [0, 0];
  return [x + WIDTH / 2, y + HEIGHT / 2];
}

const TIMER_NAMES = {
  'ACK timeout': 'ACK timer runs out',
  'RNR pause': 'RNR pause ends',
  rate: 'Rate lets the next go',
  'REQ again': 'REQ is sent again',
  'REP again': 'REP is sent again',
  'DREQ again': 'DREQ is sent again',
  'no REP': 'Connection manager gives up without a REP',
  'no RTU': 'Connection manager gives up without an RTU',
  'no DREP': 'Connection ends without a DREP',
  'no sign of the peer': 'REP is not sent again, as the peer has shown no sign of life',
  'no answer': 'Request of the peer expires',
  TIMEWAIT: 'TIMEWAIT ends',
  refusal: 'Refusal is forgotten',
} as const;
const WIDTH = 52;
const HEIGHT = 24;
const MOST_ENTRIES = 6;
/** RESET, INIT, RTR, RTS, SQD, SQE, ERR. */
const PLACES: readonly (readonly [number, number])[] = [
  [2, 4],
  [72, 4],
  [142, 4],
  [212, 4],
  [282, 4],
  [212, 46],
  [282, 46],
];
