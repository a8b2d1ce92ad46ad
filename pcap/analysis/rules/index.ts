/**
 * Checks every packet of a capture against the rules of the protocol.
 *
 * Owns the order of the checks, and their state by conversation and requester. A packet with a wrong ICRC breaks no
 * rule: its receiver drops it.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext } from '../detector.ts';
import { type PacketFacts, Role } from '../facts.ts';
import type { ConversationReport } from '../types.ts';
import { RULES } from './catalogue.ts';
import { checkHeaders } from './header-rules.ts';
import { RequestRules } from './request-rules.ts';
import { ResponseRules } from './response-rules.ts';
import { RuleViolations } from './rule-violations.ts';

export { RULE_LIST, RULES, type Rule } from './catalogue.ts';

/** Checks packets against the rules. The analyzer calls it before the detectors. */
export class RuleChecker implements Detector {
  readonly #violations = new RuleViolations();
  /** By 2 * conversation + requester, and by 2 * conversation + end. */
  readonly #spaces: (SpaceRules | undefined)[] = [];
  readonly #ends: (EndTraits | undefined)[] = [];

  /** Checks one packet; true when it breaks a rule. */
  check(facts: PacketFacts): boolean {
    if (facts.icrc === IcrcState.Bad) return false;
    const before = this.#violations.count;
    checkHeaders(facts, this.#violations);
    const { conversation } = facts;
    if (conversation !== undefined && facts.dissection.status === FrameStatus.Ok)
      this.#checkPlaced(facts, conversation);
    return this.#violations.count > before;
  }

  /** Of `Detector`. */
  finish(context: DetectorContext): void {
    for (const finding of this.#violations.findings()) context.report(finding);
  }

  #checkPlaced(facts: PacketFacts, { id, service }: ConversationReport): void {
    if (facts.role !== Role.Request && facts.role !== Role.Response) return;
    const key = 2 * id + facts.requester;
    let space = this.#spaces[key];
    if (space === undefined) {
      space = { requests: new RequestRules(), responses: new ResponseRules() };
      this.#spaces[key] = space;
    }
    if (facts.role === Role.Request) {
      space.requests.check(facts, this.#violations);
      space.responses.request(facts);
    } else space.responses.check(facts, this.#violations);
    this.#checkTraits(facts, id, service);
  }

  /** What stays the same in all packets of an end, and what both ends share. */
  #checkTraits(facts: PacketFacts, id: number, service: ConversationReport['service']): void {
    const { pkey, sourcePort, migReq } = facts.dissection.frame;
    const mine = this.#ends[2 * id + facts.sender];
    if (mine === undefined) {
      this.#ends[2 * id + facts.sender] = { pkey, migReq, sourcePort };
      const peer = this.#ends[2 * id + 1 - facts.sender];
      if (peer === undefined) return;
      if (!pkeysMatch(pkey, peer.pkey))
        this.#violations.add(
          RULES.pkey,
          facts,
          `its P_Key is 0x${hex4(pkey)}, that of the other end 0x${hex4(peer.pkey)}`,
        );
      if (migReq !== peer.migReq)
        this.#violations.add(RULES.migReq, facts, `its MigReq bit is ${migReq}, that of the other end ${peer.migReq}`);
      return;
    }
    if (mine.sourcePort !== sourcePort && service !== 'UD') {
      this.#violations.add(RULES.sourcePort, facts, `its source port is ${sourcePort} and was ${mine.sourcePort}`);
      mine.sourcePort = sourcePort;
    }
    if (mine.migReq !== migReq) {
      this.#violations.add(RULES.migReq, facts, `its MigReq bit is ${migReq} and was ${mine.migReq}`);
      mine.migReq = migReq;
    }
  }
}

interface SpaceRules {
  readonly requests: RequestRules;
  readonly responses: ResponseRules;
}

interface EndTraits {
  readonly pkey: number;
  migReq: number;
  sourcePort: number;
}

/** ref:conformance#ACK-20; two limited members cannot communicate. */
function pkeysMatch(one: number, other: number): boolean {
  return (one & 0x7f_ff) === (other & 0x7f_ff) && ((one | other) & 0x80_00) !== 0;
}

function hex4(value: number): string {
  return value.toString(16).padStart(4, '0');
}

/** A checker for one capture. */
export function makeRuleChecker(): RuleChecker {
  return new RuleChecker();
}
