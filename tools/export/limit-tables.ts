/**
 * The tables of limits: what a capture cannot know, and the conversations whose figures have to be read with that in
 * mind.
 */
import type { CaptureLimit, ConversationReport } from 'rocev2/pcap';
import { Columns, type Table } from './schema.ts';

/** A limit with its number. */
export interface LimitRow {
  readonly limit: CaptureLimit;
  /** From 1, in the order of `roce analyze`. */
  readonly number: number;
}

/** A conversation that a limit is about. */
export interface LimitLink {
  /** Number of the limit. */
  readonly limit: number;
  /** Number of the conversation. */
  readonly of: number;
}

const c = new Columns<LimitRow>();
const l = new Columns<LimitLink>();

/** The table of limits. */
export const LIMITS: Table<LimitRow> = {
  name: 'limits',
  about: 'One row for each thing that a capture cannot know. They decide what the other figures are worth.',
  key: ['capture', 'limit_number'],
  columns: [
    ...c.origin(),
    c.int32('limit_number', 'number of the limit in its capture, from 1', ({ number }) => number),
    c.text(
      'kind',
      '`one-direction`, `sampled`, `capture-loss`, `doubled`, `cut`, `clock-step`, `clock-offset`, `not-compared`, `unread`, `conversations-omitted` (docs/analyze.md)',
      ({ limit }) => limit.kind,
    ),
    c.text('text', 'what it is, a sentence', ({ limit }) => limit.text),
    c.text('interfaces', 'keys into `interfaces`, a JSON array; empty: all of them', ({ limit }) =>
      JSON.stringify(limit.interfaces),
    ),
    c.text('frames', 'packets that show it, keys into `packets`, 20 at most, a JSON array', ({ limit }) =>
      JSON.stringify(limit.frames),
    ),
    c.text('evidence', 'figures behind the sentence, a JSON object', ({ limit }) => JSON.stringify(limit.evidence)),
  ],
};

/** The conversations of limits. */
export const LIMIT_CONVERSATIONS: Table<LimitLink> = {
  name: 'limit_conversations',
  about: 'One row for each conversation that a limit is about: those that it names, or all of its interfaces.',
  key: ['capture', 'limit_number', 'conversation'],
  columns: [
    ...l.origin(),
    l.int32('limit_number', 'key into `limits`', ({ limit }) => limit),
    l.int32('conversation', 'key into `conversation_ends`', ({ of }) => of),
  ],
};

/** The conversations whose figures have to be read with this limit in mind. */
export function conversationsOf(
  { interfaces, conversations }: CaptureLimit,
  all: readonly Pick<ConversationReport, 'id' | 'interfaceIndex'>[],
): readonly number[] {
  if (conversations.length > 0) return conversations;
  return all
    .filter(({ interfaceIndex }) => interfaces.length === 0 || interfaces.includes(interfaceIndex))
    .map(({ id }) => id);
}
