/**
 * Go-back-N of READs, both ends: the requester asks again exactly from the first response that is missing, for a part
 * of what it had asked for; the responder answers in order from where it is asked. Rules: RD-18, REQ-14, REQ-25, REQ-28
 * and RD-01 (Lumina's read_gbn_check).
 *
 * Owns both state machines, for connections that carry READs only. When the requester notices a loss, at once or by its
 * timer, is a figure: both are legal.
 */
import { type EndPacket, endOf, endPackets, lossesOf, type TrafficConnection } from './connection.ts';
import { type CheckResult, Findings } from './findings.ts';
import { type Pace, us } from './gbn-sender.ts';
import type { Trace } from './trace.ts';

export function readGbnCheck(trace: Trace, connection: TrafficConnection, pace: Pace): CheckResult[] {
  const requester = new ReadRequester(connection, pace);
  for (const step of endPackets(trace, connection, 'requester')) {
    if (step.way === 'got') requester.got(step);
    else if (step.kind === 'read-request') requester.sent(step);
  }
  return [
    ...requester.end(lossesOf(trace, connection, 'responder')),
    ...responderResults(connection, endPackets(trace, connection, 'responder')),
  ];
}

/** A READ as it was asked for first. */
interface Read {
  readonly first: number;
  readonly last: number;
  readonly va: bigint;
  readonly length: number;
}

class ReadRequester {
  readonly #found: Findings;
  readonly #pace: Pace;
  readonly #mtu: number;
  readonly #psns: number;
  readonly #reads: Read[] = [];
  /** The READ that comes next, if none is repeated. */
  #next = 0;
  /** The next response that is wanted, and since when. */
  #wanted = 0;
  #wantedAt = 0;
  #before = 0;
  /** When a response behind a missing one came. */
  #gapAt: number | undefined;
  #sentAt = 0;
  #gaps = 0;
  #timeouts = 0;
  #goesBack = 0;
  /** The PSN that was asked for again last. */
  #askedFor = -1;
  readonly #requests: EndPacket[] = [];
  readonly #atOnce: number[] = [];
  readonly #late: number[] = [];

  constructor(connection: TrafficConnection, pace: Pace) {
    this.#found = new Findings('read-gbn', endOf(connection, 'requester'), ['RD-18', 'REQ-14', 'REQ-25', 'REQ-28']);
    this.#pace = pace;
    this.#mtu = connection.mtu;
    this.#psns = connection.psns;
  }

  got({ kind, psn, timeNs }: EndPacket): void {
    if (kind !== 'response') return;
    if (psn === this.#wanted) {
      this.#before = this.#wanted;
      this.#wanted++;
      this.#wantedAt = timeNs;
      this.#gapAt = undefined;
    } else if (psn > this.#wanted && this.#gapAt === undefined) {
      this.#gaps++;
      this.#gapAt = timeNs;
    }
  }

  sent(step: EndPacket): void {
    const { psn, last, timeNs, packet } = step;
    const known = this.#reads.find((read) => psn >= read.first && psn <= read.last);
    if (known !== undefined) this.#found.seen('REQ-25', this.#differs(step, known));
    else if (psn === (this.#reads.at(-1)?.last ?? -1) + 1) {
      const { va, length } = packet.reth ?? { va: 0n, length: 0 };
      this.#reads.push({ first: psn, last, va, length });
    } else this.#found.seen('REQ-25', `a READ at psn+${psn}, where none was asked for`);
    if (psn === this.#next) this.#found.seen('REQ-28');
    else if (known !== undefined) this.#askedAgain(psn, timeNs);
    this.#next = last + 1;
    this.#sentAt = timeNs;
    this.#requests.push(step);
  }

  end(losses: readonly EndPacket[]): CheckResult[] {
    const found = this.#found;
    for (const { kind, psn, timeNs } of losses) {
      if (kind !== 'response') continue;
      const again = this.#requests.some((one) => one.timeNs > timeNs && one.psn <= psn && psn <= one.last);
      found.seen('REQ-14', again ? undefined : `response psn+${psn} was lost and not asked for again`);
    }
    if (this.#wanted < this.#psns)
      found.seen('REQ-14', `response psn+${this.#wanted} of ${this.#psns} did not come in the end`);
    Object.assign(found.figures, { gaps: this.#gaps, timeouts: this.#timeouts, goesBack: this.#goesBack });
    found.spread('askedAtOnceNs', this.#atOnce);
    found.spread('askedByTimerNs', this.#late);
    return found.results();
  }

  #askedAgain(psn: number, timeNs: number): void {
    const found = this.#found;
    const { timeoutNs, slackNs } = this.#pace;
    this.#goesBack++;
    const idle = timeNs - Math.max(this.#wantedAt, this.#sentAt);
    const byTimer = timeoutNs > 0 && idle >= timeoutNs - slackNs;
    // A response that passed the bump a moment ago may not have been there yet.
    const justBefore = psn >= this.#before && timeNs - this.#wantedAt <= slackNs;
    const exact = psn === this.#wanted || justBefore;
    found.seen(
      'RD-18',
      exact ? undefined : `it asked again from psn+${psn} on, and psn+${this.#wanted} was the first that was missing`,
    );
    const noticed = this.#gapAt;
    if (byTimer) {
      this.#timeouts++;
      if (noticed !== undefined) this.#late.push(timeNs - noticed);
      if (noticed !== undefined && this.#askedFor < this.#wanted)
        found.varied(
          'REQ-14',
          `the gap at psn+${this.#wanted} drew nothing, and the timer a READ ${us(timeNs - noticed)} later`,
        );
    } else if (noticed !== undefined) this.#atOnce.push(timeNs - noticed);
    this.#askedFor = this.#wanted;
    const reason = byTimer || noticed !== undefined;
    found.seen(
      'REQ-28',
      reason ? undefined : `it asked again from psn+${psn} on without a gap, ${us(idle)} after the last event`,
    );
  }

  /** A repeated READ is a part of the first: moved by whole packets, to the same end. */
  #differs({ psn, last, packet }: EndPacket, read: Read): string | undefined {
    const skipped = (psn - read.first) * this.#mtu;
    const { va, length } = packet.reth ?? { va: 0n, length: 0 };
    const same = last === read.last && va === read.va + BigInt(skipped) && length === read.length - skipped;
    return same
      ? undefined
      : `the READ that was repeated at psn+${psn} has ${length} bytes at 0x${va.toString(16)}, and not the rest of the first`;
  }
}

function responderResults(connection: TrafficConnection, steps: readonly EndPacket[]): CheckResult[] {
  const found = new Findings('read-responses', endOf(connection, 'responder'), ['RD-01']);
  const starts: number[] = [];
  let next = -1;
  let bursts = 0;
  for (const { way, kind, psn } of steps) {
    if (way === 'got' && kind === 'read-request') starts.push(psn);
    if (way === 'got' || kind !== 'response') continue;
    const at = starts.indexOf(psn);
    const begins = at >= 0 && psn !== next;
    if (at >= 0) starts.splice(at, 1);
    if (begins) bursts++;
    const wrong = !begins && psn !== next;
    found.seen('RD-01', wrong ? `response psn+${psn} where psn+${next} was to come` : undefined);
    next = psn + 1;
  }
  if (next < connection.psns) found.seen('RD-01', `the responses ended before psn+${next} of ${connection.psns}`);
  Object.assign(found.figures, { bursts });
  return found.results();
}
