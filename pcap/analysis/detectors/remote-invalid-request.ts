/**
 * Symptom: the responder answers a request with the NAK "invalid request".
 *
 * Owns one finding for each pair of hosts, an error: the connection has ended. `invalid-guess.ts` finds the rule that
 * was broken. There is no finding where the path MTUs of the two ends differ: `mtu-mismatch` reports that. Rules:
 * ref:analyzer#1 row 6, ref:wire#7 (syndrome 0x61).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { describeRequest, type FatalNak, FatalNakWatch } from './fatal-nak.ts';
import { mergedFrames } from './frame-list.ts';
import { guessInvalid, type InvalidGuess } from './invalid-guess.ts';
import { requesterEndOf, responderEndOf } from './request-memory.ts';
import { counted, qpName } from './words.ts';

export const REMOTE_INVALID_REQUEST: Symptom = {
  id: 'remote-invalid-request',
  row: 6,
  title: 'Invalid request',
  complaint: 'Completion status 9, remote invalid request error.',
  about:
    'The responder understood the request and will not have it: the order of opcodes or a length is wrong, an atomic is not aligned, its queue pair does ' +
    'not allow the operation, more READs are outstanding than it answers, or a SEND does not fit into the receive that was posted. It answers with ' +
    'NAK 0x61 and ends the connection.',
  advice: [
    'Look at the error that the responder itself reports: local length error means a receive that was too small.',
    'Compare access flags, max_dest_rd_atomic and path MTU of the queue pairs of both ends.',
  ],
  commands: ['rdma resource show qp', 'rdma statistic show link DEV/1', 'ibv_devinfo -v', 'dmesg | tail'],
  make: () => new RemoteInvalidRequest(),
};

class RemoteInvalidRequest implements Detector {
  readonly #watch = new FatalNakWatch<InvalidGuess | undefined>(INVALID_REQUEST, ({ request }, memory) =>
    request === undefined ? undefined : guessInvalid(request, memory),
  );

  get interest(): number {
    return this.#watch.interest;
  }

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
  }

  finish(context: DetectorContext): void {
    for (const group of this.#watch.groups()) {
      const told = group.filter((nak) => nak.diagnosis?.rule !== 'path-mtu' || !mtusDiffer(nak));
      if (told.length > 0) report(context, told);
    }
  }
}

/** Both ends have shown what they use. */
function mtusDiffer(nak: FatalNak<unknown>): boolean {
  const [requesterEnd, responderEnd] = [requesterEndOf(nak).pathMtu, responderEndOf(nak).pathMtu];
  return requesterEnd > 0 && responderEnd > 0 && requesterEnd !== responderEnd;
}

function report(context: DetectorContext, group: readonly FatalNak<InvalidGuess | undefined>[]): void {
  const [first] = group;
  if (first === undefined) return;
  const { request, diagnosis: guess } = first;
  const [requesterEnd, responderEnd] = [requesterEndOf(first), responderEndOf(first)];
  const what =
    request === undefined
      ? `the request with PSN ${first.psn}, which is not in the capture,`
      : `${describeRequest(request)} (frame ${request.frame}, PSN ${request.psn})`;
  context.report({
    severity: 'error',
    text:
      `${responderEnd.address} called ${what} of ${requesterEnd.address} (${qpName(responderEnd.qpn)}) invalid in frame ${first.frame}` +
      `${guess === undefined ? '' : `: ${guess.text}`}.` +
      (group.length > 1 ? ` ${counted(group.length - 1, 'more request')} between these hosts ended so.` : ''),
    frames: mergedFrames([[first.frame], ...group.map((nak) => [nak.request?.frame ?? 0, nak.frame])]),
    conversations: [...new Set(group.map(({ conversation }) => conversation.id))],
    evidence: {
      psn: first.psn,
      naks: group.length,
      ...(request === undefined ? {} : { request: describeRequest(request) }),
      ...(guess === undefined ? {} : { rule: guess.rule, certain: guess.certain ? 'yes' : 'no' }),
    },
    ...(guess === undefined ? {} : { advice: [guess.advice, ...REMOTE_INVALID_REQUEST.advice] }),
  });
}

const INVALID_REQUEST = 0x61;
