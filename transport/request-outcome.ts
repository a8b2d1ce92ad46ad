/** What becomes of a request, as the responder tells its queue pair. */
import type { PortCounters } from './counters.ts';
import type { RequestJudgement } from './trace.ts';

/** What the responder did with a request. */
export const RequestOutcome = {
  Executed: 0,
  Duplicate: 1,
  OutOfSequence: 2,
  Dropped: 3,
  NotReady: 4,
  Refused: 5,
  /** Executed, but its completion found no room: no reply is queued. */
  Overrun: 6,
} as const;
export type RequestOutcome = (typeof RequestOutcome)[keyof typeof RequestOutcome];

/** What a trace calls them; what was simply executed has no name. */
export const JUDGEMENTS: Readonly<Partial<Record<RequestOutcome, RequestJudgement>>> = {
  [RequestOutcome.Duplicate]: 'duplicate',
  [RequestOutcome.OutOfSequence]: 'out-of-sequence',
  [RequestOutcome.Dropped]: 'dropped',
  [RequestOutcome.NotReady]: 'not-ready',
  [RequestOutcome.Refused]: 'refused',
};

/** Whether the request had the expected PSN: only then does it show anything of the peer. */
export function isExpected(outcome: RequestOutcome): boolean {
  return (
    outcome === RequestOutcome.Executed || outcome === RequestOutcome.NotReady || outcome === RequestOutcome.Refused
  );
}

/** Counts what was not simply executed. A refusal may also come of a reply, and counts there. */
export function countOutcome(outcome: RequestOutcome, counters: PortCounters): void {
  switch (outcome) {
    case RequestOutcome.Duplicate:
      counters.duplicateRequest += 1;
      break;
    case RequestOutcome.OutOfSequence:
      counters.outOfSeqRequest += 1;
      break;
    case RequestOutcome.Dropped:
      counters.droppedRequest += 1;
      break;
    case RequestOutcome.NotReady:
      counters.sendRnrErr += 1;
      break;
    default:
  }
}
