/**
 * Rules about what queue pairs count: retries, NAKs, duplicates. Each names a symptom of the analyzer.
 *
 * Owns the thresholds. An end of a connection (retries used up, refusal) is an error at the first one; everything else
 * is compared with the packets of the same time, as a long run has a few of everything.
 */
import { grouped } from '../table.ts';
import { countOf, type PortDelta, placeOf } from './difference.ts';
import { type FindingDraft, figuresOf, type PortRule } from './finding.ts';

export const TRANSPORT_RULES: readonly PortRule[] = [
  noReply,
  retryExceeded,
  slowAnswers,
  rnrExceeded,
  accessError,
  invalidRequest,
  operationError,
  refusedHere,
  sequenceError,
  impliedNak,
  gidMismatch,
  duplicateRequests,
];

/** Retries used up, and nothing at all came in. */
function noReply(delta: PortDelta): FindingDraft | undefined {
  const exceeded = countOf(delta, 'retry-exceeded');
  const timeouts = countOf(delta, 'ack-timeout');
  if (!isDeaf(delta) || (exceeded === 0 && timeouts < SURE_TIMEOUTS)) return undefined;
  const signs = [
    ...(timeouts > 0 ? [`the ACK timer ran out ${times(timeouts)}`] : []),
    ...(exceeded > 0 ? [`${requests(exceeded)} used up the retries`] : []),
  ];
  return {
    id: 'no-reply',
    severity: exceeded > 0 ? 'error' : 'warning',
    text:
      `${placeOf(delta)} sent ${packets(countOf(delta, 'tx-packets'))} and received none: ` +
      `${signs.join(', and ')}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'retry-exceeded', 'ack-timeout', 'tx-packets', 'rx-packets'),
    limit: `Which peer does not answer is not in the counters, nor ${WHICH}`,
  };
}

function retryExceeded(delta: PortDelta): FindingDraft | undefined {
  const exceeded = countOf(delta, 'retry-exceeded');
  const timeouts = countOf(delta, 'ack-timeout');
  if (exceeded === 0 || isDeaf(delta)) return undefined;
  return {
    id: 'retry-exceeded',
    severity: 'error',
    text:
      `${requests(exceeded)} of ${placeOf(delta)} used up the retries: nothing answered any more.` +
      `${timeouts > 0 ? ` The ACK timer ran out ${times(timeouts)}.` : ''}` +
      `${delta.figures.has('rx-packets') ? ` ${packets(countOf(delta, 'rx-packets'))} came in meanwhile.` : ''}`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'retry-exceeded', 'ack-timeout', 'rx-packets', 'tx-packets'),
    limit: `Whether one peer was silent from the first packet on is not in the counters, nor ${WHICH}`,
  };
}

/** Timeouts after which an answer came, as far as is known: some drivers do not count retries that were used up. */
function slowAnswers(delta: PortDelta): FindingDraft | undefined {
  const timeouts = Math.max(countOf(delta, 'ack-timeout'), countOf(delta, 'adaptive-timeout'));
  if (timeouts === 0 || countOf(delta, 'retry-exceeded') > 0 || isDeaf(delta)) return undefined;
  const share = ratio(timeouts, countOf(delta, 'tx-packets'));
  const costly =
    share === undefined ? timeouts >= MANY_WITHOUT_SHARE : timeouts >= MANY_TIMEOUTS && share >= COSTLY_LOSS_SHARE;
  return {
    id: 'retry-exceeded',
    severity: costly ? 'warning' : 'note',
    text:
      `The ACK timer of ${placeOf(delta)} ran out ${times(timeouts)}${share === undefined ? '' : `, for ${packets(countOf(delta, 'tx-packets'))} sent`}; ` +
      `${delta.figures.has('retry-exceeded') ? 'the retries were not used up' : 'whether retries were used up is not counted here'}. ` +
      'Each time the connection stood still for an ACK timeout.',
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'ack-timeout', 'adaptive-timeout', 'retransmission', 'tx-packets'),
    limit: `Whether requests or answers were lost, or late, is not in the counters: duplicate requests at the peers say that it was the answers. Nor is ${WHICH}`,
  };
}

function rnrExceeded(delta: PortDelta): FindingDraft | undefined {
  const exceeded = countOf(delta, 'rnr-exceeded');
  const received = countOf(delta, 'rnr-nak-received');
  const sent = Math.max(countOf(delta, 'rnr-nak-sent'), countOf(delta, 'no-receive'));
  if (exceeded + received + sent === 0) return undefined;
  const share = ratio(received, countOf(delta, 'tx-packets'));
  const costly = received >= MANY_RNR_NAKS && (share === undefined || share >= COSTLY_RNR_SHARE);
  const severity = exceeded > 0 ? 'error' : costly ? 'warning' : 'note';
  const reason = 'because its peers had no receive posted';
  const gaveUp = `gave up ${times(exceeded)}`;
  const asks =
    received > 0
      ? `${placeOf(delta)} was asked to wait ${times(received)}, ${reason}${exceeded > 0 ? `, and ${gaveUp}` : ''}`
      : exceeded > 0
        ? `${placeOf(delta)} ${gaveUp}, ${reason}`
        : `${placeOf(delta)} had no receive posted for ${packets(sent)}`;
  return {
    id: 'rnr-exceeded',
    severity,
    text: `${asks}${received > 0 && share !== undefined ? `: ${percent(share)} of the packets it sent` : ''}.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'rnr-exceeded', 'rnr-nak-received', 'rnr-nak-sent', 'no-receive', 'tx-packets'),
    limit: `How long the waits were is not in the counters: it depends on the RNR timer of the peer. Nor is ${WHICH}`,
  };
}

function accessError(delta: PortDelta): FindingDraft | undefined {
  return refusal(delta, {
    id: 'remote-access-error',
    asked: 'access-error',
    refused: 'access-refused',
    why: 'for the key, the range or the rights',
    notCounted: 'Which key and which address were meant',
  });
}

function invalidRequest(delta: PortDelta): FindingDraft | undefined {
  return refusal(delta, {
    id: 'remote-invalid-request',
    asked: 'invalid-request',
    refused: 'invalid-refused',
    why: 'as invalid',
    notCounted: 'What was asked for',
  });
}

function operationError(delta: PortDelta): FindingDraft | undefined {
  return refusal(delta, {
    id: 'remote-operational-error',
    asked: 'operation-error',
    refused: 'operation-refused',
    why: 'because the responder itself failed',
    notCounted: 'Why the responder failed',
  });
}

interface Refusal {
  readonly id: string;
  /** Counted by the requester. */
  readonly asked: 'access-error' | 'invalid-request' | 'operation-error';
  /** Counted by the responder. */
  readonly refused: 'access-refused' | 'invalid-refused' | 'operation-refused';
  readonly why: string;
  readonly notCounted: string;
}

function refusal(delta: PortDelta, { id, asked, refused, why, notCounted }: Refusal): FindingDraft | undefined {
  const got = countOf(delta, asked);
  const gave = countOf(delta, refused);
  if (got + gave === 0) return undefined;
  const said = [
    ...(got > 0 ? [`${requests(got)} of ${placeOf(delta)} ${were(got)} refused by the peer ${why}`] : []),
    ...(gave > 0 ? [`${placeOf(delta)} refused ${requests(gave)} ${why}`] : []),
  ];
  return {
    id,
    severity: 'error',
    text: `${said.join(', and ')}. Each ends its connection.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, asked, refused),
    limit: `${notCounted} is not in the counters, nor ${WHICH}`,
  };
}

/** Where the refusing end counts without a reason, and no peer in sight says one. */
function refusedHere(delta: PortDelta, all: readonly PortDelta[]): FindingDraft | undefined {
  const refused = countOf(delta, 'request-refused');
  const told = all.some((each) =>
    (['access-error', 'invalid-request', 'operation-error'] as const).some((kind) => countOf(each, kind) > 0),
  );
  if (refused === 0 || told) return undefined;
  return {
    id: 'counter/refused',
    severity: 'error',
    text: `${placeOf(delta)} refused ${requests(refused)} with NAK 0x61, 0x62 or 0x63; each ends its connection.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'request-refused'),
    limit: `Which of the three it was, this counter does not say; the requester's own counters do. Nor does it say ${WHICH}`,
    advice: ['Take snapshots of the requesters as well.'],
  };
}

function sequenceError(delta: PortDelta, all: readonly PortDelta[]): FindingDraft | undefined {
  const missing = countOf(delta, 'out-of-sequence');
  const naks = Math.max(
    countOf(delta, 'sequence-nak'),
    Math.max(0, countOf(delta, 'sequence-or-implied-nak') - countOf(delta, 'implied-nak')),
  );
  if (missing + naks === 0) return undefined;
  // Each has packets of its own direction to be compared with, if the port counts them.
  const received = ratio(missing, countOf(delta, 'rx-packets'));
  const sent = ratio(naks, countOf(delta, 'tx-packets'));
  const known = [...(missing > 0 ? [received] : []), ...(naks > 0 ? [sent] : [])].filter((each) => each !== undefined);
  const share = known.length === 0 ? undefined : Math.max(...known);
  const uncompared = (received === undefined ? missing : 0) + (sent === undefined ? naks : 0);
  const costly = (share ?? 0) >= COSTLY_LOSS_SHARE || uncompared >= MANY_WITHOUT_SHARE;
  const apart = delta.figures.has('sequence-nak') || delta.figures.has('implied-nak');
  const said = [
    ...(missing > 0 ? [`${placeOf(delta)} received ${packets(missing)} out of sequence`] : []),
    ...(naks > 0
      ? [
          `${placeOf(delta)} was told ${times(naks)} that its packets were missing${apart ? '' : ', or missed responses'}`,
        ]
      : []),
  ];
  return {
    id: 'sequence-error',
    severity: costly && !isCausedByDamage(missing, naks, delta, all) ? 'warning' : 'note',
    text:
      `${said.join(', and ')}${share === undefined ? '' : ` (${percent(share)} of its packets)`}. ` +
      'Each time everything from the missing packet on is sent again.',
    ports: [placeOf(delta)],
    evidence: figuresOf(
      delta,
      'out-of-sequence',
      'sequence-nak',
      'sequence-or-implied-nak',
      'rx-packets',
      'tx-packets',
      'retransmission',
      'icrc-error',
    ),
    limit: `Whether packets were lost or only overtaken is not in the counters: drops of NICs and switches say it, or a capture. Nor is ${WHICH}`,
  };
}

/** What a port drops for its ICRC is missing there afterwards, and its peer is told so. */
function isCausedByDamage(missing: number, naks: number, delta: PortDelta, all: readonly PortDelta[]): boolean {
  const anywhere = all.reduce((sum, each) => sum + countOf(each, 'icrc-error'), 0);
  const elsewhere = anywhere - countOf(delta, 'icrc-error');
  return missing <= countOf(delta, 'icrc-error') && naks <= elsewhere;
}

function impliedNak(delta: PortDelta): FindingDraft | undefined {
  const implied = countOf(delta, 'implied-nak');
  if (implied === 0) return undefined;
  const share = ratio(implied, countOf(delta, 'rx-packets'));
  const costly = share === undefined ? implied >= MANY_WITHOUT_SHARE : share >= COSTLY_LOSS_SHARE;
  return {
    id: 'implied-nak',
    severity: costly ? 'warning' : 'note',
    text: `${placeOf(delta)} missed responses of READs or atomics ${times(implied)}${share === undefined ? '' : `, for ${packets(countOf(delta, 'rx-packets'))} received`}, and sent the requests again.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'implied-nak', 'rx-packets'),
    limit: `Losses after which nothing came any more wait for the ACK timeout, and are counted there. Not in the counters is ${WHICH}`,
  };
}

function gidMismatch(delta: PortDelta, all: readonly PortDelta[]): FindingDraft | undefined {
  const wrong = countOf(delta, 'wrong-address');
  if (wrong === 0 || !all.some((each) => countOf(each, 'retry-exceeded') + countOf(each, 'ack-timeout') > 0))
    return undefined;
  return {
    id: 'gid-mismatch',
    severity: 'error',
    text: `${placeOf(delta)} dropped ${packets(wrong)} that came from another address than that of their connection, while requests got no answer.`,
    ports: [placeOf(delta)],
    evidence: figuresOf(delta, 'wrong-address', 'retry-exceeded', 'ack-timeout'),
    limit: `Which address it was is not in the counters, nor ${WHICH}`,
  };
}

function duplicateRequests(delta: PortDelta, all: readonly PortDelta[]): FindingDraft | undefined {
  const duplicates = countOf(delta, 'duplicate-request');
  // After a sequence NAK some packets arrive a second time anyway.
  if (duplicates === 0 || countOf(delta, 'out-of-sequence') > 0) return undefined;
  const timeouts = all.reduce((sum, each) => sum + countOf(each, 'ack-timeout'), 0);
  const requesters = all.some((each) => each !== delta && each.figures.has('ack-timeout'));
  const missed = all.reduce((sum, each) => sum + countOf(each, 'implied-nak'), 0);
  const share = ratio(duplicates, countOf(delta, 'rx-packets'));
  const costly = duplicates >= MANY_DUPLICATES && (share === undefined || share >= COSTLY_DUPLICATE_SHARE);
  const cause =
    timeouts > 0
      ? `ACK timers ran out ${times(timeouts)} at requesters, though the requests had arrived`
      : missed > 0
        ? `responses were missed ${times(missed)} at requesters, which asked for them again`
        : requesters
          ? 'no ACK timer of these hosts ran out, so the network has copied them, unless their requesters are other hosts'
          : 'the answers were lost or late';
  return {
    id: 'duplicate-requests',
    severity: costly && (timeouts > 0 || !requesters) ? 'warning' : 'note',
    text: `${placeOf(delta)} received ${packets(duplicates)} of requests that it had already${share === undefined ? '' : ` (${percent(share)} of what came in)`}: ${cause}.`,
    ports: [placeOf(delta)],
    evidence: { ...figuresOf(delta, 'duplicate-request', 'rx-packets'), timeouts },
    limit: `Whether the answers were lost or only later than the ACK timeout is not in the counters, nor ${WHICH}`,
  };
}

/** A port that does not count packets, or sent none, is not known to be. */
function isDeaf(delta: PortDelta): boolean {
  return delta.figures.has('rx-packets') && countOf(delta, 'rx-packets') === 0 && countOf(delta, 'tx-packets') > 0;
}

/** Undefined where nothing is there to compare with. */
export function ratio(part: number, whole: number): number | undefined {
  return whole > 0 ? part / whole : undefined;
}

/** "3.1 %", "0.004 %". */
export function percent(share: number): string {
  const value = share * 100;
  return `${value >= 10 ? Math.round(value) : Number(value.toPrecision(2))} %`;
}

export function packets(count: number): string {
  return `${grouped(count)} packet${count === 1 ? '' : 's'}`;
}

export function times(count: number): string {
  return count === 1 ? 'once' : `${grouped(count)} times`;
}

function requests(count: number): string {
  return `${grouped(count)} request${count === 1 ? '' : 's'}`;
}

export function were(count: number): string {
  return count === 1 ? 'was' : 'were';
}

/** The end of every sentence about limits. */
export const WHICH = 'which queue pair it was.';
const SURE_TIMEOUTS = 4;
const MANY_RNR_NAKS = 10;
const COSTLY_RNR_SHARE = 0.01;
/** The analyzer's share for losses in a capture. */
const COSTLY_LOSS_SHARE = 1e-4;
const MANY_WITHOUT_SHARE = 100;
const MANY_TIMEOUTS = 10;
const MANY_DUPLICATES = 10;
const COSTLY_DUPLICATE_SHARE = 0.01;
