/**
 * Symptom: the responder refuses a key, an address range or an access right.
 *
 * Owns one finding for each pair of hosts, an error: the connection has ended. `access-guess.ts` guesses the reason.
 * Rules: ref:analyzer#1 row 5, ref:wire#7 (syndrome 0x62).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { type AccessGuess, guessAccess } from './access-guess.ts';
import { beginningOf, describeRequest, type FatalNak, FatalNakWatch, hex } from './fatal-nak.ts';
import { mergedFrames } from './frame-list.ts';
import { type PastRequest, requesterEndOf, responderEndOf } from './request-memory.ts';
import { counted, qpName } from './words.ts';

export const REMOTE_ACCESS_ERROR: Symptom = {
  id: 'remote-access-error',
  row: 5,
  title: 'Remote access refused',
  complaint:
    'Completion status 10, remote access error; at the other end the queue pair goes to ERROR with an asynchronous event.',
  about:
    'A WRITE, READ or atomic names memory of the peer by key, address and length. The responder found no region for the key in the protection domain of ' +
    'its queue pair, or the range is not wholly inside, or the region does not grant the right. It answers with NAK 0x62 and ends the ' +
    'connection; the NAK does not tell which of these it was.',
  advice: [
    'Compare key, address and length of the request with what the peer registered and announced.',
    'Register with the right that the operation needs, in the protection domain of the queue pair.',
  ],
  commands: ['rdma resource show mr', 'rdma resource show qp', 'rdma statistic show link DEV/1', 'dmesg | tail'],
  make: () => new RemoteAccessError(),
};

interface Diagnosis {
  /** The packet with the address; undefined when the capture does not have it. */
  readonly request: PastRequest | undefined;
  readonly guess: AccessGuess | undefined;
}

class RemoteAccessError implements Detector {
  /** Frames of requests that were refused. */
  readonly #failed = new Set<number>();
  readonly #watch = new FatalNakWatch<Diagnosis>(REMOTE_ACCESS, (refused, memory) => {
    const request = refused.request === undefined ? undefined : beginningOf(refused.request, memory);
    if (request === undefined) return { request: undefined, guess: undefined };
    this.#failed.add(request.frame);
    return { request, guess: guessAccess(request, memory, this.#failed) };
  });

  get interest(): number {
    return this.#watch.interest;
  }

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
  }

  finish(context: DetectorContext): void {
    for (const group of this.#watch.groups()) report(context, group);
  }
}

function report(context: DetectorContext, group: readonly FatalNak<Diagnosis>[]): void {
  const [first] = group;
  if (first === undefined) return;
  const { request, guess } = first.diagnosis;
  const [requesterEnd, responderEnd] = [requesterEndOf(first), responderEndOf(first)];
  const what =
    request === undefined
      ? `the request with PSN ${first.psn}, which is not in the capture,`
      : `${describeRequest(request)} at ${hex(request.va, 1)} with rkey ${hex(request.rkey)} (frame ${request.frame}, PSN ${request.psn})`;
  context.report({
    severity: 'error',
    text:
      `${responderEnd.address} refused ${what} of ${requesterEnd.address} (${qpName(responderEnd.qpn)}) with a remote access error in frame ${first.frame}` +
      `${guess === undefined ? '' : `; ${guess.text}`}.` +
      (group.length > 1 ? ` ${counted(group.length - 1, 'more request')} between these hosts ended so.` : ''),
    frames: mergedFrames([[first.frame], ...group.map((nak) => [nak.diagnosis.request?.frame ?? 0, nak.frame])]),
    conversations: [...new Set(group.map(({ conversation }) => conversation.id))],
    evidence: {
      psn: first.psn,
      naks: group.length,
      ...(request === undefined
        ? {}
        : {
            rkey: hex(request.rkey),
            va: hex(request.va, 1),
            length: request.dmaLength,
            request: describeRequest(request),
          }),
      ...(guess === undefined ? {} : { guess: guess.reason, guessFrame: guess.frame }),
    },
    ...(guess === undefined ? {} : { advice: [guess.advice, ...REMOTE_ACCESS_ERROR.advice] }),
  });
}

const REMOTE_ACCESS = 0x62;
