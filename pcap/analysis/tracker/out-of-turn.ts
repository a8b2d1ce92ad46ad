/**
 * A packet that came between two of a run of retransmissions, which went on where it was: the packet had no part in it.
 *
 * Owns when a packet may be such. A sender that goes back sends everything from there on in order, so what comes ahead
 * of its turn, or once more behind it, was sent before. The next packet decides.
 */
import type { IpIdOrder } from './id-order.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { PacketMemory } from './packet-memory.ts';
import type { RetransmissionRun } from './pending-report.ts';

export interface OutOfTurn {
  readonly psn: number;
  readonly frame: number;
  readonly timeNs: number;
  readonly refersTo: number;
  /** The run that it came in between, the PSN that was next there, and when the one before that came. */
  readonly run: RetransmissionRun;
  readonly cursor: number;
  readonly lastNs: number;
  /** When it was seen to be missing; -1: it was not missing. */
  openedNs: number;
}

/** What to remember of a retransmission that takes `count` PSNs; undefined: it is in turn, or there is no run. */
export function outOfTurn(
  run: RetransmissionRun | undefined,
  { timeNs, packet, refersTo }: MutableFacts,
  psn: number,
  count: number,
): OutOfTurn | undefined {
  if (run === undefined || timeNs - run.lastNs >= RUN_JUMP_NS) return undefined;
  const { cursor, lastNs } = run;
  // The last packet of a run once more may as well begin another run.
  if (psn === cursor || psn + count === cursor) return undefined;
  return { psn, frame: packet.number, timeNs, refersTo, run, cursor, lastNs, openedNs: -1 };
}

/** Whether the packet at hand belongs to the run by its identification, and was overtaken in it. */
export function isOvertakenIn(
  run: RetransmissionRun,
  { ipId }: MutableFacts,
  psn: number,
  memory: Pick<PacketMemory, 'timeOf'>,
  ids: Pick<IpIdOrder, 'compareToLast'>,
): boolean {
  return memory.timeOf(psn) < run.timeNs && ids.compareToLast(ipId) < 0;
}

/** Whether the packet at hand was sent before the last one of the run, by its identification. */
export function isSentBefore(
  { lastId }: RetransmissionRun,
  { ipId }: MutableFacts,
  ids: Pick<IpIdOrder, 'compare'>,
): boolean {
  return ids.compare(ipId, lastId) < 0;
}

/** Whether it was sent again before the run began, and comes ahead of its turn in that. */
export function isOfEarlierRun(
  run: RetransmissionRun,
  facts: MutableFacts,
  psn: number,
  ids: Pick<IpIdOrder, 'compare'>,
): boolean {
  return psn > run.cursor && isSentBefore(run, facts, ids);
}

/** Between packets of one run of which one was not expected. */
export const RUN_JUMP_NS = 1_000_000;
