/**
 * Rules about what ports, congestion control and the connection manager count. Owns their thresholds, which are those
 * of the analyzer where a capture shows the same.
 */
import { grouped } from '../table.ts';
import { countOf, type Figure, listed, type PortDelta, placeOf } from './difference.ts';
import { type FindingDraft, type FleetRule, figuresOf, type PortRule } from './finding.ts';
import { packets, percent, times, WHICH, were } from './rules-transport.ts';

export const NETWORK_RULES: readonly PortRule[] = [
  icrcInvalid,
  marksWithoutCnps,
  cnpsIgnored,
  pauses,
  wrongClass,
  tooLong,
  refusedConnections,
  silentConnections,
  discards,
  damagedFrames,
  symbolErrors,
  linkDown,
];

export const FLEET_RULES: readonly FleetRule[] = [firstError, cnpsLost];

function icrcInvalid(delta: PortDelta): FindingDraft | undefined {
  const wrong = countOf(delta, 'icrc-error');
  if (wrong === 0) return undefined;
  const share = delta.figures.has('rx-packets') ? wrong / (countOf(delta, 'rx-packets') + wrong) : undefined;
  return {
    id: 'icrc-invalid',
    severity: wrong > 1 ? 'warning' : 'note',
    text: `${placeOf(delta)} dropped ${packets(wrong)} for a wrong ICRC${share === undefined ? '' : ` (${percent(share)} of what came in)`}; no answer is sent for them.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'icrc-error', 'rx-packets', 'frame-error'),
    limit:
      'Whether they were damaged on the way or made wrong is not in the counters: a sender that makes them wrong gets no answer at all.',
  };
}

function marksWithoutCnps(delta: PortDelta): FindingDraft | undefined {
  const marked = countOf(delta, 'ecn-marked');
  if (marked === 0 || !delta.figures.has('cnp-sent') || countOf(delta, 'cnp-sent') > 0) return undefined;
  return {
    id: 'ecn-misconfigured',
    severity: marked >= LEAST_MARKS ? 'warning' : 'note',
    text: `${placeOf(delta)} received ${packets(marked)} with the mark Congestion Experienced and sent no CNP: the senders never learn of it.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'ecn-marked', 'cnp-sent'),
    limit: `Not in the counters are the senders, nor ${WHICH}`,
  };
}

function cnpsIgnored(delta: PortDelta): FindingDraft | undefined {
  const ignored = countOf(delta, 'cnp-ignored');
  const handled = countOf(delta, 'cnp-handled');
  if (ignored === 0) return undefined;
  return {
    id: 'ecn-misconfigured',
    severity: ignored >= LEAST_CNPS && ignored >= handled ? 'warning' : 'note',
    text: `${placeOf(delta)} ignored ${grouped(ignored)} of ${grouped(ignored + handled)} CNPs: ${handled === 0 ? 'it goes on at its rate' : 'only the others slow it down'}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'cnp-ignored', 'cnp-handled', 'cnp-received'),
    limit: `Not in the counters is ${WHICH}`,
  };
}

/** CNPs are sent, and none arrives at a host that counts them. */
function cnpsLost(all: readonly PortDelta[]): FindingDraft | undefined {
  const senders = all.filter((delta) => countOf(delta, 'cnp-sent') > 0);
  const hearers = all.filter(({ figures }) => figures.has('cnp-handled') || figures.has('cnp-received'));
  const sent = senders.reduce((sum, delta) => sum + countOf(delta, 'cnp-sent'), 0);
  const heard = hearers.reduce(
    (sum, delta) =>
      sum + Math.max(countOf(delta, 'cnp-received'), countOf(delta, 'cnp-handled') + countOf(delta, 'cnp-ignored')),
    0,
  );
  const hosts = new Set(hearers.map(({ host }) => host));
  if (hosts.size < 2 || sent < ENOUGH_CNPS || heard > 0) return undefined;
  return {
    id: 'ecn-misconfigured',
    severity: 'warning',
    text: `${grouped(sent)} CNPs were sent (${listed(senders.map(placeOf))}), and none of these ${hosts.size} hosts received one.`,
    ports: senders.map(placeOf),
    evidence: { 'cnp-sent': sent, 'cnp-received': heard },
    limit: 'They may have gone to hosts of which there is no snapshot.',
  };
}

function pauses(delta: PortDelta): FindingDraft | undefined {
  const sides = [
    pauseSide(delta, 'rx', delta.figures.get('pause-rx'), delta.figures.get('pause-rx-time')),
    pauseSide(delta, 'tx', delta.figures.get('pause-tx'), delta.figures.get('pause-tx-time')),
  ].filter((side) => side !== undefined);
  const [first] = sides;
  if (first === undefined) return undefined;
  const storm = sides.some(({ severity }) => severity !== 'note');
  return {
    id: 'pfc-storm',
    severity: sides.some(({ severity }) => severity === 'error') ? 'error' : storm ? 'warning' : 'note',
    text: sides.map(({ text }) => text).join(' '),
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'pause-rx', 'pause-tx', 'pause-rx-time', 'pause-tx-time', 'rx-discard'),
    limit:
      'Which host began it is not in the counters of one port: follow received pauses from port to port, until one sends and receives none.',
  };
}

interface PauseSide {
  readonly severity: 'error' | 'warning' | 'note';
  readonly text: string;
}

/** Priorities are stopped one by one, so the longest counts, not the sum; without any, the port as a whole. */
function pauseSide(
  delta: PortDelta,
  side: 'rx' | 'tx',
  frames: Figure | undefined,
  time: Figure | undefined,
): PauseSide | undefined {
  const { seconds } = delta;
  // Some switches count the time and no frames.
  const counted = frames ?? time;
  if (counted === undefined || counted.value === 0) return undefined;
  const classes = [...counted.priorities].filter(([, count]) => count > 0).map(([priority]) => priority);
  const longest = Math.max(0, ...(time?.priorities.values() ?? [])) || (time?.value ?? 0);
  const share = seconds === undefined || time === undefined ? undefined : Math.min(1, longest / 1e6 / seconds);
  const who = side === 'rx' ? `${placeOf(delta)} was stopped` : `${placeOf(delta)} stopped its link partner`;
  const count = frames === undefined ? [] : [`${grouped(frames.value)} pause frame${frames.value === 1 ? '' : 's'}`];
  const what = [...count, ...(classes.length === 0 ? [] : [`priority ${classes.join(' and ')}`])].join(', ');
  const perSecond = seconds === undefined || frames === undefined ? undefined : frames.value / seconds;
  const rate =
    perSecond === undefined ? '' : `, ${perSecond < 1 ? 'less than one' : grouped(Math.round(perSecond))} a second`;
  const lasted = share === undefined ? '' : `: ${percent(share)} of the time`;
  const many = (frames?.value ?? LEAST_PAUSES) >= LEAST_PAUSES && (seconds === undefined || seconds >= LEAST_SECONDS);
  const severity =
    !many || share === undefined || share < WARNING_SHARE ? 'note' : share >= STALL_SHARE ? 'error' : 'warning';
  return { severity, text: `${who}${lasted}${what === '' ? '' : ` (${what}${rate})`}.` };
}

/** More RoCE packets left than the priorities with PFC have sent. */
function wrongClass(delta: PortDelta): FindingDraft | undefined {
  const { pfc, trust } = delta.settings;
  const sent = countOf(delta, 'tx-packets');
  const byPriority = delta.figures.get('priority-tx')?.priorities;
  if (pfc === undefined || byPriority === undefined || sent < LEAST_DATA) return undefined;
  if (pfc.length === 0 || !pfc.every((priority) => byPriority.has(priority))) return undefined;
  const lossless = pfc.reduce((sum, priority) => sum + (byPriority.get(priority) ?? 0), 0);
  const outside = Math.max(0, sent - lossless);
  if (outside / sent < WRONG_CLASS_SHARE) return undefined;
  const used = [...byPriority].filter(([priority, count]) => count > 0 && !pfc.includes(priority)).map(([p]) => p);
  return {
    id: 'dscp-mismatch',
    severity: 'warning',
    text:
      `${placeOf(delta)} sent ${packets(sent)} of RoCE, and at least ${grouped(outside)} of them not in priority ${pfc.join(' or ')}, which alone ${pfc.length === 1 ? 'has' : 'have'} PFC here` +
      `${used.length === 0 ? '' : `, but in ${used.join(', ')}`}.${trust === 'pcp' ? ' The port takes the priority from the VLAN tag (trust pcp), not from the DSCP.' : ''}`,
    ports: [placeOf(delta)],
    evidence: { ...figuresOf(delta, 'tx-packets', 'rx-discard'), lossless, outside },
    limit:
      'ACKs and CNPs are counted, too, and may well be in a class of their own. Which DSCP packets had is not in the counters.',
  };
}

function tooLong(delta: PortDelta): FindingDraft | undefined {
  const dropped = countOf(delta, 'oversize');
  if (dropped === 0) return undefined;
  return {
    id: 'mtu-mismatch',
    severity: dropped > 1 ? 'error' : 'note',
    text: `${placeOf(delta)} dropped ${packets(dropped)} that ${dropped === 1 ? 'was' : 'were'} longer than its MTU.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'oversize', 'retry-exceeded', 'ack-timeout'),
    limit:
      'Whether they were packets of RoCE is not in the counters, unless the counter is one of RDMA. Drops by routers are counted there, if at all.',
  };
}

function refusedConnections(delta: PortDelta): FindingDraft | undefined {
  const received = countOf(delta, 'cm-reject-received');
  const sent = countOf(delta, 'cm-refused');
  if (received + sent === 0) return undefined;
  const accepted = countOf(delta, 'cm-reply-received') + (sent > 0 ? countOf(delta, 'cm-accepted') : 0);
  const text =
    received > 0
      ? `${placeOf(delta)} was refused ${times(received)} when it asked for a connection`
      : `${placeOf(delta)} refused ${times(sent)} what asked for a connection: nobody listens there, or not to this`;
  const counted = delta.figures.has('cm-reply-received') || (sent > 0 && delta.figures.has('cm-accepted'));
  const rest = accepted > 0 ? '; others succeeded' : counted ? ', and nothing succeeded' : '';
  return {
    id: 'connection-refused',
    severity: accepted > 0 ? 'note' : 'error',
    text: `${text}${rest}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'cm-reject-received', 'cm-refused', 'cm-reply-received', 'cm-accepted'),
    limit: 'The reason and the service asked for are not in the counters.',
  };
}

function silentConnections(delta: PortDelta): FindingDraft | undefined {
  const again = countOf(delta, 'cm-request-retry');
  const repeated = countOf(delta, 'cm-duplicate');
  const full = countOf(delta, 'cm-backlog-full');
  if (again + repeated + full === 0) return undefined;
  const answered = countOf(delta, 'cm-reply-received') + countOf(delta, 'cm-reject-received');
  const counted = delta.figures.has('cm-reply-received') || delta.figures.has('cm-reject-received');
  const answers =
    answered > 0 ? `, ${grouped(answered)} ${were(answered)} answered` : counted ? ', and nothing was answered' : '';
  const text =
    full > 0
      ? `${placeOf(delta)} dropped ${times(full)} what asked for a connection, because too many were waiting`
      : again > 0
        ? `${placeOf(delta)} repeated its requests for connections ${times(again)}${answers}`
        : `${placeOf(delta)} was asked the same ${times(repeated)} again: its answers did not arrive, or were late`;
  const lost = full > 0 || (again > 0 && counted && answered === 0);
  const unclear = Math.max(repeated, counted ? 0 : again);
  return {
    id: 'connect-timeout',
    severity: lost ? 'error' : unclear >= MANY_REPEATS ? 'warning' : 'note',
    text: `${text}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(
      delta,
      'cm-request-retry',
      'cm-duplicate',
      'cm-backlog-full',
      'cm-reply-received',
      'cm-reject-received',
    ),
    limit: 'Which service it was is not in the counters.',
  };
}

function discards(delta: PortDelta): FindingDraft | undefined {
  const received = countOf(delta, 'rx-discard');
  const sent = countOf(delta, 'tx-discard');
  if (received + sent === 0) return undefined;
  const said = [
    ...(received > 0 ? [`${packets(received)} that came in`] : []),
    ...(sent > 0 ? [`${packets(sent)} that ${were(sent)} to leave`] : []),
  ];
  return {
    id: 'counter/discards',
    severity: received + sent >= MANY_DISCARDS ? 'warning' : 'note',
    text: `${placeOf(delta)} dropped ${said.join(' and ')} for lack of buffer or because the way out was blocked.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'rx-discard', 'tx-discard', 'pause-rx', 'pause-tx', 'out-of-sequence'),
    limit: 'Whether they were packets of RoCE is not in the counters, unless the priority is theirs alone.',
    advice: ['Make the priority of RoCE lossless on every port of the path, or mark with ECN before queues overflow.'],
  };
}

function damagedFrames(delta: PortDelta): FindingDraft | undefined {
  const damaged = countOf(delta, 'frame-error');
  if (damaged === 0) return undefined;
  return {
    id: 'counter/frame-errors',
    severity: damaged >= MANY_FRAME_ERRORS ? 'warning' : 'note',
    text: `${placeOf(delta)} received ${grouped(damaged)} damaged Ethernet frame${damaged === 1 ? ', and dropped it' : 's, and dropped them'}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'frame-error', 'out-of-sequence'),
    limit: 'What was in them is not known to anybody.',
    advice: ['Clean or change the cable, the transceivers and, last, the port.'],
  };
}

function symbolErrors(delta: PortDelta): FindingDraft | undefined {
  const errors = countOf(delta, 'symbol-error');
  if (errors === 0) return undefined;
  return {
    id: 'counter/symbol-errors',
    severity: 'note',
    text: `The link of ${placeOf(delta)} had ${grouped(errors)} symbol error${errors === 1 ? '' : 's'}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'symbol-error', 'frame-error', 'out-of-sequence'),
    limit: 'Whether a frame was damaged is not in this counter: lanes correct errors, and idle lanes have them, too.',
    advice: ['Where packets are lost as well, clean or change the cable and the transceivers.'],
  };
}

function linkDown(delta: PortDelta): FindingDraft | undefined {
  const down = countOf(delta, 'link-down');
  if (down === 0) return undefined;
  return {
    id: 'counter/link-down',
    severity: 'warning',
    text: `The link of ${placeOf(delta)} went down ${times(down)}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'link-down', 'retry-exceeded'),
    limit: 'For how long is not in the counters: the log of the kernel says it.',
    advice: ['See in the log of the host and of the switch who took it down; then cable and transceivers.'],
  };
}

/** A failure with a cause at one port, and retries used up at another: the second follows from the first. */
function firstError(all: readonly PortDelta[]): FindingDraft | undefined {
  const causes = all.filter((delta) => CAUSES.some((kind) => countOf(delta, kind) > 0));
  const silent = all.filter((delta) => countOf(delta, 'retry-exceeded') > 0 && !causes.includes(delta));
  const [cause] = causes;
  if (cause === undefined || silent.length === 0) return undefined;
  const kinds = CAUSES.filter((kind) => causes.some((delta) => countOf(delta, kind) > 0));
  return {
    id: 'first-error',
    severity: 'warning',
    text:
      `Retries were used up at ${listed(silent.map(placeOf))}, while requests of ${listed(causes.map(placeOf))} failed with a cause (${kinds.join(', ')}): ` +
      'a queue pair that has failed answers nobody, so look at the cause first.',
    ports: [...causes, ...silent].map(placeOf),
    evidence: { causes: kinds, silent: silent.length },
    limit:
      'That both were the same connections is not in the counters, nor what came first, unless there are snapshots between.',
  };
}

const CAUSES = ['rnr-exceeded', 'access-error', 'invalid-request', 'operation-error'] as const;
const LEAST_MARKS = 8;
const LEAST_CNPS = 3;
const ENOUGH_CNPS = 20;
const LEAST_PAUSES = 20;
const LEAST_SECONDS = 0.01;
const WARNING_SHARE = 0.1;
const STALL_SHARE = 0.5;
const LEAST_DATA = 20;
const WRONG_CLASS_SHARE = 0.5;
const MANY_REPEATS = 3;
const MANY_DISCARDS = 10;
const MANY_FRAME_ERRORS = 10;
