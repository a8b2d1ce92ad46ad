/**
 * Replies a responder owes, in the order in which they leave. Bounded: acknowledges merge, at most one NAK is out, and the
 * responder limits the READ and atomic answers in progress.
 */
import type { MemoryRegion } from './memory.ts';

export const ReplyKind = { Ack: 0, Nak: 1, Read: 2, Atomic: 3 } as const;
export type ReplyKind = (typeof ReplyKind)[keyof typeof ReplyKind];

export class Reply {
  kind: ReplyKind = ReplyKind.Ack;
  /** Extended PSN of the first packet of the reply. */
  psn = 0;
  syndrome = 0;
  msn = 0;
  /** READ: where the data is, how much, and how much has left. */
  region: MemoryRegion | undefined = undefined;
  offset = 0;
  length = 0;
  sent = 0;
  /** Atomic: the original value. */
  originalHi = 0;
  originalLo = 0;
  /** Answers a repeated request: what goes wrong with it is silent (ref:conformance RSP-PSN-15). */
  repeated = false;

  /** A READ whose memory may not be read any more. */
  get dead(): boolean {
    return this.region !== undefined && !this.region.valid;
  }
}

export class ReplyQueue {
  /** READs and atomics among the replies. */
  answers = 0;
  /** In order of PSN, oldest first, from `#head` on. */
  readonly #replies: Reply[] = [];
  readonly #spare: Reply[] = [];
  #head = 0;

  get length(): number {
    return this.#replies.length - this.#head;
  }

  get first(): Reply | undefined {
    return this.#replies[this.#head];
  }

  clear(): void {
    while (this.length > 0) this.shift();
  }

  shift(): void {
    const reply = this.#replies[this.#head];
    if (reply === undefined) return;
    if (reply.kind >= ReplyKind.Read) this.answers -= 1;
    reply.region = undefined;
    this.#spare.push(reply);
    this.#head += 1;
    if (this.#head === this.#replies.length) {
      this.#replies.length = 0;
      this.#head = 0;
    }
  }

  /** Owes an acknowledge of everything up to `psn`; merges with one that has not left yet. */
  acknowledge(psn: number, syndrome: number, msn: number): void {
    const newest = this.#replies[this.#replies.length - 1];
    if (newest !== undefined && newest.kind === ReplyKind.Ack) {
      if (psn < newest.psn) return;
      newest.psn = psn;
      newest.msn = msn;
      newest.syndrome = syndrome;
      return;
    }
    this.#append(ReplyKind.Ack, psn, syndrome, msn);
  }

  refuse(psn: number, syndrome: number, msn: number): void {
    this.#append(ReplyKind.Nak, psn, syndrome, msn);
  }

  /**
   * Owes a READ or atomic answer. A repeated request may be older than answers still waiting: answers leave in PSN order,
   * and those behind it start over, since the requester has gone back (ref:conformance RSP-PSN-13).
   */
  answer(kind: ReplyKind, psn: number, syndrome: number, msn: number, repeated: boolean): Reply {
    for (let i = this.#head; i < this.#replies.length; i++) {
      const waiting = this.#replies[i] as Reply;
      if (waiting.kind >= ReplyKind.Read && waiting.psn >= psn) return this.#insertAnswer(i, kind, psn, syndrome, msn);
    }
    this.answers += 1;
    const reply = this.#append(kind, psn, syndrome, msn);
    reply.repeated = repeated;
    return reply;
  }

  #insertAnswer(at: number, kind: ReplyKind, psn: number, syndrome: number, msn: number): Reply {
    for (let i = at; i < this.#replies.length; i++) (this.#replies[i] as Reply).sent = 0;
    const same = this.#replies[at] as Reply;
    if (same.psn === psn && same.kind === kind) return same;
    this.answers += 1;
    const reply = this.#fresh(kind, psn, syndrome, msn);
    reply.repeated = true;
    this.#replies.splice(at, 0, reply);
    return reply;
  }

  #append(kind: ReplyKind, psn: number, syndrome: number, msn: number): Reply {
    const reply = this.#fresh(kind, psn, syndrome, msn);
    this.#replies.push(reply);
    return reply;
  }

  #fresh(kind: ReplyKind, psn: number, syndrome: number, msn: number): Reply {
    const reply = this.#spare.pop() ?? new Reply();
    reply.kind = kind;
    reply.psn = psn;
    reply.syndrome = syndrome;
    reply.msn = msn;
    reply.sent = 0;
    reply.repeated = false;
    return reply;
  }
}
