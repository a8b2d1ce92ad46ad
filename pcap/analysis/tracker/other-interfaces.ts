/**
 * Whether another interface of the capture has packets of one end of a conversation.
 *
 * Owns the comparison of conversations over vantage points: same addresses, and no queue pair number or virtual network
 * that is known at both and differs.
 */
import type { ConversationReport, EndReport } from '../types.ts';

export class OtherInterfaces {
  readonly #byPair = new Map<string, ConversationReport[]>();

  constructor(conversations: readonly ConversationReport[]) {
    const interfaces = new Set(conversations.map(({ interfaceIndex }) => interfaceIndex));
    // Nearly all captures have one interface, and nothing is elsewhere.
    if (interfaces.size < 2) return;
    for (const conversation of conversations) {
      const pair = pairOf(conversation);
      const list = this.#byPair.get(pair);
      if (list === undefined) this.#byPair.set(pair, [conversation]);
      else list.push(conversation);
    }
  }

  saw(conversation: ConversationReport, sender: 0 | 1): boolean {
    const mine = conversation.ends[sender];
    const peer = conversation.ends[sender === 0 ? 1 : 0];
    for (const other of this.#byPair.get(pairOf(conversation)) ?? []) {
      if (other.interfaceIndex === conversation.interfaceIndex || other.service !== conversation.service) continue;
      const same = other.ends[0].address === mine.address ? 0 : 1;
      const across = other.ends[same === 0 ? 1 : 0];
      if (other.ends[same].packets > 0 && mayBe(other.ends[same], mine) && mayBe(across, peer)) return true;
    }
    return false;
  }
}

function mayBe(one: EndReport, other: EndReport): boolean {
  if (one.network !== '' && other.network !== '' && one.network !== other.network) return false;
  return one.qpn < 0 || other.qpn < 0 || one.qpn === other.qpn;
}

function pairOf({ ends: [one, other] }: ConversationReport): string {
  return one.address < other.address ? `${one.address} ${other.address}` : `${other.address} ${one.address}`;
}
