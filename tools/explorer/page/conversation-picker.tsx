/**
 * The choice of a conversation, shared by the views that show one at a time. Owns which one is shown when none is
 * named.
 */
import { type ConversationReport, conversationNetworks } from 'rocev2/pcap';
import type { News } from '../engine/protocol.ts';
import { count, qpn } from './words.ts';

interface Props {
  readonly news: News;
  readonly conversation: number;
  readonly onChoose: (conversation: number) => void;
  /** Also offer all of them together, as 0. */
  readonly all?: boolean;
}

/** The choice. */
export function ConversationPicker({ news, conversation, onChoose, all = false }: Props) {
  const conversations = news.analysis?.conversations ?? [];
  return (
    <label class="picker">
      Conversation{' '}
      <select
        value={conversation}
        data-testid="conversation"
        onChange={(event) => onChoose(Number(event.currentTarget.value))}
      >
        {all ? <option value={0}>all</option> : null}
        {conversations.map((report) => (
          <option key={report.id} value={report.id}>
            {nameOf(report)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The conversation to show: the one named, or the one with most marks, or the longest. */
export function chosenConversation(news: News, wanted: number): ConversationReport | undefined {
  const conversations = news.analysis?.conversations ?? [];
  const named = conversations.find(({ id }) => id === wanted);
  if (named !== undefined) return named;
  const accused = news.analysis?.findings.find((finding) => finding.conversations.length > 0)?.conversations[0];
  return conversations.find(({ id }) => id === accused) ?? longest(conversations);
}

function longest(conversations: readonly ConversationReport[]): ConversationReport | undefined {
  return [...conversations].sort((a, b) => packetsOf(b) - packetsOf(a))[0];
}

function packetsOf({ ends }: ConversationReport): number {
  return ends[0].packets + ends[1].packets;
}

function nameOf(report: ConversationReport): string {
  const [a, b] = report.ends;
  const networks = conversationNetworks(report);
  return `${report.id}: ${report.service} ${a.address} ${qpn(a.qpn)} and ${b.address} ${qpn(b.qpn)}${networks === '' ? '' : `, ${networks}`}, ${count(packetsOf(report))} packets`;
}
