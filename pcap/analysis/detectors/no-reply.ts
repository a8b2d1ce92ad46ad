/**
 * Symptom: requests never get a response.
 *
 * Owns one finding for each pair of hosts; `silence-watch.ts` owns which silences count. It is an error when the
 * requester has given up, and a warning when the capture ends after four tries (three timeouts in a row) and the
 * requester still retries. Rules: ref:analyzer#1 row 1.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
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
import { endsOf, type Failure } from './failures.ts';
import { SilenceWatch } from './silence-watch.ts';
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
  readonly #watch = new SilenceWatch();

  get interest(): number {
    return this.#watch.interest;
  }

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#watch.event(event);
  }

  finish(context: DetectorContext): void {
    for (const group of byHosts(this.#watch.silences(context))) this.#report(context, group);
  }

  #report(context: DetectorContext, group: readonly Failure[]): void {
    const [first] = group;
    if (first === undefined) return;
    const [requesterEnd] = endsOf(first);
    const seen = this.#watch.sawTraffic(requesterEnd, context);
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
