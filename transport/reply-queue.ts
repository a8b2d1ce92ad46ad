/**
 * Replies of a responder that have not left, in the order in which they leave, which is that of their PSNs. ACKs merge,
 * and so do NAKs of one PSN; the responder limits the responses in progress and the queue as a whole.
 */
import { Syndrome } from '../packets/aeth.ts';
import type { Grant } from './grant.ts';
import { type ReplyInspection, wirePsn } from './inspection.ts';
import type { Pool } from './ring.ts';

/** Empty: the response to FLUSH and ATOMIC WRITE, a READ response without data. */
export const ReplyKind = { Ack: 0, Nak: 1, Read: 2, Atomic: 3, Empty: 4 } as const;
export type ReplyKind = (typeof ReplyKind)[keyof typeof ReplyKind];

const REPLY_NAMES = ['ack', 'nak', 'read', 'atomic', 'empty'] as const;

export class Reply {
  kind: ReplyKind = ReplyKind.Ack;
  /** Extended PSN of the first packet of the reply. */
  psn = 0;
  /** Extended PSN of its last packet. */
  lastPsn = 0;
  syndrome = 0;
  msn = 0;
  /** READ: where the data is, how much, and how much has left. */
  grant: Grant | undefined = undefined;
  offset = 0;
  length = 0;
  sent = 0;
  /** Atomic: the original value. */
  originalHi = 0;
  originalLo = 0;
  /** Answers a duplicate request: what fails here draws no NAK (ref:conformance#RSP-PSN-15). */
  repeated = false;

  /** A READ whose memory may not be read any more. */
  get revoked(): boolean {
    return this.grant !== undefined && !this.grant.valid;
  }
}

export class ReplyQueue {
  /** Syndrome of a positive ACK: the credit code of the receives there are, or that credits are not used. */
  ackSyndrome: number = Syndrome.Ack;
  /** The next ACK carries BECN: a request came marked, where marks are echoed in ACKs. */
  becnOwed = false;
  /**
   * READs and atomics among the replies that are answered for the first time. Empty responses need no resources and do
   * not count.
   */
  answers = 0;
  /** Answers to repeated READs and atomics. */
  repeats = 0;
  /** In order of PSN, oldest first. Short: the responder limits it. */
  readonly #replies: Reply[] = [];
  readonly #pool: Pool<Reply>;

  constructor(pool: Pool<Reply>) {
    this.#pool = pool;
  }

  get length(): number {
    return this.#replies.length;
  }

  get first(): Reply | undefined {
    return this.#replies[0];
  }

  /** Whether a single ACK is all that is owed. */
  get isAcknowledge(): boolean {
    return this.#replies.length === 1 && this.#replies[0]?.kind === ReplyKind.Ack;
  }

  /** Whether the next reply carries data, which is paced. */
  get isData(): boolean {
    const kind = this.#replies[0]?.kind;
    return kind === ReplyKind.Read || kind === ReplyKind.Atomic;
  }

  /** As plain data. */
  inspect(): ReplyInspection[] {
    return this.#replies.map(({ kind, psn, lastPsn, repeated }) => {
      return { kind: REPLY_NAMES[kind], psn: wirePsn(psn), lastPsn: wirePsn(lastPsn), repeated };
    });
  }

  /** A connection has ended: ACKs of the next one carry nothing of it. */
  reset(): void {
    this.clear();
    this.ackSyndrome = Syndrome.Ack;
    this.becnOwed = false;
  }

  clear(): void {
    while (this.length > 0) this.shift();
  }

  /** Forgets the oldest READ and all behind it, which must not overtake it. */
  dropFromFirstRead(): void {
    const at = this.#replies.findIndex(({ kind }) => kind === ReplyKind.Read);
    if (at < 0) return;
    for (const reply of this.#replies.splice(at)) this.#recycle(reply);
  }

  shift(): void {
    // One reply is the rule, and `pop` keeps the array's memory where `shift` would give it back.
    const reply = this.#replies.length === 1 ? this.#replies.pop() : this.#replies.shift();
    if (reply !== undefined) this.#recycle(reply);
  }

  /** Queues an ACK of everything up to `psn`; merges with an ACK, or a NAK of a later PSN, that has not left yet. */
  acknowledge(psn: number, syndrome: number, msn: number): void {
    const newest = this.#replies[this.#replies.length - 1];
    if (newest !== undefined && newest.kind <= ReplyKind.Nak && psn < newest.psn) return;
    const reply = newest?.kind === ReplyKind.Ack ? newest : this.#append(ReplyKind.Ack);
    fill(reply, psn, psn, syndrome, msn);
  }

  refuse(psn: number, syndrome: number, msn: number): void {
    const newest = this.#replies[this.#replies.length - 1];
    const same = newest?.kind === ReplyKind.Nak && newest.psn === psn;
    const reply = same ? newest : this.#append(ReplyKind.Nak);
    fill(reply, psn, psn, syndrome, msn);
  }

  /**
   * Queues a response from `psn` to `lastPsn`. A repeated request may be older than replies still waiting: it
   * goes before them, and responses behind it start over, since the requester retransmits. If it requests the rest of
   * a response still being sent, it takes that one's place (ref:conformance#RSP-PSN-13, ACK-05).
   */
  answer(kind: ReplyKind, psn: number, lastPsn: number, msn: number, repeated: boolean): Reply {
    let at = this.#replies.length;
    while (at > 0 && (this.#replies[at - 1] as Reply).lastPsn >= psn) at -= 1;
    for (let i = at; i < this.#replies.length; i++) (this.#replies[i] as Reply).sent = 0;
    let reply = this.#replies[at];
    if (reply === undefined || reply.kind !== kind || reply.psn > psn) {
      reply = this.#insert(at, kind);
      reply.repeated = repeated;
      this.#count(reply, 1);
    }
    fill(reply, psn, lastPsn, Syndrome.Ack, msn);
    if (kind === ReplyKind.Read) this.#forgetCovered(at + 1, lastPsn);
    return reply;
  }

  /** Drops replies from `at` on that the reply to an earlier request covers: their requests overtook it on the way. */
  #forgetCovered(at: number, lastPsn: number): void {
    let end = at;
    for (let reply = this.#replies[end]; reply !== undefined && reply.lastPsn <= lastPsn; reply = this.#replies[end]) {
      this.#recycle(reply);
      end += 1;
    }
    if (end > at) this.#replies.splice(at, end - at);
  }

  #append(kind: ReplyKind): Reply {
    return this.#insert(this.#replies.length, kind);
  }

  #recycle(reply: Reply): void {
    this.#count(reply, -1);
    reply.grant = undefined;
    this.#pool.giveBack(reply);
  }

  #count(reply: Reply, change: 1 | -1): void {
    if (reply.kind !== ReplyKind.Read && reply.kind !== ReplyKind.Atomic) return;
    if (reply.repeated) this.repeats += change;
    else this.answers += change;
  }

  #insert(at: number, kind: ReplyKind): Reply {
    const reply = this.#pool.take();
    reply.kind = kind;
    reply.sent = 0;
    reply.repeated = false;
    if (at === this.#replies.length) this.#replies.push(reply);
    else this.#replies.splice(at, 0, reply);
    return reply;
  }
}

function fill(reply: Reply, psn: number, lastPsn: number, syndrome: number, msn: number): void {
  reply.psn = psn;
  reply.lastPsn = lastPsn;
  reply.syndrome = syndrome;
  reply.msn = msn;
}
