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
  const gaveUp = exceeded > 0;
  return {
    id: 'no-reply',
    severity: gaveUp ? 'error' : 'warning',
    text:
      `${placeOf(delta)} sent ${packets(countOf(delta, 'tx-packets'))} and received none: ` +
      `the ACK timer ran out ${times(timeouts)}${gaveUp ? `, and ${requests(exceeded)} used up the retries` : ''}.`,
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

/** Timeouts after which an answer came. */
function slowAnswers(delta: PortDelta): FindingDraft | undefined {
  const timeouts = Math.max(countOf(delta, 'ack-timeout'), countOf(delta, 'adaptive-timeout'));
  if (timeouts === 0 || countOf(delta, 'retry-exceeded') > 0 || isDeaf(delta)) return undefined;
  const share = ratio(timeouts, countOf(delta, 'tx-packets'));
  const costly =
    share === undefined ? timeouts >= MANY_WITHOUT_SHARE : timeouts >= MANY_TIMEOUTS && share >= COSTLY_LOSS_SHARE;
  return {
    id: 'retry-exceeded',
    severity: costly ? 'warning' : 'note',
    text: `The ACK timer of ${placeOf(delta)} ran out ${times(timeouts)}${share === undefined ? '' : `, for ${packets(countOf(delta, 'tx-packets'))} sent`}; the retries were not used up. Each time the connection stood still for an ACK timeout.`,
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
  const asks =
    received > 0 || exceeded > 0
      ? `${placeOf(delta)} was asked to wait ${times(received)}, because its peers had no receive posted${exceeded > 0 ? `, and gave up ${times(exceeded)}` : ''}`
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
  return refusal(
    delta,
    'remote-access-error',
    'access-error',
    'access-refused',
    'for the key, the range or the rights',
  );
}

function invalidRequest(delta: PortDelta): FindingDraft | undefined {
  return refusal(delta, 'remote-invalid-request', 'invalid-request', 'invalid-refused', 'as invalid');
}

function operationError(delta: PortDelta): FindingDraft | undefined {
  return refusal(
    delta,
    'remote-operational-error',
    'operation-error',
    'operation-refused',
    'because the responder itself failed',
  );
}

function refusal(
  delta: PortDelta,
  id: string,
  asked: 'access-error' | 'invalid-request' | 'operation-error',
  refused: 'access-refused' | 'invalid-refused' | 'operation-refused',
  why: string,
): FindingDraft | undefined {
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
    limit: `Which key and which address were meant is not in the counters, nor ${WHICH}`,
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
  const implied = countOf(delta, 'implied-nak');
  const naks = Math.max(
    countOf(delta, 'sequence-nak'),
    Math.max(0, countOf(delta, 'sequence-or-implied-nak') - implied),
  );
  if (missing + naks === 0) return undefined;
  const received = ratio(missing, countOf(delta, 'rx-packets'));
  const sent = ratio(naks, countOf(delta, 'tx-packets'));
  const share = Math.max(received ?? 0, sent ?? 0);
  const unknown = received === undefined && sent === undefined;
  const costly = unknown ? missing + naks >= MANY_WITHOUT_SHARE : share >= COSTLY_LOSS_SHARE;
  const said = [
    ...(missing > 0 ? [`${placeOf(delta)} received ${packets(missing)} out of sequence`] : []),
    ...(naks > 0 ? [`${placeOf(delta)} was told ${times(naks)} that its packets were missing`] : []),
  ];
  return {
    id: 'sequence-error',
    severity: costly && !isCausedByDamage(all) ? 'warning' : 'note',
    text:
      `${said.join(', and ')}${unknown ? '' : ` (${percent(share)} of its packets)`}. ` +
      'Each time everything from the missing packet on is sent again.',
    ports: [placeOf(delta)],
    evidence: figuresOf(
      delta,
      'out-of-sequence',
      'sequence-nak',
      'rx-packets',
      'tx-packets',
      'retransmission',
      'icrc-error',
    ),
    limit: `Whether packets were lost or only overtaken is not in the counters: drops of NICs and switches say it, or a capture. Nor is ${WHICH}`,
  };
}

/** What was dropped for its ICRC is missing afterwards. */
function isCausedByDamage(all: readonly PortDelta[]): boolean {
  const damaged = all.reduce((sum, delta) => sum + countOf(delta, 'icrc-error'), 0);
  return damaged > 0 && damaged >= all.reduce((sum, delta) => sum + countOf(delta, 'out-of-sequence'), 0);
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
  const requesters = all.some(({ figures }) => figures.has('ack-timeout'));
  const share = ratio(duplicates, countOf(delta, 'rx-packets'));
  const costly = duplicates >= MANY_DUPLICATES && (share === undefined || share >= COSTLY_DUPLICATE_SHARE);
  return {
    id: 'duplicate-requests',
    severity: costly && (timeouts > 0 || !requesters) ? 'warning' : 'note',
    text:
      `${placeOf(delta)} received ${packets(duplicates)} of requests that it had already${share === undefined ? '' : ` (${percent(share)} of what came in)`}: ` +
      `${timeouts > 0 ? `ACK timers ran out ${times(timeouts)} at requesters, though the requests had arrived` : requesters ? 'no ACK timer of these hosts ran out, so the network has copied them' : 'the answers were lost or late'}.`,
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
  return `${value >= 10 || value === 0 ? Math.round(value) : Number(value.toPrecision(2))} %`;
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

function were(count: number): string {
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
