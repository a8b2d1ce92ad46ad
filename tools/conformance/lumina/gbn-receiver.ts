/**
 * Go-back-N as the responder plays it: one NAK for each gap, with the PSN that is missing; ACKs in order, never ahead
 * of what came, and for what comes again as well. Rules: RSP-PSN-04, -05, -06, -10, ACK-05, ACK-14, ACK-15 (the idea is
 * Lumina's gbn_check).
 *
 * Owns the receiver's state machine, and the time from the packet behind a gap to its NAK. It sees the responder from
 * the bump: a NAK may pass after the packet that closed its gap has, so a gap remembers whether it was NAKed after it
 * is closed.
 */
import { type EndPacket, endOf, endPackets, type TrafficConnection } from './connection.ts';
import { type CheckResult, Findings, median } from './findings.ts';
import type { Trace } from './trace.ts';

export function gbnReceiverCheck(trace: Trace, connection: TrafficConnection): CheckResult[] {
  const receiver = new Receiver(endOf(connection, 'responder'));
  for (const step of endPackets(trace, connection, 'responder')) {
    if (step.way === 'sent') receiver.sent(step);
    else if (step.kind === 'request' || step.kind === 'read-request') receiver.got(step);
  }
  return receiver.end();
}

interface Gap {
  /** The PSN that is missing. */
  readonly psn: number;
  /** When a packet behind it came. */
  readonly timeNs: number;
  /** NAKs that name it. */
  naks: number;
}

class Receiver {
  readonly #found: Findings;
  #expected = 0;
  #newestAck = Number.NEGATIVE_INFINITY;
  readonly #gaps: Gap[] = [];
  /** The gap that is open. */
  #open: Gap | undefined;
  /** Repeated packets that request an ACK and have none yet. */
  #owed: number[] = [];
  #duplicates = 0;
  #naks = 0;
  /** When a packet that requests an ACK came, by PSN. */
  readonly #askedAt = new Map<number, number>();
  readonly #nakTimes: number[] = [];
  readonly #ackTimes: number[] = [];

  constructor(end: 'a' | 'b') {
    const rules = ['RSP-PSN-04', 'RSP-PSN-05', 'RSP-PSN-06', 'RSP-PSN-10', 'ACK-05', 'ACK-14', 'ACK-15'];
    this.#found = new Findings('gbn-receiver', end, rules);
  }

  got({ psn, last, timeNs, packet, kind }: EndPacket): void {
    if (packet.ackReq && psn <= this.#expected) this.#askedAt.set(psn, timeNs);
    if (psn === this.#expected) {
      this.#expected = last + 1;
      this.#open = undefined;
    } else if (psn < this.#expected) {
      this.#duplicates++;
      if (packet.ackReq && kind === 'request') this.#owed.push(psn);
    } else if (this.#open === undefined) {
      this.#open = { psn: this.#expected, timeNs, naks: 0 };
      this.#gaps.push(this.#open);
    }
  }

  sent(step: EndPacket): void {
    if (step.kind === 'nak') this.#nak(step);
    else if (step.kind === 'ack') this.#ack(step);
  }

  end(): CheckResult[] {
    const found = this.#found;
    for (const [i, { psn, naks }] of this.#gaps.entries()) {
      const silent = naks === 0 ? `a packet behind psn+${psn} came, and no NAK for psn+${psn} was sent` : undefined;
      found.seen('RSP-PSN-04', silent);
      if (i > 0) found.seen('RSP-PSN-06', silent);
      const many = naks > 1 ? `${naks} NAKs for the one gap at psn+${psn}` : undefined;
      found.seen('RSP-PSN-05', many);
      found.seen('ACK-14', many);
    }
    for (const psn of this.#owed) found.seen('RSP-PSN-10', `psn+${psn} came again and was not acknowledged`);
    Object.assign(found.figures, { gaps: this.#gaps.length, naksSent: this.#naks, duplicates: this.#duplicates });
    found.spread('nakNs', this.#nakTimes);
    found.spread('ackNs', this.#ackTimes);
    const base = middle(this.#ackTimes);
    if (this.#nakTimes.length > 0 && base > 0)
      found.figures['nakToAckRatio'] = Math.round((middle(this.#nakTimes) / base) * 100) / 100;
    return found.results();
  }

  #nak({ psn, timeNs }: EndPacket): void {
    this.#naks++;
    const gap = this.#gaps.findLast((one) => one.psn === psn);
    if (gap === undefined) {
      const where = this.#open === undefined ? 'there is no gap' : `psn+${this.#open.psn} is missing`;
      this.#found.seen('RSP-PSN-04', `a NAK names psn+${psn}, and ${where}`);
      return;
    }
    if (gap.naks++ === 0) this.#nakTimes.push(timeNs - gap.timeNs);
  }

  #ack({ psn, timeNs }: EndPacket): void {
    const found = this.#found;
    const backwards = psn < this.#newestAck;
    found.seen('ACK-05', backwards ? `psn+${psn} was acknowledged after psn+${this.#newestAck}` : undefined);
    const early = psn >= this.#expected;
    found.seen(
      'ACK-15',
      early ? `psn+${psn} was acknowledged before psn+${this.#expected} had been delivered` : undefined,
    );
    this.#newestAck = Math.max(this.#newestAck, psn);
    const asked = this.#askedAt.get(psn);
    if (asked !== undefined) this.#ackTimes.push(timeNs - asked);
    this.#askedAt.delete(psn);
    this.#owed = this.#owed.filter((one) => {
      if (one > psn) return true;
      found.seen('RSP-PSN-10');
      return false;
    });
  }
}

const middle = (times: readonly number[]): number => median([...times].sort((a, b) => a - b));
