/**
 * Failures as text: requester, responder, number of tries and intervals. Owns the wording that the detectors of
 * failures share; decides nothing.
 */
import { type ConversationReport, MOST_FRAMES } from '../types.ts';
import { endsOf, type Failure, groupOf } from './failures.ts';
import { type FrameList, mergedFrames } from './frame-list.ts';
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

/**
 * A MigReq bit that changed on the way, or that is not the same at both ends; empty where there is neither. Some
 * devices drop what differs from their own (ref:wire#4). Where traffic has flowed, `migreq-flip` speaks.
 */
export function migReqWords(failure: Failure, conversations: readonly ConversationReport[]): string {
  const [{ address, migReq, migReqFrame }, peer] = endsOf(failure);
  if (migReqFrame > 0) return ` The MigReq bit of ${address} changed to ${migReq} in frame ${migReqFrame}${MIG_REQ}`;
  const theirs = peer.migReq >= 0 ? peer.migReq : migReqOf(peer.address, address, conversations);
  if (theirs < 0 || theirs === migReq) return '';
  return ` The MigReq bit is ${migReq} in packets of ${address} and ${theirs} in those of ${peer.address}${MIG_REQ}`;
}

/** Of what one host sent to another in any conversation; -1 where it sent nothing. */
function migReqOf(from: string, to: string, conversations: readonly ConversationReport[]): number {
  for (const { ends } of conversations) {
    const sender = ends.findIndex(({ address, migReq }) => address === from && migReq >= 0);
    if (sender >= 0 && ends[1 - sender]?.address === to) return ends[sender]?.migReq ?? -1;
  }
  return -1;
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

/** `proofOf`, and the packets of other evidence. */
export function proofWith(
  group: readonly Failure[],
  others: readonly { readonly frames: FrameList }[],
): ReturnType<typeof proofOf> {
  const proof = proofOf(group);
  if (others.length === 0) return proof;
  const seen = others.flatMap(({ frames }) => frames.frames.slice(0, OTHER_FRAMES));
  return {
    ...proof,
    frames: mergedFrames([proof.frames.slice(0, MOST_FRAMES - OTHER_FRAMES), seen]),
    frameCount: proof.frameCount + others.reduce((sum, { frames }) => sum + frames.count, 0),
  };
}

const OTHER_FRAMES = 5;
const MIG_REQ = ', and some devices drop what differs from their own.';
/** 4.096 us: the unit of ACK timeouts (ref:wire#7). */
const TIMEOUT_UNIT_NS = 4096;
const MOST_EXPONENT = 31;
/** A capture of a broken cluster has thousands of pairs of hosts; the first say what is wrong. */
const MOST_FINDINGS = 50;
