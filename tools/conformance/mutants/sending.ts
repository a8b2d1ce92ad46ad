/**
 * Deliberate bugs of what is sent and of what answers do to it: requester, completer, completions, credits. Drawn
 * before the rules were read. Data only.
 */
import type { Mutant } from './types.ts';

const COMPLETER = 'transport/completer.ts';
const QUEUE_PAIR = 'transport/queue-pair.ts';
const RC = 'transport/rc-queue-pair.ts';
const REQUESTER = 'transport/requester.ts';
const SLOT = 'transport/receive-slot.ts';
const WRITER = 'transport/request-writer.ts';

export const SENDING_MUTANTS: readonly Mutant[] = [
  {
    id: 'solicited-on-every-packet',
    file: WRITER,
    in: 'writeData',
    at: 'last && entry.solicited',
    edit: { keep: 'right' },
    says: 'Every packet of a solicited message carries the solicited event bit, not the last alone.',
    caughtBy: [],
  },
  {
    id: 'immediate-cut',
    file: 'transport/send-queue.ts',
    in: 'SendQueue.post',
    at: '(wr.immData ?? 0) >>> 0',
    edit: { replace: '(wr.immData ?? 0) & 0xffff' },
    says: 'Immediate data keeps its lower half only.',
    caughtBy: [],
  },
  {
    id: 'progress-restarts-no-timer',
    file: COMPLETER,
    in: 'Completer.advance',
    at: 'this.deadline = anythingOutstanding ? now + config.ackTimeoutNs : Number.POSITIVE_INFINITY;',
    edit: { replace: 'if (!anythingOutstanding) this.deadline = Number.POSITIVE_INFINITY;' },
    says: 'An ACK that leaves something outstanding does not restart the ACK timer.',
    caughtBy: [],
  },
  {
    id: 'local-inv-overtakes',
    file: REQUESTER,
    in: 'Requester.ready',
    at: 'if (entry.opcode === WrOpcode.LocalInv && queue.head !== this.position) return false;',
    edit: 'drop',
    says: 'LOCAL INV does not wait for the requests before it.',
    caughtBy: [],
  },
  {
    id: 'rnr-costs-nothing',
    file: COMPLETER,
    in: 'Completer.beginRnrWait',
    at: 'if (this.#rnrRetry !== 7) this.rnrRetriesLeft -= 1;',
    edit: 'drop',
    says: 'An RNR NAK costs no retry.',
    caughtBy: [],
  },
  {
    id: 'rnr-again-counts-again',
    file: COMPLETER,
    in: 'Completer.#notReady',
    at: 'if (this.rnrWaiting && this.ackedTo === this.una) return ResponseOutcome.Ignore;',
    edit: 'drop',
    says: 'A second RNR NAK during the wait starts the wait anew, and costs a retry.',
    caughtBy: [],
  },
  {
    id: 'retry-keeps-old-timer',
    file: COMPLETER,
    in: 'Completer.beginRetry',
    at: 'this.deadline = Number.POSITIVE_INFINITY;',
    edit: 'drop',
    says: 'After a retry the ACK timer that has expired is not started anew.',
    caughtBy: [],
  },
  {
    id: 'atomic-answer-swapped',
    file: COMPLETER,
    in: 'placeAtomic',
    at: 'entry.segments.scatter64(atomicAckHi(frame.view, at), atomicAckLo(frame.view, at));',
    edit: { replace: 'entry.segments.scatter64(atomicAckLo(frame.view, at), atomicAckHi(frame.view, at));' },
    says: 'The halves of the original value of an atomic change places.',
    caughtBy: [],
  },
  {
    id: 'read-into-freed-region',
    file: COMPLETER,
    in: 'placeRead',
    at: 'if (!entry.segments.accessible(config.pd, true)) return WcStatus.LocProtErr;',
    edit: 'drop',
    says: 'A READ response is written to a region that was deregistered meanwhile.',
    caughtBy: [],
  },
  {
    id: 'unsignaled-fails-silently',
    file: QUEUE_PAIR,
    in: 'QueuePair.flushSends',
    at: 'this.completeSend(entry, status);',
    edit: { replace: 'if (entry.signaled) this.completeSend(entry, status);' },
    says: 'Requests that are not signaled do not complete when they fail or are flushed.',
    caughtBy: [],
  },
  {
    id: 'write-imm-length-of-buffer',
    file: SLOT,
    in: 'ReceiveSlot.finish',
    at: 'write ? written : this.#placed',
    edit: { replace: 'this.#placed' },
    says: 'The completion of a WRITE with immediate says that no bytes came.',
    caughtBy: [],
  },
  {
    id: 'read-completes-with-nothing',
    file: COMPLETER,
    in: 'completedBytes',
    at: 'entry.opcode === WrOpcode.RdmaRead || entry.isAtomic ? entry.length : 0',
    edit: { replace: '0' },
    says: 'The completion of a READ or an atomic says that no bytes came.',
    caughtBy: [],
  },
  {
    id: 'overrun-unnoticed',
    file: 'transport/completion-queue.ts',
    in: 'CompletionQueue.#overflow',
    at: 'this.overrun = true;',
    edit: 'drop',
    says: 'A full completion queue loses completions, and nothing else happens.',
    caughtBy: [],
  },
  {
    id: 'credits-one-too-many',
    file: RC,
    in: 'RcQueuePair.#countReceives',
    at: 'creditCode(receives)',
    edit: { replace: 'creditCode(receives + 1)' },
    says: 'ACKs give one credit more than there are receives.',
    caughtBy: [],
  },
  {
    id: 'credits-never-renewed',
    file: RC,
    in: 'RcQueuePair.postRecv',
    at: 'this.#responder.repeatAcknowledge();',
    edit: 'drop',
    says: 'After a limit of no receives, a new receive is not announced by an ACK.',
    caughtBy: [],
  },
];
