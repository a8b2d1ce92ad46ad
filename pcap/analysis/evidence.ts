/**
 * What each finding rests on, and what each limit of a capture takes away: a finding without what it rests on is no
 * more than a note.
 *
 * Owns both tables. A finding that is proven by packets alone (a NAK, a REJ, a wrong ICRC) rests on nothing else. One
 * that is missing in the table rests on everything.
 */
import type { FindingDraft } from './detector.ts';
import {
  type CaptureLimit,
  type CaptureLimitKind,
  type ConversationReport,
  EVIDENCE_KINDS,
  type Evidence,
} from './types.ts';

/** What is not to be relied on where a capture has such a limit. */
const TAKEN: Readonly<Record<CaptureLimitKind, readonly Evidence[]>> = {
  'one-direction': ['answers'],
  sampled: ['answers', 'every-packet'],
  'capture-loss': ['every-packet'],
  doubled: ['once'],
  'doubled-late': ['once', 'sent-again'],
  cut: ['payload'],
  'clock-step': ['clock'],
  'clock-offset': ['clocks'],
  'not-compared': [],
  rewritten: [],
  unread: [],
  'conversations-omitted': [],
};

/** What findings rest on, by id. */
export const RESTS_ON: Readonly<Record<string, readonly Evidence[]>> = {
  'no-reply': ['answers'],
  'retry-exceeded': ['answers', 'sent-again'],
  'first-error': ['answers'],
  'rnr-exceeded': ['every-packet'],
  'remote-access-error': [],
  'remote-invalid-request': [],
  'remote-operational-error': [],
  // A sequence NAK proves itself; gaps that the capture may have made are counted apart (`limits/doubtful-losses.ts`).
  'sequence-error': [],
  'implied-nak': ['once'],
  'gid-mismatch': ['answers'],
  'mtu-mismatch': ['answers', 'every-packet'],
  'icrc-invalid': ['answers'],
  'ecn-misconfigured': ['answers', 'every-packet'],
  'pfc-storm': ['every-packet', 'clock'],
  'pfc-watchdog': ['every-packet', 'clock'],
  'cnp-storm': ['every-packet'],
  'nvme-no-completion': ['answers', 'every-packet', 'clock'],
  'migreq-flip': ['answers'],
  // The PSN that is used and the one that was agreed on, or that a NAK asks for, are both there.
  'wrong-starting-psn': [],
  'slow-responder': ['every-packet', 'once', 'clock'],
  'uc-loss': ['every-packet'],
  'peer-restarted': ['answers'],
  'dscp-mismatch': [],
  'connection-refused': [],
  'connect-timeout': ['answers'],
  'duplicate-requests': ['answers', 'every-packet', 'once', 'clock'],
  'read-stall': ['every-packet', 'clock'],
  'port-polarisation': [],
  'vlan-mismatch': ['answers'],
  'pkey-mismatch': ['answers'],
  // Rules about one packet prove themselves. These compare it with what came before.
  'rule/long-headers': [],
  'rule/transport-version': [],
  'rule/reserved-opcode': [],
  'rule/header-length': [],
  'rule/udp-length': [],
  'rule/pad': [],
  'rule/no-payload': [],
  'rule/message-size': [],
  'rule/atomic-alignment': [],
  'rule/opcode-sequence': ['every-packet'],
  'rule/nothing-open': ['every-packet'],
  'rule/full-packets': [],
  'rule/last-length': [],
  'rule/write-length': ['every-packet'],
  'rule/changed-repetition': ['every-packet'],
  'rule/read-response-opcode': ['every-packet'],
  'rule/read-response-length': ['every-packet'],
  'rule/read-response-syndrome': [],
  'rule/reserved-syndrome': [],
  'rule/msn': ['every-packet'],
  'rule/after-fatal-nak': ['every-packet'],
  'rule/cnp-format': [],
  'rule/management-format': [],
  'rule/p-key': [],
  'rule/source-port': [],
  'rule/mig-req': [],
  'rule/udp-checksum': [],
};

/** Why a finding is no more than a note, as a sentence. */
const WHY: Readonly<Record<CaptureLimitKind, string>> = {
  'one-direction': 'This capture does not have what the other end answered, so it proves no silence.',
  sampled: 'This capture is a sample, so what is not in it may have been there.',
  'capture-loss': 'This capture has lost packets, and these may be among them.',
  doubled: 'This capture shows most frames twice, which may be all there is to it.',
  'doubled-late': 'This capture shows most frames once more after some time, which may be all there is to it.',
  cut: 'The packets are cut, and what is behind the cut may say otherwise.',
  'clock-step': 'The clock of this capture stepped, so its durations may be wrong.',
  'clock-offset': 'The clocks of the interfaces differ, so their times may be wrong.',
  'not-compared': '',
  rewritten: '',
  unread: '',
  'conversations-omitted': '',
};

export class Limitations {
  readonly #limits: readonly CaptureLimit[];
  readonly #conversation: (id: number) => ConversationReport | undefined;

  constructor(limits: readonly CaptureLimit[], conversation: (id: number) => ConversationReport | undefined) {
    this.#limits = limits;
    this.#conversation = conversation;
  }

  /** The draft as this capture allows it: an alarm without what it rests on is a note, and says why. */
  apply(draft: FindingDraft, id: string): FindingDraft {
    if (draft.severity === 'note' || this.#limits.length === 0) return draft;
    const needs = draft.restsOn ?? RESTS_ON[id] ?? EVIDENCE_KINDS;
    const limit = this.#limits.find((each) => takes(each, needs, draft) && this.#isAbout(each, draft));
    if (limit === undefined) return draft;
    const evidence = { ...draft.evidence, loweredFrom: draft.severity, loweredBy: limit.kind };
    return { ...draft, severity: 'note', text: `${draft.text} ${WHY[limit.kind]}`, evidence };
  }

  #isAbout({ interfaces, conversations: limited }: CaptureLimit, { conversations = [] }: FindingDraft): boolean {
    if (interfaces.length === 0 || conversations.length === 0) return true;
    return conversations.some((id) => {
      const conversation = this.#conversation(id);
      if (conversation === undefined || !interfaces.includes(conversation.interfaceIndex)) return false;
      return limited.length === 0 || limited.includes(conversation.id);
    });
  }
}

function takes(
  limit: CaptureLimit,
  needs: readonly Evidence[],
  { frames = [], frameCount = frames.length }: FindingDraft,
): boolean {
  if (limit.kind !== 'capture-loss') return TAKEN[limit.kind].some((kind) => needs.includes(kind));
  const { unseenPackets, unseenPercent } = limit.evidence;
  const heavy = Number(unseenPercent) >= HEAVY_PERCENT;
  if (heavy && needs.includes('answers')) return true;
  // A capture that lost a few packets cannot have made up many breaches.
  return needs.includes('every-packet') && (heavy || frameCount <= Number(unseenPackets) * MADE_BY_ONE);
}

/** From here on any answer may be missing. */
const HEAVY_PERCENT = 20;
/** Packets that look wrong because of one that is missing. */
const MADE_BY_ONE = 4;
