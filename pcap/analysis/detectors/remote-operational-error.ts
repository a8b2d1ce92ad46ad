/**
 * Symptom: the responder fails for a reason of its own.
 *
 * Owns one finding for each pair of hosts, an error: the connection has ended. The capture shows which request it was,
 * and no more: the cause is inside the responder. Rules: ref:analyzer#1 row 7, ref:wire#7 (syndrome 0x63).
 */
import { OpFlag } from '../../../packets/opcode.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { describeRequest, type FatalNak, FatalNakWatch } from './fatal-nak.ts';
import { mergedFrames } from './frame-list.ts';
import { requesterEndOf, responderEndOf } from './request-memory.ts';
import { counted, qpName } from './words.ts';

export const REMOTE_OPERATIONAL_ERROR: Symptom = {
  id: 'remote-operational-error',
  row: 7,
  title: 'The responder failed',
  complaint:
    'Completion status 11, remote operation error; at the other end a receive with local protection error, or an asynchronous event.',
  about:
    'The request was right, and the responder could not do it: the memory of the receive that it fell into is not registered any more or not ' +
    'writable, a work request is malformed, or the device has a fault. It answers with NAK 0x63 and ends the connection. Nothing on the network ' +
    'is to blame.',
  advice: [
    'Look at the completion queue of the responder: the status of the failed receive has the reason (local protection error: memory that is no longer registered).',
    'Keep the memory of posted receives registered, writable and in the protection domain of the queue pair.',
  ],
  commands: ['dmesg | tail', 'rdma resource show qp', 'rdma resource show mr', 'rdma statistic show link DEV/1'],
  make: () => new RemoteOperationalError(),
};

class RemoteOperationalError implements Detector {
  readonly #watch = new FatalNakWatch<undefined>(REMOTE_OPERATIONAL, () => undefined);

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

function report(context: DetectorContext, group: readonly FatalNak<undefined>[]): void {
  const [first] = group;
  if (first === undefined) return;
  const { request } = first;
  const [requesterEnd, responderEnd] = [requesterEndOf(first), responderEndOf(first)];
  const what =
    request === undefined
      ? `at the request with PSN ${first.psn}, which is not in the capture,`
      : `at ${describeRequest(request)} (frame ${request.frame}, PSN ${request.psn})`;
  const receives = request !== undefined && (request.flags & (OpFlag.Send | OpFlag.Imm)) !== 0;
  context.report({
    severity: 'error',
    text:
      `${responderEnd.address} failed ${what} of ${requesterEnd.address} (${qpName(responderEnd.qpn)}) with the NAK remote operational error in frame ${first.frame}; ` +
      `${receives ? 'the receive that it fell into, or its memory,' : 'something in the responder'} is at fault, not the network.` +
      (group.length > 1 ? ` ${counted(group.length - 1, 'more request')} between these hosts ended so.` : ''),
    frames: mergedFrames([[first.frame], ...group.map((nak) => [nak.request?.frame ?? 0, nak.frame])]),
    conversations: [...new Set(group.map(({ conversation }) => conversation.id))],
    evidence: {
      psn: first.psn,
      naks: group.length,
      ...(request === undefined ? {} : { request: describeRequest(request) }),
    },
  });
}

const REMOTE_OPERATIONAL = 0x63;
