/**
 * What becomes of requests, told step by step as a capture would show it: times in microseconds; a round trip takes 10.
 */
import { MissedRequests } from '../../../../pcap/analysis/tracker/missed-requests.ts';

/** A space, and the verdicts on its requests. */
export class Told {
  readonly verdicts: string[] = [];
  readonly evidence = {
    roundTrips: { shortestNs: 10_000, longestNs: 10_000, boundNs: 9000, isSteady: true },
    strayAcks: 0,
    missingShare: (_lost: number) => 0,
    latePackets: 0,
  };
  readonly #missed = new MissedRequests(
    ({ psn }, verdict, among) =>
      this.verdicts.push(
        `${psn} ${verdict}${among === undefined ? '' : `, ${among.count} of ${among.requests.length}`}`,
      ),
    this.evidence,
  );

  /** A NAK comes for a request that was sent at `sent`. */
  nak(
    at: number,
    psn: number,
    sent: number,
    { unseen = false, asksAck = false, again = false, afterTimeout = false, behind = sent + 1, readTime = 0 } = {},
  ): this {
    const times = { sentNs: sent * 1000, behindNs: behind * 1000, askedNs: at * 1000 };
    this.#missed.asked({
      psn,
      frame: sent,
      behindFrame: -1,
      behindPsn: psn + 1,
      readTimeNs: readTime * 1000,
      unseen,
      asksAck,
      again,
      afterTimeout,
      nakFrame: 99,
      ...times,
    });
    return this;
  }

  resent(at: number, psn: number, { timeout = false, read = false, had = false } = {}): this {
    const timeNs = at * 1000;
    this.#missed.resent(psn, {
      timeNs,
      frame: at,
      backNs: timeNs,
      beforeNs: -1,
      unsure: timeout,
      had,
      drawsAck: !read,
    });
    return this;
  }

  /** The same because of a NAK. */
  resentForNak(at: number, psn: number): this {
    this.#missed.resentForNak(psn, at * 1000);
    return this.resent(at, psn);
  }

  /** The same, although it was acknowledged. */
  resentInVain(at: number, psn: number): this {
    this.#missed.resentInVain(psn, at * 1000);
    return this;
  }

  /** Everything up to `psn` is acknowledged. */
  ack(at: number, psn: number): this {
    this.#missed.arrived(psn + 1, at * 1000);
    return this;
  }

  /** @param due when it would have come if it had not waited behind READ responses */
  duplicate(at: number, psn: number, due = at): this {
    this.#missed.duplicateAck(psn, at * 1000, due * 1000);
    return this;
  }

  /** An ACK that nobody asked for, of a receiver that often sends such. */
  unasked(at: number, psn: number): this {
    this.#missed.unaskedAck(psn, at * 1000);
    return this;
  }

  responseAgain(at: number, psn: number): this {
    this.#missed.answeredAgain(psn, at * 1000);
    return this;
  }

  /** An ACK that waited behind READ responses, the first of which came at `from`. */
  hidden(at: number, psn: number, from = at - 1, waited = Number.POSITIVE_INFINITY): this {
    this.#missed.hiddenAck(psn, at * 1000, from * 1000, waited * 1000);
    return this;
  }

  /** An ACK of `psn` comes so long after that was sent last, in `frame`; frames have the times of their sending. */
  acknowledged(at: number, psn: number, waited: number, frame = at): this {
    this.#missed.acknowledged(psn, waited * 1000, frame);
    return this.ack(at, psn);
  }

  /** An ACK of `psn` comes too soon for what was sent again since `since`. */
  acknowledgedSooner(at: number, psn: number, since: number): this {
    this.#missed.acknowledgedSooner(psn, at * 1000, since * 1000);
    return this;
  }

  copy(psn: number): this {
    this.#missed.cameAgain(psn);
    return this;
  }

  late(psn: number): this {
    this.#missed.cameLate(psn);
    return this;
  }

  /** @param at when the receiver is gone */
  end(at = 1e9): string[] {
    this.#missed.finish(at * 1000);
    return this.verdicts;
  }
}
