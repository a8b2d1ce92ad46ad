/**
 * What the responses to the requests of one end must fulfil: the READ responses that were requested, an MSN that does
 * not fall, silence after the end.
 *
 * Owns one state for each PSN space, with a bounded number of the newest READs. A READ whose request the capture lacks
 * is not checked.
 */
import { aethMsn, aethSyndrome, SYNDROME_KIND_MASK, Syndrome, SyndromeKind } from '../../../packets/aeth.ts';
import { FrameStatus } from '../../../packets/frame.ts';
import { AETH_AT, OpFlag, opcodeInfo, RETH_AT } from '../../../packets/opcode.ts';
import { psnDiff } from '../../../packets/psn.ts';
import { rethDmaLength } from '../../../packets/reth.ts';
import { Mark, type PacketFacts } from '../facts.ts';
import { RULES } from './catalogue.ts';
import { isPathMtu } from './request-rules.ts';
import type { RuleViolations } from './rule-violations.ts';

interface PendingRead {
  /** Relative PSN of the request, which is that of its first response. */
  readonly first: number;
  readonly bytes: number;
}

/** The answers to the requests of one end. */
export class ResponseRules {
  /** READ requests, newest last, each sighting that begins somewhere else. */
  readonly #reads: PendingRead[] = [];
  /** Largest `first` so far: a READ beyond it was not seen before. */
  #furthest = -1;
  /** Path MTU, from responses that must be full; 0 not known. */
  #pathMtu = 0;
  #highestPsn = -1;
  #msn = -1;
  /** PSN of a NAK that ended the connection; -1 none. */
  #fatalPsn = -1;

  /** A request of the same space passes. */
  request({ dissection: { frame }, relativePsn, marks }: PacketFacts): void {
    if ((frame.flags & OpFlag.Read) === 0 || !(relativePsn >= 0) || (marks & Mark.BadIcrc) !== 0) return;
    const bytes = rethDmaLength(frame.view, frame.bthOffset + (RETH_AT[frame.opcode] as number));
    if (relativePsn > this.#furthest) this.#furthest = relativePsn;
    else if (this.#reads.some((read) => read.first === relativePsn && read.bytes === bytes)) return;
    if (this.#reads.length >= MOST_READS) this.#reads.shift();
    this.#reads.push({ first: relativePsn, bytes });
  }

  /** Checks a response of RC or XRC that parsed well. */
  check(facts: PacketFacts, violations: RuleViolations): void {
    const { relativePsn, dissection } = facts;
    const { flags, opcode, bthOffset, view } = dissection.frame;
    if (dissection.status !== FrameStatus.Ok || Number.isNaN(relativePsn)) return;
    if ((flags & OpFlag.ReadResponse) !== 0) this.#checkRead(facts, violations);
    const aethAt = AETH_AT[opcode] as number;
    if (aethAt < 0) return;
    const syndrome = aethSyndrome(view, bthOffset + aethAt);
    this.#checkMsn(facts, aethMsn(view, bthOffset + aethAt), violations);
    if (syndrome >= Syndrome.NakInvalidRequest && syndrome <= Syndrome.NakRemoteOperational)
      this.#fatalPsn = relativePsn;
    else if (
      this.#fatalPsn >= 0 &&
      relativePsn >= this.#fatalPsn &&
      (syndrome & SYNDROME_KIND_MASK) === SyndromeKind.Ack
    )
      violations.add(RULES.afterFatalNak, facts, 'an ACK follows a NAK that ends the connection');
  }

  /**
   * Responses may overtake each other: only a response with a higher PSN must not have a lower MSN. A repeated response
   * carries the current MSN, whatever its PSN.
   */
  #checkMsn(facts: PacketFacts, msn: number, violations: RuleViolations): void {
    const { relativePsn, marks } = facts;
    if (relativePsn <= this.#highestPsn || (marks & NOT_IN_TURN) !== 0) return;
    if (this.#msn >= 0 && psnDiff(msn, this.#msn) < 0)
      violations.add(RULES.msnOrder, facts, `the MSN falls from ${this.#msn} to ${msn}`);
    this.#highestPsn = relativePsn;
    this.#msn = msn;
  }

  #checkRead(facts: PacketFacts, violations: RuleViolations): void {
    const { relativePsn } = facts;
    const { flags, payloadLength, opcode } = facts.dissection.frame;
    const full = (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
    // It may change where a queue pair is modified, but not within the answers to one READ.
    const begins = (flags & OpFlag.First) !== 0 && isPathMtu(payloadLength);
    if (full && (this.#pathMtu === 0 || begins)) this.#pathMtu = payloadLength;
    if (full && payloadLength !== this.#pathMtu) {
      const words = `${opcodeInfo(opcode).name} carries ${payloadLength} bytes where the path MTU is ${this.#pathMtu}`;
      violations.add(RULES.readResponseLength, facts, words);
      return;
    }
    const read = this.#readAt(relativePsn);
    if (read === undefined) return;
    const left = read.bytes - (relativePsn - read.first) * this.#pathMtu;
    this.#checkEnd(facts, left, violations);
    if ((flags & (OpFlag.First | OpFlag.Only)) === 0 || read.first === relativePsn) return;
    if (!this.#reads.some(({ first }) => first === relativePsn))
      violations.add(RULES.readResponseOpcode, facts, `${opcodeInfo(opcode).name} comes in the middle of a READ`);
  }

  /** What ends a READ has all that is left, what does not end it is followed by something. */
  #checkEnd(facts: PacketFacts, left: number, violations: RuleViolations): void {
    const { flags, payloadLength, opcode } = facts.dissection.frame;
    if ((flags & (OpFlag.Last | OpFlag.Only)) === 0) {
      if (payloadLength >= left)
        violations.add(
          RULES.readResponseOpcode,
          facts,
          `${opcodeInfo(opcode).name} comes where ${left} bytes are left of the READ`,
        );
    } else if (payloadLength !== left)
      violations.add(
        RULES.readResponseLength,
        facts,
        `${opcodeInfo(opcode).name} carries ${payloadLength} bytes, ${left} are left of the READ`,
      );
  }

  /** The newest READ that this response may be of; undefined when none is known, or how far it reaches is not. */
  #readAt(psn: number): PendingRead | undefined {
    for (let i = this.#reads.length - 1; i >= 0; i--) {
      const read = this.#reads[i] as PendingRead;
      if (read.first === psn) return read;
      if (read.first > psn || this.#pathMtu === 0) continue;
      return psn < read.first + Math.ceil(read.bytes / this.#pathMtu) ? read : undefined;
    }
    return undefined;
  }
}

const NOT_IN_TURN = Mark.Retransmission | Mark.Copy | Mark.Late | Mark.GhostAck;
/** More than any device answers at a time. */
const MOST_READS = 512;
