/**
 * Symptom: many queue pairs of a host send from one UDP source port or from few, so that all of their packets take one
 * path or few.
 *
 * Owns the finding, one for each host that sends data on at least 8 queue pairs: to one peer, or, where no single peer
 * has so many that share ports, to all of its peers. With fewer queue pairs, several often share a port or a path by
 * chance.
 * - A flow is what routers see: a peer and a source port, so that queue pairs to different peers are different flows
 *   whatever their ports. The measure is the number of equally large flows with the same entropy over queue pairs. It
 *   has to be at most 8, with four queue pairs for each: more ports than that still spread over
 *   the few paths that there are between two hosts.
 * - It may not be chance: the evidence has an upper bound of the probability that a random choice among the 16,384
 *   ports of the range gives so few. A queue pair whose port changes is a flow of its own.
 * - It costs something only where there are several paths, which no capture shows: a warning. It is a note where IPv6
 *   flow labels differ as ports should: routers may hash these.
 * Ports that differ only in bits that a router's hash folds away are not looked for. Datagram queue pairs do not count:
 * their ports follow the destination. Packets of a host to itself take no path.
 * Rules: ref:analyzer#1 row 20, ref:wire#2 (source port is the entropy of a connection, constant for each; A17.9.4).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { ConversationReport } from '../types.ts';
import { mergedFrames } from './frame-list.ts';

export const PORT_POLARISATION: Symptom = {
  id: 'port-polarisation',
  row: 20,
  title: 'One source port for all queue pairs, or few',
  complaint: 'Bandwidth stays at that of one link though there are several, and one of them drops or pauses.',
  about:
    'Routers and link groups choose among equal paths by a hash over addresses and UDP ports. The destination port of RoCE is always 4791, so the source ' +
    'port is the only difference of two queue pairs between the same hosts for ECMP; each has its own for that reason. With the same port for all of them every ' +
    'packet takes the same path, however many there are; with two ports there are two paths at most, and by chance often one. Where there is only one ' +
    'path it costs nothing.',
  advice: [
    'Let each queue pair have its own source port: set a flow label in the address vector, or use the default of the driver.',
    'A stack in user space that sends through one UDP socket has one port for all: let it open several.',
    'Without that, use routers that hash over the destination queue pair too, or adaptive routing.',
  ],
  commands: ['rdma resource show qp', 'ethtool -S DEV | grep -i prio', 'ip -s link show'],
  make: () => new PortPolarisation(),
};

/** A queue pair that sends data. */
interface Sending {
  readonly conversation: ConversationReport;
  readonly peer: string;
  /** Its only source port; -1: it has used several. */
  readonly port: number;
  /** -1: IPv4. */
  readonly flowLabel: number;
}

class PortPolarisation implements Detector {
  finish(context: DetectorContext): void {
    const hosts = new Map<string, Map<string, Sending>>();
    for (const conversation of context.conversations) {
      const { service, sameAs, ends } = conversation;
      if (service === 'UD' || service === 'RD' || sameAs !== 0) continue;
      for (const end of [0, 1] as const) {
        const [own, peer] = [ends[end], ends[end === 0 ? 1 : 0]];
        const [port = -1, ...others] = own.sourcePorts;
        if (!sendsData(conversation, end) || port < 0 || own.address === peer.address) continue;
        const queuePairs = hosts.get(own.address) ?? new Map<string, Sending>();
        hosts.set(own.address, queuePairs);
        // A connection that begins anew on the same queue pairs adds none.
        const name = own.qpn < 0 && peer.qpn < 0 ? `${conversation.id}` : `${peer.address} ${peer.qpn} ${own.qpn}`;
        if (queuePairs.has(name)) continue;
        const { flowLabel } = own;
        queuePairs.set(name, {
          conversation,
          peer: peer.address,
          port: others.length > 0 ? -1 : port,
          flowLabel,
        });
      }
    }
    for (const [address, queuePairs] of hosts) judge(context, address, [...queuePairs.values()]);
  }
}

/** The peers with which queue pairs share ports; where no single one has enough of them, all together. */
function judge(context: DetectorContext, address: string, all: readonly Sending[]): void {
  const polarised = grouped(all, ({ peer }) => peer).filter(isPolarised);
  if (polarised.length > 0) report(context, address, polarised.flat());
  else if (isPolarised(all)) report(context, address, all);
}

function isPolarised(sendings: readonly Sending[]): boolean {
  if (sendings.length < LEAST_QUEUE_PAIRS) return false;
  const flows = 2 ** entropyBits(sendings, portFlow);
  if (flows > Math.min(MOST_FLOWS, sendings.length / LEAST_PER_FLOW)) return false;
  return chanceLog10(sendings) <= MOST_CHANCE_LOG10;
}

function report(context: DetectorContext, address: string, sendings: readonly Sending[]): void {
  const queuePairs = sendings.length;
  const flows = grouped(sendings, portFlow).sort((a, b) => b.length - a.length);
  const [largest = []] = flows;
  const entropy = entropyBits(sendings, portFlow);
  const peers = grouped(sendings, ({ peer }) => peer);
  const ports = grouped(sendings, ({ port }) => port).length;
  const isOne = entropy <= ONE_FLOW_BITS;
  const concerned = isOne ? largest : sendings;
  const to = peers.length === 1 ? (largest[0]?.peer ?? '') : `${peers.length} hosts`;
  const chance = Math.ceil(chanceLog10(sendings));
  const spreadLabels = labelsSpread(sendings);
  context.report({
    severity: spreadLabels ? 'note' : 'warning',
    text:
      `${isOne ? oneFlowWords(largest, queuePairs) : `${queuePairs} queue pairs`} of ${address} that send data to ${to} use ` +
      `${isOne ? `the UDP source port ${largest[0]?.port ?? 0}` : fewPortWords(sendings)}: to routers and link groups they are ` +
      `${isOne ? 'one flow, which takes one path' : `${flows.length} flows, which take ${flows.length} paths at most and often fewer`}. ` +
      `Ports chosen at random would be so few with a probability below 10^${chance}. ` +
      `${spreadLabels ? 'Their IPv6 flow labels differ, so routers that hash these spread them all the same.' : 'It costs bandwidth where there are several paths, and nothing where there is one.'}`,
    frames: mergedFrames([concerned.map(({ conversation }) => conversation.firstFrame)]),
    frameCount: concerned.length,
    conversations: concerned.map(({ conversation }) => conversation.id),
    evidence: {
      host: address,
      queuePairs,
      peers: peers.length,
      sourcePort: largest[0]?.port ?? 0,
      sharing: largest.length,
      ports,
      flows: flows.length,
      entropyBits: entropy,
      chanceLog10: chance,
      ...(sendings.some(({ flowLabel }) => flowLabel >= 0)
        ? { flowLabels: grouped(sendings, ({ flowLabel }) => flowLabel).length }
        : {}),
    },
  });
}

function oneFlowWords({ length }: readonly Sending[], queuePairs: number): string {
  return length === queuePairs ? `All ${queuePairs} queue pairs` : `${length} of ${queuePairs} queue pairs`;
}

/** "2 UDP source ports (50000 for 9, 50001 for 7)". */
function fewPortWords(sendings: readonly Sending[]): string {
  const ports = grouped(sendings, ({ port }) => port).sort((a, b) => b.length - a.length);
  if (ports.length === 1) return `the UDP source port ${sendings[0]?.port ?? 0}`;
  const named = ports
    .slice(0, MOST_NAMED)
    .map((same) => `${(same[0]?.port ?? -1) < 0 ? 'changing ones' : same[0]?.port} for ${same.length}`);
  return `${ports.length} UDP source ports (${named.join(', ')}${ports.length > MOST_NAMED ? ', ...' : ''})`;
}

/** Requests with data, or READ responses: ACKs alone do not fill a link. */
function sendsData({ ends }: ConversationReport, end: 0 | 1): boolean {
  const { messages } = ends[end].requester;
  if ((messages['SEND'] ?? 0) + (messages['WRITE'] ?? 0) > 0) return true;
  return ends[end === 0 ? 1 : 0].requester.responses.packets > 0;
}

/** What a router that hashes ports takes for one flow. */
function portFlow({ peer, port, conversation: { id } }: Sending): string {
  return `${peer} ${port < 0 ? `of ${id}` : port}`;
}

/** Whether a router that hashes flow labels in their place finds as many flows as it should. */
function labelsSpread(sendings: readonly Sending[]): boolean {
  if (sendings.some(({ flowLabel }) => flowLabel < 0)) return false;
  const flows = 2 ** entropyBits(sendings, ({ peer, flowLabel }) => `${peer} ${flowLabel}`);
  return flows > sendings.length / 2;
}

/**
 * Decimal logarithm of an upper bound of the probability that queue pairs whose ports are chosen at random have as few
 * different ones: for each peer, the sum over all sets of that many ports.
 */
function chanceLog10(sendings: readonly Sending[]): number {
  let log = 0;
  for (const toPeer of grouped(sendings, ({ peer }) => peer)) {
    const ports = grouped(toPeer, portFlow).length;
    let bound = toPeer.length * Math.log10(ports / PORTS);
    for (let i = 0; i < ports; i++) bound += Math.log10((PORTS - i) / (i + 1));
    log += Math.min(0, bound);
  }
  return log;
}

function entropyBits(sendings: readonly Sending[], flow: (sending: Sending) => string): number {
  const total = sendings.length;
  return grouped(sendings, flow).reduce((sum, { length }) => sum - (length / total) * Math.log2(length / total), 0);
}

function grouped(sendings: readonly Sending[], keyOf: (sending: Sending) => string | number): Sending[][] {
  const groups = new Map<string | number, Sending[]>();
  for (const sending of sendings) {
    const key = keyOf(sending);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sending]);
    else group.push(sending);
  }
  return [...groups.values()];
}

const LEAST_QUEUE_PAIRS = 8;
/** Flows of equal size with the same entropy, and queue pairs for each of them. */
const MOST_FLOWS = 8;
const LEAST_PER_FLOW = 4;
/** Half a bit or less is one flow: one that differs gives 0.34 with 16 queue pairs, and 0.54 with 8. */
const ONE_FLOW_BITS = 0.5;
const MOST_CHANCE_LOG10 = -6;
/** 0xC000 to 0xFFFF (ref:wire#2). */
const PORTS = 0x40_00;
const MOST_NAMED = 4;
