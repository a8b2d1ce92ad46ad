/**
 * Goal: packets of different flows are never taken for one another, also where their hashes are the same. Method: so
 * many flows that some hashes are, and IPv6 addresses whose numbers are the same.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../../packets/address.ts';
import { Conversation, ConversationEnd } from '../../../../pcap/analysis/tracker/conversation.ts';
import { FlowKey, FlowTable } from '../../../../pcap/analysis/tracker/flow-table.ts';
import { MutableFacts } from '../../../../pcap/analysis/tracker/mutable-facts.ts';
import { Dissection } from '../../../../pcap/dissection.ts';
import { Prng } from '../../../../src/ground/prng.ts';

function conversationOf(id: number): Conversation {
  const ends = ['10.0.0.1', '10.0.0.2'].map((text) => new ConversationEnd(IpAddress.parse(text)));
  return new Conversation(id, 'traffic', 0, ends as [ConversationEnd, ConversationEnd], new MutableFacts());
}

function ipv4Packet(source: number, destination: number): Dissection {
  const packet = new Dissection();
  packet.frame.ipVersion = 4;
  packet.source = source;
  packet.destination = destination;
  return packet;
}

/** From one address to another, of which the last words are given; the numbers are the same for all. */
function ipv6Packet(source: number, destination: number): Dissection {
  const packet = new Dissection();
  const view = new DataView(new ArrayBuffer(40));
  view.setUint32(20, source);
  view.setUint32(36, destination);
  packet.frame.ipVersion = 6;
  packet.frame.ipOffset = 0;
  packet.frame.view = view;
  packet.source = 1;
  packet.destination = 2;
  return packet;
}

describe('The table of flows', () => {
  it('finds each of many flows over IPv4, of which some have the same hash', () => {
    const [table, key, random] = [new FlowTable(), new FlowKey(), new Prng(7)];
    const conversations = [conversationOf(1), conversationOf(2)] as const;
    const flows = Array.from({ length: 200_000 }, (_, i) => {
      const packet = { source: random.below(2 ** 32) | 0, destination: random.below(2 ** 32) | 0 };
      const flow = table.point(ipv4Packet(packet.source, packet.destination), key, conversations[i % 2 ? 0 : 1], 0);
      return { ...packet, flow };
    });
    expect(new Set(flows.map(({ flow }) => flow.hash)).size).toBeLessThan(flows.length);
    const packet = ipv4Packet(0, 0);
    for (const { source, destination, flow } of flows) {
      packet.source = source;
      packet.destination = destination;
      expect(table.find(packet, key) === flow).toBe(true);
    }
    expect(new Set(flows.map(({ flow }) => flow)).size).toBe(flows.length);
  });

  it('compares whole addresses over IPv6, in both directions', () => {
    const table = new FlowTable();
    const there = () => new FlowKey().set(0, 9, -1, false);
    const back = () => new FlowKey().set(0, 9, -1, true);
    const flow = table.point(ipv6Packet(5, 6), there(), conversationOf(1), 0);
    expect(table.find(ipv6Packet(5, 6), there())).toBe(flow);
    expect(table.find(ipv6Packet(5, 7), there())).toBeUndefined();
    expect(table.find(ipv6Packet(4, 6), there())).toBeUndefined();
    const answer = ipv6Packet(6, 5);
    [answer.source, answer.destination] = [2, 1];
    expect(table.find(answer, back())).toBe(flow);
    expect(table.find(answer, there())).toBeUndefined();
  });

  it('tells versions, queue pairs and vantage points apart', () => {
    const table = new FlowTable();
    const packet = ipv4Packet(1, 2);
    const flow = table.point(packet, new FlowKey().set(3, 9, 8, false), conversationOf(1), 0);
    expect(table.find(packet, new FlowKey().set(3, 9, 8, false))).toBe(flow);
    expect(table.find(ipv6Packet(0, 0), new FlowKey().set(3, 9, 8, false))).toBeUndefined();
    for (const [vantage, destQpn, sourceQpn] of [
      [2, 9, 8],
      [3, 7, 8],
      [3, 9, -1],
    ] as const)
      expect(table.find(packet, new FlowKey().set(vantage, destQpn, sourceQpn, false))).toBeUndefined();
  });
});
