/** All tables of an export. `docs/export.md` has them in this order. */
import type { PacketFacts } from 'rocev2/pcap';
import { CAPTURES, type CaptureRow, INTERFACES, type InterfaceRow } from './capture-tables.ts';
import { CONVERSATION_ENDS, type EndRow } from './conversation-table.ts';
import { EVENTS, type EventRow } from './event-table.ts';
import {
  FINDING_CONVERSATIONS,
  FINDING_PACKETS,
  FINDINGS,
  type FindingLink,
  type FindingRow,
} from './finding-tables.ts';
import { LIMIT_CONVERSATIONS, LIMITS, type LimitLink, type LimitRow } from './limit-tables.ts';
import { PACKETS } from './packet-table.ts';
import type { Table } from './schema.ts';

/** What the rows of each table are made of. */
export interface Rows {
  captures: CaptureRow;
  interfaces: InterfaceRow;
  packets: PacketFacts;
  conversation_ends: EndRow;
  events: EventRow;
  limits: LimitRow;
  limit_conversations: LimitLink;
  findings: FindingRow;
  finding_packets: FindingLink;
  finding_conversations: FindingLink;
}

/** Name of a table, as `--tables` has it. */
export type TableName = keyof Rows;

/** By name. */
export const TABLES: { readonly [Name in TableName]: Table<Rows[Name]> } = {
  captures: CAPTURES,
  interfaces: INTERFACES,
  packets: PACKETS,
  conversation_ends: CONVERSATION_ENDS,
  events: EVENTS,
  limits: LIMITS,
  limit_conversations: LIMIT_CONVERSATIONS,
  findings: FINDINGS,
  finding_packets: FINDING_PACKETS,
  finding_conversations: FINDING_CONVERSATIONS,
};

/** All of them. */
export const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];
