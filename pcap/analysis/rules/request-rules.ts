/**
 * What the requests of one end must fulfil in their order: messages of SEND and WRITE, their lengths, and
 * retransmissions.
 *
 * Owns one small state for each PSN space. Only originals in order change it. After missing packets the state of the
 * message is unknown, and nothing is reported until the next message begins.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import { OpFlag, opcodeInfo, RETH_AT } from '../../../packets/opcode.ts';
import { rethDmaLength } from '../../../packets/reth.ts';
import { Mark, type PacketFacts } from '../facts.ts';
import { RULES } from './catalogue.ts';
import type { RuleViolations } from './rule-violations.ts';

const NOT_ORIGINAL = Mark.Retransmission | Mark.Copy | Mark.Late | Mark.BadIcrc | Mark.ImpliedNak;

/** The requests of one end of one conversation. */
export class RequestRules {
  /** `OpFlag.Send`, `OpFlag.Write`, 0 for nothing, -1 for not known. */
  #open = -1;
  /** Index of the next original. */
  #next = Number.NaN;
  /** Payload of the FIRST of the open message. */
  #full = 0;
  /** Bytes so far, and bytes that the RETH announced; -1 not known. */
  #bytes = 0;
  #announced = -1;
  /** Largest payload of a FIRST so far. */
  #pathMtu = 0;
  /** Checks a request of RC, UC or XRC that parsed well. */
  check(facts: PacketFacts, violations: RuleViolations): void {
    const { relativePsn, marks } = facts;
    if (facts.dissection.status !== FrameStatus.Ok || !(relativePsn >= 0)) return;
    if ((marks & NOT_ORIGINAL) !== 0) {
      this.#checkRepetition(facts, violations);
      return;
    }
    if (relativePsn !== this.#next) this.#open = -1;
    this.#next = relativePsn + facts.psnCount;
    this.#checkOrder(facts, violations);
  }

  #checkOrder(facts: PacketFacts, violations: RuleViolations): void {
    const { flags, opcode } = facts.dissection.frame;
    const operation = flags & (OpFlag.Send | OpFlag.Write);
    if ((flags & (OpFlag.First | OpFlag.Only)) !== 0) {
      if (this.#open > 0)
        violations.add(
          RULES.opensInside,
          facts,
          `${opcodeInfo(opcode).name} comes inside an open ${wordOf(this.#open)}`,
        );
      this.#begin(facts, violations);
      return;
    }
    if (this.#open === 0)
      violations.add(RULES.nothingOpen, facts, `${opcodeInfo(opcode).name} comes where no message is open`);
    else if (this.#open > 0 && this.#open !== operation) {
      violations.add(RULES.opensInside, facts, `${opcodeInfo(opcode).name} comes inside an open ${wordOf(this.#open)}`);
      this.#announced = -1;
    } else if (this.#open > 0) this.#go(facts, violations);
    if ((flags & OpFlag.Last) !== 0) this.#open = 0;
  }

  /** FIRST, or a request of a single packet. */
  #begin(facts: PacketFacts, violations: RuleViolations): void {
    const { frame } = facts.dissection;
    const { flags, payloadLength, view, bthOffset, opcode } = frame;
    const operation = flags & (OpFlag.Send | OpFlag.Write);
    const rethAt = RETH_AT[opcode] as number;
    this.#announced = operation === OpFlag.Write && rethAt >= 0 ? rethDmaLength(view, bthOffset + rethAt) : -1;
    if ((flags & OpFlag.First) !== 0) {
      this.#open = operation;
      this.#full = payloadLength;
      this.#bytes = payloadLength;
      this.#pathMtu = Math.max(this.#pathMtu, payloadLength);
      if (!isPathMtu(payloadLength))
        violations.add(RULES.fullPackets, facts, `a FIRST carries ${payloadLength} bytes, which is no path MTU`);
      return;
    }
    this.#open = 0;
    if (operation === 0) return;
    const most = this.#pathMtu === 0 ? LARGEST_MTU : this.#pathMtu;
    if (payloadLength > most)
      violations.add(RULES.lastLength, facts, `an ONLY carries ${payloadLength} bytes where the path MTU is ${most}`);
    if (this.#announced >= 0 && this.#announced !== payloadLength)
      violations.add(RULES.writeLength, facts, `a WRITE of ${this.#announced} bytes carries ${payloadLength}`);
  }

  /** MIDDLE or LAST of the open message. */
  #go(facts: PacketFacts, violations: RuleViolations): void {
    const { flags, payloadLength } = facts.dissection.frame;
    this.#bytes += payloadLength;
    if ((flags & OpFlag.Middle) !== 0) {
      if (payloadLength !== this.#full)
        violations.add(
          RULES.fullPackets,
          facts,
          `a MIDDLE carries ${payloadLength} bytes behind a FIRST of ${this.#full}`,
        );
    } else if (payloadLength === 0 || payloadLength > this.#full)
      violations.add(RULES.lastLength, facts, `a LAST carries ${payloadLength} bytes behind a FIRST of ${this.#full}`);
    const over = this.#bytes > this.#announced;
    const short = (flags & OpFlag.Last) !== 0 && this.#bytes < this.#announced;
    if (this.#announced < 0 || !(over || short)) return;
    violations.add(RULES.writeLength, facts, `a WRITE of ${this.#announced} bytes carries ${this.#bytes}`);
    // Once is enough for one message.
    this.#announced = -1;
  }

  /**
   * Only SEND and WRITE are compared: a READ is retransmitted from the missing response on, and an atomic is one
   * packet.
   */
  #checkRepetition(facts: PacketFacts, violations: RuleViolations): void {
    const { flags, opcode, payloadLength } = facts.dissection.frame;
    const was = facts.earlierShape;
    if ((facts.marks & Mark.BadIcrc) !== 0 || (flags & (OpFlag.Send | OpFlag.Write)) === 0 || was === -1) return;
    const words = `${opcodeInfo(was >>> 16).name} of ${was & 0xff_ff} bytes comes again as`;
    violations.add(RULES.changedRepetition, facts, `${words} ${opcodeInfo(opcode).name} of ${payloadLength}`);
  }
}

function wordOf(operation: number): string {
  return operation === OpFlag.Send ? 'SEND' : 'WRITE';
}

/** 256 to 4096, a power of two. */
export function isPathMtu(bytes: number): boolean {
  return bytes >= SMALLEST_MTU && bytes <= LARGEST_MTU && (bytes & (bytes - 1)) === 0;
}

const SMALLEST_MTU = 256;
const LARGEST_MTU = 4096;
