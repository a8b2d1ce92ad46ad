/**
 * The tables of findings: what is wrong, the packets that prove it, the conversations concerned. Lists are tables of
 * their own, since every reader has another way to take a list apart.
 */
import type { Finding } from 'rocev2/pcap';
import { Columns, type Table } from './schema.ts';

/** A finding with its number. */
export interface FindingRow {
  readonly finding: Finding;
  /** From 1, the most severe first. */
  readonly number: number;
}

/** A packet or a conversation of a finding. */
export interface FindingLink {
  /** Number of the finding. */
  readonly finding: number;
  /** Number of the packet or the conversation. */
  readonly of: number;
}

const c = new Columns<FindingRow>();
const l = new Columns<FindingLink>();

/** The table of findings. */
export const FINDINGS: Table<FindingRow> = {
  name: 'findings',
  about: 'One row for each finding of `roce analyze`, the most severe first.',
  key: ['capture', 'finding'],
  columns: [
    ...c.origin(),
    c.int32('finding', 'number of the finding in its capture, from 1', ({ number }) => number),
    c.text(
      'id',
      'the symptom (docs/symptoms.md) or the rule: `no-reply`, `rule/read-length`',
      ({ finding }) => finding.id,
    ),
    c.text('severity', '`error`, `warning` or `note`', ({ finding }) => finding.severity),
    c.text('text', 'what is wrong, a sentence', ({ finding }) => finding.text),
    c.int64('packets', 'how many packets prove it', ({ finding }) => finding.frameCount),
    c.text('evidence', 'figures behind the sentence, a JSON object', ({ finding }) => JSON.stringify(finding.evidence)),
    c.text('advice', 'what to do, most promising first, a JSON array of sentences', ({ finding }) =>
      JSON.stringify(finding.advice),
    ),
    c.text('commands', 'commands that show more, a JSON array', ({ finding }) => JSON.stringify(finding.commands)),
  ],
};

/** The packets of findings. */
export const FINDING_PACKETS: Table<FindingLink> = {
  name: 'finding_packets',
  about: 'One row for each packet that a finding names, 20 for each finding at most.',
  key: ['capture', 'finding', 'frame'],
  columns: [
    ...l.origin(),
    l.int32('finding', 'key into `findings`', ({ finding }) => finding),
    l.int64('frame', 'key into `packets`', ({ of }) => of),
  ],
};

/** The conversations of findings. */
export const FINDING_CONVERSATIONS: Table<FindingLink> = {
  name: 'finding_conversations',
  about: 'One row for each conversation that a finding is about; none where it is about the whole capture.',
  key: ['capture', 'finding', 'conversation'],
  columns: [
    ...l.origin(),
    l.int32('finding', 'key into `findings`', ({ finding }) => finding),
    l.int32('conversation', 'key into `conversation_ends`', ({ of }) => of),
  ],
};
