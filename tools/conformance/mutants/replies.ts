/**
 * Deliberate bugs of the responder's replies (MSN, ACK, READ response, RNR NAK), each an edit of one place. Data only.
 */
import type { Mutant } from './types.ts';

const RESPONDER = 'transport/responder.ts';
const REPLY_WRITER = 'transport/reply-writer.ts';

export const REPLY_MUTANTS: readonly Mutant[] = [
  {
    id: 'msn-counts-refused',
    file: RESPONDER,
    in: 'Responder.#refuseAt',
    at: 'this.msn',
    edit: { offset: 1 },
    says: 'The MSN of a NAK counts the refused request.',
    caughtBy: ['ACK-08'],
  },
  {
    id: 'msn-counts-packets',
    file: RESPONDER,
    in: 'Responder.#executeData',
    at: 'this.expected += 1;',
    edit: { after: 'this.msn += (flags & OpFlag.First) !== 0 ? 1 : 0;' },
    says: 'MSN counts the first packet of a message, and the last.',
    caughtBy: ['ACK-06', 'ACK-07'],
  },
  {
    id: 'merged-ack-old-msn',
    file: 'transport/reply-queue.ts',
    in: 'ReplyQueue.acknowledge',
    at: 'fill(reply, psn, psn, syndrome, msn)',
    edit: { replace: 'fill(reply, psn, psn, syndrome, newest === reply ? reply.msn : msn)' },
    says: 'An ACK that stands for several messages has the MSN of the first of them.',
    caughtBy: ['ACK-06'],
  },
  {
    id: 'msn-does-not-wrap',
    file: RESPONDER,
    in: 'Responder.#countMessage',
    at: '(this.msn + 1) & PSN_MASK',
    edit: { replace: 'Math.min(this.msn + 1, PSN_MASK)' },
    says: 'MSN stays at its greatest value.',
    caughtBy: ['ACK-09'],
  },
  {
    id: 'ackreq-ignored-in-middle',
    file: RESPONDER,
    in: 'Responder.#executeData',
    at: 'frame.ackReq !== 0',
    edit: { and: '(flags & OpFlag.Middle) === 0' },
    says: 'A MIDDLE that asks for an ACK gets none.',
    caughtBy: ['ACK-01', 'ACK-07'],
  },
  {
    id: 'read-response-aeth-msn',
    file: REPLY_WRITER,
    in: 'writeReadResponse',
    at: 'reply.msn',
    edit: { replace: 'reply.msn + (last && reply.sent > 0 ? 1 : 0)' },
    says: 'The last response of a READ counts it once more.',
    caughtBy: ['RD-15'],
  },
  {
    id: 'read-responses-all-first',
    file: REPLY_WRITER,
    in: 'readResponseOpcode',
    at: 'first ? Op.ReadResponseOnly : Op.ReadResponseLast',
    edit: { replace: 'Op.ReadResponseLast' },
    says: 'A READ of one packet is answered with LAST.',
    caughtBy: ['RD-02'],
  },
  {
    id: 'rnr-psn-next',
    file: RESPONDER,
    in: 'Responder.#refuse',
    at: 'this.replies.refuse(this.expected, Syndrome.RnrNak | config.minRnrTimer, this.msn)',
    edit: { replace: 'this.replies.refuse(this.expected - 1, Syndrome.RnrNak | config.minRnrTimer, this.msn)' },
    says: 'The RNR NAK names the PSN before the refused one.',
    caughtBy: ['RNR-04'],
  },
  {
    id: 'rnr-timer-other',
    file: RESPONDER,
    in: 'Responder.#refuse',
    at: 'config.minRnrTimer',
    edit: { replace: 'config.minRnrTimer ^ 1' },
    says: 'The RNR NAK carries another timer than the queue pair has.',
    caughtBy: ['RNR-01', 'RNR-02'],
  },
  {
    id: 'rnr-takes-psn',
    file: RESPONDER,
    in: 'Responder.#refuse',
    at: 'this.replies.refuse(this.expected, Syndrome.RnrNak | config.minRnrTimer, this.msn);',
    edit: { after: 'this.expected += 1;' },
    says: 'A refused packet takes its PSN.',
    caughtBy: ['RNR-05'],
  },
];
