/**
 * Failures as text: requester, responder, number of tries and intervals. Owns the wording that the detectors of
 * failures share; decides nothing.
 */
import { endsOf, type Failure, groupOf } from './failures.ts';
import { mergedFrames } from './frame-list.ts';
import { counted, duration, qpName } from './words.ts';

/** The local ACK timeout behind the waits of a requester. */
export interface AckTimeout {
  /** n of 4.096 us * 2^n. */
  readonly exponent: number;
  readonly ns: number;
  /** Known from connection management; otherwise estimated from the waits. */
  readonly told: boolean;
}

/** "10.0.0.1 to queue pair 0x000012 of 10.0.0.2". */
export function pathOf(failure: Failure): string {
  const [requesterEnd, responderEnd] = endsOf(failure);
  return `${requesterEnd.address} to ${qpName(responderEnd.qpn)} of ${responderEnd.address}`;
}

/** "at once", "2.1 ms apart", "1 to 16 ms apart". */
export function distances(waits: readonly number[]): string {
  if (waits.length === 0) return 'at once';
  const [shortest, longest] = [Math.min(...waits), Math.max(...waits)];
  // Clocks of NICs and kernels tick in milliseconds at best; within a tenth waits are the same.
  if (longest <= shortest * 1.1) return `${duration(shortest)} apart`;
  return `${duration(shortest)} to ${duration(longest)} apart`;
}

/**
 * The ACK timeout from connection management, or else the largest one that is not longer than the shortest wait;
 * undefined when there was none.
 */
export function ackTimeoutOf({ conversation: { cm }, waits }: Failure): AckTimeout | undefined {
  if (cm !== undefined && cm.ackTimeoutExponent > 0) {
    return { exponent: cm.ackTimeoutExponent, ns: TIMEOUT_UNIT_NS * 2 ** cm.ackTimeoutExponent, told: true };
  }
  const shortest = Math.min(...waits);
  if (!(shortest < Number.POSITIVE_INFINITY) || shortest < TIMEOUT_UNIT_NS) return undefined;
  // A capture stamps packets a little early or late: two per cent.
  const exponent = Math.min(MOST_EXPONENT, Math.floor(Math.log2((shortest * 1.02) / TIMEOUT_UNIT_NS)));
  return { exponent, ns: TIMEOUT_UNIT_NS * 2 ** exponent, told: false };
}

/** "the ACK timeout is 2.1 ms (4.096 us * 2^9, from connection management)". */
export function describeTimeout(timeout: AckTimeout): string {
  const source = timeout.told ? 'from connection management' : 'as the waits suggest';
  return `the ACK timeout is ${duration(timeout.ns)} (4.096 us * 2^${timeout.exponent}, ${source})`;
}

/** Figures that every finding about tries has. */
export function tryEvidence(failure: Failure): Record<string, number | string> {
  const { psn, tries, waits, firstNs, lastNs, conversation } = failure;
  const timeout = ackTimeoutOf(failure);
  const { cm } = conversation;
  return {
    psn,
    tries,
    waitTotalNs: lastNs - firstNs,
    ...(waits.length === 0 ? {} : { shortestWaitNs: Math.min(...waits), longestWaitNs: Math.max(...waits) }),
    ...(timeout === undefined ? {} : { timeoutExponent: timeout.exponent, timeoutNs: timeout.ns }),
    ...(timeout === undefined ? {} : { timeoutFrom: timeout.told ? 'connection management' : 'waits' }),
    ...(cm === undefined ? {} : { retryCount: cm.retryCount }),
  };
}

/** Failures by pair of hosts, whichever of them is the requester; in order. */
export function byHosts(failures: readonly Failure[]): Failure[][] {
  const groups = new Map<string, Failure[]>();
  for (const failure of failures) {
    const [requesterEnd, responderEnd] = endsOf(failure);
    const key = [requesterEnd.address, responderEnd.address].sort().join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  return [...groups.values()].slice(0, MOST_FINDINGS);
}

/** What there is beside the first of a group: the other direction of its connection, and other connections. */
export function andOthers(group: readonly Failure[]): string {
  const [first, ...rest] = group;
  if (first === undefined || rest.length === 0) return '';
  const others = new Set(rest.map(({ conversation }) => groupOf(conversation)));
  const both = others.delete(groupOf(first.conversation));
  const back = both ? ' The other direction of the connection failed as well.' : '';
  if (others.size === 0) return back;
  return `${back} ${counted(others.size, 'more connection')} between these hosts ended so.`;
}

/** Frames, their number and conversations of all failures of a group. */
export function proofOf(group: readonly Failure[]): {
  readonly frames: readonly number[];
  readonly frameCount: number;
  readonly conversations: readonly number[];
} {
  return {
    frames: mergedFrames(group.map(({ frames }) => frames.frames)),
    frameCount: group.reduce((sum, { frames }) => sum + frames.count, 0),
    conversations: [...new Set(group.map(({ conversation }) => conversation.id))],
  };
}

/** 4.096 us: the unit of ACK timeouts (ref:wire#7). */
const TIMEOUT_UNIT_NS = 4096;
const MOST_EXPONENT = 31;
/** A capture of a broken cluster has thousands of pairs of hosts; the first say what is wrong. */
const MOST_FINDINGS = 50;
