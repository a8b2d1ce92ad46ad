/**
 * Symptom: requests never get a response.
 *
 * Owns one finding for each pair of hosts; `silence-watch.ts` owns which silences count. It is an error when the
 * requester has given up, and a warning when the capture ends after four tries (three timeouts in a row) and the
 * requester still retries. ICMP errors about the requests are part of the finding; such errors alone are a warning,
 * where nothing comes from the host that the packets were for. Rules: ref:analyzer#1 row 1.
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
  migReqWords,
  pathOf,
  proofWith,
  tryEvidence,
} from './failure-words.ts';
import { endsOf, type Failure } from './failures.ts';
import { type IcmpReport, IcmpWatch, icmpAdvice, icmpEvidence, icmpWords } from './icmp-watch.ts';
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
  readonly #icmp = new IcmpWatch();

  get interest(): number {
    return this.#watch.interest;
  }

  packet(facts: PacketFacts): void {
    this.#watch.packet(facts);
    this.#icmp.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#watch.event(event);
  }

  finish(context: DetectorContext): void {
    const told = new Set<IcmpReport>();
    for (const group of byHosts(this.#watch.silences(context))) {
      const reports = this.#saidAbout(group);
      for (const report of reports) told.add(report);
      this.#report(context, group, reports);
    }
    const rest = this.#icmp.all().filter((report) => !told.has(report));
    for (const report of rest.slice(0, MOST_REFUSALS)) reportRefusal(context, report);
  }

  /** By ICMP, about packets of either host to the other. */
  #saidAbout([first]: readonly Failure[]): IcmpReport[] {
    if (first === undefined) return [];
    const [{ address: one }, { address: other }] = endsOf(first);
    return [...this.#icmp.about(one, other), ...this.#icmp.about(other, one)];
  }

  #report(context: DetectorContext, group: readonly Failure[], reports: readonly IcmpReport[]): void {
    const [first] = group;
    if (first === undefined) return;
    const [requesterEnd] = endsOf(first);
    const seen = this.#watch.sawTraffic(requesterEnd, context);
    // The limit says so itself.
    const known = context.limits.some(
      ({ kind, conversations }) => kind === 'one-direction' && conversations.includes(first.conversation.id),
    );
    const timeout = ackTimeoutOf(first);
    const span = duration(first.lastNs - first.firstNs);
    const gaveUp = group.some((failure) => failure.gaveUp);
    context.report({
      severity: gaveUp ? 'error' : 'warning',
      text:
        `Requests from ${pathOf(first)} get no response: that with PSN ${first.psn} was sent ${times(first.tries)} in ${span}, ` +
        `${distances(first.waits)}, and there was never a response${first.gaveUp ? '' : '; the capture ends while the requester still retries'}` +
        `${timeout === undefined ? '' : `; ${describeTimeout(timeout)}`}.` +
        (seen || known
          ? ''
          : ` Nothing else that went to ${requesterEnd.address} is in the capture: make sure that it shows both directions.`) +
        andOthers(group) +
        icmpWords(reports) +
        migReqWords(first, context.conversations),
      ...proofWith(group, reports),
      evidence: {
        ...tryEvidence(first),
        connections: group.length,
        bothDirectionsSeen: seen ? 'yes' : 'no',
        ...icmpEvidence(reports),
      },
      ...(reports.length === 0 ? {} : { advice: [...icmpAdvice(reports), ...NO_REPLY.advice] }),
    });
  }
}

/**
 * A message about packets that nobody was seen to wait for: datagrams, or a request at the end of the capture. Where
 * anything comes from that host, the message is wrong: a host whose kernel knows nothing of a stack in user space sends
 * such messages too.
 */
function reportRefusal({ conversations, report }: DetectorContext, refusal: IcmpReport): void {
  const { error, frames } = refusal;
  const { source, destination } = error;
  const between = conversations.filter(({ ends: [a, b] }) =>
    a.address === source ? b.address === destination : a.address === destination && b.address === source,
  );
  if (between.some(({ ends }) => ends.some(({ address, packets }) => address === destination && packets > 0))) return;
  report({
    severity: 'warning',
    text: `RoCE packets of ${source} to ${destination} do not arrive.${icmpWords([refusal])}`,
    frames: frames.frames,
    frameCount: frames.count,
    conversations: between.map(({ id }) => id),
    evidence: { source, destination, ...icmpEvidence([refusal]) },
    advice: [...icmpAdvice([refusal]), ...NO_REPLY.advice],
  });
}

const MOST_REFUSALS = 20;
