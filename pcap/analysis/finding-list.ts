/**
 * Findings as they are handed in: what they leave out is that of their symptom, and the most severe come first.
 *
 * Owns the order and the bounds. Looks for nothing.
 */
import type { FindingDraft, Symptom } from './detector.ts';
import type { Limitations } from './evidence.ts';
import { type ConversationReport, type Finding, MOST_FRAMES, SEVERITIES } from './types.ts';

export class FindingList {
  readonly #findings: Finding[] = [];
  /** What a finding is the cause of. */
  readonly #explains = new Map<Finding, readonly string[]>();
  readonly #conversation: (id: number) => ConversationReport | undefined;

  readonly #limitations: Limitations;

  /** @param conversation tells which conversation a number stands for now */
  constructor(conversation: (id: number) => ConversationReport | undefined, limitations: Limitations) {
    this.#conversation = conversation;
    this.#limitations = limitations;
  }

  add(found: FindingDraft, symptom: Symptom | undefined): void {
    const draft = this.#limitations.apply(found, found.id ?? symptom?.id ?? '');
    const { severity, text, frames = [], conversations = [], evidence = {} } = draft;
    const ids = conversations.map((id) => this.#conversation(id)?.id ?? id);
    const finding: Finding = {
      id: draft.id ?? symptom?.id ?? 'unnamed',
      severity,
      text,
      frames: frames.slice(0, MOST_FRAMES),
      frameCount: draft.frameCount ?? frames.length,
      conversations: [...new Set(ids)],
      evidence,
      advice: draft.advice ?? symptom?.advice ?? [],
      commands: draft.commands ?? symptom?.commands ?? [],
    };
    this.#findings.push(finding);
    const explains = draft.explains ?? symptom?.explains;
    if (explains !== undefined) this.#explains.set(finding, explains);
  }

  /** Most severe first, then by first packet; those without one last. */
  sorted(): Finding[] {
    const rank = ({ severity }: Finding) => SEVERITIES.indexOf(severity);
    const first = ({ frames }: Finding) => frames[0] ?? Number.MAX_SAFE_INTEGER;
    return this.#findings
      .filter((finding) => !this.#isExplained(finding))
      .sort((a, b) => rank(a) - rank(b) || first(a) - first(b));
  }

  /** A finding replaces those of its consequences. */
  #isExplained({ id, severity, conversations }: Finding): boolean {
    if (conversations.length === 0) return false;
    for (const [cause, explained] of this.#explains) {
      if (!explained.includes(id) || SEVERITIES.indexOf(cause.severity) > SEVERITIES.indexOf(severity)) continue;
      if (conversations.every((conversation) => cause.conversations.includes(conversation))) return true;
    }
    return false;
  }
}
