/**
 * Symptom: many queue pairs of a host send from the same UDP source port, so that all of their packets take the same
 * path.
 *
 * Owns the finding, one for each host that sends data on at least 8 queue pairs. With fewer, several often share a port
 * or a path by chance. The measure is the entropy of the source port over queue pairs; half a bit or less is "about
 * zero" (one that differs gives 0.34 with 16 queue pairs, and 0.54 with 8). Datagram queue pairs do not count: their
 * ports follow the destination.
 * Rules: ref:analyzer#1 row 20, ref:wire#2 (source port is the entropy of a connection, constant for each; A17.9.4).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { ConversationReport } from '../types.ts';
import { mergedFrames } from './frame-list.ts';

export const PORT_POLARISATION: Symptom = {
  id: 'port-polarisation',
  row: 20,
  title: 'One source port for all queue pairs',
  complaint: 'Bandwidth stays at that of one link though there are several, and one of them drops or pauses.',
  about:
    'Routers and link groups choose among equal paths by a hash over addresses and UDP ports. The destination port of RoCE is always 4791, so the source ' +
    'port is the only difference of two queue pairs between the same hosts for ECMP; each has its own for that reason. With the same port for all of them every ' +
    'packet takes the same path, however many there are.',
  advice: [
    'Let each queue pair have its own source port: set a flow label in the address vector, or use the default of the driver.',
    'Without that, use routers that hash over the destination queue pair too, or adaptive routing.',
  ],
  commands: ['rdma resource show qp', 'ethtool -S DEV | grep -i prio', 'ip -s link show'],
  make: () => new PortPolarisation(),
};

class PortPolarisation implements Detector {
  finish(context: DetectorContext): void {
    const hosts = new Map<string, ConversationReport[]>();
    for (const conversation of context.conversations) {
      const { service, sameAs, ends } = conversation;
      if (service === 'UD' || service === 'RD' || sameAs !== 0) continue;
      for (const end of [0, 1] as const) {
        if (!sendsData(conversation, end)) continue;
        const { address } = ends[end];
        const own = hosts.get(address);
        if (own === undefined) hosts.set(address, [conversation]);
        else own.push(conversation);
      }
    }
    for (const [address, conversations] of hosts) judge(context, address, conversations);
  }
}

function judge(context: DetectorContext, address: string, conversations: readonly ConversationReport[]): void {
  const queuePairs = conversations.length;
  if (queuePairs < LEAST_QUEUE_PAIRS) return;
  const byPort = new Map<number, ConversationReport[]>();
  const peers = new Set<string>();
  for (const conversation of conversations) {
    const [own, other] =
      conversation.ends[0].address === address ? conversation.ends : [conversation.ends[1], conversation.ends[0]];
    const port = own.sourcePorts[0] ?? 0;
    byPort.set(port, [...(byPort.get(port) ?? []), conversation]);
    peers.add(other.address);
  }
  const [[port, same] = [0, []]] = [...byPort].sort(([, a], [, b]) => b.length - a.length);
  const entropyBits = entropy([...byPort.values()].map(({ length }) => length));
  if (entropyBits > MOST_ENTROPY_BITS || same.length < LEAST_QUEUE_PAIRS) return;
  const which = same.length === queuePairs ? `All ${queuePairs}` : `${same.length} of ${queuePairs}`;
  const to = peers.size === 1 ? [...peers].join('') : `${peers.size} hosts`;
  context.report({
    severity: 'warning',
    text: `${which} queue pairs of ${address} that send data to ${to} use the UDP source port ${port}: to routers and link groups they are one flow, which takes one path.`,
    frames: mergedFrames([same.map(({ firstFrame }) => firstFrame)]),
    frameCount: same.length,
    conversations: same.map(({ id }) => id),
    evidence: { host: address, queuePairs, sourcePort: port, sharing: same.length, ports: byPort.size, entropyBits },
  });
}

/** Requests with data, or READ responses: ACKs alone do not fill a link. */
function sendsData({ ends }: ConversationReport, end: 0 | 1): boolean {
  const { messages } = ends[end].requester;
  if ((messages['SEND'] ?? 0) + (messages['WRITE'] ?? 0) > 0) return true;
  return ends[end === 0 ? 1 : 0].requester.responses.packets > 0;
}

function entropy(counts: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.reduce((sum, count) => sum - (count / total) * Math.log2(count / total), 0);
}

const LEAST_QUEUE_PAIRS = 8;
const MOST_ENTROPY_BITS = 0.5;
