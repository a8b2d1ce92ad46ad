/**
 * Requests that never got a response, as the detectors share them that say why: `no-reply`, `vlan-mismatch` and
 * `pkey-mismatch`.
 *
 * Owns which silences count:
 * - the requester gave up after two tries or more, or has sent the same four times: the loss of one try is rare, and a
 *   second one is no chance where no response was ever seen;
 * - GIDs that miss each other (`gid-mismatch`), a wrong ICRC (`icrc-invalid`) and an earlier failure (`first-error`) do
 *   not explain it;
 * - the capture has packets to the requester, or the requester did not go on to new requests: otherwise it has one
 *   direction only.
 */
import type { DetectorContext } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { EndReport, TransportEvent } from '../types.ts';
import { consequences, endsOf, type Failure, FailureWatch, wasAnswered } from './failures.ts';
import { type GidMismatch, GidWatch, mismatchedConversations } from './gid-watch.ts';
import { ReverseWatch } from './reverse-watch.ts';

export class SilenceWatch {
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

  /** First to last. */
  silences(context: DetectorContext): Failure[] {
    const failures = this.#failures.finish(context);
    const explained = consequences(failures);
    const mismatched = mismatchedConversations(this.gids(context));
    return failures.filter((failure) => {
      if (failure.kind !== 'silence' || explained.has(failure) || mismatched.has(failure.conversation.id)) return false;
      if (!failure.gaveUp && failure.tries < SURE_TRIES) return false;
      const [requesterEnd] = endsOf(failure);
      if (requesterEnd.badIcrc > 0 || wasAnswered(failure, context)) return false;
      return !failure.sentMore || this.sawTraffic(requesterEnd, context);
    });
  }

  /** Two stations that miss each other for their addresses. */
  gids(context: DetectorContext): GidMismatch[] {
    return this.#gids.finish(context);
  }

  /** Whether the capture has any packet to the host of this end. */
  sawTraffic(to: EndReport, { conversations }: DetectorContext): boolean {
    return this.#reverse.sawTraffic(to, conversations);
  }
}

/** Tries after which a silence is one even if the capture ends. */
const SURE_TRIES = 4;
