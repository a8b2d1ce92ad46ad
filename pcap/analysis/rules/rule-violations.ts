/**
 * The rules that packets of a capture broke, with the packets that prove it.
 *
 * Owns one entry for each rule, with a bounded list of packets.
 */
import type { FindingDraft } from '../detector.ts';
import { counted } from '../detectors/words.ts';
import type { PacketFacts } from '../facts.ts';
import { MOST_FRAMES } from '../types.ts';
import type { Rule } from './catalogue.ts';

interface RuleViolation {
  readonly rule: Rule;
  readonly frames: number[];
  readonly conversations: Set<number>;
  /** What was wrong the first time. */
  readonly detail: string;
  count: number;
}

/** Collects breaches of rules. */
export class RuleViolations {
  /** Breaches so far. */
  count = 0;
  readonly #violations = new Map<Rule, RuleViolation>();

  /**
   * Counts a packet that breaks a rule.
   *
   * @param detail how it breaks the rule, a part of a sentence
   */
  add(rule: Rule, facts: PacketFacts, detail: string): void {
    this.count += 1;
    let violation = this.#violations.get(rule);
    if (violation === undefined) {
      violation = { rule, frames: [], conversations: new Set(), detail, count: 0 };
      this.#violations.set(rule, violation);
    }
    violation.count += 1;
    if (violation.frames.length < MOST_FRAMES) violation.frames.push(facts.packet.number);
    if (facts.conversation !== undefined && violation.conversations.size < MOST_FRAMES)
      violation.conversations.add(facts.conversation.id);
  }

  /** One finding a rule, in the order in which they were first broken. */
  findings(): (FindingDraft & { readonly id: string })[] {
    return [...this.#violations.values()].map(({ rule, frames, conversations, detail, count }) => ({
      id: `rule/${rule.id}`,
      severity: rule.severity,
      text: `${describe(rule, count)}: ${detail}. ${rule.says}`,
      frames,
      frameCount: count,
      conversations: [...conversations],
      evidence: { source: rule.source },
      advice: rule.severity === 'note' ? [] : ADVICE,
      commands: [`roce dump -v FILE 'frame ${frames[0] ?? 0}'`],
    }));
  }
}

/** What a note is about is legal, or does no harm. */
function describe({ severity }: Rule, count: number): string {
  const packets = count === 1 ? 'A packet' : counted(count, 'packet');
  if (severity === 'note') return `${packets} ${count === 1 ? 'is' : 'are'} unusual`;
  return `${packets} ${count === 1 ? 'breaks' : 'break'} a rule of the protocol`;
}

const ADVICE: readonly string[] = [
  'Look at the sender: a device or driver that makes such packets is at fault, not the network, unless something on the way rewrites them.',
];
