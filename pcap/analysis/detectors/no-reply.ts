/**
 * Symptom: requests never get a response.
 *
 * Owns one finding for each pair of hosts. It is an error when the requester has given up after two tries or more: the
 * loss of one try is rare, and a second one is no chance where no response was ever seen. It is a warning when the
 * capture ends after four tries (three timeouts in a row) and the requester still retries.
 * There is no finding where GIDs of different types (`gid-mismatch`), a wrong ICRC (`icrc-invalid`) or an earlier
 * failure (`first-error`) explain it. There is none either where the capture has no packet to the requester while it
 * went on to new requests: such a capture has one direction only. Rules: ref:analyzer#1 row 1.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { TransportEvent } from '../types.ts';
import {
  ackTimeoutOf,
  andOthers,
  byHosts,
  describeTimeout,
  distances,
  pathOf,
  proofOf,
  tryEvidence,
} from './failure-words.ts';
import { consequences, endsOf, type Failure, FailureWatch, wasAnswered } from './failures.ts';
import { GidWatch, mismatchedConversations } from './gid-watch.ts';
import { ReverseWatch } from './reverse-watch.ts';
import { duration, times } from './words.ts';

export const NO_REPLY: Symptom = {
  id: 'no-reply',
  row: 1,
  title: 'No answer at all',
  complaint:
    'Completion status 12, transport retry counter exceeded (vendor error 129, 0x81), with the first requests of a connection.',
  about:
    'The requester sends, waits for its ACK timeout and sends again, retry count times, and never gets a response. Either its packets do not ' +
    'arrive (route, firewall, VLAN, MTU), or they arrive and are dropped silently (wrong queue pair number, wrong GID, wrong ICRC), or the answers do ' +
    'not come back. That a TCP connection between the same hosts works proves nothing about UDP port 4791.',
  advice: [
    'Capture at the other end: if the requests arrive there, look at queue pair number, GID index and ICRC; if not, look at the path.',
    'Let UDP port 4791 through every firewall, in both directions.',
    'Check that both ends use the GID index of the same network (RoCE v2, same IP version).',
  ],
  commands: [
    'show_gids',
    'rdma resource show qp',
    'rdma statistic show link DEV/1',
    'nft list ruleset | grep 4791',
    'tcpdump -ni DEV udp port 4791',
  ],
  make: () => new NoReply(),
};

class NoReply implements Detector {
  readonly #failures = new FailureWatch();
  readonly #gids = new GidWatch();
  readonly #reverse = new ReverseWatch();

  /** Stations show in packets that belong to no conversation, GIDs in those out of the ordinary only. */
  get interest(): number {
    return this.#failures.interest | PacketKind.Management;
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
    this.#gids.packet(facts);
    this.#reverse.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#failures.event(event);
  }

  finish(context: DetectorContext): void {
    const { conversations } = context;
    const failures = this.#failures.finish(context);
    const explained = consequences(failures);
    const mismatched = mismatchedConversations(this.#gids.finish(context));
    const silent = failures.filter((failure) => {
      if (failure.kind !== 'silence' || explained.has(failure) || mismatched.has(failure.conversation.id)) return false;
      if (!failure.gaveUp && failure.tries < SURE_TRIES) return false;
      const [requesterEnd] = endsOf(failure);
      if (requesterEnd.badIcrc > 0 || wasAnswered(failure, context)) return false;
      return !failure.sentMore || this.#reverse.sawTraffic(requesterEnd, conversations);
    });
    for (const group of byHosts(silent)) this.#report(context, group);
  }

  #report(context: DetectorContext, group: readonly Failure[]): void {
    const [first] = group;
    if (first === undefined) return;
    const [requesterEnd] = endsOf(first);
    const seen = this.#reverse.sawTraffic(requesterEnd, context.conversations);
    const timeout = ackTimeoutOf(first);
    const span = duration(first.lastNs - first.firstNs);
    const gaveUp = group.some((failure) => failure.gaveUp);
    context.report({
      severity: gaveUp ? 'error' : 'warning',
      text:
        `Requests from ${pathOf(first)} get no response: that with PSN ${first.psn} was sent ${times(first.tries)} in ${span}, ` +
        `${distances(first.waits)}, and there was never a response${first.gaveUp ? '' : '; the capture ends while the requester still retries'}` +
        `${timeout === undefined ? '' : `; ${describeTimeout(timeout)}`}.` +
        (seen
          ? ''
          : ` Nothing else that went to ${requesterEnd.address} is in the capture: make sure that it shows both directions.`) +
        andOthers(group),
      ...proofOf(group),
      evidence: { ...tryEvidence(first), connections: group.length, bothDirectionsSeen: seen ? 'yes' : 'no' },
    });
  }
}

/** Tries after which a silence is one even if the capture ends. */
const SURE_TRIES = 4;
